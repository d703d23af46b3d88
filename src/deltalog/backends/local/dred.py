"""Small changes of strata in one call of a kernel: see `kernels.dred`.

It takes rules of atoms and negated atoms over stored relations of up to two columns, and gives up when there is much to
do: the ways for large data, and for all other rules, are better at that.

The rules of a stratum become code once (`SmallStratum`). Code of strata that a change may touch one after the other is
linked (`Linked`): they get common numbers for relations, places and registers. That is kept for the next change of the
same relations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deltalog.backends.base import SmallChange, SmallResult, Tables
from deltalog.backends.local.probe import Probe
from deltalog.backends.local.table import Keys, Order, Table, empty
from deltalog.kernels import dred as kernel
from deltalog.kernels import nested
from deltalog.plan.changes import Role, SeenFrom, SmallPlans
from deltalog.plan.ir import Part
from deltalog.syntax.ast import Atom, Negation, Pred, Term, Variable, variables

FEW = 1 << 12  # facts of a change that a stratum sees
ROOM = 1 << 16  # facts that are looked at
LEAST_ROOM = 11  # bits of a number
MOST = 1 << 13  # matches in a stratum: more are sooner found by sets
LEAST, BOUND = 1000, 16  # when bounded: so many facts are overdeleted in all, or for each that is lost at first
ANY = 1 << 62
MOST_KEPT = 1 << 6

Ids = Callable[[Sequence[Term]], tuple[Variable | int, ...]]
Words = NDArray[np.int64]
ROLE, FACT = kernel.NEGATED + 1, kernel.NEGATED + 2  # more fields of a plan
IN_PLANS = [kernel.TEST_FIRST, kernel.TEST_SECOND, kernel.PUT_FIRST, kernel.PUT_SECOND]  # where registers are
IN_PLANS += [kernel.HEAD_FIRST, kernel.HEAD_SECOND]
IN_CODE = [kernel.FIRST, kernel.SECOND, kernel.HIGH, kernel.LOW]


class SmallStratum:
    """The rules of a stratum as code; predicates, places and registers have numbers of their own."""

    def __init__(self, plans: SmallPlans, ids: Ids) -> None:
        self.heads, self._ids = plans.preds, ids
        self.preds = {pred: i for i, pred in enumerate(plans.preds)}
        self.sources: dict[tuple[Pred, Order], int] = {}
        self.allowed = FEW  # facts of a change: fewer after one that was too much, until that is forgotten
        self._registers: list[int] = []
        self._code: list[list[int]] = []
        plan = [self._plan(rule) for rule in plans.rules]
        plan.sort(key=lambda line: (line[ROLE], line[kernel.HEAD] if line[ROLE] >= Role.CHECK else line[FACT]))
        self.plans = np.array(plan, np.int64).reshape(-1, FACT + 1)
        self.code = np.array(self._code, np.int64).reshape(-1, kernel.SWAPPED + 1)
        self.registers = np.array(self._registers, np.int64)
        self.depth = int((self.plans[:, kernel.END] - self.plans[:, kernel.LINES]).max(initial=0)) + 1

    def _number(self, pred: Pred) -> int:
        return self.preds.setdefault(pred, len(self.preds))

    def _plan(self, rule: SeenFrom) -> list[int]:
        names: dict[Variable | int, int] = {}

        def register(term: Variable | int) -> int:
            if term not in names:
                names[term] = len(self._registers)
                self._registers.append(term if isinstance(term, int) else 0)
            return names[term]

        first = len(self._code)
        leaf = _leaf(self._ids(rule.fact.terms), register)
        bound = frozenset(variables(rule.fact))
        for i, step in enumerate(rule.steps):
            needed = {v for later in (rule.head, *rule.steps[i + 1 :]) for v in variables(later)}
            bound = self._step(step, bound, needed, register)
        head = [register(term) for term in self._ids(rule.head.terms)] + [-1] * (2 - len(rule.head.terms))
        fact = self._number(rule.fact.pred) if rule.role <= Role.LOOP else -1
        number = self._number(rule.head.pred)
        return [first, len(self._code), *leaf, number, *head, int(rule.negated), rule.role, fact]

    def _step(
        self,
        step: Atom | Negation,
        bound: frozenset[Variable],
        needed: set[Variable],
        register: Callable[[Variable | int], int],
    ) -> frozenset[Variable]:
        """A line of code; what is bound after it."""
        atom = step.atom if isinstance(step, Negation) else step
        probe = Probe.of(self._ids(atom.terms), bound)
        new = {position: variable for variable, position in probe.new}
        joins = isinstance(step, Atom) and not needed.isdisjoint(new.values())
        kind = nested.JOIN if joins else nested.EXISTS if isinstance(step, Atom) else nested.ABSENT
        keys = [register(key) for key in probe.keys] + [-1] * (2 - len(probe.keys))
        goes = [register(new[i]) if i in new and joins else -1 for i in range(2)]
        place = self.sources.setdefault((atom.pred, probe.order), len(self.sources))
        swapped = probe.order == (1, 0)
        self._code.append([kind, *keys, *goes, int(bool(probe.equal)), place, self._number(atom.pred), int(swapped)])
        return bound | set(new.values()) if joins else bound


def _leaf(terms: Sequence[Variable | int], register: Callable[[Variable | int], int]) -> list[int]:
    """What the ids of a fact must be equal to, and where they go."""
    tests, puts = [-1, -1], [-1, -1]
    for i, term in enumerate(terms):
        known = isinstance(term, int) or term in terms[:i]
        (tests if known else puts)[i] = register(term)
    return [*tests, *puts]


@dataclass(frozen=True, slots=True)
class Source:
    """A table that is read, and the first stratum that does."""

    is_explicit: bool
    pred: Pred
    order: Order
    reader: int


class Linked:
    """The code of strata that come one after the other, for changes of some relations before them."""

    def __init__(self, strata: Sequence[SmallStratum], due: frozenset[Pred]) -> None:
        self.preds: dict[Pred, int] = {}
        self._sources: dict[tuple[bool, Pred, Order], Source] = {}
        for stratum, part in enumerate(strata):
            for pred in (*part.heads, *part.preds):
                self.preds.setdefault(pred, len(self.preds))
            for pred, order in part.sources:
                self._source(False, pred, order, stratum)
            for pred in part.heads:
                self._source(False, pred, None, stratum)
                self._source(True, pred, None, stratum)
        self.sources = list(self._sources.values())
        self.due = due.union(*(part.heads for part in strata))
        self.own = self._relations(strata)
        self.depth = max(part.depth for part in strata)
        self.registers = np.concatenate([part.registers for part in strata])
        self.code = np.concatenate(list(self._placed(strata)))
        self.plans = np.concatenate(list(self._renumbered(strata)))
        self.affected, self.inner = self._ranges(strata)

    def _source(self, is_explicit: bool, pred: Pred, order: Order | None, reader: int) -> None:
        order = tuple(range(pred.arity)) if order is None else order
        self._sources.setdefault((is_explicit, pred, order), Source(is_explicit, pred, order, reader))

    def _relations(self, strata: Sequence[SmallStratum]) -> Words:
        own = np.full((len(self.preds), kernel.STRATUM + 1), -1, np.int64)
        places = {source: i for i, source in enumerate(self._sources)}
        for stratum, part in enumerate(strata):
            for pred in part.heads:
                order = tuple(range(pred.arity))
                own[self.preds[pred]] = places[False, pred, order], places[True, pred, order], stratum
        return own

    def _numbers(self, part: SmallStratum) -> Words:
        """The common numbers of a stratum's predicates."""
        return np.array([self.preds[pred] for pred in part.preds] + [-1], np.int64)

    def _placed(self, strata: Iterable[SmallStratum]) -> Iterable[Words]:
        places, registers = {source: i for i, source in enumerate(self._sources)}, 0
        for part in strata:
            code = part.code.copy()
            here = np.array([places[(False, *source)] for source in part.sources], np.int64)
            code[:, kernel.PLACE] = here[code[:, kernel.PLACE]] if len(code) else 0
            code[:, kernel.OWN] = self._numbers(part)[code[:, kernel.OWN]]
            code[:, IN_CODE] = _moved(code[:, IN_CODE], registers)
            registers += len(part.registers)
            yield code

    def _renumbered(self, strata: Iterable[SmallStratum]) -> Iterable[Words]:
        lines, registers = 0, 0
        for part in strata:
            plans, numbers = part.plans.copy(), self._numbers(part)
            plans[:, kernel.LINES : kernel.END + 1] += lines
            plans[:, kernel.HEAD], plans[:, FACT] = numbers[plans[:, kernel.HEAD]], numbers[plans[:, FACT]]
            plans[:, IN_PLANS] = _moved(plans[:, IN_PLANS], registers)
            lines, registers = lines + len(part.code), registers + len(part.registers)
            yield plans

    def _ranges(self, strata: Sequence[SmallStratum]) -> tuple[Words, Words]:
        """From where to where plans go that are for one thing: they come one after the other."""
        affected = np.zeros((len(strata), len(self.preds), 2), np.int64)
        inner = np.zeros((kernel.RECHECKS + 1, len(self.preds), 2), np.int64)
        due = {self.preds[pred] for pred in self.due if pred in self.preds}
        at = 0
        for stratum, part in enumerate(strata):
            for plan in self.plans[at : at + len(part.plans)].tolist():
                role, pred = plan[ROLE], plan[kernel.HEAD] if plan[ROLE] >= Role.CHECK else plan[FACT]
                found = affected[stratum, pred] if role == Role.AFFECTED else inner[role - Role.LOOP, pred]
                if role != Role.AFFECTED or pred in due:
                    found[:] = found[0] if found[1] else at, at + 1
                at += 1
        return affected, inner


