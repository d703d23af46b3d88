"""Keeping a materialisation right.

An update is a change of explicit facts and of rules. Strata are visited in order, each with the net changes of all
before it: A, what was added, and D, what was removed (paper 003, Algorithm 3). What a stratum does with them is the
business of a strategy (`engine.dred`, `engine.backward_forward`, `engine.counting`); here is what is around it:
predicates without rules, strata that nothing touches, strata that are computed anew because most of them would change
anyway, and the sum of it all.

Rules change the way facts do (paper 004, and past it): all instances of a removed rule are deletions, all instances of
a new rule are insertions, in the stratum that the new program gives to their head. A predicate that has lost all of its
rules keeps its explicit facts, without any reasoning.

Tables are immutable, so the old state stays as it was until the update is done; an error or an interrupt leaves it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Generic, TypeVar

from deltalog.backends.base import Backend, SmallChange, SmallResult
from deltalog.engine.counts import Counts
from deltalog.engine.seminaive import GROWTH, Relations, SemiNaive, Task, tasks_by_delta
from deltalog.plan.changes import (
    Affected,
    Made,
    Role,
    SeenFrom,
    SmallPlans,
    affected,
    checked,
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
from deltalog.plan.ir import Part
from deltalog.plan.rules import Variant, plan_variant
from deltalog.plan.statistics import Statistics
from deltalog.program import HyperNode, Program
from deltalog.program.leaves import changed_leaves
from deltalog.program.patterns import Structure
from deltalog.program.strata import Stratum, strata
from deltalog.syntax.ast import Pred, Rule

T = TypeVar("T")
Facts = dict[Pred, T]
FEW = 1000  # facts are always removed one by one
# What is tried in turn on a recursive stratum: backward/forward or DRed, bounded or not.
ATTEMPTS = {
    "dred": ((False, False),),
    "bf": ((True, False), (False, False)),
    "counting": ((False, False),),
    "auto": ((False, True), (True, True), (False, False)),
}
# A stratum is computed anew when it would lose more of its facts than this, or more of what it reads has changed: to
# delete a fact costs several times what deriving it does.
MOST_REMOVED = 0.1
# A change of more facts than these is one that a stratum is computed anew for, if they are the better part of all that
# it reads, or if some go and a structure in a recursion may stand on them: hardly all of them are derived otherwise.
SOME = 64
# A recursive stratum is computed anew when a change gives more than one in so many of its instances at once: to follow
# one costs some 25 times what deriving it does, and more come with it. That is estimated when of what the stratum reads
# more than one fact in NOTICED has changed.
SPREADING, NOTICED = 96, 256
STANDS = "facts go that a structure may stand on"


@dataclass(slots=True)
class UpdateReport:
    """What an update did. `visited`, `recomputed` and `skipped` count strata, each of which is one or more hyper-nodes;
    which hyper-nodes these are is said by name, and which a change of rules affects directly (paper 004)."""

    overdeleted: int = 0
    rederived: int = 0
    inserted: int = 0
    visited: int = 0
    recomputed: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    hyper_nodes: tuple[HyperNode, ...] = field(default=(), repr=False)  # of the program after the update
    directly_affected: tuple[HyperNode, ...] = field(default=(), repr=False)
    visited_preds: set[Pred] = field(default_factory=set, repr=False)
    recomputed_preds: set[Pred] = field(default_factory=set, repr=False)

    @property
    def skipped(self) -> int:
        found = strata([rule for node in self.hyper_nodes for rule in node.rules])
        return sum(stratum.preds.isdisjoint(self.visited_preds) for stratum in found)

    @property
    def visited_hyper_nodes(self) -> list[HyperNode]:
        return [node for node in self.hyper_nodes if node.heads & self.visited_preds]

    @property
    def recomputed_hyper_nodes(self) -> list[HyperNode]:
        return [node for node in self.hyper_nodes if node.heads & self.recomputed_preds]

    @property
    def skipped_hyper_nodes(self) -> list[HyperNode]:
        return [node for node in self.hyper_nodes if not node.heads & self.visited_preds]


@dataclass
class Update(Generic[T]):
    """An update under way: the state before and after, explicit facts after, and the net changes so far."""

    old: Relations[T]
    new: Relations[T]
    explicit: Mapping[Pred, T]
    added_facts: Facts[T]
    removed_facts: Facts[T]
    added_rules: frozenset[Rule] = frozenset()
    removed_rules: tuple[Rule, ...] = ()
    strategy: str = "auto"  # or "dred", "bf", "counting"
    multiway: bool = False  # whether many facts may be checked by multiway joins
    reshaped: frozenset[Pred] = frozenset()  # predicates that are kept in another way than before
    added: Facts[T] = field(default_factory=dict)  # A \ D
    removed: Facts[T] = field(default_factory=dict)  # D \ A
    # Different than before; nobody has asked yet in what. How to find out.
    unsettled: dict[Pred, Callable[[], tuple[T, T]]] = field(default_factory=dict)
    counts: dict[frozenset[Pred], Counts[T]] = field(default_factory=dict)  # of strata that are maintained with counts
    report: UpdateReport = field(default_factory=UpdateReport)

    @property
    def backend(self) -> Backend[T]:
        return self.old.backend

    def settle(self, pred: Pred, removed: T, added: T) -> None:
        """Notes the net change of a predicate, where there is one."""
        if self.backend.size(removed):
            self.removed[pred] = removed
        if self.backend.size(added):
            self.added[pred] = added

    def settle_late(self, pred: Pred, find: Callable[[], tuple[T, T]] | None = None) -> None:
        """The same, when somebody asks; whether there is a change must be known now, and sizes mostly say so."""
        old, new = self.old.get(pred), self.new.get(pred)
        if old is not new:
            self.unsettled[pred] = find or partial(self.compared, pred)
            if self.backend.size(old) == self.backend.size(new):
                self.ask([pred])

    def ask(self, preds: Collection[Pred] | None = None) -> None:
        """Finds the net changes of some predicates, or of all."""
        for pred in list(self.unsettled if preds is None else self.unsettled.keys() & preds):
            self.settle(pred, *self.unsettled[pred]())
            del self.unsettled[pred]

    def compared(self, pred: Pred) -> tuple[T, T]:
        """What a predicate has lost and won, by comparison."""
        old, new, backend = self.old.get(pred), self.new.get(pred), self.backend
        removed = backend.minus(old, new)
        is_more = backend.size(new) > backend.size(old) - backend.size(removed)
        return removed, backend.minus(new, old) if is_more else backend.empty(pred.arity)

    def least_change(self, pred: Pred) -> int:
        """At least how many facts of a predicate have changed."""
        size = self.backend.size
        if pred in self.unsettled:
            return abs(size(self.old.get(pred)) - size(self.new.get(pred)))
        return sum(size(facts[pred]) for facts in (self.removed, self.added) if pred in facts)

    def touches(self, stratum: Stratum) -> bool:
        return (
            not stratum.reads.isdisjoint(self.added)
            or not stratum.reads.isdisjoint(self.removed)
            or not stratum.reads.isdisjoint(self.unsettled)
            or not stratum.preds.isdisjoint(self.added_facts)
            or not stratum.preds.isdisjoint(self.removed_facts)
            or self.changes_rules(stratum)
        )

    def changes_rules(self, stratum: Stratum) -> bool:
        """Whether rules of a stratum come or go, or what they derive is kept in another way."""
        return (
            any(rule.heads[0].pred in stratum.preds for rule in self.removed_rules)
            or (bool(self.added_rules) and any(map(self.is_new, stratum.rules)))
            or not self.reshaped.isdisjoint(stratum.preds)
        )

    def seen_by(self, strata: Sequence[StratumTasks]) -> SmallChange[T]:
        """The change so far, as strata that come next see it."""
        bounded = [bool(tasks.stratum.recursive) and self.strategy == "auto" for tasks in strata]
        most = [most_changed(tasks, self) for tasks in strata]
        before, removed, added = self.old.parts, self.removed, self.added
        return SmallChange(before, self.explicit, removed, added, self.removed_facts, self.added_facts, bounded, most)

    def take(self, result: SmallResult[T]) -> None:
        """Notes what became of strata."""
        for pred, table in result.tables.items():
            self.new.set(pred, table)
        self.removed.update(result.removed)
        self.added.update(result.added)
        for pred, (overdeleted, rederived, inserted) in result.counts.items():
            if not pred.hidden:
                self.report.overdeleted += overdeleted
                self.report.rederived += rederived
                self.report.inserted += inserted

    def is_new(self, rule: Rule) -> bool:
        return bool(self.added_rules) and rule in self.added_rules


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

    # For counting: see `plan.changes`.

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
        """The variants of the recursive rules, by what they read the change of."""
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
        if self._small is None or facts > GROWTH * self._small[1]:
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


class Maintenance(Generic[T]):
    """The strata of a program with their plans; one for as long as the rules stay the same."""

    def __init__(self, program: Program, before: Maintenance[T] | None = None) -> None:
        """`before` is of another program: what both have in common is taken from it, with its plans."""
        self.program = program
        known = before._strata if before is not None else []
        leaves = changed_leaves(before.program, program) if before is not None else None
        self._strata: list[StratumTasks] = []
        if leaves is not None:
            gone = {pred for node in leaves.gone for pred in node.heads}
            self._strata = [tasks for tasks in known if gone.isdisjoint(tasks.stratum.preds)]
        nodes = program.hyper_nodes if leaves is None else leaves.added
        rules = [rule for node in nodes for rule in node.rules]
        made = {tasks.stratum: tasks for tasks in known}
        self._strata += [self._tasks(stratum, made.get(stratum)) for stratum in strata(rules)]
        self._strata = simple_first(self._strata)
        self._derived = {pred for tasks in self._strata for pred in tasks.stratum.preds}

    def without(self, old: Program, program: Program, gone: Collection[Pred]) -> Maintenance[T]:
        """The same for a program without leaves, which derived what is gone."""
        new: Maintenance[T] = Maintenance.__new__(Maintenance)
        new.program = program
        if self.program is not old:  # it has the rules of trees
            nodes = tuple(node for node in self.program.hyper_nodes if node.heads.isdisjoint(gone))
            new.program = replace(self.program, rules=program.rules, hyper_nodes=nodes)
        new._strata = [tasks for tasks in self._strata if tasks.stratum.preds.isdisjoint(gone)]
        new._derived = self._derived.difference(gone)
        return new

    def _tasks(self, stratum: Stratum, known: StratumTasks | None) -> StratumTasks:
        structures = self.program.structures
        if known is not None and known.structures == structures_of(stratum, structures):
            return known
        return StratumTasks.of(stratum, structures)

    @cached_property
    def _made_of(self) -> set[frozenset[Pred]]:
        return {tasks.stratum.preds for tasks in self._strata}

    @property
    def single_rules(self) -> list[Rule]:
        """The rules, one head each, as maintenance sees them."""
        return [rule for tasks in self._strata for rule in tasks.stratum.rules]

    def run(self, update: Update[T]) -> None:
        """Takes the new state to the materialisation of the new facts and rules."""
        started = time.perf_counter()
        update.report.hyper_nodes = self.program.hyper_nodes
        for preds in update.counts.keys() - self._made_of if update.counts else ():
            del update.counts[preds]
        self._settle_without_rules(update, self._derived)
        at = self._maintain_small(0, update)
        while at < len(self._strata):
            self._maintain_touched(self._strata[at], update)
            at = self._maintain_small(at + 1, update)
        update.report.seconds = time.perf_counter() - started

    def _maintain_touched(self, tasks: StratumTasks, update: Update[T]) -> None:
        if update.touches(tasks.stratum):
            update.report.visited += 1
            update.report.visited_preds |= tasks.stratum.preds
            self._maintain(tasks, update)

    def _maintain(self, tasks: StratumTasks, update: Update[T]) -> None:
        """One stratum, by the strategy that was chosen; computed anew if that gives up."""
        from deltalog.engine.backward_forward import BackwardForward
        from deltalog.engine.counting import with_counts
        from deltalog.engine.dred import DRed

        if len(tasks.stratum.preds) == len(tasks.structures) == 1 and update.reshaped.isdisjoint(tasks.stratum.preds):
            update.ask(tasks.stratum.reads)
            maintain_structure(tasks.structures[0], update)
            return
        why = better_anew(tasks, update)
        if not why and not tasks.stratum.reads.isdisjoint(update.unsettled):
            update.ask(tasks.stratum.reads)
            why = better_anew(tasks, update)
            if not why and is_small(tasks, update) and by_facts([tasks], update):
                return
        if why:
            recompute(self.program, tasks, update)
            update.report.notes.append(f"{tasks.names}: {why}, computed anew")
            return
        if spreads(tasks, update):
            recompute(self.program, tasks, update)
            update.report.notes.append(f"{tasks.names}: what changes has many consequences, computed anew")
            return
        attempts = ATTEMPTS[update.strategy] if tasks.stratum.recursive else ((False, False),)
        counted = with_counts(tasks, update) if update.strategy == "counting" else None
        for backward, bounded in attempts if not tasks.structures else ((False, False),):
            chosen = counted or (BackwardForward if backward else DRed)
            strategy = chosen(self.program, tasks, update, bounded)
            if strategy.maintain():
                if tasks.stratum.recursive:
                    update.report.notes.append(f"{tasks.names}: {strategy.name}")
                return
            if strategy.hopeless:
                break
            update.report.notes.append(f"{tasks.names}: {strategy.name} would {strategy.cost} too much")
        recompute(self.program, tasks, update)
        why = STANDS if tasks.structures else "most facts would go"
        update.report.notes.append(f"{tasks.names}: {why}, computed anew")

    def _maintain_small(self, first: int, update: Update[T]) -> int:
        """Small changes, fact by fact, of as many strata as can be; the place of the next."""
        end = first
        while end < len(self._strata) and is_small(self._strata[end], update):
            end += 1
        touched = self._touched(first, end, update)
        strata = [self._strata[i] for i in touched]
        done = by_facts(strata, update) if strata else 0
        after = touched[done] if done < len(touched) else end
        visited = [tasks for tasks in strata[:done] if update.touches(tasks.stratum)]
        update.report.visited += len(visited)
        update.report.visited_preds.update(*(tasks.stratum.preds for tasks in visited))
        return after

    def _touched(self, first: int, end: int, update: Update[T]) -> list[int]:
        """The strata that a change may touch, directly or not."""
        changed = update.added.keys() | update.removed.keys()
        given = update.added_facts.keys() | update.removed_facts.keys()
        found = []
        for i in range(first, end):
            stratum = self._strata[i].stratum
            if not (stratum.reads.isdisjoint(changed) and stratum.preds.isdisjoint(given)):
                found.append(i)
                changed |= stratum.preds
        return found

    def _settle_without_rules(self, update: Update[T], derived: set[Pred]) -> None:
        """Predicates that no rule derives (any more): what is explicit is all there is."""
        backend = update.backend
        orphans = {rule.heads[0].pred for rule in update.removed_rules} | update.reshaped
        orphans -= derived
        for pred in (set(update.added_facts) | set(update.removed_facts)) - derived - orphans:
            removed = update.removed_facts.get(pred, backend.empty(pred.arity))
            added = update.added_facts.get(pred, backend.empty(pred.arity))
            update.new.set(pred, update.explicit.get(pred, backend.empty(pred.arity)))
            update.settle(pred, removed, added)
        for pred in orphans:
            table = update.explicit.get(pred, backend.empty(pred.arity))
            update.new.set(pred, table)
            update.settle(pred, backend.minus(update.old.get(pred), table), backend.minus(table, update.old.get(pred)))


def is_small(tasks: StratumTasks, update: Update[T]) -> bool:
    """Whether a stratum can be maintained fact by fact, if little has changed."""
    return (
        tasks.is_simple
        and not update.backend.batches
        and update.strategy != "counting"
        and not (tasks.stratum.recursive and update.strategy == "bf")
        and tasks.stratum.reads.isdisjoint(update.unsettled)
        and not update.changes_rules(tasks.stratum)
    )


def by_facts(strata: Sequence[StratumTasks], update: Update[T]) -> int:
    """Delete and rederive, fact by fact, in strata one after the other, as long as there is little to do; how many of
    them are done."""
    result = update.backend.maintained([tasks.small(update.old) for tasks in strata], update.seen_by(strata))
    update.take(result)
    for tasks in strata[: result.done]:
        if tasks.stratum.recursive and update.touches(tasks.stratum):
            update.report.notes.append(f"{tasks.names}: delete and rederive")
    return result.done


def better_anew(tasks: StratumTasks, update: Update[T]) -> str | None:
    """Why a stratum is better computed anew than maintained; None if it is not, or if that must be seen."""
    if not update.reshaped.isdisjoint(tasks.stratum.preds):
        return "kept in another way than before"
    if not tasks.backbones.isdisjoint(update.removed):
        return STANDS
    if is_barren(tasks, update):
        return "nothing derives it any more"
    if tasks.structures and _removed_of(tasks.others, update) > SOME:
        return STANDS
    lost = sum(map(update.least_change, tasks.others))
    one_by_one = any(rule.restricted for rule in tasks.rules)  # groups are computed before and after
    if (update.removed or update.unsettled or one_by_one) and lost > most_changed(tasks, update):
        return "most of what it reads has changed"
    return _gone_with_rules(tasks, update)


def _removed_of(preds: Iterable[Pred], update: Update[T]) -> int:
    return sum(update.backend.size(update.removed[pred]) for pred in preds if pred in update.removed)


def most_changed(tasks: StratumTasks, update: Update[T]) -> float:
    """How much of what a stratum reads may change, and it is still maintained."""
    read = tasks.read(update.old)
    return min(max(FEW, MOST_REMOVED * read), max(SOME, read / 2))


def _gone_with_rules(tasks: StratumTasks, update: Update[T]) -> str | None:
    """Why a stratum of which rules have been removed is better computed anew."""
    preds = tasks.stratum.preds
    gone = [Task(Variant(rule)) for rule in update.removed_rules if rule.heads[0].pred in preds]
    facts = sum(update.backend.size(update.old.get(pred)) for pred in preds)
    if not gone or facts <= FEW:
        return None
    whole = sum(_cost(rule.whole, update.old) for rule in tasks.rules)
    if not tasks.recursive and whole < facts / 2:
        return "the rules that are left give less than half of it"
    if sum(_cost(task, update.old) for task in gone) > whole:
        return "a removed rule has more instances than are left"
    return None


def is_barren(tasks: StratumTasks, update: Update[T]) -> bool:
    """Whether no rule of a stratum derives anything any more, as each reads a relation that is empty, or needs a first
    fact that nothing gives. Then there is nothing to compute."""
    preds, size = tasks.stratum.preds, update.backend.size
    if tasks.structures or not (_is_emptied(tasks.stratum.reads, update) or update.changes_rules(tasks.stratum)):
        return False
    if tasks.recursive and any(pred in update.explicit for pred in preds):
        return False
    return all(
        any(pred not in preds and not size(update.new.get(pred)) for pred, _ in rule.whole.reads)
        for rule in tasks.nonrecursive
    )


def _is_emptied(preds: Iterable[Pred], update: Update[T]) -> bool:
    """Whether one of some predicates has lost all of its facts."""
    lost = (pred for pred in preds if pred in update.removed or pred in update.unsettled)
    return any(not update.backend.size(update.new.get(pred)) for pred in lost)


def spreads(tasks: StratumTasks, update: Update[T]) -> bool:
    """Whether a change of what a stratum reads has so many consequences there, in the first step alone, that everything
    is sooner derived than these are followed. In a recursion more of them come; elsewhere that is so where facts go and
    there are more consequences than facts."""
    stratum, size = tasks.stratum, update.backend.size
    if tasks.structures or update.strategy != "auto" or update.changes_rules(stratum):
        return False
    if NOTICED * sum(map(update.least_change, tasks.others)) < tasks.read(update.old):
        return False
    if stratum.recursive:
        found = _consequences(tasks.recursive, update)
        return found > FEW and SPREADING * found > sum(_cost(rule.whole, update.old) for rule in tasks.rules)
    facts = sum(size(update.old.get(pred)) for pred in stratum.preds)
    return facts > FEW and not tasks.others.isdisjoint(update.removed) and _consequences(tasks.rules, update) > facts


def _consequences(rules: Iterable[RuleTasks], update: Update[T]) -> float:
    """About how many instances of rules a change gives at once."""
    found = 0.0
    for changes in (update.removed, update.added):
        relations = state(update.old, changes)
        due = [task for rule in rules for change, task in rule.affected if change.pred in changes]
        found += sum(_cost(task, relations) for task in due)
    return found


def _cost(task: Task, relations: Relations[T]) -> float:
    """About how many rows the evaluation of a whole rule goes through."""
    return plan_variant(task.variant, relations).cost


def maintain_structure(structure: Structure, update: Update[T]) -> None:
    """A relation that is made of others which are settled."""
    backend, old, none = update.backend, update.old.get(structure.pred), update.backend.empty(2)
    inputs = [update.new.get(source) for source in structure.inputs]
    removed = [update.removed.get(source, none) for source in structure.inputs]
    added = [update.added.get(source, none) for source in structure.inputs]
    table, difference = backend.restructured(structure, old, inputs, removed, added)
    update.new.set(structure.pred, table)
    update.settle_late(structure.pred, difference)
    update.report.inserted += max(0, backend.size(table) - backend.size(old))


def recompute(program: Program, tasks: StratumTasks, update: Update[T]) -> None:
    """A stratum from its explicit facts and its rules, over what is before it."""
    backend, preds = update.backend, tasks.stratum.preds
    update.counts.pop(preds, None)
    for pred in preds:
        update.new.set(pred, update.explicit.get(pred, backend.empty(pred.arity)))
    evaluation = SemiNaive(program, update.new)
    whole = [rule.whole for rule in tasks.rules] + [Task(Variant(structure.rule)) for structure in tasks.structures]
    evaluation.propagate(preds, tasks.loops, evaluation.derive(whole))
    for pred in preds:
        update.settle_late(pred)
    update.report.recomputed += 1
    update.report.recomputed_preds |= preds


def state(relations: Relations[T], deltas: Mapping[Pred, T], extra: Mapping[Pred, T] | None = None) -> Relations[T]:
    """A state with something to read as DELTA, and more relations besides."""
    parts = dict(relations.parts)
    parts.update({(pred, Part.DELTA): table for pred, table in deltas.items()})
    parts.update({(pred, Part.ALL): table for pred, table in (extra or {}).items()})
    return Relations(relations.backend, parts)


def difference(facts: Mapping[Pred, T], gone: Mapping[Pred, T], backend: Backend[T]) -> Facts[T]:
    """Facts without others, by predicate; none empty."""
    left = {pred: backend.minus(table, gone[pred]) if pred in gone else table for pred, table in facts.items()}
    return {pred: table for pred, table in left.items() if backend.size(table)}


def total(facts: Mapping[Pred, T], backend: Backend[T]) -> int:
    return sum(backend.size(table) for table in facts.values())


def visible(facts: Mapping[Pred, T], backend: Backend[T]) -> int:
    """How many facts a user sees."""
    return total({pred: table for pred, table in facts.items() if not pred.hidden}, backend)
