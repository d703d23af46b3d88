"""Backward/forward: search for other proofs before anything is deleted (Motik et al. 2015, which Xu and Curé takes up).

Where facts have many proofs, DRed deletes all that depends on the removed facts, and then rederives most of it. Here a
candidate deletion is first checked for another proof, a set of candidates at a time:

    backward   the body facts of the instances that derive a candidate are checked in turn, and so on, until there is
               nothing new to check; facts that hold without the stratum's recursive rules need no further search
    forward    from those, all consequences among the checked facts are proved

A fact that has been checked and is not proved has no proof: the deletion is exact, and nothing is rederived. Its
consequences are the next candidates. Checked facts are remembered for the whole stratum.

The search can go far: in a large component of a graph every fact may depend on every other. A `bounded` attempt gives
up when it has checked far more facts than there are candidates, and leaves the stratum to DRed.
"""

from __future__ import annotations

from typing import TypeVar

from deltalog.evaluation.maintenance.dred import DRed, has_inverse
from deltalog.evaluation.maintenance.ladders import Strategy
from deltalog.evaluation.maintenance.policy import Done, GaveUp, OverdeletionBudget
from deltalog.evaluation.maintenance.stratum_plans import StratumPlans
from deltalog.evaluation.maintenance.update_state import (
    FactTables,
    Update,
    count_visible,
    difference,
    total,
    with_deltas,
)
from deltalog.evaluation.plan.delta_rules import candidates
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.seminaive import Relations, include
from deltalog.program import Program

T = TypeVar("T")


class BackwardForward(DRed[T]):
    """One stratum in one update."""

    name = Strategy.BACKWARD_FORWARD.value

    def __init__(self, program: Program, plans: StratumPlans, update: Update[T], bounded: bool = False) -> None:
        super().__init__(program, plans, update, bounded)
        self.checked: FactTables[T] = {}
        self.proved: FactTables[T] = {}

    def overdelete(self) -> Done | GaveUp:
        """Finds the facts that have to be deleted, exactly."""
        delta = self.deletion_seeds()
        found = total(delta, self.backend)
        budget = OverdeletionBudget(self.plans, self.update, self.bounded, found)
        while delta:
            if not self._check(delta, budget.limit(found)):
                return GaveUp("far more facts searched than candidates")
            unproved = difference(difference(self.checked, self.proved, self.backend), self.removed, self.backend)
            include(self.removed, unproved, self.backend)
            found += total(unproved, self.backend)
            delta = difference(self.deleted_consequences(unproved), self.checked, self.backend)
        self.update.report.overdeleted += count_visible(self.removed, self.backend)
        return Done()

    def rederive(self) -> FactTables[T]:
        return {}

    def _check(self, facts: FactTables[T], limit: float) -> bool:
        """Checks facts and all facts that their proofs could use; False beyond the limit of a bounded attempt."""
        while facts:
            include(self.checked, facts, self.backend)
            if self.bounded and total(self.checked, self.backend) > limit:
                return False
            open_ = self.unprotected(facts)
            self._prove(difference(facts, open_, self.backend))
            self._prove(self.derivable(open_, self.plans.recursive, self._proofs()))
            facts = difference(self._supports(difference(open_, self.proved, self.backend)), self.checked, self.backend)
        return True

    def _supports(self, facts: FactTables[T]) -> FactTables[T]:
        """The facts of the stratum in bodies of instances that derive the facts, without those that are deleted."""
        if not facts:
            return {}
        checked = {candidates(pred): table for pred, table in facts.items()}
        rules = [rule for rule in self.plans.recursive if rule.head in facts]
        inverses = self.skolem_inverse(rules, facts)
        relations = with_deltas(self.update.new, checked, inverses)
        for pred in self.preds:
            table = self.update.old.get(pred)
            removed = self.removed.get(pred)
            relations.set(pred, table if removed is None else self.backend.remove(table, removed))
        found = (rule.supports_by_inverse if has_inverse(rule, inverses) else rule.supports for rule in rules)
        return self.derive([planned for variants in found for planned in variants], relations)

    def _prove(self, facts: FactTables[T]) -> None:
        """Marks facts as proved, and all their consequences among the checked facts."""
        delta = difference(facts, self.proved, self.backend)
        while delta:
            include(self.proved, delta, self.backend)
            found = self.consequences(delta, self._proofs())
            delta = difference(self._common(found, self.checked), self.proved, self.backend)

    def _proofs(self) -> Relations[T]:
        """The new state, with only the proved facts of the stratum."""
        parts = dict(self.update.new.parts)
        for pred in self.preds:
            parts[pred, Part.ALL] = self.proved.get(pred, self.backend.empty(pred.arity))
        return Relations(self.backend, parts)

    def _common(self, facts: FactTables[T], others: FactTables[T]) -> FactTables[T]:
        return difference(facts, difference(facts, others, self.backend), self.backend)
