"""The plans of strata for maintenance: variants of their rules, made when they are first needed, and kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.plan.delta_rules import (
    DeltaVariant,
    Role,
    SkolemColumn,
    TuplePlan,
    TuplePlans,
    check_variant,
    delta_variants,
    disjoint_deletion_variants,
    disjoint_delta_variants,
    disjoint_insertion_variants,
    group_keys,
    grouped,
    is_aggregate,
    is_tuple_maintainable,
    min_looked_up,
    skolem_columns,
    supports,
    tuple_plan,
)
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.evaluation.plan.variants import Variant
from deltalog.evaluation.seminaive import PlannedVariant, Relations, variants_by_delta
from deltalog.program.schemes import Scheme
from deltalog.program.strata import Stratum

T = TypeVar("T")


@dataclass
class RulePlans:
    """The variants of one rule that maintenance evaluates (see `plan.delta_rules`), with their plans."""

    rule: Rule
    preds: Collection[Pred] = ()  # of its own stratum, if it is recursive

    @cached_property
    def head(self) -> Pred:
        return self.rule.heads[0].pred

    @cached_property
    def whole(self) -> PlannedVariant:
        return PlannedVariant(Variant(self.rule))

    @cached_property
    def check(self) -> PlannedVariant:
        return PlannedVariant(check_variant(self.rule))

    @cached_property
    def check_multiway(self) -> PlannedVariant:
        """The check of many candidates: with the atom of the candidates, a body of two atoms may be a triangle."""
        return PlannedVariant(check_variant(self.rule), multiway=True)

    @cached_property
    def group_keys(self) -> PlannedVariant | None:
        """For an aggregate: the groups of the candidates, which the check reads."""
        rule = group_keys(self.rule) if is_aggregate(self.rule) else None
        return PlannedVariant(Variant(rule)) if rule is not None else None

    @cached_property
    def skolems(self) -> tuple[SkolemColumn, ...]:
        """The SKOLEM terms of its head."""
        return tuple(skolem_columns(self.rule))

    @cached_property
    def check_by_inverse(self) -> PlannedVariant:
        """The check where the arguments of the SKOLEM terms are known."""
        return PlannedVariant(check_variant(self.rule, self.skolems))

    @cached_property
    def deltas(self) -> list[tuple[DeltaVariant, PlannedVariant]]:
        """The delta variants; for an aggregate, those that find the changed groups."""
        found = delta_variants(self._grouped[0] if self._grouped else self.rule)
        return [(change, PlannedVariant(change.variant)) for change in found]

    @cached_property
    def supports(self) -> list[PlannedVariant]:
        """The body facts of its own stratum in instances that derive candidates."""
        return [PlannedVariant(variant) for variant in supports(self.rule, self.preds)]

    @cached_property
    def supports_by_inverse(self) -> list[PlannedVariant]:
        return [PlannedVariant(variant) for variant in supports(self.rule, self.preds, self.skolems)]

    @cached_property
    def restricted(self) -> PlannedVariant | None:
        """For an aggregate: the rule over some groups."""
        return PlannedVariant(Variant(self._grouped[1])) if self._grouped else None

    # For counting.

    @cached_property
    def instances(self) -> PlannedVariant:
        return PlannedVariant(Variant(self.rule, instances=True))

    @cached_property
    def disjoint_deltas(self) -> list[tuple[DeltaVariant, PlannedVariant]]:
        return [(change, PlannedVariant(change.variant)) for change in disjoint_delta_variants(self.rule, self.preds)]

    @cached_property
    def disjoint_deletions(self) -> list[tuple[Pred, PlannedVariant]]:
        return [(found.delta, PlannedVariant(found)) for found in disjoint_deletion_variants(self.rule, self.preds)]

    @cached_property
    def disjoint_insertions(self) -> list[tuple[Pred, PlannedVariant]]:
        return [(found.delta, PlannedVariant(found)) for found in disjoint_insertion_variants(self.rule, self.preds)]

    @cached_property
    def restricted_instances(self) -> PlannedVariant:
        assert self._grouped is not None
        return PlannedVariant(Variant(self._grouped[1], instances=True))

    @cached_property
    def _grouped(self) -> tuple[Rule, Rule] | None:
        return grouped(self.rule) if is_aggregate(self.rule) else None


@dataclass
class StratumPlans:
    """A stratum with the plans of its rules."""

    stratum: Stratum
    nonrecursive: list[RulePlans]
    recursive: list[RulePlans]
    schemes: list[Scheme]  # of its virtual relations
    _tuple_plans: tuple[TuplePlans, float] | None = None  # and for how many input facts they were made

    @classmethod
    def of(cls, stratum: Stratum, schemes: Mapping[Pred, Scheme]) -> StratumPlans:
        def ordinary(rules: Iterable[Rule]) -> list[Rule]:
            return [rule for rule in rules if rule.heads[0].pred not in schemes]

        return cls(
            stratum,
            [RulePlans(rule) for rule in ordinary(stratum.nonrecursive)],
            [RulePlans(rule, stratum.preds) for rule in ordinary(stratum.recursive)],
            schemes_of(stratum, schemes),
        )

    @cached_property
    def label(self) -> str:
        """Its predicates, as a user sees them."""
        return ", ".join(sorted(pred.name for pred in self.stratum.preds if not pred.hidden)) or "nodes"

    @cached_property
    def backbones(self) -> frozenset[Pred]:
        """The inputs of its virtual relations."""
        return frozenset(source for scheme in self.schemes for source in scheme.inputs)

    @cached_property
    def rules(self) -> list[RulePlans]:
        return self.nonrecursive + self.recursive

    @cached_property
    def recursive_variants(self) -> dict[Pred, list[PlannedVariant]]:
        """The variants of the recursive rules, by the predicate whose DELTA they read."""
        return variants_by_delta(self.stratum.recursive, self.stratum.preds)

    @cached_property
    def disjoint_insertions(self) -> dict[Pred, list[PlannedVariant]]:
        """The same, for counting."""
        found: dict[Pred, list[PlannedVariant]] = defaultdict(list)
        for pred, planned in (pair for rule in self.recursive for pair in rule.disjoint_insertions):
            found[pred].append(planned)
        return found

    @cached_property
    def inputs(self) -> frozenset[Pred]:
        """The predicates of other strata that its rules read."""
        return self.stratum.reads - self.stratum.preds

    def input_facts(self, relations: Relations[T]) -> float:
        """How many facts these have."""
        return sum([relations.size(pred) for pred in self.inputs])

    @cached_property
    def is_tuple_maintainable(self) -> bool:
        """Whether the tuple-at-a-time kernel knows everything that its rules contain."""
        return not self.schemes and all(is_tuple_maintainable(rule) for rule in self.stratum.rules)

    def tuple_plans(self, relations: Relations[T]) -> TuplePlans:
        """The tuple plans of its rules; made again when there are many more input facts."""
        facts = self.input_facts(relations)
        if self._tuple_plans is None or facts > relations.backend.tuning.replan_growth_factor * self._tuple_plans[1]:
            self._tuple_plans = tuple_plans(self, relations), max(facts, 1.0)
        return self._tuple_plans[0]


def tuple_plans(plans: StratumPlans, statistics: Statistics) -> TuplePlans:
    """The tuple plans of a stratum: for each rule, from changed facts of its body, and from candidates."""
    rules: list[TuplePlan] = []
    for rule in plans.rules:
        role = Role.RECHECK if rule in plans.recursive else Role.CHECK
        rules.append(tuple_plan(role, rule.check.variant, statistics))
        for change, planned in rule.deltas:
            if change.pred not in plans.stratum.preds:
                rules.append(tuple_plan(Role.AFFECTED, planned.variant, statistics, change.negated))
    recursive = [planned for due in plans.recursive_variants.values() for planned in due]
    rules += [tuple_plan(Role.LOOP, planned.variant, statistics) for planned in recursive]
    rules.sort(key=lambda rule: -min_looked_up(rule, statistics))  # those that match most often first
    return TuplePlans(tuple(sorted(plans.stratum.preds)), tuple(rules))


def tuple_maintainable_first(strata: Sequence[StratumPlans]) -> list[StratumPlans]:
    """Strata in another topological order: those that can be maintained tuple at a time first, as far as possible."""
    first, others, late = [], [], set[Pred]()
    for plans in strata:
        if plans.is_tuple_maintainable and plans.stratum.reads.isdisjoint(late):
            first.append(plans)
        else:
            others.append(plans)
            late |= plans.stratum.preds
    return first + others


def schemes_of(stratum: Stratum, schemes: Mapping[Pred, Scheme]) -> list[Scheme]:
    return [schemes[pred] for pred in sorted(stratum.preds) if pred in schemes] if schemes else []
