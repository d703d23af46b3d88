"""Nested-loop joins, for the many small plans of a small change.

A plan is a list of steps over registers, one register for each variable or constant. A step is a line of `code`:

    KIND    JOIN: for every match; EXISTS: if there is one; ABSENT: if there is none
    FIRST, SECOND   the registers that the halves of a key must be equal to, or -1
    HIGH, LOW       the registers that its halves go to, or -1
    EQUAL   1 if its halves must be the same
    PLACE   where in `places` its relation begins: the number of its runs, the number of runs of tombstones, and then
            for each run the address of its keys, their number, and the address of its fence, or 0 (see
            `kernels.addresses`). A fence has every 64th key: a search begins there, where it reads few words, and ends
            within a few cache lines.

One call runs any number of plans, and writes nothing but their results.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from deltalog.kernels.intern import get
from deltalog.kernels.sorted_keys import HALF

KIND, FIRST, SECOND, HIGH, LOW, EQUAL, PLACE = range(7)
FIELDS = 7
JOIN, EXISTS, ABSENT = range(3)
MASK = np.uint64(0xFFFFFFFF)
TOO_MUCH = -1
RUN = 3  # words of a run in `places`
STRIDE = 6  # a fence has every 64th key


@njit(nogil=True)
def _first(address, low, high, key):
    """The first position from low on whose key is not less, or high."""
    while low < high:
        middle = (low + high) >> 1
        if np.uint64(get(address, middle)) < key:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True)
def search(places, run, key):
    """The first position of a run (by its place) whose key is not less."""
    address, length, fence = places[run], places[run + 1], places[run + 2]
    if fence == 0:
        return _first(address, 0, length, key)
    post = _first(fence, 0, ((length - 1) >> STRIDE) + 1, key)
    return _first(address, max(0, ((post - 1) << STRIDE) + 1), min(length, post << STRIDE), key)


@njit(nogil=True)
def is_tombstone(places, place, key):
    """Whether a key is in one of the runs of tombstones."""
    first = place + 2 + RUN * places[place]
    for run in range(first, first + RUN * places[place + 1], RUN):
        at = search(places, run, key)
        if at < places[run + 1] and np.uint64(get(places[run], at)) == key:
            return True
    return False


@njit(nogil=True)
def _next(step, registers, places, place, run, at):
    """The next match from a position of a run on: its run and position; run -1 when there is none."""
    runs = places[place]
    bound = np.uint64(0)
    if step[FIRST] >= 0:
        bound = np.uint64(registers[step[FIRST]]) << HALF
    if step[SECOND] >= 0:
        bound |= np.uint64(registers[step[SECOND]])
    while run < runs:
        address, length = places[place + 2 + RUN * run], places[place + 3 + RUN * run]
        if at < 0:
            at = search(places, place + 2 + RUN * run, bound)
        while at < length:
            key = np.uint64(get(address, at))
            if step[SECOND] >= 0 and key != bound:
                break
            if step[FIRST] >= 0 and key >> HALF != bound >> HALF:
                break
            equal = step[EQUAL] == 0 or key >> HALF == key & MASK
            if equal and (places[place + 1] == 0 or not is_tombstone(places, place, key)):
                return run, at
            at += 1
        run += 1
        at = -1
    return -1, -1


@njit(nogil=True)
def _bind(step, registers, places, run, position):
    """Writes the halves of a match to their registers."""
    key = np.uint64(get(places[step[PLACE] + 2 + RUN * run], position))
    if step[HIGH] >= 0:
        registers[step[HIGH]] = np.int64(key >> HALF)
    if step[LOW] >= 0:
        registers[step[LOW]] = np.int64(key & MASK)


@njit(nogil=True)
def _advance(code, places, registers, runs, at, level):
    """One step of the search at a level; the level where it continues."""
    step = code[level]
    if runs[level] < 0:  # done: back to the level above
        runs[level], at[level] = 0, -1
        return level - 1
    run, position = _next(step, registers, places, step[PLACE], runs[level], at[level])
    if step[KIND] == JOIN and run >= 0:
        _bind(step, registers, places, run, position)
        runs[level], at[level] = run, position + 1
        return level + 1
    if step[KIND] != JOIN and (run >= 0) == (step[KIND] == EXISTS):
        runs[level] = -1
        return level + 1
    runs[level], at[level] = 0, -1
    return level - 1


@njit(nogil=True)
def _all_rows(code, places, registers, head, out, n, most):
    """Writes the keys of the registers `head` for every row to `out` from n on: where that ends; TOO_MUCH if they do
    not fit, or if there are more than `most` matches."""
    depth = len(code)
    runs, at = np.zeros(depth, np.int64), np.full(depth, -1, np.int64)
    level = matches = 0
    while level >= 0:
        if level == depth:
            if n == len(out):
                return TOO_MUCH
            key = np.uint64(0)
            if head[0] >= 0:
                key = np.uint64(registers[head[0]]) << HALF
            if head[1] >= 0:
                key |= np.uint64(registers[head[1]])
            out[n] = key
            n += 1
            level -= 1
            continue
        matches += 1
        if matches > most:
            return TOO_MUCH
        level = _advance(code, places, registers, runs, at, level)
    return n


@njit(nogil=True)
def _leaves_with_rows(code, places, registers, known, out, n, most):
    """Writes the keys of the first relation for which there is a row to `out`, except those that are known, and marks
    them as known."""
    depth, leaf = len(code), code[0]
    runs, at = np.zeros(depth, np.int64), np.full(depth, -1, np.int64)
    row = matches = 0
    place = leaf[PLACE]
    for run in range(places[place]):
        for position in range(places[place + 3 + RUN * run]):
            key = np.uint64(get(places[place + 2 + RUN * run], position))
            row += 1
            if known[row - 1] or (places[place + 1] and is_tombstone(places, place, key)):
                continue
            _bind(leaf, registers, places, run, position)
            runs[:], at[:] = 0, -1
            level = 1
            while 1 <= level < depth:
                matches += 1
                if matches > most:
                    return TOO_MUCH
                level = _advance(code, places, registers, runs, at, level)
            if level == depth:
                if n == len(out):
                    return TOO_MUCH
                known[row - 1] = True
                out[n] = key
                n += 1
    return n


@njit(nogil=True, cache=True)
def nested_loops(code, starts, places, registers, register_starts, heads, known, known_starts, out, ends, most):
    """Runs plan after plan: the rows of each go to `out`, and where they end to `ends`; False if they are too many.

    Each plan has its lines of code and its registers. Where `known_starts` is not negative, the head of a plan is a row
    of its first relation: each such row is derived only once, also by several plans with the same start.
    """
    n = 0
    for i in range(len(heads)):
        lines = code[starts[i] : starts[i + 1]]
        own = registers[register_starts[i] : register_starts[i + 1]].copy()
        if known_starts[i] < 0:
            n = _all_rows(lines, places, own, heads[i], out, n, most)
        else:
            n = _leaves_with_rows(lines, places, own, known[known_starts[i] :], out, n, most)
        if n < 0:
            return False
        ends[i] = n
    return True
