"""How a stratum follows a change: the one place that decides.

`decide` looks at a stratum and at what has changed so far, and answers with a `Decision`:

    SKIP        nothing that the stratum reads has changed, and none of its explicit facts or rules
    RESOLVE     a delta that it reads is deferred: it has to be resolved, and the stratum to be decided again
    TUPLES      the change is small: the tuple-at-a-time kernel of the backend, which may give up; then decided again
    VIRTUAL     a virtual relation follows its inputs
    EXPLICIT    no rule can derive anything: the explicit facts are all that is left
    RECOMPUTE   from scratch, because most of the stratum would change anyway
    SETS        strategies, set at a time: the attempts of a ladder in turn; when all of them give up, recomputed

A strategy answers `Done` or `GaveUp(reason)`. How far it may go before it gives up is decided here, too (`TupleBudget`,
`OverdeletionBudget`). All thresholds are fields of `model.tuning.Tuning`. What one update learns for the next is part
of the state: the limits of strata in which the kernel gave up (`Materialisation.tuple_limits`, also in the report). The
same update of the same state is always carried out in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, TypeVar

from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.evaluation.capabilities.tuple_maintenance import TupleBudget
from deltalog.evaluation.maintenance.ladders import LADDERS, WITHOUT_COUNTS, WITHOUT_RECURSION, Ladder
from deltalog.evaluation.maintenance.stratum_plans import RulePlans, StratumPlans
from deltalog.evaluation.maintenance.update_state import Update, with_deltas
from deltalog.evaluation.plan.variants import Variant, plan_variant
from deltalog.evaluation.seminaive import PlannedVariant, Relations

_GROWTH_SHARE = 0.3  # of the facts that may be overdeleted: beyond it, a delta that still grows gives up

T = TypeVar("T")
UNBOUNDED = 1 << 62
UNDER_VIRTUAL = "facts that a virtual relation may depend on are deleted"


class DecisionKind(Enum):
    """What to do with a stratum."""

    SKIP = auto()
    RESOLVE = auto()
    TUPLES = auto()
    VIRTUAL = auto()
    EXPLICIT = auto()
    RECOMPUTE = auto()
    SETS = auto()


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a stratum, and why; for SETS, the attempts."""

    kind: DecisionKind
    why: str = ""
    ladder: Ladder = ()


@dataclass(frozen=True, slots=True)
class Done:
    """A strategy has taken a stratum to its new state."""


@dataclass(frozen=True, slots=True)
class GaveUp:
    """A strategy has given up and changed nothing. `recompute`: no other attempt would do better."""

    reason: str
    recompute: bool = False


SKIP, RESOLVE, TUPLES, VIRTUAL = (
    Decision(kind) for kind in (DecisionKind.SKIP, DecisionKind.RESOLVE, DecisionKind.TUPLES, DecisionKind.VIRTUAL)
)
EXPLICIT = Decision(DecisionKind.EXPLICIT, "no rule can derive anything")


def decide(
    plans: StratumPlans, update: Update[T], changing: Set[Pred] | None = None, tuples_gave_up: bool = False
) -> Decision:
    """What to do with a stratum. `changing` are the predicates that have changed, or may change in the same call of the
    tuple-at-a-time kernel (by default those that have changed)."""
    if not update.affects(plans.stratum, changing):
        return SKIP
    if not tuples_gave_up and _can_go_by_tuples(plans, update):
        return TUPLES
    deferred = not plans.stratum.reads.isdisjoint(update.deferred)
    if _is_virtual(plans, update):
        return RESOLVE if deferred else VIRTUAL
    if is_underivable(plans, update):
        return EXPLICIT
    why = next((why for reason in REASONS_TO_RECOMPUTE if (why := reason(plans, update))), None)
    if why is None and deferred:
        return RESOLVE
    why = why or _spreads(plans, update)
    return Decision(DecisionKind.RECOMPUTE, why) if why else Decision(DecisionKind.SETS, ladder=_ladder(plans, update))


