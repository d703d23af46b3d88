"""The generic join by numpy: all bindings of a level at once.

A level takes the line with the fewest candidates for all bindings together, and looks the candidates up in its other
lines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import MOST_ITEMS_BY_NUMPY, form, outgrown
from deltalog.kernels.interpreted.join import MOST_CANDIDATES, _positions
from deltalog.kernels.memory import BYTES
from deltalog.kernels.multiway import FIRST, KIND, OTHER, PLACE, SECOND
from deltalog.kernels.run_search import RUN
from deltalog.kernels.sorted_keys import HALF, LOW


class _Line:
    """A relation that has the variable of a level."""

    def __init__(self, line: Any, places: Any) -> None:
        self.kind, self.other, place = int(line[KIND]), int(line[OTHER]), int(line[PLACE])
        runs, tombstones = int(places[place]), int(places[place + 1])
        keys = _keys(places, place + 2, runs)
        if tombstones and self.kind != FIRST:
            keys = np.setdiff1d(keys, _keys(places, place + 2 + RUN * runs, tombstones), assume_unique=True)
        self.keys = keys if self.kind == SECOND else np.unique(keys >> HALF)  # else: values

    def ranges(self, bindings: Any, least: int, bound: int) -> tuple[Any, Any]:
        """The range of candidates of each binding, among the keys."""
        if self.kind != SECOND:
            low, high = np.searchsorted(self.keys, np.array([least, bound], np.uint64))
            return np.full(len(bindings), low), np.full(len(bindings), high)
        lead = bindings[:, self.other].astype(np.uint64) << HALF
        return np.searchsorted(self.keys, lead + np.uint64(least)), np.searchsorted(self.keys, lead + np.uint64(bound))

    def has(self, bindings: Any, values: Any) -> Any:
        wanted = values.astype(np.uint64)
        if self.kind == SECOND:
            wanted |= bindings[:, self.other].astype(np.uint64) << HALF
        if len(self.keys) == 0:
            return np.zeros(len(wanted), np.bool_)
        return self.keys[np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)] == wanted


def _keys(places: Any, first: int, runs: int) -> Any:
    """The sorted keys of all runs from a place on."""
    found = [
        np.frombuffer(BYTES[places[run] : places[run] + 8 * places[run + 1]], np.uint64)
        for run in range(first, first + RUN * runs, RUN)
    ]
    return np.sort(np.concatenate(found)) if found else np.empty(0, np.uint64)


def _extended(lines: list[_Line], bindings: Any, register: int, least: int, bound: int) -> Any:
    """The bindings with every value that all lines of a level have."""
    ranges = [line.ranges(bindings, least, bound) for line in lines]
    counts = [int((high - low).sum()) for low, high in ranges]
    chosen = int(np.argmin(counts))
    outgrown(counts[chosen], MOST_CANDIDATES)
    rows, positions = _positions(*ranges[chosen])
    values = (lines[chosen].keys[positions] & LOW).astype(np.int64)
    found = bindings[rows]
    found[:, register] = values
    for i, line in enumerate(lines):
        if i != chosen:
            kept = line.has(found, found[:, register])
            found = found[kept]
    return found


def _size(lines: Any, levels: Any, places: Any, *_: Any) -> int:
    """How many keys the relations have."""
    count = 0
    for place in lines[:, PLACE].tolist():
        count += sum(int(places[place + 3 + RUN * run]) for run in range(int(places[place])))
    return count


@form(work=_size, most=MOST_ITEMS_BY_NUMPY)
def multiway_join(
    lines: Any,
    levels: Any,
    places: Any,
    constants: Any,
    wanted: Any,
    needed: int,
    least: int,
    bound: int,
    ids: int,
) -> Any:
    depth, places = len(levels) - 1, places.tolist()
    bindings = np.zeros((1, len(constants) + depth), np.int64)
    bindings[0, : len(constants)] = constants
    for level in range(depth):
        here = [_Line(line, places) for line in lines[levels[level] : levels[level + 1]]]
        low, high = (least, bound) if level == 0 else (0, ids)
        bindings = _extended(here, bindings, len(constants) + level, low, high)
    if needed < depth:
        bindings = np.unique(bindings[:, : len(constants) + needed], axis=0)
    return np.ascontiguousarray(bindings[:, wanted].astype(np.uint32))
