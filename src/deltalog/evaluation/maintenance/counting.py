"""Delete and rederive with counts, one stratum at a time (Hu et al., Algorithm 3: DRed^c).

Each fact has two counts: how many instances of nonrecursive rules derive it, and how many of recursive ones.

    overdelete   instances over removed facts are subtracted from the counts; a fact that an instance of a nonrecursive
                 rule still derives is not overdeleted
    rederive     overdeleted facts that still have an instance of a recursive rule
    insert       instances over added facts are added to the counts

So rules are never checked backwards, as in `maintenance.dred`; in return every instance is enumerated, where other
strategies look for facts, and counts take memory. Each instance is enumerated once per phase, because the variants that
find them are disjoint (`plan.delta_rules`): one literal is in the delta, literals before it are not.

What nonrecursive rules read has its final state, so their removed and added instances are counted in one go, and a fact
that loses its last instance and gains another is never a candidate. A group of an aggregate is an instance for each row
it has.

Counts are part of the state. A stratum without counts is maintained by checks, and counted afterwards if facts may have
been deleted. Counts follow changes of rules; they are dropped where a stratum is recomputed, or where one of its rules
becomes recursive or ceases to be so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from deltalog.core.rules import Rule
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.maintenance.derivation_counts import Counts, Ledger
from deltalog.evaluation.maintenance.dred import DRed
from deltalog.evaluation.maintenance.ladders import Strategy
from deltalog.evaluation.maintenance.policy import Done, GaveUp
from deltalog.evaluation.maintenance.stratum_plans import RulePlans, StratumPlans
from deltalog.evaluation.maintenance.update_state import FactTables, Update, count_visible, difference, with_deltas
from deltalog.evaluation.plan.delta_rules import deleted, delta_of
from deltalog.evaluation.plan.variants import Variant, counts
from deltalog.evaluation.seminaive import PlannedVariant, Relations, SemiNaive, include
from deltalog.program import Program

T = TypeVar("T")


class CountingDRed(DRed[T]):
    """One stratum in one update."""

    name = Strategy.COUNTING.value

    def __init__(self, program: Program, plans: StratumPlans, update: Update[T], bounded: bool = False) -> None:
        super().__init__(program, plans, update, bounded)
        self.counted = {counts(pred): pred for pred in self.preds}
        self.deleted_before: FactTables[T] = {}  # before the last round
        self.added_nonrecursively: FactTables[T] = {}
        known = update.counts[self.preds]
        self.nonrecursive = Ledger(self.backend, dict(known.nonrecursive))
        self.recursive = Ledger(self.backend, dict(known.recursive))

    def count(self, plans: Iterable[PlannedVariant], relations: Relations[T]) -> FactTables[T]:
        return SemiNaive(self.program, relations).count(plans)

    def facts(self, counted: FactTables[T]) -> FactTables[T]:
        counting = required(self.backend.capabilities.counting)
        return {self.counted[pred]: counting.uncounted(table) for pred, table in counted.items()}

    # What changes before the stratum.

    def aggregate_groups(self) -> None:
        """The changed groups of aggregates, counted before and after the change."""
        for rule in self.old_rules:
            if rule.restricted is None or not any(self._changed(change.pred) for change, _ in rule.deltas):
                continue
            groups = self._changed_groups(rule)
            before = self.count([rule.restricted_instances], with_deltas(self.update.old, {}, groups))
            after = self.count([rule.restricted_instances], with_deltas(self.update.new, {}, groups))
            removed, added = difference(before, after, self.backend), difference(after, before, self.backend)
            self.nonrecursive.removed.append(removed)
            self.nonrecursive.added.append(added)
            include(self.removed_by_groups, self.facts(removed), self.backend)
            include(self.added_by_groups, self.facts(added), self.backend)

    def changed_instances(self, rules: list[RulePlans], removed: bool) -> FactTables[T]:
        """Π[I : D, A], or Π[(I \\ D) ∪ A : A, D]: instances that deltas before the stratum remove, or add."""
        update = self.update
        relations, positive, negative = (
            (update.old, update.removed, update.added) if removed else (update.new, update.added, update.removed)
        )
        due = [
            planned
            for rule in self._plain(rules)
            for change, planned in rule.disjoint_deltas
            if change.pred in (negative if change.negated else positive)
        ]
        if not due:
            return {}
        changes = self._changes(positive, negative)
        negated = {delta_of(pred, True): table for pred, table in negative.items()}
        return self.count(due, with_deltas(relations, positive | negated, changes))

    @staticmethod
    def _changes(positive: FactTables[T], negative: FactTables[T]) -> FactTables[T]:
        """Deltas under the names that disjoint variants read."""
        names = {delta_of(pred): table for pred, table in positive.items()}
        return names | {delta_of(pred, True): table for pred, table in negative.items()}

    # Overdelete.

    def deletion_seeds(self) -> FactTables[T]:
        """Lines 23 and 25; and line 32, for nonrecursive rules."""
        update, backend = self.update, self.backend
        seeds = dict(self.removed_by_groups)
        self.removed_instances()
        for ledger, rules in ((self.nonrecursive, self.plans.nonrecursive), (self.recursive, self.plans.recursive)):
            removed = self.changed_instances([rule for rule in rules if not update.is_new(rule.rule)], removed=True)
            ledger.removed.append(removed)
            include(seeds, self.facts(removed), backend)
        include(seeds, self.derive(self._removed_rules(), update.old), backend)
        include(seeds, {p: t for p, t in update.removed_facts.items() if p in self.preds}, backend)
        self.added_nonrecursively = self.insertion_seeds(self.nonrecursive, self.plans.nonrecursive)
        self.nonrecursive.apply()
        return seeds

    def removed_instances(self) -> None:
        """Subtracts all instances of removed rules."""
        known, removed = self.update.counts[self.preds], set(self.update.removed_rules)
        for ledger, rules in ((self.nonrecursive, known.nonrecursive_rules), (self.recursive, known.recursive_rules)):
            ledger.removed.append(self.count(whole(rules & removed), self.update.old))

    def unprotected(self, facts: FactTables[T]) -> FactTables[T]:
        """Facts that are not explicit, and that no instance of a nonrecursive rule derives."""
        return self.nonrecursive.underived(difference(facts, self.update.explicit, self.backend))

    def deleted_consequences(self, delta: FactTables[T]) -> FactTables[T]:
        """Line 28: instances of recursive rules whose first body facts are deleted in this round."""
        due = [
            planned
            for rule in self.plans.recursive
            if not self.update.is_new(rule.rule)
            for pred, planned in rule.disjoint_deletions
            if pred in delta
        ]
        changes = self._changes(self.update.removed, self.update.added)
        changes |= {deleted(pred): table for pred, table in self.removed.items()}
        changes |= {deleted(pred, before=True): table for pred, table in self.deleted_before.items()}
        self.deleted_before = dict(self.removed)
        removed = self.count(due, with_deltas(self.update.old, delta, changes))
        self.recursive.removed.append(removed)
        return self.facts(removed)

    # Rederive and insert.

    def rederive(self) -> FactTables[T]:
        """Overdeleted facts that an instance of a recursive rule still derives."""
        found = self.recursive.remaining(self.removed)
        self.update.report.rederived += count_visible(found, self.backend)
        return found

    def insertion_seeds(self, ledger: Ledger[T], rules: list[RulePlans]) -> FactTables[T]:
        """Facts with new instances: by deltas before the stratum, or by new rules."""
        found: FactTables[T] = {}
        new = [rule for rule in rules if self.update.is_new(rule.rule)]
        for added in (
            self.changed_instances([rule for rule in rules if rule not in new], removed=False),
            self.count([rule.instances for rule in new], self.update.new),
        ):
            ledger.added.append(added)
            include(found, self.facts(added), self.backend)
        return found

    def insert(self, seeds: FactTables[T]) -> None:
        """Lines 32 to 40."""
        update, backend = self.update, self.backend
        include(seeds, {p: t for p, t in update.added_facts.items() if p in self.preds}, backend)
        include(seeds, self.added_by_groups, backend)
        include(seeds, self.added_nonrecursively, backend)
        include(seeds, self.insertion_seeds(self.recursive, self.plans.recursive), backend)
        seeds = difference(seeds, {pred: update.new.get(pred) for pred in seeds}, backend)
        before = self._visible()
        evaluation = update.evaluation(self.program)
        evaluation.propagate(self.preds, self.plans.disjoint_insertions, seeds, self.added, self._new_consequences)
        update.report.inserted += self._visible() - before
        self.recursive.apply()
        update.counts[self.preds] = Counts(*kinds(self.plans.rules), self.nonrecursive.counts, self.recursive.counts)

    def _new_consequences(self, due: list[PlannedVariant]) -> FactTables[T]:
        """New facts by instances over the DELTA of this round, which are counted."""
        added = self.count(due, self.update.new)
        self.recursive.added.append(added)
        facts = self.facts(added)
        return difference(facts, {pred: self.update.new.get(pred) for pred in facts}, self.backend)


class Uncounted(DRed[T]):
    """A stratum without counts in one update; it has them afterwards, if facts may have been deleted."""

    def maintain(self) -> Done | GaveUp:
        self.update.counts.pop(self.preds, None)
        deletes = not self.plans.schemes and may_delete(self.plans, self.update)
        outcome = super().maintain()
        if deletes and isinstance(outcome, Done):
            self.update.counts[self.preds] = counted(self.program, self.plans, self.update.new)
        return outcome


def counted(program: Program, plans: StratumPlans, relations: Relations[T]) -> Counts[T]:
    """The counts of a stratum, from scratch."""
    evaluation = SemiNaive(program, relations)
    nonrecursive, recursive = (evaluation.count(whole(rules)) for rules in kinds(plans.rules))
    return Counts(*kinds(plans.rules), nonrecursive, recursive)


def kinds(rules: Iterable[RulePlans]) -> tuple[frozenset[Rule], frozenset[Rule]]:
    """The nonrecursive ones of the rules of a stratum, and the recursive ones."""
    found = [(rule.rule, bool(rule.preds)) for rule in rules]
    nonrecursive, recursive = (frozenset(rule for rule, is_ in found if is_ is kind) for kind in (False, True))
    return nonrecursive, recursive


def may_delete(plans: StratumPlans, update: Update[T]) -> bool:
    """Whether an update may delete facts of a stratum."""
    preds = plans.stratum.preds
    return (
        any(pred in update.removed_facts for pred in preds)
        or any(rule.heads[0].pred in preds for rule in update.removed_rules)
        or any(_may_lose_instances(rule, update) for rule in plans.rules)
    )


def _may_lose_instances(rule: RulePlans, update: Update[T]) -> bool:
    """Whether instances of a rule may be removed; any change of a group of an aggregate removes an instance."""
    return any(
        change.pred in (update.added if change.negated else update.removed)
        or (rule.restricted is not None and change.pred in (update.removed if change.negated else update.added))
        for change, _ in rule.deltas
    )


def whole(rules: Iterable[Rule]) -> list[PlannedVariant]:
    """All instances of rules."""
    return [PlannedVariant(Variant(rule, instances=True)) for rule in rules]