class JobEstimate(NamedTuple):
    """What following a change costs where every step is a job, and what starting over costs."""

    strata: int  # that the change may reach
    seconds_per_job: float
    recompute_seconds: float  # measured when everything was last derived
    recursive: int = 0  # of the strata


def decide_all(changed: int, explicit: int, tuning: Tuning, estimate: JobEstimate | None = None) -> Decision:
    """Whether everything is recomputed for a change of so many of the explicit facts, or decided stratum by stratum."""
    if estimate is not None:
        strata, seconds, recompute_seconds, recursive = estimate
        jobs = (strata - recursive) * tuning.jobs_per_stratum + recursive * tuning.jobs_per_recursive_stratum
        if jobs * seconds > recompute_seconds > 0:
            follow = f"{strata} strata take about {jobs:.0f} jobs of {seconds:.2f} s"
            return Decision(DecisionKind.RECOMPUTE, f"{follow}, and starting over takes {recompute_seconds:.1f} s")
    share = changed / max(1, explicit)
    fewest = tuning.recompute_min_facts
    if share > tuning.recompute_all_large_share:
        fewest = tuning.recompute_all_min_changed_facts_of_large_share
    if changed > fewest and share > tuning.recompute_all_min_changed_share:
        return Decision(DecisionKind.RECOMPUTE, "a large share of the explicit facts changes")
    return Decision(DecisionKind.SETS)


def _ladder(plans: StratumPlans, update: Update[T]) -> Ladder:
    strategy = update.strategy
    if strategy == "counting" and update.backend.capabilities.counting is None:
        strategy = "dred"
    if strategy == "counting":
        return LADDERS["counting"] if _has_counts(plans, update) else WITHOUT_COUNTS
    return WITHOUT_RECURSION if plans.schemes or not plans.stratum.recursive else LADDERS[strategy]


def _has_counts(plans: StratumPlans, update: Update[T]) -> bool:
    """Whether a stratum has counts, and they are of the rules that it had."""
    known, removed = update.counts.get(plans.stratum.preds), set(update.removed_rules)
    if known is None:
        return False
    nonrecursive, recursive = (
        frozenset(rule.rule for rule in rules if not update.is_new(rule.rule))
        for rules in (plans.nonrecursive, plans.recursive)
    )
    return (known.nonrecursive_rules - removed, known.recursive_rules - removed) == (nonrecursive, recursive)


def _is_virtual(plans: StratumPlans, update: Update[T]) -> bool:
    """Whether a stratum is one virtual relation, which it also was before the change."""
    preds = plans.stratum.preds
    return len(preds) == len(plans.schemes) == 1 and update.stored_differently.isdisjoint(preds)


# Tuple at a time.


def _can_go_by_tuples(plans: StratumPlans, update: Update[T]) -> bool:
    """Whether the tuple-at-a-time kernel can maintain a stratum, if the change is small."""
    return (
        plans.is_tuple_maintainable
        and update.backend.capabilities.tuple_maintenance is not None
        and update.strategy != "counting"
        and not (plans.stratum.recursive and update.strategy == "bf")
        and plans.stratum.reads.isdisjoint(update.deferred)
        and not update.changes_rules(plans.stratum)
    )


def tuple_budget(plans: StratumPlans, update: Update[T]) -> TupleBudget:
    """What the tuple-at-a-time kernel may do in a stratum. Overdeletion is bounded where other attempts follow."""
    tuning = update.tuning
    bound = UNBOUNDED, 0
    if plans.stratum.recursive and LADDERS[update.strategy][0].bounded:
        bound = tuning.bounded_overdeletion_min_facts, tuning.bounded_overdeletion_factor
    changed = min(tuning.tuple_max_changed_facts, update.tuple_limits.get(plans.stratum.preds, UNBOUNDED))
    most = int(max_changed_inputs(plans, update))
    return TupleBudget(changed, most, tuning.tuple_max_matches, *bound)


