"""Semi-naive evaluation.

Hyper-nodes in topological order (paper 004, Algorithm 1). The rules of one that is not recursive are applied once. In a
recursive one, after a first round over everything, each round takes the facts that the round before found new (DELTA)
against all others: a rule instance is considered once, in the first round in which all of its facts are known.

State is three handles per relation: OLD, DELTA and ALL, where ALL = OLD + DELTA. Backends keep them; what happens in a
round is only the plan of each rule variant, one union per head predicate, and the removal of what is known.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Generic, TypeVar

from deltalog.backends.base import Backend
from deltalog.engine.hypertree import Trees
from deltalog.engine.passes import in_passes
from deltalog.engine.report import Observer, Round
from deltalog.plan import ir
from deltalog.plan.body import Body
from deltalog.plan.ir import Part, Plan
from deltalog.plan.rules import COUNT, Variant, counts, new_facts, plan_variant, project, shared_body, variants
from deltalog.program import HyperNode, Program
from deltalog.syntax.ast import Atom, Pred, Rule, variables

T = TypeVar("T")
GROWTH = 8  # a plan is made anew when what it reads has grown this much


@dataclass
class Relations(Generic[T]):
    """The tables of all predicates, and their parts while a hyper-node is evaluated. Also the planner's statistics."""

    backend: Backend[T]
    parts: dict[tuple[Pred, Part], T] = field(default_factory=dict)

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
        return 0.0 if table is None else self.backend.distinct(table, column)

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        table = self.parts.get((pred, part))
        return 0.0 if table is None else self.backend.heaviest(table, column)

    def total(self) -> int:
        """How many facts there are, without those of relations that we made for ourselves."""
        return int(sum(self.size(pred) for pred, part in self.parts if part is Part.ALL and not pred.hidden))