def _moved(registers: Words, by: int) -> Words:
    return np.where(registers >= 0, registers + by, registers)


class SmallStrata:
    """Strata that come one after the other."""

    def __init__(self, strata: Sequence[SmallStratum]) -> None:
        self._strata = strata
        self._heads = {pred for part in strata for pred in part.heads}
        self._given = {pred for part in strata for pred in part.preds} - self._heads
        self._kept: dict[frozenset[Pred], Linked] = {}

    def maintained(self, change: SmallChange[Table]) -> SmallResult[Table]:
        """What becomes of the strata, up to one that is better maintained in another way."""
        changed = (change.removed, change.added, change.less, change.more)
        size = sum([table.size for facts in changed for table in facts.values()])
        if size > 2 * FEW:
            return SmallResult()
        linked = self._linked(frozenset(pred for facts in changed[:2] for pred in facts if pred in self._given))
        words, offsets, done = _places(linked, change.before, change.explicit, len(self._strata))
        if not done:
            return SmallResult()
        given, ends = self._lines(linked, changed)
        facts, done = self._run(linked, words, offsets, given, ends, self._limits(change, done))
        return _result(linked, facts, int(ends[kernel.LESS]), change.before, done)

    def _linked(self, due: frozenset[Pred]) -> Linked:
        linked = self._kept.get(due)
        if linked is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            linked = self._kept[due] = Linked(self._strata, due)
        return linked

    def _lines(self, linked: Linked, changed: Sequence[Mapping[Pred, Table]]) -> tuple[Words, Words]:
        """The explicit changes, in four parts, and where these begin and end."""
        numbers: list[int] = []
        keys: list[Keys] = []
        ends = [0]
        for facts, known in zip(changed, (self._given, self._given, self._heads, self._heads), strict=True):
            for pred, table in facts.items():
                if pred in known:
                    numbers.append(linked.preds[pred])
                    keys.append(table.keys())
            ends.append(len(keys))
        sizes = [len(part) for part in keys]
        given = np.empty((sum(sizes), 2), np.int64)
        if keys:
            given[:, 0] = np.repeat(np.array(numbers), sizes)
            given[:, 1] = np.concatenate(keys).view(np.int64)
        return given, np.array([0, *np.cumsum(sizes)], np.int64)[ends]

    def _limits(self, change: SmallChange[Table], strata: int) -> Words:
        limits = zip(self._strata[:strata], change.most, change.bounded, strict=False)
        bounds = {True: (LEAST, BOUND), False: (ANY, 0)}
        return np.array(
            [(min(FEW, s.allowed), int(most), MOST, *bounds[bounded]) for s, most, bounded in limits], np.int64
        )

    def _run(
        self, linked: Linked, words: Words, offsets: Words, given: Words, ends: Words, limits: Words
    ) -> tuple[Words, int]:
        """The facts that the change is about, and how many strata were done."""
        room = min(ROOM, 1 << max(LEAST_ROOM, (8 * len(given)).bit_length()))
        code, own = linked.code.copy(), linked.own.copy()
        code[:, kernel.PLACE] = offsets[code[:, kernel.PLACE]]
        own[:, : kernel.STRATUM] = offsets[own[:, : kernel.STRATUM]]
        facts, buckets = np.empty((room, kernel.FACT_FIELDS), np.int64), np.zeros((4, 2 * room), np.int32)
        queue, levels = np.empty(room, np.int64), np.empty((linked.depth, 2), np.int64)
        state, rules = np.zeros(kernel.STATE_FIELDS, np.int64), (linked.plans, linked.affected, linked.inner)
        done = kernel.delete_and_rederive(
            *rules, code, linked.registers.copy(), words, own, given, ends, facts, buckets, queue, levels, limits, state
        )
        for stratum, allowed in zip(self._strata, limits[:, kernel.ALLOWED].tolist(), strict=False):
            stratum.allowed = allowed
        return facts[: state[kernel.COUNT]], done


