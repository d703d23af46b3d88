"""Semi-naive evaluation.

Hyper-nodes are evaluated in topological order (Xu and Curé, Algorithm 1). The rules of a nonrecursive one are applied
once. In a recursive one, after a first round over all facts, each round joins the new facts of the round before (DELTA)
with all others: a rule instance is considered once, in the first round in which all of its facts are known.

A relation has three handles, OLD, DELTA and ALL, where ALL = OLD + DELTA; backends store them. A round is the plan of
each rule variant, one union per head predicate, and the removal of known facts.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import LimitReached
from deltalog.core.limits import FactCount, OverBudget
from deltalog.core.rules import Atom, Pred, Rule, variables
from deltalog.core.tuning import Tuning
from deltalog.core.watching import watcher
from deltalog.evaluation.backend import Backend, run
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.capabilities.offload import OffloadTarget
from deltalog.evaluation.current_round import in_round
from deltalog.evaluation.fact_count import VisibleFactCounter
from deltalog.evaluation.hypertree import Trees
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan
from deltalog.evaluation.plan.join_order import Body
from deltalog.evaluation.plan.variants import (
    COUNT,
    Variant,
    counts,
    new_facts,
    plan_variant,
    project,
    shared_body,
    variants,
)
from deltalog.evaluation.replan_joins import Skewed, with_replanning
from deltalog.evaluation.replan_trees import ChoiceChanged, Revision
from deltalog.evaluation.report import Observer, RoundSeries
from deltalog.evaluation.schedule import evaluation_order
from deltalog.evaluation.small_rounds import SmallRoundEvaluation
from deltalog.program import HyperNode, Program

_MANY_HYPER_NODES = 1 << 9  # independent ones are then evaluated together (10,000 classes: 3.1 s instead of 3.6)

T = TypeVar("T")


@dataclass
class Relations(Generic[T]):
    """The tables of all predicates, and their OLD and DELTA while a hyper-node is evaluated. Also the planner's
    statistics."""

    backend: Backend[T]
    parts: dict[tuple[Pred, Part], T] = field(default_factory=dict)

    @property
    def tuning(self) -> Tuning:
        return self.backend.tuning

    def get(self, pred: Pred, part: Part = Part.ALL) -> T:
        table = self.parts.get((pred, part))
        return table if table is not None else self.backend.empty(pred.arity)

    def set(self, pred: Pred, table: T, part: Part = Part.ALL) -> None:
        self.parts[pred, part] = table

    def add(self, pred: Pred, new: T) -> None:
        self.set(pred, self.backend.merge(self.get(pred), new))

    def size(self, pred: Pred, part: Part = Part.ALL) -> float:
        table = self.parts.get((pred, part))
        return 0.0 if table is None else float(self.backend.size(table))

    def distinct(self, pred: Pred, part: Part, column: int) -> float:
        table = self.parts.get((pred, part))
        return 0.0 if table is None else self.backend.statistics(table).distinct(column)

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        table = self.parts.get((pred, part))
        return 0.0 if table is None else self.backend.statistics(table).heaviest(column)

    def whole(self) -> Iterator[tuple[Pred, T]]:
        """The table ALL of each predicate."""
        return ((pred, table) for (pred, part), table in self.parts.items() if part is Part.ALL)


@dataclass(slots=True)
class PlannedVariant:
    """A rule variant with its plan, and the number of facts it read when the plan was made.

    `reads` is what its atoms read: where one is empty, nothing is derived. `facts` are the plans of its heads.
    `multiway`: its plan may have multiway joins, whatever the rest of the evaluation has. `skewed`: it is planned by
    the most frequent values.
    """

    variant: Variant
    body: Body | None = None
    made_for: float = 0.0
    multiway: bool = False
    skewed: bool = False
    owner: Pred = field(init=False)  # the predicate of its (first) head
    reads: tuple[tuple[Pred, Part], ...] = field(init=False)
    facts: tuple[tuple[Pred, ir.Project], ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        chosen, body = dict(self.variant.parts), self.variant.rule.body
        atoms = [(i, literal) for i, literal in enumerate(body) if isinstance(literal, Atom)]
        self.owner = self.variant.rule.heads[0].pred
        self.reads = tuple((atom.pred, chosen.get(i, Part.ALL)) for i, atom in atoms)

    def plan(self, body: Body, made_for: float) -> None:
        # The plans of the heads first: an interrupt in between leaves a variant without a body, or two equal plans.
        self.facts = tuple((head.pred, project(head, body.plan)) for head in self.variant.rule.heads)
        self.body, self.made_for = body, made_for


# For the first round of a hyper-node, and by the predicate whose DELTA they read.
HyperNodePlans = tuple[list[PlannedVariant], dict[Pred, list[PlannedVariant]]]


@dataclass
class SemiNaive(Generic[T]):
    """An evaluation of a program over relations, within the limits of their backend.

    `facts` counts the facts that users see. For a goal, all derived facts count, those of hidden relations included,
    and none from before.
    """

    program: Program
    relations: Relations[T]
    observe: Observer = field(default=lambda _: None)
    trees: Trees = field(default_factory=Trees)
    goal: bool = False
    facts: FactCount = None  # type: ignore[assignment]  # of the limits, unless it is given
    planning: float = 0.0
    number: int = 0
    # From an earlier evaluation of the program:
    plans: dict[tuple[int, int], HyperNodePlans] = field(default_factory=dict)
    pending: dict[Pred, T] = field(default_factory=dict)  # virtual relations after this round
    revision: Revision[T] | None = None  # of the hyper-node that is evaluated, if it has choices to reconsider
    keep_partial: bool = False  # whether what was derived before a limit is kept

    def __post_init__(self) -> None:
        if self.facts is None:
            self.facts = FactCount(self.relations.backend.limits)

    @cached_property
    def visible(self) -> VisibleFactCounter[T]:
        return VisibleFactCounter(self.relations.backend, self.program.homes, everything=self.goal)

    def run(self) -> None:
        self.facts.total = 0 if self.goal else self.visible.count(self.relations.whole())
        self.facts.add(0)
        for number, hyper_node in evaluation_order(self.program.hyper_nodes, self._batches):
            revision = Revision(self.trees, hyper_node, self.relations)
            while not self._is_evaluated(number, hyper_node, revision):
                self.pending.clear()
                revision.restart(self.program.scheme_of)
                self.plans = {key: plans for key, plans in self.plans.items() if key[0] != number}
                self.facts.total = self.visible.count(self.relations.whole())

    @property
    def _batches(self) -> bool:
        """Whether hyper-nodes that do not depend on each other are evaluated together."""
        backend = self.relations.backend
        many = len(self.program.hyper_nodes) >= _MANY_HYPER_NODES
        return backend.batch_independent_plans or many

    def _is_evaluated(self, number: int, hyper_node: HyperNode, revision: Revision[T]) -> bool:
        """Evaluates a hyper-node; False if it has to be restarted with other choices."""
        watcher().evaluating(number, len(self.program.hyper_nodes))
        try:
            for place, part in enumerate(self._by_trees(hyper_node)):
                self.revision = revision.start()
                if not (part.recursive and self._is_offloaded(number, part)):
                    self._evaluate(number, part, place)
            return True
        except ChoiceChanged:
            return False

    def _by_trees(self, hyper_node: HyperNode) -> list[HyperNode]:
        """The hyper-node, or those that it becomes when rules of it are evaluated by decompositions."""
        started = time.perf_counter()
        parts = list(self.trees.parts(hyper_node, self.relations, self.relations.backend.batch_independent_plans))
        self.planning += time.perf_counter() - started
        return parts

    def _is_offloaded(self, number: int, node: HyperNode) -> bool:
        """Evaluates a hyper-node on another backend, if there is a better one for it, and that can do it."""
        offload = self.relations.backend.capabilities.offload
        if offload is None:
            return False
        tables = {pred: self.relations.get(pred) for pred in node.reads | node.heads}
        target = offload.offer(node.rules, tables).target
        if target is None:
            return False
        facts = self.facts.total
        try:
            with offload.watched():
                self._evaluate_on(target, number, node)
        except OverBudget:  # nothing has been added here
            self.facts.total = facts
            return False
        return True

    def _evaluate_on(self, target: OffloadTarget[T], number: int, node: HyperNode) -> None:
        """Evaluates a hyper-node on another backend, and adds what it derives to the relations here."""
        relations = Relations(target.backend, dict(target.tables))
        before = {pred: relations.get(pred) for pred in node.heads}

        def bring_back() -> None:
            found = {pred: target.backend.minus(relations.get(pred), table) for pred, table in before.items()}
            tables = {pred: target.to_table(table) for pred, table in found.items() if target.backend.size(table)}
            for pred, table in tables.items():
                self.relations.add(pred, table)

        evaluation = SemiNaive(self.program, relations, self.observe, goal=self.goal, facts=self.facts)
        try:
            evaluation._evaluate(number, replace(node, rules=target.rules))
        except LimitReached:
            if self.keep_partial:
                with self.relations.backend.limits.suspended():
                    bring_back()
            raise
        finally:
            self.planning += evaluation.planning
        bring_back()

    def _evaluate(self, number: int, hyper_node: HyperNode, place: int = 0) -> None:
        """The fixpoint of one hyper-node, or of a part of it."""
        self.number = number
        started = time.perf_counter()
        first, by_delta = self._plans_of((number, place), hyper_node)
        with in_round(1):
            new = self.derive(first)
        self._observe(1, new, started, len(first))
        if hyper_node.recursive:
            self.propagate(hyper_node.heads, by_delta, new)
        else:
            self._add(new)

    def _plans_of(self, key: tuple[int, int], hyper_node: HyperNode) -> HyperNodePlans:
        if key not in self.plans:
            by_delta = variants_by_delta(hyper_node.rules, hyper_node.heads) if hyper_node.recursive else {}
            self.plans[key] = [PlannedVariant(Variant(rule)) for rule in hyper_node.rules], by_delta
        return self.plans[key]

    def propagate(
        self,
        preds: Iterable[Pred],
        plans: Mapping[Pred, Sequence[PlannedVariant]],
        new: dict[Pred, T],
        added: dict[Pred, T] | None = None,
        derive: Callable[[list[PlannedVariant]], dict[Pred, T]] | None = None,
    ) -> None:
        """Adds new facts and all their consequences by the variants, round by round; also to `added`."""
        turn, by_sets, changed = 1, derive or self.derive, tuple(preds)
        small = SmallRoundEvaluation(self, preds, plans, added) if derive is None else None
        try:
            while new:
                if small is not None:
                    before = turn
                    new, turn = small.advance(new, turn)
                    if not new:
                        break
                    changed = changed if turn == before else tuple(preds)
                self._step(dict.fromkeys((*changed, *new)), new)
                changed = tuple(new)
                if added is not None:  # they share nothing with what is new
                    for pred, table in new.items():
                        added[pred] = self.relations.backend.merge(added[pred], table) if pred in added else table
                if self.revision is not None:
                    self.revision.reconsider(self.facts.total)
                turn += 1
                started = time.perf_counter()
                due = [planned for pred in new for planned in plans.get(pred, ())]
                with in_round(turn):
                    new = by_sets(due)
                self._observe(turn, new, started, len(due))
        finally:  # at a limit, too: the facts so far may be kept
            for pred in preds:
                self.relations.parts.pop((pred, Part.OLD), None)
                self.relations.parts.pop((pred, Part.DELTA), None)

    def _observe(self, turn: int, new: Mapping[Pred, T], started: float, rules: int) -> None:
        """Reports a round; the facts that it found are not counted yet."""
        found = self.visible.count(new.items())
        self.observe_rounds(turn, self.facts.total, time.perf_counter() - started, (found,), (rules,))

    def observe_rounds(self, first: int, before: int, seconds: float, new: Sequence[int], rules: Sequence[int]) -> None:
        """Reports rounds from the first on, with the facts before it: how many facts each found, by how many rules."""
        nodes = self.program.hyper_nodes
        heads = nodes[self.number].heads if self.number < len(nodes) else frozenset[Pred]()
        self.observe(RoundSeries(self.number, len(nodes), first, before, seconds, heads, new, rules))

    def derive(
        self, due: Iterable[PlannedVariant], wanted: Callable[[Pred, tuple[Plan, ...]], Plan] = new_facts
    ) -> dict[Pred, T]:
        """What the variants derive, by default the new facts of it; no table is empty."""
        shared: list[Pred] = []
        try:
            return with_replanning(self, list(due), lambda plans: self._derive(plans, wanted, shared))
        finally:
            for pred in shared:
                del self.relations.parts[pred, Part.ALL]

    def _derive(
        self, due: Iterable[PlannedVariant], wanted: Callable[[Pred, tuple[Plan, ...]], Plan], shared: list[Pred]
    ) -> dict[Pred, T]:
        """The same; `shared` gets the temporary relations of rules with several heads."""
        inputs: dict[Pred, list[Plan]] = defaultdict(list)
        virtual: dict[Pred, T] = {}
        backend, tuning = self.relations.backend, self.relations.backend.tuning
        for planned in due:
            if (owner := planned.owner) in self.program.scheme_of:
                if owner not in virtual:
                    virtual[owner] = self._grown(owner)
                continue
            if not self._can_match(planned):
                continue
            backend.meter.spend(tuning.running_cost_rows)
            body = self.plan(planned)
            backend.meter.allow(tuning.misestimate_factor * body.cost)
            rule, facts = planned.variant.rule, planned.facts
            if len(rule.heads) > 1:
                scan = self._share(rule, body.plan, len(shared))
                shared.append(scan.atom.pred)
                facts = tuple((head.pred, project(head, scan)) for head in rule.heads)
            for pred, plan in facts:
                inputs[pred].append(plan)
        if not inputs and not virtual:
            return {}
        parts = self.relations.parts
        new = backend.run_all({pred: wanted(pred, tuple(plans)) for pred, plans in inputs.items()}, parts)
        return {pred: table for pred, table in (new | virtual).items() if backend.size(table)}

    def count(self, due: Iterable[PlannedVariant]) -> dict[Pred, T]:
        """How many instances of the variants derive each fact, as relations `counts`; no table is empty."""
        inputs: dict[Pred, list[ir.Project]] = defaultdict(list)
        for planned in due:
            if self._can_match(planned):
                self.plan(planned)
                for pred, plan in planned.facts:
                    inputs[counts(pred)].append(plan)
        plans = {pred: ir.Counted(tuple(found), COUNT) for pred, found in inputs.items()}
        found = self.relations.backend.run_all(plans, self.relations.parts) if plans else {}
        return {pred: table for pred, table in found.items() if self.relations.backend.size(table)}

    def _grown(self, pred: Pred) -> T:
        """The new facts of a virtual relation, by all facts or by the DELTA of its inputs."""
        relations, scheme = self.relations, self.program.scheme_of[pred]
        virtual_relations = required(relations.backend.capabilities.virtual_relations)
        inputs = [relations.get(source) for source in scheme.inputs]
        old = relations.parts.get((pred, Part.ALL))
        if old is None or not relations.backend.size(old):
            self.pending[pred] = virtual_relations.build(scheme, inputs)
            return self.pending[pred]
        deltas = [relations.get(source, Part.DELTA) for source in scheme.inputs]
        none = [relations.backend.empty(2)] * len(inputs)
        self.pending[pred], difference = virtual_relations.rebuild(scheme, old, inputs, none, deltas)
        _, new = difference()
        return new

    def _can_match(self, planned: PlannedVariant) -> bool:
        """False when an atom of the body reads an empty relation: then the rule is not even planned."""
        parts, size = self.relations.parts, self.relations.backend.size
        return all((table := parts.get(key)) is not None and size(table) for key in planned.reads)

    def _share(self, rule: Rule, body: Plan, number: int) -> ir.Scan:
        """Evaluates the body of a rule with several heads once, into a temporary relation."""
        live = dict.fromkeys(v for head in rule.heads for v in variables(head))
        atom = shared_body(number, live)
        plan = ir.Distinct(ir.Project(body, tuple((v, v) for v in live)))
        self.relations.set(atom.pred, run(self.relations.backend, plan, self.relations.parts))
        return ir.Scan(atom)

    def _step(self, changed: Iterable[Pred], new: dict[Pred, T]) -> None:
        """OLD := ALL, DELTA := new, ALL := ALL + new, for relations that have a DELTA now, or had one before."""
        for pred in changed:
            self.relations.set(pred, self.relations.get(pred), Part.OLD)
            self.relations.set(pred, new.get(pred, self.relations.backend.empty(pred.arity)), Part.DELTA)
        self._add(new)

    def _add(self, new: Mapping[Pred, T]) -> None:
        """Adds new facts, within the limit of facts."""
        self.facts.add(self.visible.count(new.items()))
        for pred, table in new.items():
            if pred in self.pending:
                self.relations.set(pred, self.pending.pop(pred))
            else:
                self.relations.add(pred, table)

    def plan(self, planned: PlannedVariant) -> Body:
        """The plan of a variant, made again when what it reads has grown much."""
        backend, reads = self.relations.backend, sum(self.relations.size(pred) for pred, _ in planned.reads)
        if planned.body is None or reads > backend.tuning.replan_growth_factor * planned.made_for:
            backend.meter.spend(backend.tuning.planning_cost_rows)
            started = time.perf_counter()
            multiway = backend.capabilities.multiway_joins and (planned.multiway or self.trees.way != "standard")
            statistics = Skewed(self.relations) if planned.skewed else self.relations
            planned.plan(plan_variant(planned.variant, statistics, multiway), reads)
            self.planning += time.perf_counter() - started
        assert planned.body is not None
        return planned.body


def variants_by_delta(rules: Iterable[Rule], recursive: Collection[Pred]) -> dict[Pred, list[PlannedVariant]]:
    """The semi-naive variants of rules, by the predicate whose DELTA they read."""
    plans: dict[Pred, list[PlannedVariant]] = defaultdict(list)
    for rule in rules:
        for variant in variants(rule, recursive):
            plans[variant.delta].append(PlannedVariant(variant))
    return plans


def include(facts: dict[Pred, T], more: Mapping[Pred, T], backend: Backend[T]) -> None:
    """Adds facts to facts, some of which may be there already."""
    for pred, table in more.items():
        present = facts.get(pred)
        facts[pred] = table if present is None else backend.merge(present, backend.minus(table, present))