@dataclass(slots=True)
class Task:
    """A rule variant with its plan, and how many facts there were to read when the plan was made.

    `reads` are what its atoms read: where one is empty, nothing is derived. `facts` are the plans of its heads.
    `multiway`: its plan may have multiway joins, whatever the rest of the evaluation has.
    """

    variant: Variant
    body: Body | None = None
    made_for: float = 0.0
    multiway: bool = False
    owner: Pred = field(init=False)  # the predicate of its (first) head
    reads: tuple[tuple[Pred, Part], ...] = field(init=False)
    facts: tuple[tuple[Pred, ir.Project], ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        chosen, body = dict(self.variant.parts), self.variant.rule.body
        atoms = [(i, literal) for i, literal in enumerate(body) if isinstance(literal, Atom)]
        self.owner = self.variant.rule.heads[0].pred
        self.reads = tuple((atom.pred, chosen.get(i, Part.ALL)) for i, atom in atoms)

    def plan(self, body: Body, made_for: float) -> None:
        self.body, self.made_for = body, made_for
        self.facts = tuple((head.pred, project(head, body.plan)) for head in self.variant.rule.heads)


Tasks = tuple[list[Task], dict[Pred, list[Task]]]  # of a hyper-node: for its first round, and by what is new


@dataclass
class SemiNaive(Generic[T]):
    """An evaluation of a program over relations. `check` is told the number of facts, and raises at a limit."""

    program: Program
    relations: Relations[T]
    observe: Observer = field(default=lambda _: None)
    check: Callable[[int], None] = field(default=lambda _: None)
    trees: Trees = field(default_factory=Trees)
    planning: float = 0.0
    total: int = 0
    number: int = 0
    tasks: dict[tuple[int, int], Tasks] = field(
        default_factory=dict
    )  # with their plans, from an earlier evaluation of the program
    pending: dict[Pred, T] = field(default_factory=dict)  # structures that have grown, by what is new in this round

    def run(self) -> None:
        self.total = self.relations.total()
        if self._evaluated_elsewhere(list(enumerate(self.program.hyper_nodes)), everything=True):
            return
        for number, hyper_node in in_passes(self.program.hyper_nodes, self.relations.backend.batches):
            for place, part in enumerate(self._by_trees(hyper_node)):
                if not (part.recursive and self._evaluated_elsewhere([(number, part)])):
                    self._evaluate(number, part, place)

    def _by_trees(self, hyper_node: HyperNode) -> list[HyperNode]:
        """The hyper-node, or what it becomes when rules of it are evaluated by decompositions."""
        started = time.perf_counter()
        parts = list(self.trees.parts(hyper_node, self.relations, self.relations.backend.batches))
        self.planning += time.perf_counter() - started
        return parts

    def _evaluated_elsewhere(self, nodes: Sequence[tuple[int, HyperNode]], everything: bool = False) -> bool:
        """Evaluates hyper-nodes on the backend's twin, if there is one for them."""
        heads = {pred for _, node in nodes for pred in node.heads}
        tables = {pred: self.relations.get(pred) for _, node in nodes for pred in node.reads | node.heads}
        twin = self.relations.backend.twin([rule for _, node in nodes for rule in node.rules], tables, everything)
        if twin is None:
            return False
        relations = Relations(twin.backend, dict(twin.tables))
        before = {pred: relations.get(pred) for pred in heads}
        others = self.total - relations.total()

        def observe(round_: Round) -> None:
            self.observe(replace(round_, total=round_.total + others))

        evaluation = SemiNaive(self.program, relations, observe, lambda facts: self.check(facts + others))
        evaluation.total = relations.total()
        try:
            rules = iter(twin.rules)
            for number, node in nodes:
                evaluation._evaluate(number, replace(node, rules=tuple(islice(rules, len(node.rules)))))
        finally:  # at a limit, too: what there is is right
            for pred, table in before.items():
                new = twin.backend.minus(relations.get(pred), table)
                if twin.backend.size(new):
                    self.relations.add(pred, twin.back(new))
            self.total, self.planning = evaluation.total + others, self.planning + evaluation.planning
        return True

    def _evaluate(self, number: int, hyper_node: HyperNode, place: int = 0) -> None:
        """The fixpoint of one hyper-node, or of a part of it."""
        self.number = number
        started = time.perf_counter()
        first, by_delta = self._tasks((number, place), hyper_node)
        new = self.derive(first)
        self._observe(1, new, started, len(first))
        if hyper_node.recursive:
            self.propagate(hyper_node.heads, by_delta, new)
        else:
            self._add(new)

    def _tasks(self, key: tuple[int, int], hyper_node: HyperNode) -> Tasks:
        if key not in self.tasks:
            by_delta = tasks_by_delta(hyper_node.rules, hyper_node.heads) if hyper_node.recursive else {}
            self.tasks[key] = [Task(Variant(rule)) for rule in hyper_node.rules], by_delta
        return self.tasks[key]

    def propagate(
        self,
        preds: Iterable[Pred],
        tasks: Mapping[Pred, Sequence[Task]],
        new: dict[Pred, T],
        added: dict[Pred, T] | None = None,
        derive: Callable[[list[Task]], dict[Pred, T]] | None = None,
    ) -> None:
        """Adds facts that are not known, and all that follows by the tasks, round by round; also to `added`."""
        turn, derive = 1, derive or self.derive
        while new:
            self._step(preds, new)
            if added is not None:  # they share nothing with what is new
                for pred, table in new.items():
                    added[pred] = self.relations.backend.merge(added[pred], table) if pred in added else table
            turn += 1
            started = time.perf_counter()
            due = [task for pred in new for task in tasks.get(pred, ())]
            new = derive(due)
            self._observe(turn, new, started, len(due))
        for pred in preds:
            self.relations.parts.pop((pred, Part.OLD), None)
            self.relations.parts.pop((pred, Part.DELTA), None)

    def _observe(self, turn: int, new: Mapping[Pred, T], started: float, rules: int) -> None:
        found = sum(self.relations.backend.size(table) for pred, table in new.items() if not pred.hidden)
        self.total += found
        seconds = time.perf_counter() - started
        self.observe(Round(self.number, len(self.program.hyper_nodes), turn, found, self.total, seconds, rules))
        self.check(self.total)

    def derive(
        self, due: Iterable[Task], wanted: Callable[[Pred, tuple[Plan, ...]], Plan] = new_facts
    ) -> dict[Pred, T]:
        """The facts that the variants derive (and that are not known, unless more is wanted), none empty."""
        inputs: dict[Pred, list[Plan]] = defaultdict(list)
        shared: list[Pred] = []
        structured: dict[Pred, T] = {}
        for task in due:
            if (owner := task.owner) in self.program.structures:
                if owner not in structured:
                    structured[owner] = self._grown(owner)
                continue
            if not self._can_match(task):
                continue
            body = self._plan(task)
            rule, facts = task.variant.rule, task.facts
            if len(rule.heads) > 1:
                scan = self._share(rule, body.plan, len(shared))
                shared.append(scan.atom.pred)
                facts = tuple((head.pred, project(head, scan)) for head in rule.heads)
            for pred, plan in facts:
                inputs[pred].append(plan)
        if not inputs and not structured:
            return {}
        backend, parts = self.relations.backend, self.relations.parts
        new = backend.run_all({pred: wanted(pred, tuple(plans)) for pred, plans in inputs.items()}, parts)
        for pred in shared:
            backend.drop(parts.pop((pred, Part.ALL)))
        return {pred: table for pred, table in (new | structured).items() if backend.size(table)}

    def count(self, due: Iterable[Task]) -> dict[Pred, T]:
        """How many instances of the variants derive each fact, as the relations `counts`; none empty."""
        inputs: dict[Pred, list[ir.Project]] = defaultdict(list)
        for task in due:
            if self._can_match(task):
                self._plan(task)
                for pred, plan in task.facts:
                    inputs[counts(pred)].append(plan)
        plans = {pred: ir.Counted(tuple(found), COUNT) for pred, found in inputs.items()}
        found = self.relations.backend.run_all(plans, self.relations.parts) if plans else {}
        return {pred: table for pred, table in found.items() if self.relations.backend.size(table)}

    def _grown(self, pred: Pred) -> T:
        """What a structure has more, by all or by what is new of its inputs."""
        relations, structure = self.relations, self.program.structures[pred]
        inputs = [relations.get(source) for source in structure.inputs]
        old = relations.parts.get((pred, Part.ALL))
        if old is None or not relations.backend.size(old):
            self.pending[pred] = relations.backend.structure(structure, inputs)
            return self.pending[pred]
        deltas = [relations.get(source, Part.DELTA) for source in structure.inputs]
        none = [relations.backend.empty(2)] * len(inputs)
        self.pending[pred], difference = relations.backend.restructured(structure, old, inputs, none, deltas)
        _, new = difference()
        return new

    def _can_match(self, task: Task) -> bool:
        """False when an atom of the body reads nothing: then the rule derives nothing, and is not even planned."""
        parts, size = self.relations.parts, self.relations.backend.size
        return all((table := parts.get(key)) is not None and size(table) for key in task.reads)

    def _share(self, rule: Rule, body: Plan, number: int) -> ir.Scan:
        """Evaluates the body of a rule with several heads once, into a temporary relation."""
        live = dict.fromkeys(v for head in rule.heads for v in variables(head))
        atom = shared_body(number, live)
        plan = ir.Distinct(ir.Project(body, tuple((v, v) for v in live)))
        table = self.relations.backend.pin(self.relations.backend.run(plan, self.relations.parts))
        self.relations.set(atom.pred, table)
        return ir.Scan(atom)

    def _step(self, preds: Iterable[Pred], new: dict[Pred, T]) -> None:
        """OLD := ALL, DELTA := new, ALL := ALL + new."""
        for pred in preds:
            self.relations.set(pred, self.relations.get(pred), Part.OLD)
            self.relations.set(pred, new.get(pred, self.relations.backend.empty(pred.arity)), Part.DELTA)
        self._add(new)

    def _add(self, new: Mapping[Pred, T]) -> None:
        for pred, table in new.items():
            if pred in self.pending:
                self.relations.set(pred, self.pending.pop(pred))
            else:
                self.relations.add(pred, table)

    def _plan(self, task: Task) -> Body:
        """The variant's plan, made anew when what it reads has grown much since it was made."""
        reads = sum(self.relations.size(pred) for pred, _ in task.reads)
        if task.body is None or reads > GROWTH * task.made_for:
            started = time.perf_counter()
            multiway = self.relations.backend.multiway and (task.multiway or self.trees.way != "standard")
            task.plan(plan_variant(task.variant, self.relations, multiway), reads)
            self.planning += time.perf_counter() - started
        assert task.body is not None
        return task.body


def tasks_by_delta(rules: Iterable[Rule], recursive: Collection[Pred]) -> dict[Pred, list[Task]]:
    """The variants of some rules, by the predicate of which they read what is new."""
    tasks: dict[Pred, list[Task]] = defaultdict(list)
    for rule in rules:
        for variant in variants(rule, recursive):
            tasks[variant.delta].append(Task(variant))
    return tasks


def include(facts: dict[Pred, T], more: Mapping[Pred, T], backend: Backend[T]) -> None:
    """Adds facts to facts, where some may be there already."""
    for pred, table in more.items():
        present = facts.get(pred)
        facts[pred] = table if present is None else backend.merge(present, backend.minus(table, present))
