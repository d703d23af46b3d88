"""What an evaluation did, as it goes: one record per round, and their sum."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from deltalog.core.rules import Pred
from deltalog.evaluation.failed_expressions import FailedExpression


@dataclass(frozen=True, slots=True)
class Round:
    """One round of one hyper-node. `new` are facts that were not known before it."""

    hyper_node: int
    hyper_nodes: int
    number: int
    new: int
    total: int
    seconds: float
    rules: int
    heads: frozenset[Pred] = frozenset()  # the predicates of the hyper-node


@dataclass(frozen=True, slots=True)
class RoundSeries:
    """Consecutive rounds of one hyper-node. They become `Round`s only when they are read: a counter has millions.

    `new` and `rules` have a number for each round, `seconds` is what all of them took, `before` are the facts before
    the first.
    """

    hyper_node: int
    hyper_nodes: int
    first: int  # the number of the first round
    before: int
    seconds: float
    heads: frozenset[Pred]
    new: Sequence[int]
    rules: Sequence[int]

    @staticmethod
    def of(one: Round) -> RoundSeries:
        before = one.total - one.new
        return RoundSeries(
            one.hyper_node, one.hyper_nodes, one.number, before, one.seconds, one.heads, (one.new,), (one.rules,)
        )

    def __len__(self) -> int:
        return len(self.new)

    def __iter__(self) -> Iterator[Round]:
        totals = accumulate(self.new, initial=self.before)
        next(totals)
        seconds = self.seconds / max(1, len(self))
        for i, (new, rules, total) in enumerate(zip(self.new, self.rules, totals, strict=True)):
            yield Round(self.hyper_node, self.hyper_nodes, self.first + i, new, total, seconds, rules, self.heads)

    @property
    def last(self) -> int:
        """The number of the last round."""
        return self.first + len(self) - 1

    @property
    def found(self) -> int:
        """The new facts of all rounds."""
        return sum(self.new)

    @property
    def total(self) -> int:
        """The facts after the last round."""
        return self.before + self.found


@dataclass(frozen=True, slots=True)
class CyclicRule:
    """How a rule with a cyclic body was evaluated, and why so."""

    rule: str
    way: str  # hypertree or standard
    width: int
    why: str


@dataclass(slots=True)
class NodeWork:
    """What a hyper-node took: rounds, the facts that they found, and seconds."""

    rounds: int = 0
    new: int = 0
    seconds: float = 0.0

    def add(self, series: RoundSeries) -> None:
        self.rounds += len(series)
        self.new += series.found
        self.seconds += series.seconds


@dataclass(frozen=True, slots=True)
class MagicSetsUse:
    """What became of the magic sets that a program asks for.

    `restricted` are the relations that were derived in part, each with the number of facts of its adorned copies;
    `excluded` those that were not, with the reasons. `unused` says why magic sets were not used at all.
    """

    restricted: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, str] = field(default_factory=dict)
    unused: str = ""

    @property
    def lines(self) -> list[str]:
        """The same for people."""
        if self.unused:
            return [f"magic sets: not used, because {self.unused}"]
        facts = ", ".join(f"{name} ({count:,} facts)" for name, count in self.restricted.items())
        return [f"magic sets: {facts}", *(f"  not {name}: {why}" for name, why in self.excluded.items())]


ROUNDS_KEPT = 1 << 14  # rounds: a few megabytes; a counter may have millions of them


@dataclass(slots=True, repr=False)
class Report:
    """Everything that `--json` prints, and the rounds behind it."""

    engine: str = "local"
    engine_reason: str = ""
    equality: str = ""  # how owl:sameAs was evaluated: by representatives, or by axioms and why
    pipeline: str = "local"  # what reads and writes: this process, or Spark
    spark: dict[str, dict[str, int]] = field(default_factory=dict)  # jobs, stages, shuffles of each phase
    facts_in: int = 0
    facts_dominated: int = 0  # given facts that subsumption leaves out
    facts_total: int = 0
    per_predicate: dict[str, int] = field(default_factory=dict)
    recent: deque[RoundSeries] = field(default_factory=deque)  # at least `ROUNDS_KEPT` rounds if there were so many
    round_count: int = 0
    work: dict[frozenset[Pred], NodeWork] = field(default_factory=dict)  # of each hyper-node, by its predicates
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("load", "plan", "evaluate", "write"), 0.0))
    failed_expressions: int = 0  # the number of rows
    failures: list[FailedExpression] = field(default_factory=list)  # the expressions
    inconsistencies: int = 0  # with an ontology, as far as they have been counted
    inconsistency_examples: list[str] = field(default_factory=list)
    cyclic_rules: list[CyclicRule] = field(default_factory=list)
    magic_sets: MagicSetsUse | None = None  # where a program asks for them
    skipped_inputs: list[str] = field(default_factory=list)  # relations of `.input` that no output needs, not read
    peak_memory_bytes: int = 0
    complete: bool = True
    why_incomplete: str | None = None
    _kept: int = 0  # rounds in `recent`

    @property
    def rounds(self) -> list[Round]:
        """The last rounds, at least `ROUNDS_KEPT` if there were so many."""
        return [round_ for series in self.recent for round_ in series]

    def add_rounds(self, series: RoundSeries) -> None:
        self.round_count += len(series)
        work = self.work.get(series.heads)
        if work is None:
            work = self.work[series.heads] = NodeWork()
        work.add(series)
        self.recent.append(series)
        self._kept += len(series)
        while self._kept - len(self.recent[0]) >= ROUNDS_KEPT:
            self._kept -= len(self.recent.popleft())

    def forget_rounds(self) -> None:
        """Starts over: what was done so far is given up."""
        self.recent.clear()
        self.round_count = self._kept = 0

    @property
    def facts_derived(self) -> int:
        return self.facts_total - (self.facts_in - self.facts_dominated)

    def __repr__(self) -> str:
        return f"<Report: {self._summary}>"

    @property
    def _summary(self) -> str:
        stopped = "" if self.complete else f"; INCOMPLETE: {self.why_incomplete}"
        return (
            f"{self.facts_total:,} facts ({self.facts_derived:,} derived) in {self.round_count} rounds, "
            f"{sum(self.seconds.values()):.2f} s, {self.engine} engine{stopped}"
        )

    def _repr_html_(self) -> str:
        from deltalog.core.render.html import html_preview

        counts = sorted(self.per_predicate.items(), key=lambda each: (-each[1], each[0]))
        rows = ((name, f"{count:,}") for name, count in counts)
        return html_preview(("predicate", "facts"), rows, len(counts), self._summary)


Observer = Callable[[RoundSeries], None]
