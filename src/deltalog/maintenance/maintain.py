"""Keeping a materialisation right.

An update is a change of explicit facts and of rules. Strata are visited in order, each with the net changes of all
before it: A, what was added, and D, what was removed (paper 003, Algorithm 3). What a stratum does with them is the
business of a strategy (`maintenance.dred`, `maintenance.backward_forward`, `maintenance.counting`); here is what is
around it: predicates without rules, strata that nothing touches, strata that are computed anew because most of them
would change anyway, and the sum of it all.

Rules change the way facts do (paper 004, and past it): all instances of a removed rule are deletions, all instances of
a new rule are insertions, in the stratum that the new program gives to their head. A predicate that has lost all of its
rules keeps its explicit facts, without any reasoning.

Tables are immutable, so the old state stays as it was until the update is done; an error or an interrupt leaves it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from deltalog.backends.base import SmallChange
from deltalog.concurrency.cached import cached_property
from deltalog.engine.seminaive import PlannedVariant
from deltalog.maintenance.backward_forward import BackwardForward
from deltalog.maintenance.counting import with_counts
from deltalog.maintenance.dred import DRed
from deltalog.maintenance.policy import STANDS, better_anew, spreads, tuple_budget
from deltalog.maintenance.stratum_plans import StratumPlans, simple_first, structures_of
from deltalog.maintenance.update_state import Update
from deltalog.plan.variants import Variant
from deltalog.program import Program
from deltalog.program.incremental_analysis import changed_leaves
from deltalog.program.recognise import Structure
from deltalog.program.strata import Stratum, strata
from deltalog.syntax.ast import Pred, Rule

T = TypeVar("T")
# What is tried in turn on a recursive stratum: backward/forward or DRed, bounded or not.
ATTEMPTS = {
    "dred": ((False, False),),
    "bf": ((True, False), (False, False)),
    "counting": ((False, False),),
    "auto": ((False, True), (True, True), (False, False)),
}


class Maintenance(Generic[T]):
    """The strata of a program with their plans; one for as long as the rules stay the same."""

    def __init__(self, program: Program, before: Maintenance[T] | None = None) -> None:
        """`before` is of another program: what both have in common is taken from it, with its plans."""
        self.program = program
        known = before._strata if before is not None else []
        leaves = changed_leaves(before.program, program) if before is not None else None
        self._strata: list[StratumPlans] = []
        if leaves is not None:
            gone = {pred for node in leaves.gone for pred in node.heads}
            self._strata = [plans for plans in known if gone.isdisjoint(plans.stratum.preds)]
        nodes = program.hyper_nodes if leaves is None else leaves.added
        rules = [rule for node in nodes for rule in node.rules]
        made = {plans.stratum: plans for plans in known}
        self._strata += [self._plans(stratum, made.get(stratum)) for stratum in strata(rules)]
        self._strata = simple_first(self._strata)
        self._derived = {pred for plans in self._strata for pred in plans.stratum.preds}

    def without(self, old: Program, program: Program, gone: Collection[Pred]) -> Maintenance[T]:
        """The same for a program without leaves, which derived what is gone."""
        new: Maintenance[T] = Maintenance.__new__(Maintenance)
        new.program = program
        if self.program is not old:  # it has the rules of trees
            nodes = tuple(node for node in self.program.hyper_nodes if node.heads.isdisjoint(gone))
            new.program = replace(self.program, rules=program.rules, hyper_nodes=nodes)
        new._strata = [plans for plans in self._strata if plans.stratum.preds.isdisjoint(gone)]
        new._derived = self._derived.difference(gone)
        return new

    def _plans(self, stratum: Stratum, known: StratumPlans | None) -> StratumPlans:
        structures = self.program.structures
        if known is not None and known.structures == structures_of(stratum, structures):
            return known
        return StratumPlans.of(stratum, structures)

    @cached_property
    def _made_of(self) -> set[frozenset[Pred]]:
        return {plans.stratum.preds for plans in self._strata}

    @property
    def single_rules(self) -> list[Rule]:
        """The rules, one head each, as maintenance sees them."""
        return [rule for plans in self._strata for rule in plans.stratum.rules]

    def run(self, update: Update[T]) -> None:
        """Takes the new state to the materialisation of the new facts and rules."""
        started = time.perf_counter()
        update.report.hyper_nodes = self.program.hyper_nodes
        for preds in update.counts.keys() - self._made_of if update.counts else ():
            del update.counts[preds]
        if update.backend.limits.max_facts is not None:
            update.waiting = set(self._derived)
        self._settle_without_rules(update, self._derived)
        at = self._maintain_small(0, update)
        while at < len(self._strata):
            self._maintain_touched(self._strata[at], update)
            at = self._maintain_small(at + 1, update)
        update.report.seconds = time.perf_counter() - started

    def _maintain_touched(self, plans: StratumPlans, update: Update[T]) -> None:
        update.waiting -= plans.stratum.preds
        if update.affects(plans.stratum):
            update.report.visited += 1
            update.report.visited_preds |= plans.stratum.preds
            self._maintain(plans, update)

    def _maintain(self, plans: StratumPlans, update: Update[T]) -> None:
        """One stratum, by the strategy that was chosen; computed anew if that gives up."""
        if len(plans.stratum.preds) == len(plans.structures) == 1 and update.reshaped.isdisjoint(plans.stratum.preds):
            update.resolve_deltas(plans.stratum.reads)
            maintain_structure(plans.structures[0], update)
            return
        why = better_anew(plans, update)
        if not why and not plans.stratum.reads.isdisjoint(update.deferred):
            update.resolve_deltas(plans.stratum.reads)
            why = better_anew(plans, update)
            if not why and is_small(plans, update) and by_facts([plans], update):
                return
        if why:
            recompute(self.program, plans, update)
            update.report.notes.append(f"{plans.names}: {why}, computed anew")
            return
        if spreads(plans, update):
            recompute(self.program, plans, update)
            update.report.notes.append(f"{plans.names}: what changes has many consequences, computed anew")
            return
        attempts = ATTEMPTS[update.strategy] if plans.stratum.recursive else ((False, False),)
        counted = with_counts(plans, update) if update.strategy == "counting" else None
        for backward, bounded in attempts if not plans.structures else ((False, False),):
            chosen = counted or (BackwardForward if backward else DRed)
            strategy = chosen(self.program, plans, update, bounded)
            if strategy.maintain():
                if plans.stratum.recursive:
                    update.report.notes.append(f"{plans.names}: {strategy.name}")
                return
            if strategy.hopeless:
                break
            update.report.notes.append(f"{plans.names}: {strategy.name} would {strategy.cost} too much")
        recompute(self.program, plans, update)
        why = STANDS if plans.structures else "most facts would go"
        update.report.notes.append(f"{plans.names}: {why}, computed anew")

    def _maintain_small(self, first: int, update: Update[T]) -> int:
        """Small changes, fact by fact, of as many strata as can be; the place of the next."""
        end = first
        while end < len(self._strata) and is_small(self._strata[end], update):
            end += 1
        touched = self._touched(first, end, update)
        strata = [self._strata[i] for i in touched]
        done = by_facts(strata, update) if strata else 0
        after = touched[done] if done < len(touched) else end
        if update.waiting:
            update.waiting.difference_update(*(plans.stratum.preds for plans in self._strata[first:after]))
        visited = [plans for plans in strata[:done] if update.affects(plans.stratum)]
        update.report.visited += len(visited)
        update.report.visited_preds.update(*(plans.stratum.preds for plans in visited))
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


def is_small(plans: StratumPlans, update: Update[T]) -> bool:
    """Whether a stratum can be maintained fact by fact, if little has changed."""
    return (
        plans.is_simple
        and not update.backend.batches
        and update.strategy != "counting"
        and not (plans.stratum.recursive and update.strategy == "bf")
        and plans.stratum.reads.isdisjoint(update.deferred)
        and not update.changes_rules(plans.stratum)
    )


def by_facts(strata: Sequence[StratumPlans], update: Update[T]) -> int:
    """Delete and rederive, fact by fact, in strata one after the other, as long as there is little to do; how many of
    them are done."""
    settled, explicit = (update.removed, update.added), (update.removed_facts, update.added_facts)
    budgets = [tuple_budget(plans, update) for plans in strata]
    change = SmallChange(update.old.parts, update.explicit, *settled, *explicit, budgets)
    result = update.backend.maintained([plans.tuple_plans(update.old) for plans in strata], change)
    update.take(result)
    for plans in strata[: result.done]:
        if plans.stratum.recursive and update.affects(plans.stratum):
            update.report.notes.append(f"{plans.names}: delete and rederive")
    return result.done


def maintain_structure(structure: Structure, update: Update[T]) -> None:
    """A relation that is made of others which are settled."""
    backend, old, none = update.backend, update.old.get(structure.pred), update.backend.empty(2)
    inputs = [update.new.get(source) for source in structure.inputs]
    removed = [update.removed.get(source, none) for source in structure.inputs]
    added = [update.added.get(source, none) for source in structure.inputs]
    table, difference = backend.restructured(structure, old, inputs, removed, added)
    update.new.set(structure.pred, table)
    update.defer_delta(structure.pred, difference)
    update.report.inserted += max(0, backend.size(table) - backend.size(old))


def recompute(program: Program, plans: StratumPlans, update: Update[T]) -> None:
    """A stratum from its explicit facts and its rules, over what is before it."""
    backend, preds = update.backend, plans.stratum.preds
    update.counts.pop(preds, None)
    for pred in preds:
        update.new.set(pred, update.explicit.get(pred, backend.empty(pred.arity)))
    evaluation = update.evaluation(program)
    whole = [rule.whole for rule in plans.rules]
    whole += [PlannedVariant(Variant(structure.rule)) for structure in plans.structures]
    evaluation.propagate(preds, plans.loops, evaluation.derive(whole))
    for pred in preds:
        update.defer_delta(pred)
    update.report.recomputed += 1
    update.report.recomputed_preds |= preds
