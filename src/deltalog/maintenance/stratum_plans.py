"""Strata, ready for maintenance: what it evaluates of their rules, made when it is first needed, and kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from deltalog.concurrency.cached import cached_property
from deltalog.engine.seminaive import PlannedVariant, Relations, variants_by_delta
from deltalog.plan.delta_rules import (
    DeltaVariant,
    Role,
    SkolemColumn,
    TuplePlan,
    TuplePlans,
    affected,
    checked,
    group_keys,
    grouped,
    is_aggregate,
    is_simple,
    least_read,
    losing,
    made,
    supports,
    touched,
    tuple_plan,
    winning,
)
from deltalog.plan.statistics import Statistics
from deltalog.plan.variants import Variant
from deltalog.program.recognise import Structure
from deltalog.program.strata import Stratum
from deltalog.syntax.ast import Pred, Rule

T = TypeVar("T")


@dataclass
class RulePlans:
    """What maintenance evaluates of one rule; plans and their plans are made when they are first needed, and kept."""

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
        return PlannedVariant(checked(self.rule))

    @cached_property
    def check_many(self) -> PlannedVariant:
        """The same for many facts: with a fact in question, a body of two atoms may be a triangle."""
        return PlannedVariant(checked(self.rule), multiway=True)

    @cached_property
    def keys(self) -> PlannedVariant | None:
        """For an aggregate: the groups of the facts in question, which the check reads."""
        rule = group_keys(self.rule) if is_aggregate(self.rule) else None
        return PlannedVariant(Variant(rule)) if rule is not None else None

    @cached_property
    def made(self) -> tuple[SkolemColumn, ...]:
        """Where values of its head come from."""
        return tuple(made(self.rule))

    @cached_property
    def check_made(self) -> PlannedVariant:
        """The check where it is known what these were made of."""
        return PlannedVariant(checked(self.rule, self.made))

    @cached_property
    def affected(self) -> list[tuple[DeltaVariant, PlannedVariant]]:
        """What a change gives; for an aggregate, the groups that it touches."""
        found = affected(self._grouped[0] if self._grouped else self.rule)
        return [(change, PlannedVariant(change.variant)) for change in found]

    @cached_property
    def supports(self) -> list[PlannedVariant]:
        """The body atoms of its own stratum in instances that derive facts in question."""
        return [PlannedVariant(variant) for variant in supports(self.rule, self.preds)]

    @cached_property
    def supports_made(self) -> list[PlannedVariant]:
        return [PlannedVariant(variant) for variant in supports(self.rule, self.preds, self.made)]

    @cached_property
    def restricted(self) -> PlannedVariant | None:
        """For an aggregate: the rule over some groups."""
        return PlannedVariant(Variant(self._grouped[1])) if self._grouped else None

    # For counting: see `plan.delta_rules`.

    @cached_property
    def instances(self) -> PlannedVariant:
        return PlannedVariant(Variant(self.rule, instances=True))

    @cached_property
    def touched(self) -> list[tuple[DeltaVariant, PlannedVariant]]:
        return [(change, PlannedVariant(change.variant)) for change in touched(self.rule, self.preds)]

    @cached_property
    def losing(self) -> list[tuple[Pred, PlannedVariant]]:
        return [(variant.delta, PlannedVariant(variant)) for variant in losing(self.rule, self.preds)]

    @cached_property
    def winning(self) -> list[tuple[Pred, PlannedVariant]]:
        return [(variant.delta, PlannedVariant(variant)) for variant in winning(self.rule, self.preds)]

    @cached_property
    def restricted_instances(self) -> PlannedVariant:
        assert self._grouped is not None
        return PlannedVariant(Variant(self._grouped[1], instances=True))

    @cached_property
    def _grouped(self) -> tuple[Rule, Rule] | None:
        return grouped(self.rule) if is_aggregate(self.rule) else None


@dataclass
class StratumPlans:
    """A stratum, ready for maintenance."""

    stratum: Stratum
    nonrecursive: list[RulePlans]
    recursive: list[RulePlans]
    structures: list[Structure]  # relations of the stratum that are made of others, and not by rules
    _tuple_plans: tuple[TuplePlans, float] | None = None  # and for how many facts

    @classmethod
    def of(cls, stratum: Stratum, structures: Mapping[Pred, Structure]) -> StratumPlans:
        def ordinary(rules: Iterable[Rule]) -> list[Rule]:
            return [rule for rule in rules if rule.heads[0].pred not in structures]

        return cls(
            stratum,
            [RulePlans(rule) for rule in ordinary(stratum.nonrecursive)],
            [RulePlans(rule, stratum.preds) for rule in ordinary(stratum.recursive)],
            structures_of(stratum, structures),
        )

    @cached_property
    def names(self) -> str:
        """As a user sees them."""
        return ", ".join(sorted(pred.name for pred in self.stratum.preds if not pred.hidden)) or "nodes"

    @cached_property
    def backbones(self) -> frozenset[Pred]:
        """What the structures are made of."""
        return frozenset(source for structure in self.structures for source in structure.inputs)

    @cached_property
    def rules(self) -> list[RulePlans]:
        return self.nonrecursive + self.recursive

    @cached_property
    def loops(self) -> dict[Pred, list[PlannedVariant]]:
        """The variants of the recursive rules, by the predicate whose DELTA they read."""
        return variants_by_delta(self.stratum.recursive, self.stratum.preds)

    @cached_property
    def winning(self) -> dict[Pred, list[PlannedVariant]]:
        """The same, for counting."""
        found: dict[Pred, list[PlannedVariant]] = defaultdict(list)
        for pred, planned in (pair for rule in self.recursive for pair in rule.winning):
            found[pred].append(planned)
        return found

    @cached_property
    def others(self) -> frozenset[Pred]:
        """What the rules read of other strata."""
        return self.stratum.reads - self.stratum.preds

    def read(self, relations: Relations[T]) -> float:
        """How many facts there are of that."""
        return sum([relations.size(pred) for pred in self.others])

    @cached_property
    def is_simple(self) -> bool:
        """Whether all rules can be seen from facts."""
        return not self.structures and all(is_simple(rule) for rule in self.stratum.rules)

    def tuple_plans(self, relations: Relations[T]) -> TuplePlans:
        """The rules, seen from facts; kept until there are many more facts."""
        facts = self.read(relations)
        if self._tuple_plans is None or facts > relations.backend.tuning.replan_growth_factor * self._tuple_plans[1]:
            self._tuple_plans = tuple_plans(self, relations), max(facts, 1.0)
        return self._tuple_plans[0]


def tuple_plans(plans: StratumPlans, statistics: Statistics) -> TuplePlans:
    """The rules of a stratum, each seen from facts of its body and of its head."""
    rules: list[TuplePlan] = []
    for rule in plans.rules:
        role = Role.RECHECK if rule in plans.recursive else Role.CHECK
        rules.append(tuple_plan(role, rule.check.variant, statistics))
        for change, planned in rule.affected:
            if change.pred not in plans.stratum.preds:
                rules.append(tuple_plan(Role.AFFECTED, planned.variant, statistics, change.negated))
    loops = [planned for due in plans.loops.values() for planned in due]
    rules += [tuple_plan(Role.LOOP, planned.variant, statistics) for planned in loops]
    rules.sort(key=lambda rule: -least_read(rule, statistics))  # those that hold most often first
    return TuplePlans(tuple(sorted(plans.stratum.preds)), tuple(rules))


def simple_first(strata: Sequence[StratumPlans]) -> list[StratumPlans]:
    """Strata that can be maintained fact by fact before the others, as far as these do not read them."""
    simple, others, late = [], [], set[Pred]()
    for plans in strata:
        if plans.is_simple and plans.stratum.reads.isdisjoint(late):
            simple.append(plans)
        else:
            others.append(plans)
            late |= plans.stratum.preds
    return simple + others


def structures_of(stratum: Stratum, structures: Mapping[Pred, Structure]) -> list[Structure]:
    return [structures[pred] for pred in sorted(stratum.preds) if pred in structures] if structures else []
