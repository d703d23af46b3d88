"""The state of an update in progress, and its report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.limits import FactCount
from deltalog.core.rules import Pred, Rule
from deltalog.core.tuning import Tuning
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.capabilities.tuple_maintenance import SmallResult
from deltalog.evaluation.distribute_triples import WILDCARDS, distributed, net_change
from deltalog.evaluation.fact_count import VisibleFactCounter
from deltalog.evaluation.maintenance.derivation_counts import Counts
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.seminaive import Relations, SemiNaive
from deltalog.program import HyperNode, Program
from deltalog.program.dependency import DependencyGraph
from deltalog.program.strata import Stratum

T = TypeVar("T")
FactTables = dict[Pred, T]


@dataclass(slots=True)
class UpdateReport:
    """What an update did. `visited`, `recomputed` and `skipped` count strata, each of which is one or more hyper-nodes;
    which hyper-nodes these are is said by name, and which a change of rules affects directly (Xu and Curé)."""

    overdeleted: int = 0
    rederived: int = 0
    inserted: int = 0
    visited: int = 0
    recomputed: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    # How many changed facts are maintained tuple at a time in strata where that has been too much:
    tuple_limits: dict[str, int] = field(default_factory=dict)
    hyper_nodes: tuple[HyperNode, ...] = field(default=(), repr=False)  # of the program after the update
    directly_affected: tuple[HyperNode, ...] = field(default=(), repr=False)
    visited_preds: set[Pred] = field(default_factory=set, repr=False)
    recomputed_preds: set[Pred] = field(default_factory=set, repr=False)
    # How each stratum that was visited followed the change, and why so, in the order of strata:
    decisions: list[tuple[frozenset[Pred], str]] = field(default_factory=list, repr=False)

    def decide(self, preds: frozenset[Pred], how: str, why: str = "") -> None:
        """It was decided how a stratum follows the change."""
        self.decisions.append((preds, f"{how} ({why})" if why else how))

    def visit(self, preds: frozenset[Pred]) -> None:
        """A stratum has been visited."""
        self.visited += 1
        self.visited_preds |= preds

    @property
    def skipped(self) -> int:
        found = DependencyGraph.of([rule for node in self.hyper_nodes for rule in node.rules]).strata
        return sum(stratum.preds.isdisjoint(self.visited_preds) for stratum in found)

    @property
    def visited_hyper_nodes(self) -> list[HyperNode]:
        return [node for node in self.hyper_nodes if node.heads & self.visited_preds]

    @property
    def recomputed_hyper_nodes(self) -> list[HyperNode]:
        return [node for node in self.hyper_nodes if node.heads & self.recomputed_preds]

    @property
    def skipped_hyper_nodes(self) -> list[HyperNode]:
        return [node for node in self.hyper_nodes if not node.heads & self.visited_preds]


@dataclass
class Update(Generic[T]):
    """An update in progress: the state before and after it, the explicit facts after it, and the deltas so far."""

    old: Relations[T]
    new: Relations[T]
    explicit: Mapping[Pred, T]
    added_facts: FactTables[T]
    removed_facts: FactTables[T]
    added_rules: frozenset[Rule] = frozenset()
    removed_rules: tuple[Rule, ...] = ()
    strategy: str = "auto"  # or "dred", "bf", "counting"
    multiway: bool = False  # whether many facts may be checked by multiway joins
    stored_differently: frozenset[Pred] = frozenset()  # predicates that become virtual, or cease to be
    added: FactTables[T] = field(default_factory=dict)  # A \ D
    removed: FactTables[T] = field(default_factory=dict)  # D \ A
    # Predicates that have changed, with what computes their delta on demand:
    deferred: dict[Pred, Callable[[], tuple[T, T]]] = field(default_factory=dict)
    compared: set[Pred] = field(default_factory=set)  # predicates whose deferred delta is found by comparison
    facts_before: Callable[[], int] = field(default=lambda: 0)  # how many facts users saw before the change
    counts: dict[frozenset[Pred], Counts[T]] = field(default_factory=dict)  # of strata that are maintained with counts
    # How many changed facts the tuple-at-a-time kernel may see in strata where it has given up:
    tuple_limits: dict[frozenset[Pred], int] = field(default_factory=dict)
    unvisited: set[Pred] = field(default_factory=set)  # derived predicates of strata that have not been visited yet
    report: UpdateReport = field(default_factory=UpdateReport)

    @property
    def backend(self) -> Backend[T]:
        return self.old.backend

    @property
    def tuning(self) -> Tuning:
        return self.old.backend.tuning

    def record_delta(self, pred: Pred, removed: T, added: T) -> None:
        """Records the delta of a predicate, if it is not empty."""
        if self.backend.size(removed):
            self.removed[pred] = removed
        if self.backend.size(added):
            self.added[pred] = added

    def defer_delta(self, pred: Pred, find: Callable[[], tuple[T, T]] | None = None) -> None:
        """Leaves the delta of a predicate to be computed on demand. Whether there is a change must be known now: where
        the sizes do not tell, the delta is resolved at once."""
        if find is None:
            self.defer_deltas([pred])
        elif self.old.get(pred) is not self.new.get(pred):
            self.deferred[pred] = find
            if self._keeps_size(pred):
                self.resolve_deltas([pred])

    def defer_deltas(self, preds: Collection[Pred]) -> None:
        """The same for predicates whose delta is found by comparison."""
        differ = [pred for pred in preds if self.old.get(pred) is not self.new.get(pred)]
        self.deferred.update({pred: partial(self.compare, pred) for pred in differ})
        self.compared.update(differ)
        self.resolve_deltas([pred for pred in differ if self._keeps_size(pred)])

    def _keeps_size(self, pred: Pred) -> bool:
        return self.backend.size(self.old.get(pred)) == self.backend.size(self.new.get(pred))

    def resolve_deltas(self, preds: Collection[Pred] | None = None) -> None:
        """Computes the deferred deltas of some predicates, or of all; in one call, where calls have a fixed cost."""
        due = list(self.deferred if preds is None else self.deferred.keys() & preds)
        if self.backend.batch_independent_plans:
            self._compare_all([pred for pred in due if pred in self.compared])
        for pred in due:
            if pred in self.deferred:
                self.record_delta(pred, *self.deferred.pop(pred)())

    def _compare_all(self, preds: Collection[Pred]) -> None:
        before, after = ({pred: state.get(pred) for pred in preds} for state in (self.old, self.new))
        self.removed.update(difference(before, after, self.backend))
        self.added.update(difference(after, before, self.backend))
        for pred in preds:
            del self.deferred[pred]

    def differences(self) -> tuple[Callable[[], FactTables[T]], Callable[[], FactTables[T]]]:
        """What users see added and removed, computed on demand. The state before the update is kept alive only if it is
        needed for that."""
        if self.deferred or any(state.size(pred) for state in (self.old, self.new) for pred in WILDCARDS):
            return partial(self._net, self.added, self.old), partial(self._net, self.removed, self.new)
        return partial(distributed, self.added, self.backend), partial(distributed, self.removed, self.backend)

    def _net(self, facts: FactTables[T], other: Relations[T]) -> FactTables[T]:
        self.resolve_deltas()
        return net_change(facts, other)

    def compare(self, pred: Pred) -> tuple[T, T]:
        """The removed and added facts of a predicate, by comparison."""
        old, new, backend = self.old.get(pred), self.new.get(pred), self.backend
        removed = backend.minus(old, new)
        grows = backend.size(new) > backend.size(old) - backend.size(removed)
        return removed, backend.minus(new, old) if grows else backend.empty(pred.arity)

    def min_changed_facts(self, pred: Pred) -> int:
        """How many facts of a predicate have changed; at least, where the delta is deferred."""
        size = self.backend.size
        if pred in self.deferred:
            return abs(size(self.old.get(pred)) - size(self.new.get(pred)))
        return sum(size(facts[pred]) for facts in (self.removed, self.added) if pred in facts)

    @property
    def changed(self) -> set[Pred]:
        """The predicates that have changed so far; those with a deferred delta included."""
        return {*self.added, *self.removed, *self.deferred}

    @cached_property
    def given(self) -> frozenset[Pred]:
        """The predicates whose explicit facts change."""
        return frozenset(self.added_facts) | frozenset(self.removed_facts)

    def affects(self, stratum: Stratum, changing: Set[Pred] | None = None) -> bool:
        """Whether what a stratum reads has changed (is among what is `changing`), or its explicit facts or rules."""
        changing = self.changed if changing is None else changing
        return (
            not stratum.reads.isdisjoint(changing)
            or not stratum.preds.isdisjoint(self.given)
            or self.changes_rules(stratum)
        )

    def changes_rules(self, stratum: Stratum) -> bool:
        """Whether rules of a stratum are added or removed, or its facts are stored differently."""
        return (
            any(rule.heads[0].pred in stratum.preds for rule in self.removed_rules)
            or (bool(self.added_rules) and any(map(self.is_new, stratum.rules)))
            or not self.stored_differently.isdisjoint(stratum.preds)
        )

    def apply(self, result: SmallResult[T]) -> None:
        """Takes over what the tuple-at-a-time kernel did to strata."""
        for pred, table in result.tables.items():
            self.new.set(pred, table)
        self.removed.update(result.removed)
        self.added.update(result.added)
        for pred, (overdeleted, rederived, inserted) in result.counts.items():
            if not pred.hidden:
                self.report.overdeleted += overdeleted
                self.report.rederived += rederived
                self.report.inserted += inserted

    def is_new(self, rule: Rule) -> bool:
        return bool(self.added_rules) and rule in self.added_rules

    def forget_all_but(self, strata: Set[frozenset[Pred]]) -> None:
        """Drops counts and limits of strata that are no longer there."""
        for kept in (self.counts, self.tuple_limits):
            for preds in kept.keys() - strata if kept else ():
                del kept[preds]

    # Limits.

    def evaluation(self, program: Program) -> SemiNaive[T]:
        """An evaluation that adds facts to the new state. Only facts that are final count towards the limit: nothing of
        strata that have not been visited yet."""
        limits, certain = self.backend.limits, 0
        if limits.max_facts is not None:
            visited = ((pred, table) for pred, table in self.new.whole() if pred not in self.unvisited)
            certain = VisibleFactCounter(self.backend, program.homes).count(visited)
        return SemiNaive(program, self.new, facts=FactCount(limits, certain, self.facts_before))


def with_deltas(
    relations: Relations[T], deltas: Mapping[Pred, T], extra: Mapping[Pred, T] | None = None
) -> Relations[T]:
    """A state with tables to read as DELTA, and with extra relations."""
    parts = dict(relations.parts)
    parts.update({(pred, Part.DELTA): table for pred, table in deltas.items()})
    parts.update({(pred, Part.ALL): table for pred, table in (extra or {}).items()})
    return Relations(relations.backend, parts)


def difference(facts: Mapping[Pred, T], others: Mapping[Pred, T], backend: Backend[T]) -> FactTables[T]:
    """Facts without others, by predicate; no table is empty."""
    found = {pred: table for pred, table in facts.items() if pred not in others}
    both = facts.keys() & others.keys()
    if backend.batch_independent_plans and both:
        plans = {pred: ir.AntiJoin(ir.Distinct(ir.facts_of(pred, Part.DELTA)), ir.facts_of(pred)) for pred in both}
        tables = {
            (pred, part): state[pred] for pred in both for part, state in ((Part.DELTA, facts), (Part.ALL, others))
        }
        found |= backend.run_all(plans, tables)
    else:
        found |= {pred: backend.minus(facts[pred], others[pred]) for pred in both}
    return {pred: found[pred] for pred in facts if pred in found and backend.size(found[pred])}


def total(facts: Mapping[Pred, T], backend: Backend[T]) -> int:
    return sum(backend.size(table) for table in facts.values())


def count_visible(facts: Mapping[Pred, T], backend: Backend[T]) -> int:
    """How many facts are not of hidden relations."""
    return total({pred: table for pred, table in facts.items() if not pred.hidden}, backend)
