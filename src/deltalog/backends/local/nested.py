"""Small plans in one call of a kernel: see `kernels.nested`.

It takes plans over stored relations of up to two columns without conditions and expressions, which is most of what a
change of facts evaluates, and gives up when there is much to do: the ways for large data are better at that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deltalog.backends.local.evaluate import Evaluation, Key
from deltalog.backends.local.implicit import Implicit
from deltalog.backends.local.probe import Probe
from deltalog.backends.local.table import Keys, Order, sort_distinct
from deltalog.kernels import nested as kernel
from deltalog.plan import ir
from deltalog.plan.ir import Plan, columns
from deltalog.syntax.ast import Term, Variable

FEW = 1 << 11  # larger leaves are not tried
ROOM = 1 << 13  # facts
MOST = 1 << 17  # matches

Terms = tuple[Variable | int, ...]
Words = NDArray[np.int64]
KINDS = {ir.Join: kernel.JOIN, ir.SemiJoin: kernel.EXISTS, ir.AntiJoin: kernel.ABSENT}


@dataclass(frozen=True, slots=True)
class NestedLoops:
    """A plan as the kernel takes it; `scans` are the relations of its steps, and how they are sorted."""

    code: Words
    scans: tuple[tuple[Key, Order], ...]
    constants: Words
    head: tuple[int, int]

    def keys(self, evaluation: Evaluation) -> Keys | None:
        """The distinct rows; None if that is better done in another way."""
        leaf = evaluation.table(self.scans[0][0])
        if leaf.size >= FEW or any(isinstance(evaluation.table(key), Implicit) for key, _ in self.scans):
            return None
        places: list[int] = []
        code = self.code.copy()
        for i, (key, order) in enumerate(self.scans):
            code[i, kernel.PLACE] = len(places)
            places += evaluation.table(key).places(order)
        out = np.empty(ROOM, np.uint64)
        found = kernel.nested_loops(code, np.array(places, np.int64), self.constants, *self.head, out, MOST)
        return sort_distinct(out[:found].copy()) if found >= 0 else None


def nested_loops(body: Plan, head: Terms, ids: Callable[[Sequence[Term]], Terms]) -> NestedLoops | None:
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
    return NestedLoops(np.array(code, np.int64), tuple(scans), constants, (places[0], places[1]))


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