def learn(plans: StratumPlans, update: Update[T], sees: int, tried: bool) -> None:
    """Notes that the kernel has given up in a stratum that sees so many changed facts. After an attempt in vain, fewer
    are tried next time; the limit grows with each change beyond it, until one of that size is tried again."""
    preds, tuning = plans.stratum.preds, update.tuning
    limit = update.tuple_limits.get(preds, tuning.tuple_max_changed_facts)
    limit = sees // 2 if tried else limit + 1 + sees // tuning.tuple_retry_divisor
    update.tuple_limits[preds] = limit
    if limit >= tuning.tuple_max_changed_facts:
        del update.tuple_limits[preds]


# Reasons to recompute a stratum.


def _storage_changes(plans: StratumPlans, update: Update[T]) -> str | None:
    return None if update.stored_differently.isdisjoint(plans.stratum.preds) else "its facts are stored in another way"


def _virtual_loses_input(plans: StratumPlans, update: Update[T]) -> str | None:
    """A virtual relation does not know by which paths a pair holds, and so not what a deletion takes with it. More than
    a few deletions of other inputs hardly leave what it depends on."""
    if not plans.backbones.isdisjoint(update.removed):
        return UNDER_VIRTUAL
    if not plans.schemes:
        return None
    removed = sum(update.backend.size(update.removed[pred]) for pred in plans.inputs if pred in update.removed)
    return UNDER_VIRTUAL if removed > update.tuning.recompute_min_changed_inputs else None


def _most_inputs_change(plans: StratumPlans, update: Update[T]) -> str | None:
    changed = sum(map(update.min_changed_facts, plans.inputs))
    in_groups = any(rule.restricted for rule in plans.rules)  # groups are computed before and after the change
    deletes = update.removed or update.deferred or in_groups
    return "most of what it reads has changed" if deletes and changed > max_changed_inputs(plans, update) else None


def max_changed_inputs(plans: StratumPlans, update: Update[T]) -> float:
    """How many facts that a stratum reads may change for it to be maintained."""
    read, tuning = plans.input_facts(update.old), update.tuning
    most = max(tuning.recompute_min_facts, tuning.recompute_min_removed_share * read)
    return min(most, max(tuning.recompute_min_changed_inputs, read / 2))


def _loses_rules(plans: StratumPlans, update: Update[T]) -> str | None:
    """Removed rules, by estimates of what they derived and of what the others derive."""
    removed = [
        PlannedVariant(Variant(rule)) for rule in update.removed_rules if rule.heads[0].pred in plans.stratum.preds
    ]
    facts = _facts(plans, update)
    if not removed or facts <= update.tuning.recompute_min_facts:
        return None
    remaining = sum(_cost(rule.whole, update.old) for rule in plans.rules)
    if not plans.recursive and remaining < facts / 2:
        return "the remaining rules derive less than half of it"
    if sum(_cost(planned, update.old) for planned in removed) > remaining:
        return "a removed rule has more instances than the remaining ones"
    return None


# By what is known of deltas that are deferred, too.
REASONS_TO_RECOMPUTE = (_storage_changes, _virtual_loses_input, _most_inputs_change, _loses_rules)


def _spreads(plans: StratumPlans, update: Update[T]) -> str | None:
    """Whether a change of what a stratum reads has so many consequences, in the first step alone, that recomputing is
    cheaper than following them. In a recursion more of them come; elsewhere that is so where facts are deleted and
    there are more consequences than facts."""
    stratum, tuning = plans.stratum, update.tuning
    if plans.schemes or update.strategy != "auto" or update.changes_rules(stratum):
        return None
    changed = sum(map(update.min_changed_facts, plans.inputs))
    if tuning.recompute_spread_notice_factor * changed < plans.input_facts(update.old):
        return None
    if stratum.recursive:
        found, fewest = _consequences(plans.recursive, update), tuning.recompute_min_facts
        spreads = found > fewest and tuning.recompute_spread_factor * found > sum(
            _cost(rule.whole, update.old) for rule in plans.rules
        )
    else:
        facts, deletes = _facts(plans, update), not plans.inputs.isdisjoint(update.removed)
        spreads = facts > tuning.recompute_min_facts and deletes and _consequences(plans.rules, update) > facts
    return "the change has too many consequences" if spreads else None


