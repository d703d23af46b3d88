"""What an evaluation did, as it goes: one record per round, and their sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from deltalog.engine.failed_expressions import FailedExpression
from deltalog.syntax.ast import Pred


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

    def add(self, round_: Round) -> None:
        self.rounds += 1
        self.new += round_.new
        self.seconds += round_.seconds


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


ROUNDS_KEPT = 1 << 14  # records: a few megabytes; a counter may have millions of rounds


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
    rounds: list[Round] = field(default_factory=list)  # the last ones, at least `ROUNDS_KEPT` if there were so many
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

    def add_round(self, round_: Round) -> None:
        self.round_count += 1
        work = self.work.get(round_.heads)
        if work is None:
            work = self.work[round_.heads] = NodeWork()
        work.add(round_)
        self.rounds.append(round_)
        if len(self.rounds) > 2 * ROUNDS_KEPT:
            del self.rounds[:ROUNDS_KEPT]

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
        from deltalog.model.html_table import html_table

        counts = sorted(self.per_predicate.items(), key=lambda each: (-each[1], each[0]))
        rows = ((name, f"{count:,}") for name, count in counts)
        return html_table(("predicate", "facts"), rows, len(counts), self._summary)


Observer = Callable[[Round], None]
