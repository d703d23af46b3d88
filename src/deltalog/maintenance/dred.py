"""Delete and rederive, one stratum at a time (paper 003, Algorithm 3).

With A and D the net changes of everything before the stratum:

    overdelete   what loses an instance: of an explicit fact that is removed, of a rule over D (or, negated, over A), of
                 a rule that is removed; then, through the recursive rules, what loses an instance by that, and so on
    rederive     what was overdeleted and follows in one step from what is left
    insert       that, the new explicit facts, what the rules give over A (or, negated, over D) and what the new rules
                 give; then all that follows, by semi-naive evaluation

Overdeletion does not go past a fact that holds without the stratum's recursive rules: because it is explicit, or a
nonrecursive rule still derives it. Paper 003 keeps a count of such derivations for every fact. Here nothing is kept:
all that nonrecursive rules read is settled when a stratum's turn comes, so whether one derives a fact is asked there
and then, of all facts in question at once, by index. The same question to the recursive rules is the rederivation.

Where facts have many proofs, far more is overdeleted than is lost. With `bounded`, it gives up when that is seen to
happen (much is overdeleted, and most of that could be derived again), and leaves the stratum to backward/forward.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from deltalog.concurrency.cached import cached_property
from deltalog.engine.seminaive import PlannedVariant, Relations, SemiNaive, include
from deltalog.maintenance.policy import Done, GaveUp, Strategy, overdeletion, recompute_limit
from deltalog.maintenance.stratum_plans import RulePlans, StratumPlans
from deltalog.maintenance.update_state import Facts, Update, difference, state, total, visible
from deltalog.plan.delta_rules import GROUPS, candidates
from deltalog.plan.ir import Part
from deltalog.plan.variants import Variant, all_facts
from deltalog.program import Program
from deltalog.syntax.ast import Pred

T = TypeVar("T")


class DRed(Generic[T]):
    """One stratum in one update: D and A of the stratum itself grow here."""

    name = Strategy.DRED.value

    def __init__(self, program: Program, plans: StratumPlans, update: Update[T], bounded: bool = False) -> None:
        self.program, self.plans, self.update, self.bounded = program, plans, update, bounded
        self.backend, self.tuning, self.preds = update.backend, update.tuning, plans.stratum.preds
        self.kept = [rule for rule in plans.rules if not update.is_new(rule.rule)]
        self.much = False  # is inserted: what is new is found afterwards, if anybody asks
        self.removed: Facts[T] = {}  # overdeleted
        self.added: Facts[T] = {}
        self.removed_by_groups: Facts[T] = {}
        self.added_by_groups: Facts[T] = {}

    def maintain(self) -> Done | GaveUp:
        """Takes the stratum to its new state, or gives up and leaves it as it was."""
        self.aggregate_groups()
        outcome = self.overdelete()
        if isinstance(outcome, GaveUp):
            return outcome
        for pred, table in self.removed.items():
            self.update.new.set(pred, self.backend.minus(self.update.old.get(pred), table))
        self.insert(self.rederive())
        self.settle()
        return outcome

    def derive(self, plans: list[PlannedVariant], relations: Relations[T]) -> Facts[T]:
        return SemiNaive(self.program, relations).derive(plans, all_facts) if plans else {}

    # Aggregates: only the groups that changed.

    def aggregate_groups(self) -> None:
        """The facts that aggregates over touched groups gave before and do not now, and the other way round."""
        for rule in self.kept:
            if rule.restricted is None or not any(self._touched(change.pred) for change, _ in rule.affected):
                continue
            groups = self._changed_groups(rule)
            before = self.derive([rule.restricted], state(self.update.old, {}, groups))
            after = self.derive([rule.restricted], state(self.update.new, {}, groups))
            include(self.removed_by_groups, difference(before, after, self.backend), self.backend)
            include(self.added_by_groups, difference(after, before, self.backend), self.backend)

    def _touched(self, pred: Pred) -> bool:
        return pred in self.update.added or pred in self.update.removed

    def _changed_groups(self, rule: RulePlans) -> Facts[T]:
        groups: Facts[T] = {}
        update = self.update
        for relations, positive, negative in (
            (update.old, update.removed, update.added),
            (update.new, update.added, update.removed),
        ):
            include(groups, self._instances([rule], relations, positive, negative), self.backend)
        return {pred: table for pred, table in groups.items() if pred.name == GROUPS}

    # Overdelete.

    def overdelete(self) -> Done | GaveUp:
        """Finds what may be deleted."""
        seeds = self.losing()
        seen: Facts[T] = {}
        delta = self.unprotected(seeds)
        budget = overdeletion(self.plans, self.update, self.bounded, total(delta, self.backend))
        if isinstance(budget, GaveUp):
            return budget
        while delta:
            include(seen, seeds, self.backend)
            include(self.removed, delta, self.backend)
            deleted = total(self.removed, self.backend)
            if budget.is_doubtful(deleted) and self.mostly_underivable():
                budget.lift()
            if gave_up := budget.exceeded(total(delta, self.backend), deleted):
                return gave_up
            seeds = difference(self.deleted_consequences(delta), seen, self.backend)
            delta = self.unprotected(seeds)
        self.update.report.overdeleted += visible(self.removed, self.backend)
        return Done()

    def mostly_underivable(self) -> bool:
        """Whether most of what has been overdeleted so far follows from nothing that is left: no search for other
        proofs would keep it."""
        left = Relations(self.backend, dict(self.update.new.parts))
        for pred, table in self.removed.items():
            left.set(pred, self.backend.minus(self.update.old.get(pred), table))
        back = self.derivable(self.removed, self.plans.recursive, left)
        return 2 * total(back, self.backend) < total(self.removed, self.backend)

    def losing(self) -> Facts[T]:
        """Facts that lose an instance by what is before the stratum, by a removed rule, or as explicit facts."""
        update = self.update
        seeds = self._instances(self._plain(self.kept), update.old, update.removed, update.added)
        include(seeds, self.removed_by_groups, self.backend)
        include(seeds, self.derive(self._removed_rules(), update.old), self.backend)
        include(seeds, {p: t for p, t in update.removed_facts.items() if p in self.preds}, self.backend)
        return seeds

    def _removed_rules(self) -> list[PlannedVariant]:
        return [PlannedVariant(Variant(rule)) for rule in self.update.removed_rules if rule.heads[0].pred in self.preds]

    @staticmethod
    def _plain(rules: list[RulePlans]) -> list[RulePlans]:
        return [rule for rule in rules if rule.restricted is None]

    def _instances(
        self, rules: list[RulePlans], relations: Relations[T], positive: Facts[T], negative: Facts[T]
    ) -> Facts[T]:
        """Π[I : positive, negative]: heads of instances with an atom in `positive` or a negated one in `negative`."""
        found: Facts[T] = {}
        for changes, negated in ((positive, False), (negative, True)):
            due = [
                planned
                for rule in rules
                for change, planned in rule.affected
                if change.negated is negated and change.pred in changes
            ]
            if due:
                include(found, self.derive(due, state(relations, changes)), self.backend)
        return found

    def deleted_consequences(self, delta: Facts[T]) -> Facts[T]:
        """What had an instance over the delta in the old state, by the recursive rules that were there: a new rule had
        no instances, and following it would delete facts that were never derived."""
        return self._follow(self._old_loops, delta, self.update.old)

    def consequences(self, delta: Facts[T], relations: Relations[T]) -> Facts[T]:
        """What has an instance over the delta by the recursive rules, in a state."""
        return self._follow(self.plans.loops, delta, relations)

    @cached_property
    def _old_loops(self) -> Mapping[Pred, list[PlannedVariant]]:
        loops, is_new = self.plans.loops, self.update.is_new
        if not self.update.added_rules:
            return loops
        return {pred: [planned for planned in due if not is_new(planned.variant.rule)] for pred, due in loops.items()}

    def _follow(self, loops: Mapping[Pred, list[PlannedVariant]], delta: Facts[T], relations: Relations[T]) -> Facts[T]:
        due = [planned for pred in delta for planned in loops.get(pred, ())]
        if not due:
            return {}
        relations = state(relations, delta)
        relations.parts.update({(pred, Part.OLD): relations.get(pred) for pred in self.preds})
        return self.derive(due, relations)

    def unprotected(self, facts: Facts[T]) -> Facts[T]:
        """Facts that are not explicit, and that no nonrecursive rule derives from the new state."""
        left = difference(facts, self.update.explicit, self.backend) if facts else facts
        return difference(left, self.derivable(left, self.plans.nonrecursive, self.update.new), self.backend)

    def derivable(self, facts: Facts[T], rules: list[RulePlans], relations: Relations[T]) -> Facts[T]:
        """Those of the facts that the rules derive in one step from a state."""
        rules = [rule for rule in rules if rule.head in facts]
        if not rules:
            return {}
        known = self.made_of(rules, facts)
        checks = [self._check_of(rule, facts[rule.head], known) for rule in rules]
        questions = {candidates(pred): table for pred, table in facts.items()}
        keys = self.derive([rule.keys for rule in rules if rule.keys is not None], state(relations, {}, questions))
        return self.derive(checks, state(relations, questions, known | keys))

    def _check_of(self, rule: RulePlans, facts: T, known: Facts[T]) -> PlannedVariant:
        if is_known(rule, known):
            return rule.check_made
        many = self.update.multiway and self.backend.size(facts) >= self.tuning.multiway_check_min_facts
        return rule.check_many if many else rule.check

    def made_of(self, rules: list[RulePlans], facts: Facts[T]) -> Facts[T]:
        """What the values of facts in question were made of, where rules make them and that is known."""
        found: dict[Pred, T | None] = {}
        for head, made in [(rule.head, made) for rule in rules for made in rule.made]:
            if made.atom.pred not in found:
                found[made.atom.pred] = self.backend.made_of(made.call, facts[head], made.column)
        return {pred: table for pred, table in found.items() if table is not None}

    # Rederive and insert.

    def rederive(self) -> Facts[T]:
        """What was overdeleted and follows from the rest."""
        found = self.derivable(self.removed, self.plans.recursive, self.update.new)
        self.update.report.rederived += visible(found, self.backend)
        return found

    def insert(self, seeds: Facts[T]) -> None:
        """Adds the seeds, what is new by what is before the stratum, and all that follows."""
        update, backend = self.update, self.backend
        include(seeds, {p: t for p, t in update.added_facts.items() if p in self.preds}, backend)
        include(seeds, self.added_by_groups, backend)
        include(seeds, self._instances(self._plain(self.kept), update.new, update.added, update.removed), backend)
        new_rules = [rule.whole for rule in self.plans.rules if update.is_new(rule.rule)]
        include(seeds, self.derive(new_rules, update.new), backend)
        seeds = difference(seeds, {pred: update.new.get(pred) for pred in seeds}, backend)
        evaluation = update.evaluation(self.program)
        seeds |= self.grow(evaluation)
        before = self._visible()
        self.much = total(seeds, backend) > recompute_limit(self.plans, update)
        evaluation.propagate(self.preds, self.plans.loops, seeds, None if self.much else self.added)
        update.report.inserted += self._visible() - before

    def _visible(self) -> int:
        return visible({pred: self.update.new.get(pred) for pred in self.preds}, self.backend)

    def grow(self, evaluation: SemiNaive[T]) -> Facts[T]:
        """What structures win by inputs that are before the stratum."""
        won: Facts[T] = {}
        none = self.backend.empty(2)
        for structure in self.plans.structures:
            before = {p: t for p, t in self.update.added.items() if p in structure.inputs and p not in self.preds}
            if before:
                table, inputs = self.update.new.get(structure.pred), map(self.update.new.get, structure.inputs)
                added = [before.get(source, none) for source in structure.inputs]
                evaluation.pending[structure.pred], found = self.backend.restructured(
                    structure, table, list(inputs), [none] * len(added), added
                )
                _, won[structure.pred] = found()
        return {pred: table for pred, table in won.items() if self.backend.size(table)}

    def settle(self) -> None:
        """The net change: what was removed and did not come back, what was added and was not there."""
        if self.much:
            for pred in self.preds:
                self.update.defer_delta(pred)
            return
        removed = difference(self.removed, self.added, self.backend)
        added = difference(self.added, self.removed, self.backend)
        self.update.removed.update(removed)
        self.update.added.update(added)


def is_known(rule: RulePlans, known: Facts[T]) -> bool:
    """Whether all that a rule makes is among what is known."""
    return bool(rule.made) and all(made.atom.pred in known for made in rule.made)