def _consequences(rules: Iterable[RulePlans], update: Update[T]) -> float:
    """About how many instances of rules a change has."""
    found = 0.0
    for changes in (update.removed, update.added):
        relations = with_deltas(update.old, changes)
        due = [planned for rule in rules for change, planned in rule.deltas if change.pred in changes]
        found += sum(_cost(planned, relations) for planned in due)
    return found


def _cost(planned: PlannedVariant, relations: Relations[T]) -> float:
    """About how many rows the evaluation of a whole rule goes through."""
    return plan_variant(planned.variant, relations).cost


def _facts(plans: StratumPlans, update: Update[T]) -> int:
    """How many facts a stratum had."""
    return sum(update.backend.size(update.old.get(pred)) for pred in plans.stratum.preds)


def is_underivable(plans: StratumPlans, update: Update[T]) -> bool:
    """Whether no rule of a stratum can derive anything, as each reads an empty relation, or is recursive and has no
    fact to begin with."""
    preds, size = plans.stratum.preds, update.backend.size
    if plans.schemes or not (_is_emptied(plans.stratum.reads, update) or update.changes_rules(plans.stratum)):
        return False
    if not update.stored_differently.isdisjoint(preds):
        return False
    if plans.recursive and any(pred in update.explicit for pred in preds):
        return False
    return all(
        any(pred not in preds and not size(update.new.get(pred)) for pred, _ in rule.whole.reads)
        for rule in plans.nonrecursive
    )


def _is_emptied(preds: Iterable[Pred], update: Update[T]) -> bool:
    """Whether one of some predicates has lost all of its facts."""
    changed = (pred for pred in preds if pred in update.removed or pred in update.deferred)
    return any(not update.backend.size(update.new.get(pred)) for pred in changed)


# How far a strategy may go.


def recompute_limit(plans: StratumPlans, update: Update[T]) -> float:
    """How many facts of a stratum may be deleted or inserted one by one; for more, recomputing is cheaper."""
    tuning = update.tuning
    return max(tuning.recompute_min_facts, tuning.recompute_min_removed_share * _facts(plans, update))


class OverdeletionBudget:
    """How many facts a strategy may delete (or search), given how many candidate deletions there are at first."""

    def __init__(self, plans: StratumPlans, update: Update[T], bounded: bool, candidates: int) -> None:
        self._tuning, self._bounded = update.tuning, bounded
        self._recompute_limit = recompute_limit(plans, update)
        self._limit = self.limit(candidates)
        self._recompute = candidates > self._recompute_limit  # when this attempt gives up
        self._last = 0

    def limit(self, candidates: int) -> float:
        if not self._bounded:
            return self._recompute_limit
        factor, fewest = self._tuning.bounded_overdeletion_factor, self._tuning.bounded_overdeletion_min_facts
        return min(self._recompute_limit, max(fewest, factor * candidates))

    def is_doubtful(self, deleted: int) -> bool:
        """Whether a bounded attempt is about to give up, and the facts are few enough to check whether it should."""
        return self._bounded and self._limit < deleted <= self._tuning.underivable_check_max_facts

    def lift(self) -> None:
        """Removes the bound: most facts are really underivable, and no other attempt would keep them."""
        self._bounded, self._recompute, self._limit = False, True, self._recompute_limit

    def exceeded(self, delta: int, deleted: int) -> GaveUp | None:
        """After a step that deletes `delta` more facts, `deleted` in all. Without a bound also when each step deletes
        more than the one before, long before the limit."""
        share = _GROWTH_SHARE
        grows = not self._bounded and delta > self._last > 0 and deleted > share * self._limit
        self._last = delta
        if deleted <= self._limit and not grows:
            return None
        reason = "far more facts deleted than candidates" if self._bounded else "most of its facts would be deleted"
        return GaveUp(reason, self._recompute)


def overdeletion(plans: StratumPlans, update: Update[T], bounded: bool, candidates: int) -> OverdeletionBudget | GaveUp:
    """What may be overdeleted; nothing where a virtual relation is part of the recursion."""
    if plans.schemes and candidates:
        return GaveUp(UNDER_VIRTUAL, recompute=True)
    return OverdeletionBudget(plans, update, bounded, candidates)
