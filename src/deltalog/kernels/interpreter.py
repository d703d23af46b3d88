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

The search goes from level to level, one for each step (`advance`); a row is found at the level after the last step.
`levels` has the position of each level: a run and the next position in it, or the number of runs and the next added
fact. A search begins at (0, -1); run -1 says that the step has no further match.
"""

from __future__ import annotations

import numpy as np

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
    is_removed,
)
from deltalog.kernels.compiling import inner, merged
from deltalog.kernels.memory import get
from deltalog.kernels.run_search import MASK, RUN, is_tombstone, search
from deltalog.kernels.sorted_keys import HALF

KIND, FIRST, SECOND, HIGH, LOW, EQUAL, PLACE, OWN, SWAPPED = range(9)
JOIN, EXISTS, ABSENT = range(3)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@merged
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
    return ((key & MASK) << HALF) | (key >> HALF) if swapped else key


@inner
def _greatest(step, bound):
    """The greatest key that a step can match, where `bound` is the least."""
    if step[SECOND] >= 0:
        return bound
    return bound | MASK if step[FIRST] >= 0 else ALL


@merged
def _next_stored(places, change, after, step, bound, run, at):
    """The next match from a position of a run on: its run, the position after it, and the key; the run after the last
    one if there is none."""
    place, equal, greatest = step[PLACE], step[EQUAL] != 0, _greatest(step, bound)
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
                if after and change.touched[step[OWN]] & REMOVED:
                    if is_removed(change, step[OWN], _turned(key, step[SWAPPED])):
                        continue
            return run, at, key
        run += 1
        at = -1
    return run, -1, np.uint64(0)


@inner
def _next_added(change, step, bound, at):
    """The next match among the added facts: the index after it (0: the end), and the key; -1 if there is none."""
    facts, own, swapped = change.facts, step[OWN], step[SWAPPED]
    greatest, chain = _greatest(step, bound), BY_PRED
    if step[FIRST] >= 0:
        chain = BY_SECOND if swapped else BY_FIRST
    if at < 0:
        at = np.int64(first_added(change, chain, own, np.int64(bound >> HALF) if chain != BY_PRED else 0))
    while at > 0:
        i = at - 1
        at = facts[i, NEXT + chain]
        key = _turned(np.uint64(facts[i, KEY]), swapped)
        equal = step[EQUAL] == 0 or key >> HALF == key & MASK
        if facts[i, PRED] == own and equal and bound <= key <= greatest:
            return at, key
    return -1, np.uint64(0)


@merged
def _next(registers, places, change, after, step, run, at):
    """The next match of a step: a run, a position, the key; run -1 when there is none."""
    bound = joined_key(registers, step[FIRST], step[SECOND])
    runs = places[step[PLACE]]
    if run < runs:
        run, at, key = _next_stored(places, change, after, step, bound, run, at)
        if run < runs:
            return run, at, key
    if change is not None:
        if after and at != 0 and change.touched[step[OWN]] & ADDED:
            at, key = _next_added(change, step, bound, at)
            if at >= 0:
                return runs, at, key
    return -1, -1, np.uint64(0)


@merged
def advance(registers, places, change, after, levels, step, level):
    """One step of the search at a level: the level where it continues, which is less by one if there is no match, and
    more by one if there is."""
    if levels[level, 0] < 0:
        return level - 1
    run, at, key = _next(registers, places, change, after, step, levels[level, 0], levels[level, 1])
    if step[KIND] == JOIN:
        if run < 0:
            return level - 1
        if step[HIGH] >= 0:
            registers[step[HIGH]] = np.int64(key >> HALF)
        if step[LOW] >= 0:
            registers[step[LOW]] = np.int64(key & MASK)
        levels[level, 0], levels[level, 1] = run, at
    elif (run >= 0) == (step[KIND] == EXISTS):
        levels[level, 0] = -1
    else:
        return level - 1
    levels[level + 1, 0], levels[level + 1, 1] = 0, -1
    return level + 1
