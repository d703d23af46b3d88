"""Delete and rederive, one stratum at a time (Hu et al., Algorithm 3).

With A and D the deltas of everything before the stratum (added and removed facts):

    overdelete   the candidate deletions: removed explicit facts, heads of rule instances over D (or, negated, over A),
                 and of all instances of removed rules; then, through the recursive rules, heads of instances over
                 these, and so on
    rederive     overdeleted facts that the remaining facts derive in one step
    insert       those, the new explicit facts, heads of rule instances over A (or, negated, over D) and of the new
                 rules; then all consequences, by semi-naive evaluation

Overdeletion stops at facts that hold without the stratum's recursive rules: explicit ones, and those that a
nonrecursive rule still derives. Hu et al. counts such derivations for every fact. Here nothing is kept: whatever
nonrecursive rules read has its final state when the stratum is visited, so the rules are checked for all candidates at
once, by index. Rederivation is the same check of the recursive rules.

Where facts have many proofs, far more is overdeleted than removed in the end. A `bounded` attempt gives up when that
happens (many facts are overdeleted, and most of them could be rederived), and leaves the stratum to backward/forward.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.rules import Pred
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.maintenance.ladders import Strategy
from deltalog.evaluation.maintenance.policy import Done, GaveUp, overdeletion, recompute_limit
from deltalog.evaluation.maintenance.stratum_plans import RulePlans, StratumPlans
from deltalog.evaluation.maintenance.update_state import (
    FactTables,
    Update,
    count_visible,
    difference,
    total,
    with_deltas,
)
from deltalog.evaluation.plan.delta_rules import GROUPS, candidates
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.variants import Variant, all_facts
from deltalog.evaluation.seminaive import PlannedVariant, Relations, SemiNaive, include
from deltalog.program import Program

T = TypeVar("T")


class DRed(Generic[T]):
    """One stratum in one update. `removed` and `added` become its own D and A."""

    name = Strategy.DRED.value

    def __init__(self, program: Program, plans: StratumPlans, update: Update[T], bounded: bool = False) -> None:
        self.program, self.plans, self.update, self.bounded = program, plans, update, bounded
        self.backend, self.tuning, self.preds = update.backend, update.tuning, plans.stratum.preds
        self.old_rules = [rule for rule in plans.rules if not update.is_new(rule.rule)]
        self.large_insertion = False  # then the delta is deferred
        self.removed: FactTables[T] = {}  # overdeleted
        self.added: FactTables[T] = {}
        self.removed_by_groups: FactTables[T] = {}
        self.added_by_groups: FactTables[T] = {}

    def maintain(self) -> Done | GaveUp:
        """Takes the stratum to its new state, or gives up and leaves it as it was."""
        self.aggregate_groups()
        outcome = self.overdelete()
        if isinstance(outcome, GaveUp):
            return outcome
        for pred, table in self.removed.items():
            self.update.new.set(pred, self.backend.remove(self.update.old.get(pred), table))
        self.insert(self.rederive())
        self.record_deltas()
        return outcome

    def derive(self, plans: list[PlannedVariant], relations: Relations[T]) -> FactTables[T]:
        return SemiNaive(self.program, relations).derive(plans, all_facts) if plans else {}

    # Aggregates: only the groups that changed.

    def aggregate_groups(self) -> None:
        """What aggregates derived over the changed groups before the change and not after it, and vice versa."""
        for rule in self.old_rules:
            if rule.restricted is None or not any(self._changed(change.pred) for change, _ in rule.deltas):
                continue
            groups = self._changed_groups(rule)
            before = self.derive([rule.restricted], with_deltas(self.update.old, {}, groups))
            after = self.derive([rule.restricted], with_deltas(self.update.new, {}, groups))
            include(self.removed_by_groups, difference(before, after, self.backend), self.backend)
            include(self.added_by_groups, difference(after, before, self.backend), self.backend)

    def _changed(self, pred: Pred) -> bool:
        return pred in self.update.added or pred in self.update.removed

    def _changed_groups(self, rule: RulePlans) -> FactTables[T]:
        groups: FactTables[T] = {}
        update = self.update
        for relations, positive, negative in (
            (update.old, update.removed, update.added),
            (update.new, update.added, update.removed),
        ):
            include(groups, self._instances([rule], relations, positive, negative), self.backend)
        return {pred: table for pred, table in groups.items() if pred.name == GROUPS}

    # Overdelete.

    def overdelete(self) -> Done | GaveUp:
        """Finds the facts that may have to be deleted."""
        seeds = self.deletion_seeds()
        seen: FactTables[T] = {}
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
        self.update.report.overdeleted += count_visible(self.removed, self.backend)
        return Done()

    def mostly_underivable(self) -> bool:
        """Whether the remaining facts do not derive most of what has been overdeleted so far. Then no search for other
        proofs would keep it."""
        remaining = Relations(self.backend, dict(self.update.new.parts))
        for pred, table in self.removed.items():
            remaining.set(pred, self.backend.remove(self.update.old.get(pred), table))
        rederivable = self.derivable(self.removed, self.plans.recursive, remaining)
        return 2 * total(rederivable, self.backend) < total(self.removed, self.backend)

    def deletion_seeds(self) -> FactTables[T]:
        """The first candidate deletions: by deltas before the stratum, by removed rules, and explicit facts."""
        update = self.update
        seeds = self._instances(self._plain(self.old_rules), update.old, update.removed, update.added)
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
        self, rules: list[RulePlans], relations: Relations[T], positive: FactTables[T], negative: FactTables[T]
    ) -> FactTables[T]:
        """Π[I : positive, negative]: heads of instances with an atom in `positive` or a negated one in `negative`."""
        found: FactTables[T] = {}
        for changes, negated in ((positive, False), (negative, True)):
            due = [
                planned
                for rule in rules
                for change, planned in rule.deltas
                if change.negated is negated and change.pred in changes
            ]
            if due:
                include(found, self.derive(due, with_deltas(relations, changes)), self.backend)
        return found

    def deleted_consequences(self, delta: FactTables[T]) -> FactTables[T]:
        """Heads of instances over the delta in the old state, by the recursive rules of the old program: new rules had
        no instances, and following them would delete facts that were never derived."""
        return self._follow(self._old_variants, delta, self.update.old)

    def consequences(self, delta: FactTables[T], relations: Relations[T]) -> FactTables[T]:
        """Heads of instances of the recursive rules over the delta, in a state."""
        return self._follow(self.plans.recursive_variants, delta, relations)

    @cached_property
    def _old_variants(self) -> Mapping[Pred, list[PlannedVariant]]:
        found, is_new = self.plans.recursive_variants, self.update.is_new
        if not self.update.added_rules:
            return found
        return {pred: [planned for planned in due if not is_new(planned.variant.rule)] for pred, due in found.items()}

    def _follow(
        self, variants: Mapping[Pred, list[PlannedVariant]], delta: FactTables[T], relations: Relations[T]
    ) -> FactTables[T]:
        due = [planned for pred in delta for planned in variants.get(pred, ())]
        if not due:
            return {}
        relations = with_deltas(relations, delta)
        relations.parts.update({(pred, Part.OLD): relations.get(pred) for pred in self.preds})
        return self.derive(due, relations)

    def unprotected(self, facts: FactTables[T]) -> FactTables[T]:
        """Facts that are not explicit, and that no nonrecursive rule derives from the new state."""
        facts = difference(facts, self.update.explicit, self.backend) if facts else facts
        return difference(facts, self.derivable(facts, self.plans.nonrecursive, self.update.new), self.backend)

    def derivable(self, facts: FactTables[T], rules: list[RulePlans], relations: Relations[T]) -> FactTables[T]:
        """The facts (candidates) that rules derive in one step from a state."""
        rules = [rule for rule in rules if rule.head in facts]
        if not rules:
            return {}
        inverses = self.skolem_inverse(rules, facts)
        checks = [self._check_of(rule, facts[rule.head], inverses) for rule in rules]
        checked = {candidates(pred): table for pred, table in facts.items()}
        keys = [rule.group_keys for rule in rules if rule.group_keys is not None]
        groups = self.derive(keys, with_deltas(relations, {}, checked))
        return self.derive(checks, with_deltas(relations, checked, inverses | groups))

    def _check_of(self, rule: RulePlans, facts: T, inverses: FactTables[T]) -> PlannedVariant:
        if has_inverse(rule, inverses):
            return rule.check_by_inverse
        many = self.update.multiway and self.backend.size(facts) >= self.tuning.multiway_check_min_facts
        return rule.check_multiway if many else rule.check

    def skolem_inverse(self, rules: list[RulePlans], facts: FactTables[T]) -> FactTables[T]:
        """The arguments of the SKOLEM terms in candidates, where rules compute these and the arguments are known."""
        inverse = self.backend.capabilities.skolem_inverse
        if inverse is None:
            return {}
        found: dict[Pred, T | None] = {}
        for head, skolem in [(rule.head, skolem) for rule in rules for skolem in rule.skolems]:
            if skolem.atom.pred not in found:
                found[skolem.atom.pred] = inverse.arguments(skolem.call, facts[head], skolem.column)
        return {pred: table for pred, table in found.items() if table is not None}

    # Rederive and insert.

    def rederive(self) -> FactTables[T]:
        """Overdeleted facts that the remaining facts derive."""
        found = self.derivable(self.removed, self.plans.recursive, self.update.new)
        self.update.report.rederived += count_visible(found, self.backend)
        return found

    def insert(self, seeds: FactTables[T]) -> None:
        """Adds the seeds, the heads of new instances, and all consequences."""
        update, backend = self.update, self.backend
        include(seeds, {p: t for p, t in update.added_facts.items() if p in self.preds}, backend)
        include(seeds, self.added_by_groups, backend)
        include(seeds, self._instances(self._plain(self.old_rules), update.new, update.added, update.removed), backend)
        new_rules = [rule.whole for rule in self.plans.rules if update.is_new(rule.rule)]
        include(seeds, self.derive(new_rules, update.new), backend)
        seeds = difference(seeds, {pred: update.new.get(pred) for pred in seeds}, backend)
        evaluation = update.evaluation(self.program)
        seeds |= self.grow_virtual(evaluation)
        before = self._visible()
        self.large_insertion = total(seeds, backend) > recompute_limit(self.plans, update)
        added = None if self.large_insertion else self.added
        evaluation.propagate(self.preds, self.plans.recursive_variants, seeds, added)
        update.report.inserted += self._visible() - before

    def _visible(self) -> int:
        return count_visible({pred: self.update.new.get(pred) for pred in self.preds}, self.backend)

    def grow_virtual(self, evaluation: SemiNaive[T]) -> FactTables[T]:
        """What virtual relations gain by inputs from before the stratum."""
        gained: FactTables[T] = {}
        none = self.backend.empty(2)
        for scheme in self.plans.schemes:
            virtual_relations = required(self.backend.capabilities.virtual_relations)
            before = {p: t for p, t in self.update.added.items() if p in scheme.inputs and p not in self.preds}
            if before:
                table, inputs = self.update.new.get(scheme.pred), map(self.update.new.get, scheme.inputs)
                added = [before.get(source, none) for source in scheme.inputs]
                evaluation.pending[scheme.pred], found = virtual_relations.rebuild(
                    scheme, table, list(inputs), [none] * len(added), added
                )
                _, gained[scheme.pred] = found()
        return {pred: table for pred, table in gained.items() if self.backend.size(table)}

    def record_deltas(self) -> None:
        """The net change of the stratum."""
        if self.large_insertion:
            for pred in self.preds:
                self.update.defer_delta(pred)
            return
        removed = difference(self.removed, self.added, self.backend)
        added = difference(self.added, self.removed, self.backend)
        self.update.removed.update(removed)
        self.update.added.update(added)


def has_inverse(rule: RulePlans, inverses: FactTables[T]) -> bool:
    """Whether a rule computes SKOLEM terms, and the arguments of all of them are known."""
    return bool(rule.skolems) and all(skolem.atom.pred in inverses for skolem in rule.skolems)
