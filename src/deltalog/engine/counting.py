"""Delete and rederive with counts, one stratum at a time (paper 003, Algorithm 3: DRed^c).

For each fact it is known how many instances of nonrecursive rules derive it, and how many of recursive ones:

    overdelete   instances that stand on what is lost are taken off the counts; a fact that an instance of a
                 nonrecursive rule derives is not overdeleted
    rederive     what was overdeleted and has an instance of a recursive rule left
    insert       instances that stand on what is new are added

So nothing is ever asked of the rules backwards, as `engine.dred` does; in return every instance is looked at, where
other strategies look for facts, and counts take memory. Each is looked at once per phase, because the variants that
find them do not overlap (`plan.changes`): one literal is in the change, literals before it are not.

Nonrecursive rules read only what is settled, so what their instances lose and win is counted in one go, and a fact that
loses its last one and wins another is never in question. A group of an aggregate is an instance for each row it has.

Counts are made when a stratum is first maintained, from the state before the change, and are part of the new state.
They follow rules that come and go. Where a stratum is computed anew, or its rules become another kind, they are made
again at the next change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from deltalog.engine.counts import Counts, Ledger
from deltalog.engine.dred import DRed
from deltalog.engine.maintenance import Facts, RuleTasks, StratumTasks, Update, difference, state, visible
from deltalog.engine.seminaive import Relations, SemiNaive, Task, include
from deltalog.plan.changes import change, gone
from deltalog.plan.rules import Variant, counts
from deltalog.program import Program
from deltalog.syntax.ast import Rule

T = TypeVar("T")


class Counting(DRed[T]):
    """One stratum in one update."""

    name = "delete and rederive with counts"

    def __init__(self, program: Program, tasks: StratumTasks, update: Update[T], bounded: bool = False) -> None:
        super().__init__(program, tasks, update, bounded)
        self.counted = {counts(pred): pred for pred in self.preds}
        self.gone_before: Facts[T] = {}
        self.won: Facts[T] = {}
        self.nonrecursive, self.recursive = Ledger(self.backend, {}), Ledger(self.backend, {})

    def maintain(self) -> bool:
        self.nonrecursive, self.recursive = self.known() or self.made()
        return super().maintain()

    # Counts.

    def count(self, tasks: Iterable[Task], relations: Relations[T]) -> Facts[T]:
        return SemiNaive(self.program, relations).count(tasks)

    def known(self) -> tuple[Ledger[T], Ledger[T]] | None:
        """The counts of the stratum, if there are any; instances of rules that are removed are taken off."""
        known = self.update.counts.get(self.preds)
        removed = set(self.update.removed_rules)
        if known is None or (known.nonrecursive_rules - removed, known.recursive_rules - removed) != self.rules():
            return None
        ledgers = Ledger(self.backend, dict(known.nonrecursive)), Ledger(self.backend, dict(known.recursive))
        for ledger, rules in zip(ledgers, (known.nonrecursive_rules, known.recursive_rules), strict=True):
            ledger.lost.append(self.count(whole(rules & removed), self.update.old))
        return ledgers

    def made(self) -> tuple[Ledger[T], Ledger[T]]:
        """The counts of the rules that stay, in the old state."""
        found = (self.count(whole(rules), self.update.old) for rules in self.rules())
        nonrecursive, recursive = (Ledger(self.backend, counted) for counted in found)
        return nonrecursive, recursive

    def rules(self, new: bool = False) -> tuple[frozenset[Rule], frozenset[Rule]]:
        """The rules of the stratum, nonrecursive and recursive: those that stay, or all."""
        chosen = (
            frozenset(rule.rule for rule in rules if new or not self.update.is_new(rule.rule))
            for rules in (self.tasks.nonrecursive, self.tasks.recursive)
        )
        nonrecursive, recursive = chosen
        return nonrecursive, recursive

    def facts(self, counted: Facts[T]) -> Facts[T]:
        return {self.counted[pred]: self.backend.uncounted(table) for pred, table in counted.items()}

    # What changes before the stratum.

    def aggregate_groups(self) -> None:
        """The groups of aggregates that changes touch, counted before and after."""
        for rule in self.kept:
            if rule.restricted is None or not any(self._touched(change.pred) for change, _ in rule.affected):
                continue
            groups = self._changed_groups(rule)
            before = self.count([rule.restricted_instances], state(self.update.old, {}, groups))
            after = self.count([rule.restricted_instances], state(self.update.new, {}, groups))
            lost, won = difference(before, after, self.backend), difference(after, before, self.backend)
            self.nonrecursive.lost.append(lost)
            self.nonrecursive.won.append(won)
            include(self.lost_by_groups, self.facts(lost), self.backend)
            include(self.won_by_groups, self.facts(won), self.backend)

    def touched(self, rules: list[RuleTasks], lost: bool) -> Facts[T]:
        """Π[I : D, A], or Π[(I \\ D) ∪ A : A, D]: instances that what is before the stratum takes away, or brings."""
        update = self.update
        relations, positive, negative = (
            (update.old, update.removed, update.added) if lost else (update.new, update.added, update.removed)
        )
        due = [
            task
            for rule in self._plain(rules)
            for change, task in rule.touched
            if change.pred in (negative if change.negated else positive)
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
        seeds = dict(self.lost_by_groups)
        for ledger, rules in ((self.nonrecursive, self.tasks.nonrecursive), (self.recursive, self.tasks.recursive)):
            lost = self.touched([rule for rule in rules if not update.is_new(rule.rule)], lost=True)
            ledger.lost.append(lost)
            include(seeds, self.facts(lost), backend)
        include(seeds, self.derive(self._removed_rules(), update.old), backend)
        include(seeds, {p: t for p, t in update.removed_facts.items() if p in self.preds}, backend)
        self.won = self.winning(self.nonrecursive, self.tasks.nonrecursive)
        self.nonrecursive.settle()
        return seeds

    def unprotected(self, facts: Facts[T]) -> Facts[T]:
        """Facts that are not explicit, and that no instance of a nonrecursive rule derives."""
        return self.nonrecursive.without_count(difference(facts, self.update.explicit, self.backend))

    def consequences(self, delta: Facts[T], relations: Relations[T]) -> Facts[T]:
        """Line 28: instances of recursive rules that lose something in this round, and nothing before."""
        due = [
            task
            for rule in self.tasks.recursive
            if not self.update.is_new(rule.rule)
            for pred, task in rule.losing
            if pred in delta
        ]
        changes = self._changes(self.update.removed, self.update.added)
        changes |= {gone(pred): table for pred, table in self.removed.items()}
        changes |= {gone(pred, before=True): table for pred, table in self.gone_before.items()}
        self.gone_before = dict(self.removed)
        lost = self.count(due, state(relations, delta, changes))
        self.recursive.lost.append(lost)
        return self.facts(lost)

    # Rederive and insert.

    def rederive(self) -> Facts[T]:
        """What was overdeleted, and an instance of a recursive rule is left that derives it."""
        self.recursive.settle()
        found = self.recursive.with_count(self.removed)
        self.update.report.rederived += visible(found, self.backend)
        return found

    def winning(self, ledger: Ledger[T], rules: list[RuleTasks]) -> Facts[T]:
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
        include(seeds, self.won_by_groups, backend)
        include(seeds, self.won, backend)
        include(seeds, self.winning(self.recursive, self.tasks.recursive), backend)
        seeds = difference(seeds, {pred: update.new.get(pred) for pred in seeds}, backend)
        before = self._visible()
        evaluation = SemiNaive(self.program, update.new)
        evaluation.propagate(self.preds, self.tasks.winning, seeds, self.added, self._follows)
        update.report.inserted += self._visible() - before
        self.recursive.settle()
        update.counts[self.preds] = Counts(*self.rules(new=True), self.nonrecursive.counts, self.recursive.counts)

    def _follows(self, due: list[Task]) -> Facts[T]:
        """What is new by instances that win something in this round."""
        won = self.count(due, self.update.new)
        self.recursive.won.append(won)
        facts = self.facts(won)
        return difference(facts, {pred: self.update.new.get(pred) for pred in facts}, self.backend)


def whole(rules: Iterable[Rule]) -> list[Task]:
    """All instances of rules."""
    return [Task(Variant(rule, instances=True)) for rule in rules]
