"""Incremental maintenance of a materialisation.

An update is a change of explicit facts and of rules. Strata are visited in order, each with the deltas of all before
it: A, what was added, and D, what was removed (Hu et al., Algorithm 3). What is done with a stratum is decided by
`maintenance.policy` and carried out here: it is skipped, recomputed, maintained tuple at a time by a kernel of the
backend, or set at a time by a strategy (`maintenance.dred`, `maintenance.backward_forward`, `maintenance.counting`).

Rules change like facts (Xu and Curé, and beyond): all instances of a removed rule are deletions, all instances of a new
rule are insertions, in the stratum that the new program gives to their head. A predicate that has lost all of its rules
keeps its explicit facts, without any reasoning.

Tables are immutable, so the old state stays as it was until the update is done; an error or an interrupt leaves it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.capabilities.tuple_maintenance import SmallChange
from deltalog.evaluation.maintenance.backward_forward import BackwardForward
from deltalog.evaluation.maintenance.counting import CountingDRed, Uncounted
from deltalog.evaluation.maintenance.dred import DRed
from deltalog.evaluation.maintenance.ladders import Ladder, Strategy
from deltalog.evaluation.maintenance.policy import Decision, DecisionKind, Done, decide, learn, tuple_budget
from deltalog.evaluation.maintenance.stratum_plans import StratumPlans, schemes_of, tuple_maintainable_first
from deltalog.evaluation.maintenance.update_state import Update
from deltalog.evaluation.plan.variants import Variant
from deltalog.evaluation.seminaive import PlannedVariant
from deltalog.program import Program
from deltalog.program.dependency import DependencyGraph
from deltalog.program.incremental_analysis import changed_leaves
from deltalog.program.schemes import Scheme
from deltalog.program.strata import Stratum

T = TypeVar("T")
BY_TUPLES = "tuple at a time"
STRATEGIES: dict[Strategy, type[DRed[Any]]] = {
    Strategy.DRED: DRed,
    Strategy.BACKWARD_FORWARD: BackwardForward,
    Strategy.COUNTING: CountingDRed,
    Strategy.UNCOUNTED: Uncounted,
}


class Maintenance(Generic[T]):
    """The strata of a program with their plans, for as long as the rules stay the same."""

    def __init__(self, program: Program, before: Maintenance[T] | None = None) -> None:
        """`before` is of an earlier program: strata that both have keep their plans."""
        self.program = program
        known = before._strata if before is not None else []
        leaves = changed_leaves(before.program, program) if before is not None else None
        self._strata: list[StratumPlans] = []
        if leaves is not None:
            removed = {pred for node in leaves.removed for pred in node.heads}
            self._strata = [plans for plans in known if removed.isdisjoint(plans.stratum.preds)]
        nodes = program.hyper_nodes if leaves is None else leaves.added
        rules = [rule for node in nodes for rule in node.rules]
        made = {plans.stratum: plans for plans in known}
        self._strata += [self._plans(stratum, made.get(stratum)) for stratum in DependencyGraph.of(rules).strata]
        self._strata = tuple_maintainable_first(self._strata)
        self._derived = {pred for plans in self._strata for pred in plans.stratum.preds}

    def without(self, old: Program, program: Program, removed: Collection[Pred]) -> Maintenance[T]:
        """The same for a program without leaves, whose predicates are `removed`."""
        new: Maintenance[T] = Maintenance.__new__(Maintenance)
        new.program = program
        if self.program is not old:  # it has the rules of trees
            nodes = tuple(node for node in self.program.hyper_nodes if node.heads.isdisjoint(removed))
            new.program = replace(self.program, rules=program.rules, hyper_nodes=nodes)
        new._strata = [plans for plans in self._strata if plans.stratum.preds.isdisjoint(removed)]
        new._derived = self._derived.difference(removed)
        return new

    def _plans(self, stratum: Stratum, known: StratumPlans | None) -> StratumPlans:
        schemes = self.program.scheme_of
        if known is not None and known.schemes == schemes_of(stratum, schemes):
            return known
        return StratumPlans.of(stratum, schemes)

    @cached_property
    def _known_strata(self) -> frozenset[frozenset[Pred]]:
        return frozenset(plans.stratum.preds for plans in self._strata)

    @property
    def single_rules(self) -> list[Rule]:
        """The rules, one head each, as maintenance sees them."""
        return [rule for plans in self._strata for rule in plans.stratum.rules]

    def reached(self, changed: Collection[Pred]) -> list[Stratum]:
        """The strata that a change of the facts of some predicates may reach."""
        reached, found = set(changed), list[Stratum]()
        for plans in self._strata:
            if not (plans.stratum.reads | plans.stratum.preds).isdisjoint(reached):
                reached |= plans.stratum.preds
                found.append(plans.stratum)
        return found

    def run(self, update: Update[T]) -> None:
        """Takes the new state to the materialisation of the new facts and rules."""
        started = time.perf_counter()
        update.report.hyper_nodes = self.program.hyper_nodes
        update.forget_all_but(self._known_strata)
        if update.backend.limits.max_facts is not None:
            update.unvisited = set(self._derived)
        self._keep_explicit(update, self._derived)
        at = 0
        while at < len(self._strata):
            at, gave_up = self._by_tuples(at, update)
            if at < len(self._strata):
                update.unvisited -= self._strata[at].stratum.preds
                self._maintain(self._strata[at], update, gave_up)
                at += 1
        if update.tuple_limits:
            limits = ((plans.label, update.tuple_limits.get(plans.stratum.preds)) for plans in self._strata)
            update.report.tuple_limits = {names: limit for names, limit in limits if limit is not None}
        update.report.seconds = time.perf_counter() - started

    def _by_tuples(self, first: int, update: Update[T]) -> tuple[int, bool]:
        """As many strata as possible from the first on, in one call of the tuple-at-a-time kernel; the place of the
        next stratum, and whether the kernel has given up there."""
        chosen, end, changing = list[int](), first, update.changed
        while end < len(self._strata):
            plans = self._strata[end]
            decision = decide(plans, update, changing)
            if decision.kind is DecisionKind.TUPLES:
                chosen.append(end)
                changing |= plans.stratum.preds
            elif decision.kind is not DecisionKind.SKIP:
                break
            end += 1
        strata = [self._strata[i] for i in chosen]
        done = by_tuples(strata, update) if strata else 0
        after = chosen[done] if done < len(chosen) else end
        if update.unvisited:
            update.unvisited.difference_update(*(plans.stratum.preds for plans in self._strata[first:after]))
        for plans in strata[:done]:
            if update.affects(plans.stratum):
                update.report.visit(plans.stratum.preds)
                update.report.decide(plans.stratum.preds, BY_TUPLES)
        return after, done < len(chosen)

    def _maintain(self, plans: StratumPlans, update: Update[T], tuples_gave_up: bool) -> None:
        """One stratum, as the policy decides."""
        decision = decide(plans, update, tuples_gave_up=tuples_gave_up)
        if decision.kind is DecisionKind.SKIP:
            return
        update.report.visit(plans.stratum.preds)
        if decision.kind is DecisionKind.RESOLVE:
            update.resolve_deltas(plans.stratum.reads)
            decision = decide(plans, update)
        if decision.kind is DecisionKind.TUPLES:
            if by_tuples([plans], update):
                update.report.decide(plans.stratum.preds, BY_TUPLES)
                return
            decision = decide(plans, update, tuples_gave_up=True)
        self._carry_out(decision, plans, update)

    def _carry_out(self, decision: Decision, plans: StratumPlans, update: Update[T]) -> None:
        preds, report = plans.stratum.preds, update.report
        if decision.kind is DecisionKind.VIRTUAL:
            maintain_virtual(plans.schemes[0], update)
            report.decide(preds, "a virtual relation, which follows its inputs")
        elif decision.kind is DecisionKind.EXPLICIT:
            keep_explicit(plans, update)
            report.notes.append(f"{plans.label}: {decision.why}, only explicit facts kept")
            report.decide(preds, "only explicit facts kept", decision.why)
        elif decision.kind is DecisionKind.RECOMPUTE:
            self._recompute(plans, update, decision.why)
        elif decision.kind is DecisionKind.SETS:
            self._by_sets(decision.ladder, plans, update)

    def _by_sets(self, ladder: Ladder, plans: StratumPlans, update: Update[T]) -> None:
        """The attempts in turn; recomputed when all of them give up."""
        reason = ""
        for strategy, bounded in ladder:
            chosen = STRATEGIES[strategy]
            outcome = chosen(self.program, plans, update, bounded).maintain()
            if isinstance(outcome, Done):
                update.report.decide(plans.stratum.preds, f"set at a time, {chosen.name}", reason)
                if plans.stratum.recursive:
                    update.report.notes.append(f"{plans.label}: {chosen.name}")
                return
            reason = outcome.reason
            if outcome.recompute:
                break
            if (strategy, bounded) != ladder[-1]:
                update.report.notes.append(f"{plans.label}: {chosen.name} gave up, {reason}")
        self._recompute(plans, update, reason)

    def _recompute(self, plans: StratumPlans, update: Update[T], why: str) -> None:
        recompute(self.program, plans, update)
        update.report.notes.append(f"{plans.label}: recomputed, {why}")
        update.report.decide(plans.stratum.preds, "recomputed", why)

    def _keep_explicit(self, update: Update[T], derived: set[Pred]) -> None:
        """Predicates without rules have their explicit facts alone."""
        backend = update.backend
        orphans = {rule.heads[0].pred for rule in update.removed_rules} | update.stored_differently
        orphans -= derived
        for pred in (set(update.added_facts) | set(update.removed_facts)) - derived - orphans:
            removed = update.removed_facts.get(pred, backend.empty(pred.arity))
            added = update.added_facts.get(pred, backend.empty(pred.arity))
            update.new.set(pred, update.explicit.get(pred, backend.empty(pred.arity)))
            update.record_delta(pred, removed, added)
        for pred in orphans:
            table = update.explicit.get(pred, backend.empty(pred.arity))
            update.new.set(pred, table)
            old = update.old.get(pred)
            update.record_delta(pred, backend.minus(old, table), backend.minus(table, old))


def by_tuples(strata: Sequence[StratumPlans], update: Update[T]) -> int:
    """Strata one after the other, by the tuple-at-a-time kernel; how many of them are done when it gives up."""
    deltas, explicit = (update.removed, update.added), (update.removed_facts, update.added_facts)
    budgets = [tuple_budget(plans, update) for plans in strata]
    change = SmallChange(update.old.parts, update.explicit, *deltas, *explicit, budgets)
    kernel = required(update.backend.capabilities.tuple_maintenance)
    result = kernel.maintain([plans.tuple_plans(update.old) for plans in strata], change)
    update.apply(result)
    for plans in strata[: result.done]:
        if plans.stratum.recursive and update.affects(plans.stratum):
            update.report.notes.append(f"{plans.label}: {DRed.name}")
    if result.changed:
        learn(strata[result.done], update, result.changed, result.tried)
    return result.done


def maintain_virtual(scheme: Scheme, update: Update[T]) -> None:
    """A virtual relation follows its inputs."""
    backend, old, none = update.backend, update.old.get(scheme.pred), update.backend.empty(2)
    inputs = [update.new.get(source) for source in scheme.inputs]
    removed = [update.removed.get(source, none) for source in scheme.inputs]
    added = [update.added.get(source, none) for source in scheme.inputs]
    virtual_relations = required(backend.capabilities.virtual_relations)
    table, difference = virtual_relations.rebuild(scheme, old, inputs, removed, added)
    update.new.set(scheme.pred, table)
    update.defer_delta(scheme.pred, difference)
    update.report.inserted += max(0, backend.size(table) - backend.size(old))


def recompute(program: Program, plans: StratumPlans, update: Update[T]) -> None:
    """A stratum from its explicit facts and its rules, over what is before it."""
    preds = plans.stratum.preds
    _reset(plans, update)
    evaluation = update.evaluation(program)
    whole = [rule.whole for rule in plans.rules]
    whole += [PlannedVariant(Variant(scheme.rule)) for scheme in plans.schemes]
    evaluation.propagate(preds, plans.recursive_variants, evaluation.derive(whole))
    for pred in preds:
        update.defer_delta(pred)


def keep_explicit(plans: StratumPlans, update: Update[T]) -> None:
    """The same where no rule derives anything."""
    _reset(plans, update)
    for pred in plans.stratum.preds:
        update.defer_delta(pred)


def _reset(plans: StratumPlans, update: Update[T]) -> None:
    """A stratum with its explicit facts alone."""
    preds = plans.stratum.preds
    update.counts.pop(preds, None)
    for pred in preds:
        update.new.set(pred, update.explicit.get(pred, update.backend.empty(pred.arity)))
    update.report.recomputed += 1
    update.report.recomputed_preds |= preds
