"""Subsumption: semi-naive evaluation in which facts go that others dominate.

`p(x, a) <= p(x, b) :- b < a.` says that p(x, a) goes where there is p(x, b) with b < a. A round is, for each relation,

    delta = new - {facts of new that another fact of new, or a known one, dominates}
    all   = all - {facts of all that a fact of delta dominates} + delta

and before the first one, all facts of rules that are not recursive are compared at once: two facts that
dominate each other both go. The rules say which facts are dominated over two relations of the round, #less and
#greater, so the joins are those of the backend. (`deltalog.evaluation.stages` does the same tuple by tuple; it has what
depends on an order, and is what the naive engine runs.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Generic, TypeVar

from deltalog.core.rules import Atom, Call, Constant, Expression, Filter, HiddenName, Pred, Rule
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.variants import Variant, all_facts
from deltalog.evaluation.seminaive import PlannedVariant, Relations, SemiNaive, variants_by_delta
from deltalog.program import HyperNode, analyse
from deltalog.program.stages import OrderedStage

T = TypeVar("T")


def subsumed(stage: OrderedStage, given: Mapping[Pred, T], backend: Backend[T]) -> dict[Pred, T]:
    """The facts of the relations of a stage, over those that are given and those that it reads."""
    relations = Relations(backend, {(pred, Part.ALL): table for pred, table in given.items()})
    conditions = stage.procedures.dominance
    program = analyse([*stage.rules, *map(_over_a_round, conditions)])
    dominated = {_round_relation("dominated", rule.heads[0].pred): rule.heads[0].pred for rule in conditions}
    evaluation = Subsumption(SemiNaive(program, relations))
    for rule in (rule for node in program.hyper_nodes for rule in node.rules):
        if (pred := dominated.get(rule.heads[0].pred)) is not None:
            evaluation.dominance.setdefault(pred, []).append(PlannedVariant(Variant(rule)))
    for pred in evaluation.dominance.keys() - program.derived:
        evaluation.keep_undominated(pred, relations.get(pred))
    evaluation.fixpoint(_together([node for node in program.hyper_nodes if node.heads.isdisjoint(dominated)]))
    return {pred: relations.get(pred) for pred in stage.preds}


def _together(nodes: Sequence[HyperNode]) -> HyperNode:
    """The rules of a stage as one hyper-node: what all of them derive before the recursion is compared at once."""
    return HyperNode.of(tuple(rule for node in nodes for rule in node.rules), True, 0)


def _round_relation(what: str, pred: Pred) -> Pred:
    return Pred(HiddenName(f"#{what} {pred.name}"), pred.arity)


def _over_a_round(rule: Rule) -> Rule:
    """#dominated(less) :- #less(less), #greater(greater), less != greater, ..."""
    less, greater, *rest = rule.body
    assert isinstance(less, Atom) and isinstance(greater, Atom)
    named = {what: _round_relation(what, less.pred).name for what in ("dominated", "less", "greater")}
    body = (Atom(named["less"], less.terms), Atom(named["greater"], greater.terms), _differ(less, greater), *rest)
    return Rule((Atom(named["dominated"], less.terms),), body, rule.span)


def _differ(less: Atom, greater: Atom) -> Filter:
    pairs = [pair for pair in zip(less.terms, greater.terms, strict=True) if pair[0] != pair[1]]
    unequal: list[Expression] = [Call("!=", pair) for pair in pairs]
    return Filter(reduce(lambda one, other: Call("||", (one, other)), unequal) if unequal else Constant(False))


@dataclass
class Subsumption(Generic[T]):
    """The evaluation of one stage; `dominance` has the rules for each relation in which facts go."""

    evaluation: SemiNaive[T]
    dominance: dict[Pred, list[PlannedVariant]] = field(default_factory=dict)

    @property
    def relations(self) -> Relations[T]:
        return self.evaluation.relations

    def fixpoint(self, node: HyperNode) -> None:
        """The facts of a hyper-node."""
        backend = self.relations.backend
        start = [PlannedVariant(Variant(rule)) for rule in node.rules if rule.reads.isdisjoint(node.heads)]
        for pred, table in self.evaluation.derive(start).items():
            self.relations.add(pred, table)
        for pred in node.heads & self.dominance.keys():
            self.keep_undominated(pred, self.relations.get(pred))
        delta = {pred: self.relations.get(pred) for pred in node.heads}
        by_delta = variants_by_delta(node.rules, node.heads)
        for pred in node.heads:
            self._set_parts(pred, backend.empty(pred.arity), delta[pred])
        while any(backend.size(table) for table in delta.values()):
            self.evaluation.facts.reach(sum(self.relations.backend.size(self.relations.get(p)) for p in node.heads))
            new = self.evaluation.derive([planned for pred in delta for planned in by_delta.get(pred, ())])
            delta = {pred: self._undominated(pred, table) for pred, table in new.items()}
            for pred in node.heads:
                self._advance(pred, delta.get(pred, backend.empty(pred.arity)))

    def keep_undominated(self, pred: Pred, greater: T) -> None:
        """Removes the facts of a relation that others dominate."""
        known = self.relations.get(pred)
        gone = self._find_dominated(pred, known, greater)
        if self.relations.backend.size(gone):
            self.relations.set(pred, self.relations.backend.remove(known, gone))

    def _undominated(self, pred: Pred, new: T) -> T:
        """The new facts that no new or known one dominates."""
        for greater in (new, self.relations.get(pred)):
            new = self.relations.backend.minus(new, self._find_dominated(pred, new, greater))
        return new

    def _advance(self, pred: Pred, delta: T) -> None:
        """OLD := ALL without what the delta dominates, ALL := OLD + DELTA."""
        self.keep_undominated(pred, delta)
        old = self.relations.get(pred)
        self._set_parts(pred, old, delta)
        self.relations.set(pred, self.relations.backend.merge(old, delta))

    def _set_parts(self, pred: Pred, old: T, delta: T) -> None:
        self.relations.set(pred, old, Part.OLD)
        self.relations.set(pred, delta, Part.DELTA)

    def _find_dominated(self, pred: Pred, less: T, greater: T) -> T:
        backend = self.relations.backend
        if pred not in self.dominance or not backend.size(less) or not backend.size(greater):
            return backend.empty(pred.arity)
        self.relations.set(_round_relation("less", pred), less)
        self.relations.set(_round_relation("greater", pred), greater)
        found = self.evaluation.derive(self.dominance[pred], all_facts)
        return found.get(_round_relation("dominated", pred), backend.empty(pred.arity))
