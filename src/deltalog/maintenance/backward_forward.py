"""Backward/forward: look for other proofs before anything is deleted (Motik et al. 2015, which paper 004 takes up).

DRed deletes all that depends on what is lost, and then derives most of it again, where facts have many proofs. Here a
fact that loses an instance is first checked: does it have another proof? A set of facts at a time:

    backward   the facts that the instances deriving it stand on are checked in turn, and so on, until nothing new is to
               be checked; facts that hold without the stratum's recursive rules need no further search
    forward    from those, everything checked that follows is proved

What has been checked and is not proved has no proof at all: it is gone, exactly, and nothing needs to be rederived.
Only its consequences are checked next. What has been checked is remembered for the whole stratum.

A search can wander far: in a large component of a graph every fact may stand on every other. With `bounded` it gives up
when it has checked many more facts than are in question, and leaves the stratum to DRed.
"""

from __future__ import annotations

from typing import TypeVar

from deltalog.engine.seminaive import Relations, include
from deltalog.maintenance.dred import DRed, is_known
from deltalog.maintenance.policy import Done, GaveUp, OverdeletionBudget, Strategy
from deltalog.maintenance.stratum_plans import StratumPlans
from deltalog.maintenance.update_state import Facts, Update, difference, state, total, visible
from deltalog.plan.delta_rules import candidates
from deltalog.plan.ir import Part
from deltalog.program import Program

T = TypeVar("T")


class BackwardForward(DRed[T]):
    """One stratum in one update."""

    name = Strategy.BACKWARD_FORWARD.value

    def __init__(self, program: Program, plans: StratumPlans, update: Update[T], bounded: bool = False) -> None:
        super().__init__(program, plans, update, bounded)
        self.checked: Facts[T] = {}
        self.proved: Facts[T] = {}

    def overdelete(self) -> Done | GaveUp:
        """Finds what is deleted, exactly."""
        delta = self.losing()
        candidates = total(delta, self.backend)
        budget = OverdeletionBudget(self.plans, self.update, self.bounded, candidates)
        while delta:
            if not self._check(delta, budget.limit(candidates)):
                return GaveUp("far more facts searched than candidates")
            lost = difference(difference(self.checked, self.proved, self.backend), self.removed, self.backend)
            include(self.removed, lost, self.backend)
            candidates += total(lost, self.backend)
            delta = difference(self.deleted_consequences(lost), self.checked, self.backend)
        self.update.report.overdeleted += visible(self.removed, self.backend)
        return Done()

    def rederive(self) -> Facts[T]:
        return {}

    def _check(self, facts: Facts[T], most: float) -> bool:
        """Checks facts and all that their proofs could stand on."""
        while facts:
            include(self.checked, facts, self.backend)
            if self.bounded and total(self.checked, self.backend) > most:
                return False
            open_ = self.unprotected(facts)
            self._prove(difference(facts, open_, self.backend))
            self._prove(self.derivable(open_, self.plans.recursive, self._proofs()))
            facts = difference(self._supports(difference(open_, self.proved, self.backend)), self.checked, self.backend)
        return True

    def _supports(self, facts: Facts[T]) -> Facts[T]:
        """The facts of the stratum in bodies of instances that derive the facts, from what may still hold."""
        if not facts:
            return {}
        questions = {candidates(pred): table for pred, table in facts.items()}
        rules = [rule for rule in self.plans.recursive if rule.head in facts]
        known = self.made_of(rules, facts)
        relations = state(self.update.new, questions, known)
        for pred in self.preds:
            table = self.update.old.get(pred)
            gone = self.removed.get(pred)
            relations.set(pred, table if gone is None else self.backend.minus(table, gone))
        found = (rule.supports_made if is_known(rule, known) else rule.supports for rule in rules)
        return self.derive([planned for plans in found for planned in plans], relations)

    def _prove(self, facts: Facts[T]) -> None:
        """Facts are proved, and with them everything checked that follows from what is proved."""
        delta = difference(facts, self.proved, self.backend)
        while delta:
            include(self.proved, delta, self.backend)
            found = self.consequences(delta, self._proofs())
            delta = difference(self._both(found, self.checked), self.proved, self.backend)

    def _proofs(self) -> Relations[T]:
        """The new state, with only what is proved in the stratum."""
        parts = dict(self.update.new.parts)
        for pred in self.preds:
            parts[pred, Part.ALL] = self.proved.get(pred, self.backend.empty(pred.arity))
        return Relations(self.backend, parts)

    def _both(self, facts: Facts[T], others: Facts[T]) -> Facts[T]:
        return difference(facts, difference(facts, others, self.backend), self.backend)
