"""Small rounds of semi-naive evaluation, tuple at a time.

A round costs about a millisecond set at a time, however little it derives; counters and long chains have thousands of
rounds of one fact. A backend may evaluate a run of such rounds in one call (`backends.capabilities.small_rounds`),
tuple at a time. Evaluation switches to that when the DELTA is small, and back when it is large, when a round has so
many matches that sets are faster, or when it needs something that only sets can do (SKOLEM, strings, values for which
an expression fails). Rounds and their facts are the same in both modes, and so is the limit of facts: they are counted
round by round, and what was found after the round that hits the limit is discarded.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from deltalog.core.rules import Pred
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.capabilities.small_rounds import RoundRecords, Rounds, RoundsEnd, SmallRules
from deltalog.evaluation.plan import ir

if TYPE_CHECKING:
    from deltalog.evaluation.seminaive import PlannedVariant, SemiNaive

_FIRST_ROOM_FACTS = 1 << 11  # room for this many facts takes no time to make
_ROOM_PER_FACT = 8  # facts that may be found for each new one, at first
_ROOM_GROWTH_FACTOR = 4  # when the room is full
_MAX_BACKOFF_ROUNDS = 1 << 6  # rounds by sets after a round that was too large
_WORTHWHILE_ROUNDS = 8  # a run of this many rounds was worth its start

T = TypeVar("T")


class SmallRoundEvaluation(Generic[T]):
    """The small rounds of one fixpoint."""

    def __init__(
        self,
        evaluation: SemiNaive[T],
        preds: Iterable[Pred],
        plans: Mapping[Pred, Sequence[PlannedVariant]],
        added: dict[Pred, T] | None,
    ) -> None:
        self._evaluation, self._plans, self._added = evaluation, plans, added
        self._backend, self._preds = evaluation.relations.backend, tuple(dict.fromkeys(preds))
        self._tuning, self._own = self._backend.tuning, frozenset(self._preds)
        self._counted = evaluation.visible.counted(self._preds)
        self._seen: set[Pred] = set()  # predicates that have had a DELTA: variants that read others are not compiled
        self._room = _FIRST_ROOM_FACTS
        self._failed, self._waiting = 0, 0  # failed runs, and rounds by sets before the next one
        self._patience: int | None = None  # small rounds by sets before rules are compiled

    def advance(self, new: dict[Pred, T], turn: int) -> tuple[dict[Pred, T], int]:
        """As many small rounds as possible, from new facts on; the DELTA after the last one, and its number."""
        while self._is_due(new):
            rounds = self._started(new)
            if rounds is None:
                break
            new, turn, end, done = self._run(rounds, new, turn)
            if not self._goes_on(end, done, new):
                break
        return new, turn

    def _is_due(self, new: Mapping[Pred, T]) -> bool:
        capable = self._backend.capabilities.small_rounds is not None and self._counted is not None
        if not new or not capable or self._evaluation.pending or self._size(new) > self._most(new):
            return False
        compiling = self._rounds_like(new)
        self._patience = max(0, (2 + compiling if self._patience is None else self._patience) - 1 - compiling)
        self._waiting = max(0, self._waiting - 1)
        return not self._waiting and (not self._patience or self._has_many_rules(new))

    def _most(self, new: Mapping[Pred, T]) -> int:
        """The new facts with which a round is small: more of them if many rules are due, each of which takes time."""
        return self._tuning.rounds_max_new_facts * max(1, self._rounds_like(new))

    def _has_many_rules(self, new: Mapping[Pred, T]) -> bool:
        """Whether a round is small only because many rules are due: all that may follow is worth being compiled."""
        return self._tuning.rounds_max_new_facts < self._size(new) <= self._most(new)

    def _rounds_like(self, new: Mapping[Pred, T]) -> int:
        """How many rounds by sets take as long as compiling what is due, or as running it by sets."""
        return sum(len(self._plans.get(pred, ())) for pred in new) // self._tuning.rounds_variants_per_round

    def _size(self, facts: Mapping[Pred, T]) -> int:
        return sum(map(self._backend.size, facts.values()))

    # The rules.

    def _started(self, new: dict[Pred, T]) -> Rounds[T] | None:
        if self._has_many_rules(new):
            self._seen, self._room = self._reachable(new), self._tuning.rounds_max_facts
        self._seen.update(new)
        self._room = max(self._room, _ROOM_PER_FACT * self._size(new))
        variants = tuple(variant for pred in self._plans for variant in self._variants(pred))
        due = {pred: len(plans) for pred, plans in self._plans.items()}
        assert self._counted is not None
        rules = SmallRules(self._preds, self._counted, variants, due, self._most(new))
        small_rounds = required(self._backend.capabilities.small_rounds)
        return small_rounds.start(rules, self._evaluation.relations.parts, new, self._room)

    def _reachable(self, new: Iterable[Pred]) -> set[Pred]:
        """The predicates that may have a DELTA after some rounds, by which relations have facts at all."""
        found, waiting = set(new), list(new)
        with_facts = found.union(pred for pred in self._preds if self._evaluation.relations.size(pred))
        while waiting:
            matching = [p for p in self._plans.get(waiting.pop(), ()) if self._can_match(p, with_facts)]
            heads = {head.pred for planned in matching for head in planned.variant.rule.heads} - found
            found |= heads
            with_facts |= heads
            waiting += heads
        return found

    def _variants(self, pred: Pred) -> Iterator[tuple[Pred, Pred, ir.Project | None]]:
        """The variants that read the DELTA of a predicate and may match."""
        own = self._own
        plans = [each for each in self._plans[pred] if self._is_structure(each) or self._can_match(each, own)]
        if pred not in self._seen or any(map(self._is_structure, plans)):
            if plans:
                yield pred, pred, None
            return
        for planned in plans:
            self._evaluation.plan(planned)
            for head, plan in planned.facts:
                yield pred, head, plan

    def _is_structure(self, planned: PlannedVariant) -> bool:
        """Whether a variant derives a virtual relation, which grows by each of its inputs alone."""
        return planned.owner in self._evaluation.program.scheme_of

    def _can_match(self, planned: PlannedVariant, own: Collection[Pred]) -> bool:
        """False when an atom reads a relation that is empty and will stay so, as only those of `own` may not."""
        relations = self._evaluation.relations
        return all(
            pred in own or (pred not in self._own and relations.size(pred, part)) for pred, part in planned.reads
        )

    # A run.

    def _run(self, rounds: Rounds[T], new: dict[Pred, T], turn: int) -> tuple[dict[Pred, T], int, RoundsEnd, int]:
        """Runs rounds to the end: the DELTA then, the number of the last round, why it ended, and its rounds."""
        end, done, found = RoundsEnd.PAUSED, 0, self._evaluation.visible.count(new.items())
        try:
            while end is RoundsEnd.PAUSED:
                self._backend.limits.check()
                started = time.perf_counter()
                end, records = rounds.advance()
                seconds = time.perf_counter() - started
                fitting = self._note(turn + done + 1, found, records, seconds)
                done, found = done + fitting, records.new[fitting - 1] if fitting else found
                if fitting < len(records.new):
                    self._evaluation.facts.add(found)  # which is beyond the limit
        finally:  # at a limit, too: what there is is right
            known, new = rounds.found(done)
            self._take(known)
        return new, turn + done, end, done

    def _note(self, first: int, found: int, records: RoundRecords, seconds: float) -> int:
        """Counts and reports rounds from a first one on, and how many of them the limit of facts allows. The facts of
        a round count when the next one has been evaluated; `found` are those of the round before the first."""
        facts, counts = self._evaluation.facts, [found, *records.new[:-1]] if records.new else []
        before, fitting = facts.total + found, facts.fitting(counts)
        facts.add(sum(counts[:fitting]))
        if fitting:
            shown = records.new[:fitting], records.rules[:fitting]
            self._evaluation.observe_rounds(first, before, seconds, *shown)
        return fitting

    def _take(self, found: Mapping[Pred, T]) -> None:
        """ALL := ALL + found"""
        for pred, table in found.items():
            self._evaluation.relations.add(pred, table)
            if self._added is not None:
                known = self._added.get(pred)
                self._added[pred] = table if known is None else self._backend.merge(known, table)

    def _goes_on(self, end: RoundsEnd, done: int, new: Mapping[Pred, T]) -> bool:
        """Whether another run may follow at once."""
        if end is RoundsEnd.FULL:
            growth, per_fact = _ROOM_GROWTH_FACTOR, _ROOM_PER_FACT
            self._room *= growth
            if done or self._room <= growth * self._most(new) * per_fact:
                return True
        if end is RoundsEnd.TOO_MUCH and not self._seen.issuperset(new):
            self._patience = 1
            return True
        if end in (RoundsEnd.TOO_MUCH, RoundsEnd.FULL):
            self._failed = self._failed + 1 if done < _WORTHWHILE_ROUNDS else 1
            self._waiting = min(_MAX_BACKOFF_ROUNDS, 1 << self._failed)
        return False
