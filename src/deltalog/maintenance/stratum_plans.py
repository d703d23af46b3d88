"""Strata, ready for maintenance: what it evaluates of their rules, made when it is first needed, and kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from deltalog.concurrency.cached import cached_property
from deltalog.engine.seminaive import Relations, Task, tasks_by_delta
from deltalog.plan.delta_rules import (
    Affected,
    Made,
    Role,
    SeenFrom,
    SmallPlans,
    affected,
    checked,
    group_keys,
    grouped,
    is_aggregate,
    is_simple,
    least_read,
    losing,
    made,
    seen_from,
    supports,
    touched,
    winning,
)
from deltalog.plan.statistics import Statistics
from deltalog.plan.variants import Variant
from deltalog.program.recognise import Structure
from deltalog.program.strata import Stratum
from deltalog.syntax.ast import Pred, Rule

T = TypeVar("T")


@dataclass
class RuleTasks:
    """What maintenance evaluates of one rule; tasks and their plans are made when they are first needed, and kept."""

    rule: Rule
    preds: Collection[Pred] = ()  # of its own stratum, if it is recursive

    @cached_property
    def head(self) -> Pred:
        return self.rule.heads[0].pred

    @cached_property
    def whole(self) -> Task:
        return Task(Variant(self.rule))

    @cached_property
    def check(self) -> Task:
        return Task(checked(self.rule))

    @cached_property
    def check_many(self) -> Task:
        """The same for many facts: with a fact in question, a body of two atoms may be a triangle."""
        return Task(checked(self.rule), multiway=True)

    @cached_property
    def keys(self) -> Task | None:
        """For an aggregate: the groups of the facts in question, which the check reads."""
        rule = group_keys(self.rule) if is_aggregate(self.rule) else None
        return Task(Variant(rule)) if rule is not None else None

    @cached_property
    def made(self) -> tuple[Made, ...]:
        """Where values of its head come from."""
        return tuple(made(self.rule))

    @cached_property
    def check_made(self) -> Task:
        """The check where it is known what these were made of."""
        return Task(checked(self.rule, self.made))

    @cached_property
    def affected(self) -> list[tuple[Affected, Task]]:
        """What a change gives; for an aggregate, the groups that it touches."""
        found = affected(self._grouped[0] if self._grouped else self.rule)
        return [(change, Task(change.variant)) for change in found]

    @cached_property
    def supports(self) -> list[Task]:
        """The body atoms of its own stratum in instances that derive facts in question."""
        return [Task(variant) for variant in supports(self.rule, self.preds)]

    @cached_property
    def supports_made(self) -> list[Task]:
        return [Task(variant) for variant in supports(self.rule, self.preds, self.made)]

    @cached_property
    def restricted(self) -> Task | None:
        """For an aggregate: the rule over some groups."""
        return Task(Variant(self._grouped[1])) if self._grouped else None

    # For counting: see `plan.delta_rules`.

    @cached_property
    def instances(self) -> Task:
        return Task(Variant(self.rule, instances=True))

    @cached_property
    def touched(self) -> list[tuple[Affected, Task]]:
        return [(change, Task(change.variant)) for change in touched(self.rule, self.preds)]

    @cached_property
    def losing(self) -> list[tuple[Pred, Task]]:
        return [(variant.delta, Task(variant)) for variant in losing(self.rule, self.preds)]

    @cached_property
    def winning(self) -> list[tuple[Pred, Task]]:
        return [(variant.delta, Task(variant)) for variant in winning(self.rule, self.preds)]

    @cached_property
    def restricted_instances(self) -> Task:
        assert self._grouped is not None
        return Task(Variant(self._grouped[1], instances=True))

    @cached_property
    def _grouped(self) -> tuple[Rule, Rule] | None:
        return grouped(self.rule) if is_aggregate(self.rule) else None


@dataclass
class StratumTasks:
    """A stratum, ready for maintenance."""

    stratum: Stratum
    nonrecursive: list[RuleTasks]
    recursive: list[RuleTasks]
    structures: list[Structure]  # relations of the stratum that are made of others, and not by rules
    _small: tuple[SmallPlans, float] | None = None  # and for how many facts

    @classmethod
    def of(cls, stratum: Stratum, structures: Mapping[Pred, Structure]) -> StratumTasks:
        def ordinary(rules: Iterable[Rule]) -> list[Rule]:
            return [rule for rule in rules if rule.heads[0].pred not in structures]

        return cls(
            stratum,
            [RuleTasks(rule) for rule in ordinary(stratum.nonrecursive)],
            [RuleTasks(rule, stratum.preds) for rule in ordinary(stratum.recursive)],
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
    def rules(self) -> list[RuleTasks]:
        return self.nonrecursive + self.recursive

    @cached_property
    def loops(self) -> dict[Pred, list[Task]]:
        """The variants of the recursive rules, by the predicate whose DELTA they read."""
        return tasks_by_delta(self.stratum.recursive, self.stratum.preds)

    @cached_property
    def winning(self) -> dict[Pred, list[Task]]:
        """The same, for counting."""
        found: dict[Pred, list[Task]] = defaultdict(list)
        for pred, task in (pair for rule in self.recursive for pair in rule.winning):
            found[pred].append(task)
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

    def small(self, relations: Relations[T]) -> SmallPlans:
        """The rules, seen from facts; kept until there are many more facts."""
        facts = self.read(relations)
        if self._small is None or facts > relations.backend.tuning.replan_growth_factor * self._small[1]:
            self._small = small_plans(self, relations), max(facts, 1.0)
        return self._small[0]


def small_plans(tasks: StratumTasks, statistics: Statistics) -> SmallPlans:
    """The rules of a stratum, each seen from facts of its body and of its head."""
    rules: list[SeenFrom] = []
    for rule in tasks.rules:
        role = Role.RECHECK if rule in tasks.recursive else Role.CHECK
        rules.append(seen_from(role, rule.check.variant, statistics))
        for change, task in rule.affected:
            if change.pred not in tasks.stratum.preds:
                rules.append(seen_from(Role.AFFECTED, task.variant, statistics, change.negated))
    loops = [task for due in tasks.loops.values() for task in due]
    rules += [seen_from(Role.LOOP, task.variant, statistics) for task in loops]
    rules.sort(key=lambda rule: -least_read(rule, statistics))  # those that hold most often first
    return SmallPlans(tuple(sorted(tasks.stratum.preds)), tuple(rules))


def simple_first(strata: Sequence[StratumTasks]) -> list[StratumTasks]:
    """Strata that can be maintained fact by fact before the others, as far as these do not read them."""
    simple, others, late = [], [], set[Pred]()
    for tasks in strata:
        if tasks.is_simple and tasks.stratum.reads.isdisjoint(late):
            simple.append(tasks)
        else:
            others.append(tasks)
            late |= tasks.stratum.preds
    return simple + others


def structures_of(stratum: Stratum, structures: Mapping[Pred, Structure]) -> list[Structure]:
    return [structures[pred] for pred in sorted(stratum.preds) if pred in structures] if structures else []
