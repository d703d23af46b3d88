"""The interpreter of nested-loop joins, over stored relations and, during an update, over its changed facts.

A plan is a list of steps over registers, one register for each variable or constant. A step is a line of `code`:

    KIND    JOIN: for every match; EXISTS: if there is one; ABSENT: if there is none
    FIRST, SECOND   the registers that the halves of a key must be equal to, or -1
    HIGH, LOW       the registers that its halves go to, or -1
    EQUAL   1 if its halves must be the same
    PLACE   where in `places` its relation begins (see `kernels.run_search`)
    OWN, SWAPPED    the number of its relation, and whether the halves of its keys are swapped; read only with a change

Without a change (`change` is None) steps read the stored relations, and Numba compiles nothing else. With one, stored
relations are those from before the change, and `after` says which state a step reads: before it, or after it, which is
the stored relation without the removed facts and with the added ones.

The search goes from level to level, one for each step. `levels` has the position of each: a run and the next position
in it, or the number of runs and the next added fact; run -1 says that the step has no further match.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from deltalog.kernels.changed_facts import (
    ADDED,
    BY_FIRST,
    BY_PRED,
    BY_SECOND,
    KEY,
    NEXT,
    PRED,
    REMOVED,
    first_added,
    inner,
    is_removed,
)
from deltalog.kernels.intern import get
from deltalog.kernels.run_search import MASK, RUN, is_tombstone, search
from deltalog.kernels.sorted_keys import HALF

KIND, FIRST, SECOND, HIGH, LOW, EQUAL, PLACE, OWN, SWAPPED = range(9)
JOIN, EXISTS, ABSENT = range(3)


def inlined(function):
    return njit(nogil=True, no_cpython_wrapper=True, forceinline=True)(function)


@inlined
def joined_key(registers, first, second):
    """The key of two registers, with 0 for -1."""
    key = np.uint64(0)
    if first >= 0:
        key = np.uint64(registers[first]) << HALF
    if second >= 0:
        key |= np.uint64(registers[second])
    return key


@inner
def _turned(key, swapped):
    return (key << HALF) | (key >> HALF) if swapped else key


@inner
def _greatest(code, line, bound):
    """The greatest key that a step can match, where `bound` is the least."""
    if code[line, SECOND] >= 0:
        return bound
    return bound | MASK if code[line, FIRST] >= 0 else ~np.uint64(0)


@inlined
def _next_stored(code, places, change, after, line, bound, run, at):
    """The next match from a position of a run on: its run, the position after it, and the key; the run after the last
    one if there is none."""
    place, equal, greatest = code[line, PLACE], code[line, EQUAL] != 0, _greatest(code, line, bound)
    runs, tombstones = places[place], places[place + 1] > 0
    while run < runs:
        address, length = places[place + 2 + RUN * run], places[place + 3 + RUN * run]
        if at < 0:
            at = search(places, place + 2 + RUN * run, bound)
        while at < length:
            key = np.uint64(get(address, at))
            if key > greatest:
                break
            at += 1
            if equal and key >> HALF != key & MASK:
                continue
            if tombstones and is_tombstone(places, place, key):
                continue
            if change is not None:
                if after and change.touched[code[line, OWN]] & REMOVED:
                    if is_removed(change, code[line, OWN], _turned(key, code[line, SWAPPED])):
                        continue
            return run, at, key
        run += 1
        at = -1
    return run, -1, np.uint64(0)


@inner
def _next_added(code, change, line, bound, at):
    """The next match among the added facts: the index after it (0: the end), and the key; -1 if there is none."""
    facts, own, swapped = change.facts, code[line, OWN], code[line, SWAPPED]
    greatest, chain = _greatest(code, line, bound), BY_PRED
    if code[line, FIRST] >= 0:
        chain = BY_SECOND if swapped else BY_FIRST
    if at < 0:
        at = np.int64(first_added(change, chain, own, np.int64(bound >> HALF) if chain != BY_PRED else 0))
    while at > 0:
        i = at - 1
        at = facts[i, NEXT + chain]
        key = _turned(np.uint64(facts[i, KEY]), swapped)
        equal = code[line, EQUAL] == 0 or key >> HALF == key & MASK
        if facts[i, PRED] == own and equal and bound <= key <= greatest:
            return at, key
    return -1, np.uint64(0)


@inlined
def _next(code, registers, places, change, after, line, run, at):
    """The next match of a step: a run, a position, the key; run -1 when there is none."""
    bound = joined_key(registers, code[line, FIRST], code[line, SECOND])
    runs = places[code[line, PLACE]]
    if run < runs:
        run, at, key = _next_stored(code, places, change, after, line, bound, run, at)
        if run < runs:
            return run, at, key
    if change is not None:
        if after and at != 0 and change.touched[code[line, OWN]] & ADDED:
            at, key = _next_added(code, change, line, bound, at)
            if at >= 0:
                return runs, at, key
    return -1, -1, np.uint64(0)


@inlined
def _advance(code, registers, places, change, after, levels, line, level):
    """One step of the search at a level; the level where it continues."""
    if levels[level, 0] < 0:  # done: back to the level above
        return level - 1
    run, at, key = _next(code, registers, places, change, after, line, levels[level, 0], levels[level, 1])
    if code[line, KIND] != JOIN:
        levels[level, 0] = -1
        return level + 1 if (run >= 0) == (code[line, KIND] != ABSENT) else level - 1
    if run < 0:
        return level - 1
    if code[line, HIGH] >= 0:
        registers[code[line, HIGH]] = np.int64(key >> HALF)
    if code[line, LOW] >= 0:
        registers[code[line, LOW]] = np.int64(key & MASK)
    levels[level, 0], levels[level, 1] = run, at
    return level + 1


@inner
def next_row(code, registers, places, change, after, levels, first, depth, level, matches):
    """The next row of the steps from line `first` on, searched from a level on: level 0, with its position at (0, -1),
    for the first row, and `depth` - 1 for the row after that. Returns `depth` if there is one, and what is left of the
    budget of matches: less than 0 if it was exceeded."""
    while 0 <= level < depth:
        matches -= 1
        if matches < 0:
            return -1, matches
        before = level
        level = _advance(code, registers, places, change, after, levels, np.uint64(first + level), level)
        if before < level < depth:
            levels[level, 0], levels[level, 1] = 0, -1
    return level, matches
