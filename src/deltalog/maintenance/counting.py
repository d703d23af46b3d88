"""Delete and rederive with counts, one stratum at a time (paper 003, Algorithm 3: DRed^c).

For each fact it is known how many instances of nonrecursive rules derive it, and how many of recursive ones:

    overdelete   instances that stand on what is lost are taken off the counts; a fact that an instance of a
                 nonrecursive rule derives is not overdeleted
    rederive     what was overdeleted and has an instance of a recursive rule left
    insert       instances that stand on what is new are added

So nothing is ever asked of the rules backwards, as `maintenance.dred` does; in return every instance is looked at,
where other strategies look for facts, and counts take memory. Each is looked at once per phase, because the variants
that find them do not overlap (`plan.delta_rules`): one literal is in the change, literals before it are not.

Nonrecursive rules read only what is settled, so what their instances lose and win is counted in one go, and a fact that
loses its last one and wins another is never in question. A group of an aggregate is an instance for each row it has.

Counts are part of the state. A stratum that has none asks, and is counted afterwards if it may have lost something.
Counts follow rules that come and go; where a stratum is computed anew, or rules of it become recursive or cease to be
so, they are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from deltalog.engine.seminaive import PlannedVariant, Relations, SemiNaive, include
from deltalog.maintenance.derivation_counts import Counts, Ledger
from deltalog.maintenance.dred import DRed
from deltalog.maintenance.policy import Done, GaveUp, Strategy
from deltalog.maintenance.stratum_plans import RulePlans, StratumPlans
from deltalog.maintenance.update_state import Facts, Update, difference, state, visible
from deltalog.plan.delta_rules import change, gone
from deltalog.plan.variants import Variant, counts
from deltalog.program import Program
from deltalog.syntax.ast import Rule

T = TypeVar("T")


class Counting(DRed[T]):
    """One stratum in one update."""

    name = Strategy.COUNTING.value

    def __init__(self, program: Program, plans: StratumPlans, update: Update[T], bounded: bool = False) -> None:
        super().__init__(program, plans, update, bounded)
        self.counted = {counts(pred): pred for pred in self.preds}
        self.gone_before: Facts[T] = {}
        self.won: Facts[T] = {}
        known = update.counts[self.preds]
        self.nonrecursive = Ledger(self.backend, dict(known.nonrecursive))
        self.recursive = Ledger(self.backend, dict(known.recursive))

    def count(self, plans: Iterable[PlannedVariant], relations: Relations[T]) -> Facts[T]:
        return SemiNaive(self.program, relations).count(plans)

    def facts(self, counted: Facts[T]) -> Facts[T]:
        return {self.counted[pred]: self.backend.uncounted(table) for pred, table in counted.items()}

    # What changes before the stratum.

    def aggregate_groups(self) -> None:
        """The groups of aggregates that changes touch, counted before and after."""
        for rule in self.kept:
            if rule.restricted is None or not any(self._touched(seen.pred) for seen, _ in rule.affected):
                continue
            groups = self._changed_groups(rule)
            before = self.count([rule.restricted_instances], state(self.update.old, {}, groups))
            after = self.count([rule.restricted_instances], state(self.update.new, {}, groups))
            lost, won = difference(before, after, self.backend), difference(after, before, self.backend)
            self.nonrecursive.lost.append(lost)
            self.nonrecursive.won.append(won)
            include(self.removed_by_groups, self.facts(lost), self.backend)
            include(self.added_by_groups, self.facts(won), self.backend)

    def touched(self, rules: list[RulePlans], lost: bool) -> Facts[T]:
        """Π[I : D, A], or Π[(I \\ D) ∪ A : A, D]: instances that what is before the stratum takes away, or brings."""
        update = self.update
        relations, positive, negative = (
            (update.old, update.removed, update.added) if lost else (update.new, update.added, update.removed)
        )
        due = [
            planned
            for rule in self._plain(rules)
            for seen, planned in rule.touched
            if seen.pred in (negative if seen.negated else positive)
        ]
        if not due:
            return {}
        changes = self._changes(positive, negative)
        negated = {change(pred, True): table for pred, table in negative.items()}
        return self.count(due, state(relations, positive | negated, changes))

    @staticmethod
    def _changes(positive: Facts[T], negative: Facts[T]) -> Facts[T]:
        """Changes under the names by which literals are found unchanged."""
        names = {change(pred): table for pred, table in positive.items()}
        return names | {change(pred, True): table for pred, table in negative.items()}

    # Overdelete.

    def losing(self) -> Facts[T]:
        """Lines 23 and 25; and line 32, for nonrecursive rules."""
        update, backend = self.update, self.backend
        seeds = dict(self.removed_by_groups)
        self.removed_instances()
        for ledger, rules in ((self.nonrecursive, self.plans.nonrecursive), (self.recursive, self.plans.recursive)):
            lost = self.touched([rule for rule in rules if not update.is_new(rule.rule)], lost=True)
            ledger.lost.append(lost)
            include(seeds, self.facts(lost), backend)
        include(seeds, self.derive(self._removed_rules(), update.old), backend)
        include(seeds, {p: t for p, t in update.removed_facts.items() if p in self.preds}, backend)
        self.won = self.winning(self.nonrecursive, self.plans.nonrecursive)
        self.nonrecursive.settle()
        return seeds

    def removed_instances(self) -> None:
        """Takes off all instances of rules that are removed."""
        known, removed = self.update.counts[self.preds], set(self.update.removed_rules)
        for ledger, rules in ((self.nonrecursive, known.nonrecursive_rules), (self.recursive, known.recursive_rules)):
            ledger.lost.append(self.count(whole(rules & removed), self.update.old))

    def unprotected(self, facts: Facts[T]) -> Facts[T]:
        """Facts that are not explicit, and that no instance of a nonrecursive rule derives."""
        return self.nonrecursive.without_count(difference(facts, self.update.explicit, self.backend))

    def deleted_consequences(self, delta: Facts[T]) -> Facts[T]:
        """Line 28: instances of recursive rules that lose something in this round, and nothing before."""
        due = [
            planned
            for rule in self.plans.recursive
            if not self.update.is_new(rule.rule)
            for pred, planned in rule.losing
            if pred in delta
        ]
        changes = self._changes(self.update.removed, self.update.added)
        changes |= {gone(pred): table for pred, table in self.removed.items()}
        changes |= {gone(pred, before=True): table for pred, table in self.gone_before.items()}
        self.gone_before = dict(self.removed)
        lost = self.count(due, state(self.update.old, delta, changes))
        self.recursive.lost.append(lost)
        return self.facts(lost)

    # Rederive and insert.

    def rederive(self) -> Facts[T]:
        """What was overdeleted, and an instance of a recursive rule is left that derives it."""
        found = self.recursive.left(self.removed)
        self.update.report.rederived += visible(found, self.backend)
        return found

    def winning(self, ledger: Ledger[T], rules: list[RulePlans]) -> Facts[T]:
        """Facts that win instances by what is before the stratum, or by new rules."""
        found: Facts[T] = {}
        new = [rule for rule in rules if self.update.is_new(rule.rule)]
        for won in (
            self.touched([rule for rule in rules if rule not in new], lost=False),
            self.count([rule.instances for rule in new], self.update.new),
        ):
            ledger.won.append(won)
            include(found, self.facts(won), self.backend)
        return found

    def insert(self, seeds: Facts[T]) -> None:
        """Lines 32 to 40."""
        update, backend = self.update, self.backend
        include(seeds, {p: t for p, t in update.added_facts.items() if p in self.preds}, backend)
        include(seeds, self.added_by_groups, backend)
        include(seeds, self.won, backend)
        include(seeds, self.winning(self.recursive, self.plans.recursive), backend)
        seeds = difference(seeds, {pred: update.new.get(pred) for pred in seeds}, backend)
        before = self._visible()
        evaluation = update.evaluation(self.program)
        evaluation.propagate(self.preds, self.plans.winning, seeds, self.added, self._follows)
        update.report.inserted += self._visible() - before
        self.recursive.settle()
        update.counts[self.preds] = Counts(*kinds(self.plans.rules), self.nonrecursive.counts, self.recursive.counts)

    def _follows(self, due: list[PlannedVariant]) -> Facts[T]:
        """What is new by instances that win something in this round."""
        won = self.count(due, self.update.new)
        self.recursive.won.append(won)
        facts = self.facts(won)
        return difference(facts, {pred: self.update.new.get(pred) for pred in facts}, self.backend)


class Uncounted(DRed[T]):
    """A stratum without counts in an update: it has them afterwards, if it may lose something and is not too much."""

    def maintain(self) -> Done | GaveUp:
        self.update.counts.pop(self.preds, None)
        loses = not self.plans.structures and may_lose(self.plans, self.update)
        outcome = super().maintain()
        if loses and isinstance(outcome, Done):
            self.update.counts[self.preds] = counted(self.program, self.plans, self.update.new)
        return outcome


def counted(program: Program, plans: StratumPlans, relations: Relations[T]) -> Counts[T]:
    """The counts of a stratum, from nothing."""
    evaluation = SemiNaive(program, relations)
    nonrecursive, recursive = (evaluation.count(whole(rules)) for rules in kinds(plans.rules))
    return Counts(*kinds(plans.rules), nonrecursive, recursive)


def kinds(rules: Iterable[RulePlans]) -> tuple[frozenset[Rule], frozenset[Rule]]:
    """The nonrecursive ones of the rules of a stratum, and the recursive ones."""
    found = [(rule.rule, bool(rule.preds)) for rule in rules]
    nonrecursive, recursive = (frozenset(rule for rule, is_ in found if is_ is kind) for kind in (False, True))
    return nonrecursive, recursive


def may_lose(plans: StratumPlans, update: Update[T]) -> bool:
    """Whether anything of the stratum may fall."""
    preds = plans.stratum.preds
    return (
        any(pred in update.removed_facts for pred in preds)
        or any(rule.heads[0].pred in preds for rule in update.removed_rules)
        or any(_may_lose(rule, update) for rule in plans.rules)
    )


def _may_lose(rule: RulePlans, update: Update[T]) -> bool:
    """Whether instances of a rule may be lost; a group of an aggregate is another one after any change."""
    return any(
        seen.pred in (update.added if seen.negated else update.removed)
        or (rule.restricted is not None and seen.pred in (update.removed if seen.negated else update.added))
        for seen, _ in rule.affected
    )


def whole(rules: Iterable[Rule]) -> list[PlannedVariant]:
    """All instances of rules."""
    return [PlannedVariant(Variant(rule, instances=True)) for rule in rules]
