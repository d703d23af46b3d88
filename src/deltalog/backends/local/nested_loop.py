"""Small plans in one call of a kernel: see `kernels.nested_loop`.

It takes plans over stored relations of up to two columns without conditions and expressions, which is most of what a
change of facts evaluates, and gives up when there is much to do: the ways for large data are better at that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deltalog.backends.local.encoded_terms import EncodedTerms
from deltalog.backends.local.index_join import Probe
from deltalog.backends.local.pipeline import Evaluation, Key
from deltalog.backends.local.table import ColumnOrder, Keys, sort_distinct
from deltalog.backends.local.virtual_relation import Implicit
from deltalog.kernels import nested_loop as kernel
from deltalog.model.arrays import Words
from deltalog.plan import ir
from deltalog.plan.ir import Plan, columns
from deltalog.syntax.ast import Term, Variable

FEW = 1 << 11  # larger leaves are not tried
ROOM = 1 << 14  # facts
MOST = 1 << 17  # matches

KINDS = {ir.Join: kernel.JOIN, ir.SemiJoin: kernel.EXISTS, ir.AntiJoin: kernel.ABSENT}


@dataclass(frozen=True, slots=True)
class NestedLoops:
    """A plan as the kernel takes it; `scans` are the relations of its steps, and how they are sorted."""

    code: Words
    scans: tuple[tuple[Key, ColumnOrder], ...]
    constants: Words
    head: tuple[int, int]
    is_leaf: bool  # the head is what the first relation has


class Together:
    """Several plans in one call, each for a number that says what it derives: plans of one number share what they find.

    `scans` has each relation once; `lines` says which one each line of code reads.
    """

    def __init__(self, plans: Sequence[tuple[int, NestedLoops]]) -> None:
        places = {scan: i for i, scan in enumerate(dict.fromkeys(s for _, plan in plans for s in plan.scans))}
        self.plans, self.scans = plans, tuple(places)
        self.lines = np.array([places[scan] for _, plan in plans for scan in plan.scans], np.int64)
        self.code = np.concatenate([plan.code for _, plan in plans])
        self.starts = _starts([len(plan.code) for _, plan in plans])
        self.constants = np.concatenate([plan.constants for _, plan in plans])
        self.constant_starts = _starts([len(plan.constants) for _, plan in plans])
        self.heads = np.array([plan.head for _, plan in plans], np.int64)
        self.leaves = sorted({places[plan.scans[0]] for _, plan in plans})
        shared = [(number, places[plan.scans[0]]) if plan.is_leaf else None for number, plan in plans]
        self.shared = {key: i for i, key in enumerate(dict.fromkeys(key for key in shared if key))}
        self.known = np.array([self.shared[key] if key else -1 for key in shared], np.int64)

    def keys(self, evaluation: Evaluation) -> dict[int, list[Keys]] | None:
        """The rows of each number, plan by plan; None if that is better done in another way."""
        tables = [evaluation.table(key) for key, _ in self.scans]
        if any(isinstance(table, Implicit) for table in tables) or any(tables[i].size >= FEW for i in self.leaves):
            return None
        words: list[int] = []
        offsets = []
        for table, (_, order) in zip(tables, self.scans, strict=True):
            offsets.append(len(words))
            words += table.places(order)
        code = self.code.copy()
        code[:, kernel.PLACE] = np.array(offsets, np.int64)[self.lines]
        known_starts = _starts([sum(map(len, tables[leaf].runs)) for _, leaf in self.shared])
        known = np.zeros(known_starts[-1], np.bool_)
        out, ends = np.empty(ROOM, np.uint64), np.empty(len(self.heads), np.int64)
        done = kernel.nested_loops(
            code,
            self.starts,
            np.array(words, np.int64),
            self.constants,
            self.constant_starts,
            self.heads,
            known,
            np.where(self.known < 0, -1, known_starts[self.known]),
            out,
            ends,
            MOST,
        )
        return self._divided(out, ends) if done else None

    def _divided(self, out: Keys, ends: Words) -> dict[int, list[Keys]]:
        found: dict[int, list[Keys]] = {}
        start = 0
        for (number, _), end in zip(self.plans, ends.tolist(), strict=True):
            if end > start:
                found.setdefault(number, []).append(out[start:end])
            start = end
        return found


def one_set(parts: Sequence[Keys]) -> Keys:
    """What some plans give, sorted, each row once."""
    return sort_distinct(np.concatenate(parts))


def _starts(lengths: Sequence[int]) -> Words:
    return np.cumsum([0, *lengths], dtype=np.int64)


def nested_loops(body: Plan, head: EncodedTerms, ids: Callable[[Sequence[Term]], EncodedTerms]) -> NestedLoops | None:
    """A plan as nested loops, where it has the form."""
    steps = _steps(body)
    if steps is None or len(head) > 2:
        return None
    registers: dict[Variable | int, int] = {}

    def register(term: Variable | int) -> int:
        return registers.setdefault(term, len(registers))

    code, scans, bound = [], [], frozenset[Variable]()
    for kind, scan in steps:
        probe = Probe.of(ids(scan.atom.terms), bound)
        step = _step(kind, probe, register)
        code.append(step)
        scans.append(((scan.atom.pred, scan.part), probe.order))
        bound |= set(columns(scan)) if kind == kernel.JOIN else frozenset()
    places = [register(term) for term in head] + [-1] * (2 - len(head))
    constants = np.array([term if isinstance(term, int) else 0 for term in registers], np.int64)
    leaf = steps[0][1].atom.terms
    is_leaf = head == leaf and len(set(leaf)) == len(leaf) > 0 and all(isinstance(t, Variable) for t in leaf)
    return NestedLoops(np.array(code, np.int64), tuple(scans), constants, (places[0], places[1]), is_leaf)


def _steps(plan: Plan) -> list[tuple[int, ir.Scan]] | None:
    """The scans of a left-deep plan and how they are joined; None if there is anything else in it."""
    above: list[tuple[int, ir.Scan]] = []
    while isinstance(plan, ir.Join | ir.SemiJoin | ir.AntiJoin):
        if not isinstance(plan.right, ir.Scan):
            return None
        above.append((KINDS[type(plan)], plan.right))
        plan = plan.left
    if not isinstance(plan, ir.Scan):
        return None
    steps = [(kernel.JOIN, plan), *above[::-1]]
    return steps if all(len(scan.atom.terms) <= 2 for _, scan in steps) else None


def _step(kind: int, probe: Probe, register: Callable[[Variable | int], int]) -> list[int]:
    """A line of code; PLACE is filled in when there are tables."""
    keys = [register(key) for key in probe.keys] + [-1] * (2 - len(probe.keys))
    new = {position: variable for variable, position in probe.new}
    goes = [register(new[i]) if i in new and kind == kernel.JOIN else -1 for i in range(2)]
    return [kind, *keys, *goes, int(bool(probe.equal)), 0]
