"""What a knowledge base has at the time of a call: rules, explicit facts, a materialisation, and their predicates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from deltalog.core.naming import Names, unknown_predicate
from deltalog.core.rules import TRIPLES, TYPES, BodyLiteral, Pred, Rule
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.facts import Facts, of_predicate
from deltalog.evaluation.goals.rulebase import reads
from deltalog.evaluation.maintenance.materialisation import Evaluator, Materialisation, start
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.statistics import PartialStatistics
from deltalog.evaluation.report import Report
from deltalog.program import Program
from deltalog.program.triple_bridges import is_rdf

T = TypeVar("T")
INTERNAL = (TRIPLES, TYPES)


@dataclass(frozen=True)
class Contents(Generic[T]):
    """Rules and facts, and how to materialise them."""

    backend: Backend[T]
    rules: tuple[Rule, ...]
    explicit: Mapping[Pred, T]
    mentioned: Collection[Pred]  # predicates that rules mention, or have mentioned
    prefixes: Mapping[str, str]
    state: Materialisation[T] | None
    report: Report  # of `state`
    evaluator: Callable[[], Evaluator[T]]
    materialise: Callable[[], None]  # from scratch and completely; LimitReached if that is too much
    materialised: Callable[[], Contents[T]]  # with the present materialisation, made if there is none
    why_materialise: Callable[[], str | None] = lambda: None  # why goals are better answered from a materialisation
    quads: Mapping[Pred, T] = field(
        default_factory=dict
    )  # what named graphs have (`deltalog.extensions.graphs.membership`)
    columns: Callable[[Pred], Sequence[str]] = lambda _: ()  # the names of the columns of a predicate, if they have any
    staged: Mapping[Pred, T] | None = None  # what rules start from, if that is not the explicit facts

    @property
    def base(self) -> Mapping[Pred, T]:
        """The facts that the rules start from."""
        return self.explicit if self.staged is None else self.staged

    @property
    def is_complete(self) -> bool:
        """Whether there is a materialisation, and no limit has stopped it."""
        return self.state is not None and self.report.complete

    # Predicates.

    @property
    def preds(self) -> set[Pred]:
        """Predicates of rules and of facts; the internal ones only where they have facts of their own."""
        preds, own = {*self.mentioned, *self.explicit}, set[Pred]()
        if self.state is not None:
            preds |= {pred for pred, _ in self.state.facts.parts}
            own = {pred for pred in INTERNAL if self.backend.size(self.table(pred))}
        return {pred for pred in preds.difference(INTERNAL) if not pred.hidden} | own

    def names(self, others: Iterable[Pred] = ()) -> Names:
        """What the predicates, and others, are called."""
        return Names(self.preds.union(others), self.prefixes, {*self.mentioned, *self.explicit})

    @property
    def has_wildcard_heads(self) -> bool:
        """Whether a rule with a variable for a predicate or a class can derive facts of any class or property."""
        return any(head.pred in INTERNAL for rule in self.rules for head in rule.heads)

    def check_goal(self, literals: Sequence[BodyLiteral]) -> None:
        """UsageError if a goal reads a predicate that is not known."""
        for pred in set(reads(literals)):
            if not self._is_known(pred):
                raise unknown_predicate(str(pred), map(str, self.preds))

    def _is_known(self, pred: Pred) -> bool:
        """Whether a predicate has facts or rules, or may get facts from a rule with a variable for a predicate."""
        if pred in self.mentioned or pred in self.explicit or pred in INTERNAL:
            return True
        if self.state is not None and (pred, Part.ALL) in self.state.facts.parts:
            return True
        return is_rdf(pred) and self.has_wildcard_heads

    # Facts.

    def table(self, pred: Pred, derived: bool = False) -> T:
        """The facts of a predicate in the materialisation; with `derived`, those that are not explicit."""
        assert self.state is not None
        table, explicit = self.state.facts.get(pred), self.explicit.get(pred)
        return self.backend.minus(table, explicit) if derived and explicit is not None else table

    def view(self, pred: Pred, table: T) -> Facts[T]:
        """A table as users see it."""
        return of_predicate(pred, table, self.backend, self.columns(pred))

    def facts(self, predicate: str, derived: bool = False) -> Facts[T]:
        """The facts of a predicate by its name."""
        pred = self.names().find(predicate)
        return self.view(pred, self.table(pred, derived))

    def counts(self) -> dict[str, int]:
        """The number of facts of each predicate, by name."""
        return {name: self.backend.size(self.table(pred)) for name, pred in self.names().by_name.items()}

    def tables(self, only: Iterable[str], derived: bool) -> dict[Pred, T]:
        """The facts of some predicates, by default all; those that have any."""
        names = self.names()
        preds = [names.find(name) for name in only] or names.by_name.values()
        found = {pred: self.table(pred, derived) for pred in preds}
        return {pred: table for pred, table in found.items() if self.backend.size(table)}

    def statistics(self, program: Program) -> PartialStatistics:
        """The statistics of the facts that rules start from."""
        return PartialStatistics(start(program.placed(self.base), self.backend))
