"""A materialisation: a program, its explicit facts (EDB), and all derived facts (IDB).

It is computed from scratch (`materialise`), or from an earlier one and a change (`updated`). The earlier one stays as
it was: all state is in immutable tables.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, Self, TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.limits import FactCount, checked
from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.capabilities.tuple_maintenance import Exchange
from deltalog.evaluation.codec import encode_rows
from deltalog.evaluation.distribute_triples import shown
from deltalog.evaluation.fact_count import VisibleFactCounter
from deltalog.evaluation.hypertree import Trees
from deltalog.evaluation.maintenance.derivation_counts import Counts
from deltalog.evaluation.maintenance.maintain import Maintenance
from deltalog.evaluation.maintenance.policy import DecisionKind, JobEstimate, decide_all
from deltalog.evaluation.maintenance.update_state import Update, count_visible, difference
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.report import Observer
from deltalog.evaluation.seminaive import Relations, SemiNaive
from deltalog.program import Program
from deltalog.program.dependency import DependencyGraph
from deltalog.program.impact import directly_affected
from deltalog.program.incremental_analysis import without_leaves

T = TypeVar("T")


@dataclass
class Evaluator(Generic[T]):
    """How fixpoints are computed: on which backend, by which engine, with which observer."""

    backend: Backend[T]
    naive: bool = False
    maintenance: str = "auto"
    observe: Observer = field(default=lambda _: None)
    trees: Trees = field(default_factory=Trees)
    keep_partial: bool = False  # whether what was derived before a limit is kept
    counts_hidden: bool = False  # whether facts of hidden relations count towards the limit of facts

    @property
    def engine(self) -> str:
        """The engine that derives facts."""
        return "naive" if self.naive else self.backend.name

    def run(
        self, program: Program, relations: Relations[T], goal: bool = False, facts: FactCount | None = None
    ) -> float:
        """Takes relations to the fixpoint; returns the seconds of planning. `facts` counts towards the limit of facts;
        for a goal, all derived facts do."""
        facts, goal = facts or FactCount(self.backend.limits), goal or self.counts_hidden
        if self.naive:
            self._run_naively(program, relations, goal, facts)
            return 0.0
        self.trees.leave_schemes(program)
        evaluation = SemiNaive(program, relations, self.observe, self.trees, goal, facts)
        evaluation.keep_partial = self.keep_partial
        try:
            evaluation.run()
        finally:
            self.trees.settle(program, relations)
        return evaluation.planning

    def _run_naively(self, program: Program, relations: Relations[T], goal: bool, facts: FactCount) -> None:
        from deltalog.evaluation.facts import rows
        from deltalog.evaluation.naive import materialise

        explicit = {pred: rows(table, pred.arity, self.backend) for (pred, _), table in relations.parts.items()}
        for pred, found in materialise(program, explicit, facts, goal).items():
            values = [tuple(constant.value for constant in row) for row in found]
            relations.set(pred, encode_rows(self.backend.codec, values))


@dataclass(slots=True)
class LazyMaintenance(Generic[T]):
    """The strata of a materialisation with their plans, made when an update first needs them."""

    made: Maintenance[T] | None = None


@dataclass(frozen=True)
class Materialisation(Generic[T]):
    """`relations` are what the rules work on; `facts` is what a user sees."""

    program: Program
    explicit: dict[Pred, T]
    relations: Relations[T]
    trees: Trees
    counts: Mapping[frozenset[Pred], Counts[T]] = field(default_factory=dict)  # of rule instances, by stratum
    tuple_limits: Mapping[frozenset[Pred], int] = field(default_factory=dict)  # see `maintenance.policy`
    lazy: LazyMaintenance[T] = field(default_factory=LazyMaintenance)
    seconds: float = 0.0  # of the last evaluation from scratch

    @cached_property
    def facts(self) -> Relations[T]:
        """What users see: no hidden relations, and triples under their own predicates."""
        return shown(self.relations, self.program.homes)

    @property
    def base(self) -> dict[Pred, T]:
        """The facts that the rules start from."""
        return self.explicit

    @property
    def proof_leaves(self) -> dict[Pred, T]:
        """The facts that proofs end at."""
        return self.base

    @property
    def keeps_parts_of_rules(self) -> bool:
        """Whether it has the hidden relations of `deltalog.program.core_rules`."""
        return True

    @property
    def in_order(self) -> frozenset[Pred]:
        """The relations that stages have derived (`deltalog.program.stages`)."""
        return frozenset()

    def beside(self, backend: Backend[T]) -> Self:
        """The same tables on another backend; plans of maintenance are its own."""
        relations = Relations(backend, self.relations.parts)
        made = replace(self, relations=relations, trees=self.trees.copied(), lazy=LazyMaintenance())
        vars(made)["facts"] = Relations(backend, self.facts.parts)
        return made

    def count(self) -> int:
        """How many facts users see."""
        return VisibleFactCounter(self.relations.backend, self.program.homes).count(self.relations.whole())

    @property
    def is_restorable(self) -> bool:
        """Whether it can be restored from its program and the relations of `facts`."""
        return True

    @property
    def tables(self) -> Iterator[T]:
        """Every table that the materialisation holds."""
        yield from self.relations.parts.values()
        for counts in self.counts.values():
            yield from counts.nonrecursive.values()
            yield from counts.recursive.values()

    @property
    def maintenance(self) -> Maintenance[T]:
        if self.lazy.made is None:
            self.lazy.made = Maintenance(self.trees.program(self.program, self.relations))
        return self.lazy.made

    def without_leaves(self, rules: tuple[Rule, ...]) -> tuple[Materialisation[T], Update[T]] | None:
        """The same with only these rules, if the others are leaves, which nothing else reads: nothing is derived or
        compared. None if they are not."""
        started = time.perf_counter()
        cut = without_leaves(self.program, rules)
        trees = self.trees.without([rule for node in cut[1] for rule in node.rules]) if cut is not None else None
        if cut is None or trees is None:
            return None
        program, removed = cut[0], [pred for node in cut[1] for pred in node.heads]
        relations = Relations(self.relations.backend, dict(self.relations.parts))
        update = Update(self.relations, relations, self.explicit, {}, {})
        for pred in removed:
            _keep_explicit(pred, update)
        counts = {preds: each for preds, each in self.counts.items() if preds.isdisjoint(removed)}
        limits = {preds: limit for preds, limit in self.tuple_limits.items() if preds.isdisjoint(removed)}
        known = self.lazy.made
        lazy = LazyMaintenance(None if known is None else known.without(self.program, program, removed))
        new = Materialisation(program, self.explicit, relations, trees, counts, limits, lazy, self.seconds)
        update.report.hyper_nodes = program.hyper_nodes
        update.report.seconds = time.perf_counter() - started
        return new, update


def start(explicit: Mapping[Pred, T], backend: Backend[T]) -> Relations[T]:
    """The relations before any rule has been applied."""
    return Relations(backend, {(pred, Part.ALL): table for pred, table in explicit.items()})


def materialise(
    program: Program, explicit: dict[Pred, T], evaluator: Evaluator[T], facts: FactCount | None = None
) -> Materialisation[T]:
    """From scratch."""
    started = time.perf_counter()
    relations = start(program.placed(explicit), evaluator.backend)
    evaluator.run(program, relations, facts=facts)
    seconds = time.perf_counter() - started
    return Materialisation(program, explicit, relations, evaluator.trees, seconds=seconds)


def updated(
    old: Materialisation[T], program: Program, facts: ChangedFacts[T], evaluator: Evaluator[T]
) -> tuple[Materialisation[T], Update[T]]:
    """From an earlier one and a change of its facts and rules."""
    update = Update(
        old.relations,
        Relations(evaluator.backend, dict(old.relations.parts)),
        program.placed(facts.explicit),
        program.placed(facts.added),
        program.placed(facts.removed),
        strategy=evaluator.maintenance,
        multiway=old.trees.way != "standard",
        stored_differently=stored_differently(old.program, program),
        counts=dict(old.counts),
        tuple_limits=dict(old.tuple_limits),
        facts_before=old.count,
    )
    estimate = _job_estimate(old, program, update)
    decision = decide_all(facts.changed, facts.before, evaluator.backend.tuning, estimate)
    if evaluator.naive or decision.kind is DecisionKind.RECOMPUTE:
        new = _recomputed(program, facts, evaluator, update, decision.why)
        _record_deltas(update, new.relations, old.program.derived | program.derived)
        return _checked(new, update)
    same_rules = program is old.program
    trees = old.trees.copied() if same_rules else old.trees.kept(program)
    known = old.maintenance
    lazy = LazyMaintenance(known if same_rules else Maintenance(trees.program(program, update.new), known))
    state = (update.counts, update.tuple_limits, lazy, old.seconds)
    new = Materialisation(program, facts.explicit, update.new, trees, *state)
    if not same_rules:
        before, after = set(old.maintenance.single_rules), set(new.maintenance.single_rules)
        update.added_rules, update.removed_rules = frozenset(after - before), tuple(before - after)
        update.report.directly_affected = directly_affected(old.program, program)
    new.maintenance.run(update)
    _exchange_trees(new, update)
    return _checked(new, update)


def _job_estimate(old: Materialisation[T], program: Program, update: Update[T]) -> JobEstimate | None:
    """What following a change of facts costs, on a backend where every step is a job."""
    costs = update.backend.capabilities.job_costs
    if costs is None or program is not old.program or update.strategy != "auto":
        return None
    seconds = costs.seconds_per_job(table for _, table in old.relations.whole())
    reached = old.maintenance.reached(update.given) if seconds else []
    recursive = sum(bool(stratum.recursive) for stratum in reached)
    return JobEstimate(len(reached), seconds, old.seconds, recursive) if seconds else None


def _checked(new: Materialisation[T], update: Update[T]) -> tuple[Materialisation[T], Update[T]]:
    """The result of an update, unless it exceeds the limit of facts and the facts there were."""
    limits = update.backend.limits
    limits.check()
    if limits.max_facts is not None:
        FactCount(limits, before=update.facts_before).add(new.count())
    return new, update


def _keep_explicit(pred: Pred, update: Update[T]) -> None:
    """A predicate without its derived facts; its delta is deferred."""
    old, explicit = update.new.parts.pop((pred, Part.ALL), None), update.explicit.get(pred)
    if explicit is not None:
        update.new.set(pred, explicit)
        update.deferred[pred] = partial(update.compare, pred)
    elif old is not None and update.backend.size(old):
        update.removed[pred] = old


def stored_differently(old: Program, new: Program) -> frozenset[Pred]:
    """The predicates that become virtual or cease to be, or whose explicit facts are stored elsewhere."""
    if old.scheme_of is new.scheme_of and old.stored is new.stored and old.given is new.given:
        return frozenset()
    changed = set(old.scheme_of.items()) ^ set(new.scheme_of.items())
    moved = (set(old.stored.items()) ^ set(new.stored.items())) | (set(old.given.items()) ^ set(new.given.items()))
    return frozenset(pred for pred, _ in changed) | frozenset(pred for pair in moved for pred in pair)


def _exchange_trees(new: Materialisation[T], update: Update[T]) -> None:
    """Computes the relations of trees that are far better for the new data, and drops those of the old trees."""
    trees, relations = new.trees, new.relations
    trees.settle(new.program, relations)
    if not trees.chosen_for:
        return
    before = trees.relations
    changed = trees.reconsider(relations)
    if not changed:
        return
    after = trees.relations
    dropped = before.keys() - after.keys()
    for pred in dropped:
        relations.parts.pop((pred, Part.ALL), None)
    rewritten = dropped | {head.pred for rule in changed for head in rule.heads}  # derived by other rules from now on
    for preds in [preds for preds in update.counts if not preds.isdisjoint(rewritten)]:
        del update.counts[preds]
    rules = tuple(rule for pred, rule in after.items() if pred not in before)
    facts = FactCount(update.backend.limits, before=update.facts_before)
    SemiNaive(replace(new.program, hyper_nodes=DependencyGraph.of(rules).hyper_nodes), relations, facts=facts).run()
    new.lazy.made = None
    heads = sorted({head.name for rule in changed for head in rule.heads})
    update.report.notes.append(f"{', '.join(heads)}: the data has changed much; another decomposition, nodes rebuilt")


def _recomputed(
    program: Program, facts: ChangedFacts[T], evaluator: Evaluator[T], update: Update[T], why: str
) -> Materialisation[T]:
    """Everything from scratch."""
    started = time.perf_counter()
    counted = FactCount(evaluator.backend.limits, before=update.facts_before)
    new = materialise(program, facts.explicit, evaluator, counted)
    update.report.notes.append(f"everything recomputed, {why or 'by the naive engine'}")
    update.report.recomputed = len(program.hyper_nodes)
    update.report.hyper_nodes, preds = program.hyper_nodes, set(program.derived)
    update.report.visited_preds, update.report.recomputed_preds = preds, preds
    update.report.seconds = time.perf_counter() - started
    return new


def _record_deltas(update: Update[T], new: Relations[T], derived: Collection[Pred]) -> None:
    """Records the deltas. Predicates that neither the old nor the new program derives, or stores elsewhere, differ in
    their explicit facts alone."""
    update.new, none = new, update.backend.empty
    derived = update.stored_differently.union(derived)
    preds = {pred for relations in (update.old, new) for pred, part in relations.parts if part is Part.ALL}
    update.defer_deltas(preds & derived)
    for pred in checked(preds):
        if pred not in derived:
            given = (facts.get(pred, none(pred.arity)) for facts in (update.removed_facts, update.added_facts))
            update.record_delta(pred, *given)


@dataclass(frozen=True)
class ChangedFacts(Generic[T]):
    """Explicit facts after a change, and its net effect on them."""

    explicit: dict[Pred, T]
    added: dict[Pred, T]
    removed: dict[Pred, T]
    changed: int  # how many explicit facts change
    before: int  # how many there were

    @classmethod
    def of(
        cls, explicit: Mapping[Pred, T], add: Mapping[Pred, T], remove: Mapping[Pred, T], backend: Backend[T]
    ) -> ChangedFacts[T]:
        """A fact that is added and removed is added; one that is not there is not removed."""
        found = exchanged(explicit, remove, add, backend)
        changed = count_visible(found.added, backend) + count_visible(found.removed, backend)
        return cls(found.tables, found.added, found.removed, changed, count_visible(explicit, backend))


def exchanged(
    tables: Mapping[Pred, T], remove: Mapping[Pred, T], add: Mapping[Pred, T], backend: Backend[T]
) -> Exchange[T]:
    """Tables without some rows, and then with others; and the net effect. A small change of many tables is one kernel
    call, where the backend has such a kernel; anything else goes table by table."""
    kernel = backend.capabilities.tuple_maintenance
    at_once = kernel.exchange(tables, remove, add) if kernel is not None else None
    if at_once is not None:
        return at_once
    added = difference(add, tables, backend)
    doomed = {pred: table for pred, table in difference(remove, add, backend).items() if pred in tables}
    removed = difference(doomed, difference(doomed, tables, backend), backend)  # E- := (E- ∩ E) \ E+
    after = dict(tables) | {pred: backend.remove(tables[pred], table) for pred, table in removed.items()}
    for pred, table in added.items():
        after[pred] = backend.merge(after[pred], table) if pred in after else table
    return Exchange(after, removed, added)
