"""Small changes of a stratum in one call of a kernel: see `kernels.dred`.

It takes rules of atoms and negated atoms over stored relations of up to two columns, and gives up when there is much to
do: the ways for large data, and for all other rules, are better at that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deltalog.backends.base import StratumChange, StratumResult
from deltalog.backends.local.implicit import Implicit
from deltalog.backends.local.probe import Probe
from deltalog.backends.local.table import Keys, Order, Table, empty
from deltalog.kernels import dred as kernel
from deltalog.kernels import nested
from deltalog.plan.changes import Role, SeenFrom, SmallPlans
from deltalog.plan.ir import Part
from deltalog.syntax.ast import Atom, Negation, Pred, Term, Variable, variables

FEW = 1 << 12  # facts of a change
ROOM = 1 << 14  # facts that are looked at
LEAST_ROOM = 11  # bits of a number
MOST = 1 << 13  # matches: more are sooner found by sets
LEAST, BOUND = 1000, 16  # when bounded: so many facts are overdeleted in all, or for each that is lost at first
ANY = 1 << 62
RETRY = 32  # after about half as many, a change of the size that was too much is tried again
MOST_KEPT = 1 << 10

Ids = Callable[[Sequence[Term]], tuple[Variable | int, ...]]
Words = NDArray[np.int64]
BEFORE, AFTER, EXPLICIT, REMOVED, ADDED, LESS, MORE = range(7)  # the fields of a StratumChange
Source = tuple[int, Pred, Order]


class SmallStratum:
    """The rules of a stratum as the kernel takes them; `sources` are the tables that they read."""

    def __init__(self, plans: SmallPlans, ids: Ids, interned: Ids) -> None:
        """`ids` are those of constants in bodies, `interned` those of constants in heads."""
        self.preds, self._ids, self._interned = plans.preds, ids, interned
        self._numbers = {pred: i for i, pred in enumerate(plans.preds)}
        self._sources: dict[Source, int] = {}
        self._registers: list[int] = []
        self._code: list[list[int]] = []
        own = [[self._source(kind, pred) for kind in (BEFORE, EXPLICIT, LESS, MORE)] for pred in plans.preds]
        ordered = list(self._groups(plans))
        groups = [[self._plan(rule) for rule in group] for group in ordered]
        self._rules = [rule for group in ordered for rule in group]
        self._own = np.array(own, np.int64)
        self._bounds = np.cumsum([0, *map(len, groups)], dtype=np.int64)
        self._plans = np.array([plan for group in groups for plan in group], np.int64).reshape(-1, 11)
        self._lines = np.array(self._code, np.int64).reshape(-1, 10)
        self._constants = np.array(self._registers, np.int64)
        self._listed = list(self._sources)
        self._changes = {(kind, pred): i for i, (kind, pred, _) in enumerate(self._listed) if kind >= REMOVED}
        self._allowed = FEW  # facts of a change: fewer after one that was too much, until that is forgotten
        self._kept: dict[tuple[int, ...], list[int]] = {}
        self._depth = int((self._plans[:, kernel.END] - self._plans[:, kernel.LINES]).max(initial=0)) + 1

    @staticmethod
    def _groups(plans: SmallPlans) -> Iterable[list[SeenFrom]]:
        """As the kernel finds them: those affected, and then by predicate loops, checks, and rechecks."""
        yield [rule for rule in plans.rules if rule.role is Role.AFFECTED]
        for role in (Role.LOOP, Role.CHECK, Role.RECHECK):
            for pred in plans.preds:
                mine = [rule for rule in plans.rules if rule.role is role]
                yield [rule for rule in mine if (rule.fact if role is Role.LOOP else rule.head).pred == pred]

    # Rules to code.

    def _source(self, kind: int, pred: Pred, order: Order | None = None) -> int:
        order = tuple(range(pred.arity)) if order is None else order
        return self._sources.setdefault((kind, pred, order), len(self._sources))

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
        head = [register(term) for term in self._interned(rule.head.terms)] + [-1] * (2 - len(rule.head.terms))
        lost, won = (ADDED, REMOVED) if rule.negated else (REMOVED, ADDED)
        changes = [self._source(kind, rule.fact.pred) for kind in (lost, won)] if rule.role is Role.AFFECTED else [0, 0]
        return [first, len(self._code), *leaf, self._numbers[rule.head.pred], *head, *changes]

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
        places = [self._source(state, atom.pred, probe.order) for state in (BEFORE, AFTER)]
        own = self._numbers.get(atom.pred, -1)
        swapped = probe.order == (1, 0)
        self._code.append([kind, *keys, *goes, int(bool(probe.equal)), *places, own, int(swapped)])
        return bound | set(new.values()) if joins else bound

    # A change.

    def maintained(self, change: StratumChange[Table]) -> StratumResult[Table] | None:
        """What becomes of the stratum; None if that is better found in another way."""
        due, changed = [], 0
        for kind, facts in ((REMOVED, change.removed), (ADDED, change.added), (LESS, change.less), (MORE, change.more)):
            for pred, table in facts.items():
                source = self._changes.get((kind, pred))
                if source is not None:
                    due.append(source)
                    changed += table.size
        if changed > min(FEW, self._allowed):
            self._allowed += 1 + changed // RETRY
            return None
        places = self._places(tuple(due), change)
        if places is None:
            return None
        room = min(ROOM, 1 << max(LEAST_ROOM, (8 * changed).bit_length()))
        found = self._run(*places, room, change.bounded)
        if found is None:
            self._allowed = changed // 2
            return None
        return self._result(found, change.before)

    def _places(self, due: tuple[int, ...], change: StratumChange[Table]) -> tuple[Words, Words] | None:
        """Where tables are, and for each source where it is there; those that nobody will read are empty."""
        fields = (change.before, change.after, change.explicit, change.removed, change.added, change.less, change.more)
        words, offsets = [0, 0], [0] * len(self._sources)
        for number in self._needed(due):
            kind, pred, order = self._listed[number]
            table = _table(fields[kind], kind, pred)
            if isinstance(table, Implicit) or not table.is_sorted_by(order):
                return None
            offsets[number] = len(words)
            words += table.places(order)
        return np.array(words, np.int64), np.array(offsets, np.int64)

    def _needed(self, due: tuple[int, ...]) -> list[int]:
        """The sources that may be read when these have changed."""
        kept = self._kept.get(due)
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            kept = self._kept[due] = sorted(self._reached(due))
        return kept

    def _reached(self, due: tuple[int, ...]) -> set[int]:
        rules = list(zip(self._rules, self._plans.tolist(), strict=True))
        affected = [plan for rule, plan in rules if rule.role is Role.AFFECTED and not set(due).isdisjoint(plan[-2:])]
        preds = {plan[kernel.HEAD] for plan in affected}
        preds |= {self._numbers[pred] for kind, pred, _ in (self._listed[i] for i in due) if kind >= LESS}
        loops = [(self._numbers[rule.fact.pred], plan) for rule, plan in rules if rule.role is Role.LOOP]
        while more := {plan[kernel.HEAD] for pred, plan in loops if pred in preds} - preds:
            preds |= more
        plans = affected + [plan for pred, plan in loops if pred in preds]
        checks = [plan for rule, plan in rules if rule.role in (Role.CHECK, Role.RECHECK)]
        plans += [plan for plan in checks if plan[kernel.HEAD] in preds]
        lines = (self._lines[plan[kernel.LINES] : plan[kernel.END]] for plan in plans)
        read = {source for code in lines for source in code[:, kernel.BEFORE : kernel.AFTER + 1].ravel().tolist()}
        return {*due, *read, *(source for pred in preds for source in self._own[pred, :2].tolist())}

    def _run(self, words: Words, offsets: Words, room: int, bounded: bool) -> Words | None:
        """The facts that the change is about; None if they are too many."""
        code, plans = self._lines.copy(), self._plans.copy()
        code[:, kernel.BEFORE : kernel.AFTER + 1] = offsets[code[:, kernel.BEFORE : kernel.AFTER + 1]]
        plans[:, kernel.LOST : kernel.WON + 1] = offsets[plans[:, kernel.LOST : kernel.WON + 1]]
        state = np.array([0, 0, 0, MOST, 0, LEAST if bounded else ANY, BOUND if bounded else 0], np.int64)
        facts, buckets = np.empty((room, kernel.FACT_FIELDS), np.int64), np.zeros((4, 2 * room), np.int32)
        queue, levels = np.empty(room, np.int64), np.empty((self._depth, 2), np.int64)
        registers, own = self._constants.copy(), offsets[self._own]
        done = kernel.delete_and_rederive(
            plans, self._bounds, code, registers, words, own, facts, buckets, queue, levels, state
        )
        return facts[: state[kernel.COUNT]] if done else None

    def _result(self, facts: Words, before: Mapping[tuple[Pred, Part], Table]) -> StratumResult[Table]:
        result: StratumResult[Table] = StratumResult({}, {}, {}, {})
        flags, keys = facts[:, kernel.FLAGS], facts[:, kernel.KEY].view(np.uint64)
        numbers = facts[:, kernel.PRED]
        touched = np.flatnonzero(np.bincount(numbers, flags > kernel.SEEN)) if len(facts) else ()
        for number in touched:
            pred, here = self.preds[number], numbers == number
            self._settle(pred, flags[here], keys[here], _table(before, BEFORE, pred), result)
        return result

    def _settle(self, pred: Pred, flags: Words, keys: Keys, table: Table, result: StratumResult[Table]) -> None:
        gone, came = flags & kernel.REMOVED != 0, flags & kernel.ADDED != 0
        back = np.count_nonzero(flags & kernel.BACK)
        result.counts[pred] = int(np.count_nonzero(gone)), int(back), int(np.count_nonzero(came))
        removed, added = np.sort(keys[gone & ~came]), np.sort(keys[came & ~gone])
        if len(removed):
            result.removed[pred] = Table.of(removed, pred.arity)
            table = table.less(result.removed[pred])
        if len(added):
            result.added[pred] = Table.of(added, pred.arity)
            table = table.merge(result.added[pred])
        if len(removed) or len(added):
            result.tables[pred] = table


def _leaf(terms: Sequence[Variable | int], register: Callable[[Variable | int], int]) -> list[int]:
    """What the ids of a fact must be equal to, and where they go."""
    tests, puts = [-1, -1], [-1, -1]
    for i, term in enumerate(terms):
        known = isinstance(term, int) or term in terms[:i]
        (tests if known else puts)[i] = register(term)
    return [*tests, *puts]


def _table(tables: Mapping[Any, Table], kind: int, pred: Pred) -> Table:
    found = tables.get((pred, Part.ALL) if kind <= AFTER else pred)
    return empty(pred.arity) if found is None else found
