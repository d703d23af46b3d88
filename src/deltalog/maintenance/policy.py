"""When a stratum is better computed anew than maintained, by estimates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from deltalog.backends.base import TupleBudget
from deltalog.engine.seminaive import PlannedVariant, Relations
from deltalog.maintenance.stratum_plans import RulePlans, StratumPlans
from deltalog.maintenance.update_state import Update, state
from deltalog.plan.variants import Variant, plan_variant
from deltalog.syntax.ast import Pred

T = TypeVar("T")
UNBOUNDED = 1 << 62
STANDS = "facts go that a structure may stand on"


def better_anew(plans: StratumPlans, update: Update[T]) -> str | None:
    """Why a stratum is better computed anew than maintained; None if it is not, or if that must be seen."""
    if not update.reshaped.isdisjoint(plans.stratum.preds):
        return "kept in another way than before"
    if not plans.backbones.isdisjoint(update.removed):
        return STANDS
    if is_barren(plans, update):
        return "nothing derives it any more"
    if plans.structures and _removed_of(plans.others, update) > update.tuning.recompute_min_changed_inputs:
        return STANDS
    lost = sum(map(update.min_changed_facts, plans.others))
    one_by_one = any(rule.restricted for rule in plans.rules)  # groups are computed before and after
    if (update.removed or update.deferred or one_by_one) and lost > most_changed(plans, update):
        return "most of what it reads has changed"
    return _gone_with_rules(plans, update)


def _removed_of(preds: Iterable[Pred], update: Update[T]) -> int:
    return sum(update.backend.size(update.removed[pred]) for pred in preds if pred in update.removed)


def most_changed(plans: StratumPlans, update: Update[T]) -> float:
    """How much of what a stratum reads may change, and it is still maintained."""
    read, tuning = plans.read(update.old), update.tuning
    most = max(tuning.recompute_min_facts, tuning.recompute_min_removed_share * read)
    return min(most, max(tuning.recompute_min_changed_inputs, read / 2))


def tuple_budget(plans: StratumPlans, update: Update[T]) -> TupleBudget:
    """What the tuple-at-a-time kernel may do in a stratum. Overdeletion is bounded where other strategies follow."""
    tuning = update.tuning
    bound = UNBOUNDED, 0
    if plans.stratum.recursive and update.strategy == "auto":
        bound = tuning.bounded_overdeletion_min_facts, tuning.bounded_overdeletion_factor
    most = int(most_changed(plans, update))
    return TupleBudget(tuning.tuple_max_changed_facts, most, tuning.tuple_max_matches, *bound)


def _gone_with_rules(plans: StratumPlans, update: Update[T]) -> str | None:
    """Why a stratum of which rules have been removed is better computed anew."""
    preds = plans.stratum.preds
    gone = [PlannedVariant(Variant(rule)) for rule in update.removed_rules if rule.heads[0].pred in preds]
    facts = sum(update.backend.size(update.old.get(pred)) for pred in preds)
    if not gone or facts <= update.tuning.recompute_min_facts:
        return None
    whole = sum(_cost(rule.whole, update.old) for rule in plans.rules)
    if not plans.recursive and whole < facts / 2:
        return "the rules that are left give less than half of it"
    if sum(_cost(planned, update.old) for planned in gone) > whole:
        return "a removed rule has more instances than are left"
    return None


def is_barren(plans: StratumPlans, update: Update[T]) -> bool:
    """Whether no rule of a stratum derives anything any more, as each reads a relation that is empty, or needs a first
    fact that nothing gives. Then there is nothing to compute."""
    preds, size = plans.stratum.preds, update.backend.size
    if plans.structures or not (_is_emptied(plans.stratum.reads, update) or update.changes_rules(plans.stratum)):
        return False
    if plans.recursive and any(pred in update.explicit for pred in preds):
        return False
    return all(
        any(pred not in preds and not size(update.new.get(pred)) for pred, _ in rule.whole.reads)
        for rule in plans.nonrecursive
    )


def _is_emptied(preds: Iterable[Pred], update: Update[T]) -> bool:
    """Whether one of some predicates has lost all of its facts."""
    lost = (pred for pred in preds if pred in update.removed or pred in update.deferred)
    return any(not update.backend.size(update.new.get(pred)) for pred in lost)


def spreads(plans: StratumPlans, update: Update[T]) -> bool:
    """Whether a change of what a stratum reads has so many consequences there, in the first step alone, that everything
    is sooner derived than these are followed. In a recursion more of them come; elsewhere that is so where facts go and
    there are more consequences than facts."""
    stratum, size, tuning = plans.stratum, update.backend.size, update.tuning
    if plans.structures or update.strategy != "auto" or update.changes_rules(stratum):
        return False
    changed = sum(map(update.min_changed_facts, plans.others))
    if tuning.recompute_spread_notice_factor * changed < plans.read(update.old):
        return False
    if stratum.recursive:
        found = _consequences(plans.recursive, update)
        if found <= tuning.recompute_min_facts:
            return False
        whole = sum(_cost(rule.whole, update.old) for rule in plans.rules)
        return tuning.recompute_spread_factor * found > whole
    facts = sum(size(update.old.get(pred)) for pred in stratum.preds)
    if facts <= tuning.recompute_min_facts or plans.others.isdisjoint(update.removed):
        return False
    return _consequences(plans.rules, update) > facts


def _consequences(rules: Iterable[RulePlans], update: Update[T]) -> float:
    """About how many instances of rules a change gives at once."""
    found = 0.0
    for changes in (update.removed, update.added):
        relations = state(update.old, changes)
        due = [planned for rule in rules for change, planned in rule.affected if change.pred in changes]
        found += sum(_cost(planned, relations) for planned in due)
    return found


def _cost(planned: PlannedVariant, relations: Relations[T]) -> float:
    """About how many rows the evaluation of a whole rule goes through."""
    return plan_variant(planned.variant, relations).cost