def _places(
    linked: Linked, before: Tables[Table], explicit: Mapping[Pred, Table], strata: int
) -> tuple[Words, Words, int]:
    """Where tables are, and for each source where it is there; and how many strata have all that they read."""
    words, offsets = [0, 0], []
    for source in linked.sources:
        if source.reader < strata:
            found = explicit.get(source.pred) if source.is_explicit else before.get((source.pred, Part.ALL))
            places = [0, 0] if found is None else found.places_soon(source.order)
            if places is None:
                strata = source.reader
            else:
                offsets.append(len(words))
                words += places
                continue
        offsets.append(0)
    return np.array(words, np.int64), np.array(offsets, np.int64), strata


def _result(linked: Linked, facts: Words, first: int, before: Tables[Table], done: int) -> SmallResult[Table]:
    result: SmallResult[Table] = SmallResult(done)
    keys, ends, counts = kernel.net_changes(facts, first, len(linked.preds))
    ends, counts = ends.tolist(), counts.tolist()
    for pred, number in linked.preds.items():
        overdeleted, _, inserted = counts[number]
        if overdeleted or inserted:
            result.counts[pred] = tuple(counts[number])
            low, middle, high = ends[2 * number : 2 * number + 3]
            _settle(pred, keys[low:middle], keys[middle:high], before, result)
    return result


def _settle(pred: Pred, removed: Keys, added: Keys, before: Tables[Table], result: SmallResult[Table]) -> None:
    table = before.get((pred, Part.ALL), empty(pred.arity))
    if len(removed):
        result.removed[pred] = Table.of(removed, pred.arity)
        table = table.less(result.removed[pred])
    if len(added):
        result.added[pred] = Table.of(added, pred.arity)
        table = table.merge(result.added[pred])
    if len(removed) or len(added):
        result.tables[pred] = table
