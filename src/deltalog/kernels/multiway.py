"""The generic join: several sorted relations of one or two columns, variable by variable.

A level binds a variable. Its `lines` say which relations have the variable, one line each:

    KIND    FIRST: its other column is bound at a later level; SECOND: it was bound before; ALONE: it has no other
    OTHER   the register of that other column, for SECOND
    PLACE   where in `places` the relation is, sorted by the column that is bound first; as `kernels.run_search` reads
    it

A level begins with the ranges of its lines (`_begin`), all values that they allow; the shortest of them is
scanned, and each value looked up in the others (`_advance`). Values ascend within a run, so a look-up begins where
the last one ended; where another line has not got the value, all up to the next one that it has is skipped. The state
of a line is for each of its runs where it is, and where its range ends.
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.compiling import form, inner, kernel
from deltalog.kernels.join import RUNS
from deltalog.kernels.memory import get
from deltalog.kernels.run_search import RUN, is_tombstone
from deltalog.kernels.sorted_keys import HALF

KIND, OTHER, PLACE = range(3)
FIRST, SECOND, ALONE = range(3)
FIELDS = 3
MASK = np.uint64(0xFFFFFFFF)
NONE = np.int64(1) << np.int64(32)  # more than any value


@inner
def _seek(address, low, high, key):
    """The first position from low on whose key is not less: fast when it is near."""
    step, top = 1, low
    while top < high and np.uint64(get(address, top)) < key:
        low = top + 1
        top += step
        step *= 2
    top = min(top, high)
    while low < top:
        middle = (low + top) >> 1
        if np.uint64(get(address, middle)) < key:
            low = middle + 1
        else:
            top = middle
    return low


@inner
def _key(line, registers, value):
    """The least key of a value of a line's variable."""
    if line[KIND] == SECOND:
        return np.uint64(registers[line[OTHER]]) << HALF | np.uint64(value)
    return np.uint64(value) << HALF


@inner
def _find(line, places, run, low, high, start):
    """Where the keys from `low` to below `high` of a run begin and end; the last search ended at `start`."""
    address, length = places[line[PLACE] + 2 + RUN * run], places[line[PLACE] + 3 + RUN * run]
    if start >= length or np.uint64(get(address, start)) > low:
        start = 0
    first = _seek(address, start, length, low)
    return first, _seek(address, first, length, high)


@inner
def _begin(lines, first, last, places, registers, least, bound, found_for, at, end, begun):
    """The ranges of the lines of a level, for values from `least` to below `bound`; the line with the shortest. Those
    of the same value of the other column as the last time are known."""
    best, fewest = first, -1
    for i in range(first, last):
        other, total = registers[lines[i, OTHER]] if lines[i, KIND] == SECOND else 0, 0
        low, high = _key(lines[i], registers, least), _key(lines[i], registers, bound)
        for run in range(places[lines[i, PLACE]]):
            if found_for[i] != other:
                begun[i, run], end[i, run] = _find(lines[i], places, run, low, high, begun[i, run])
            at[i, run] = begun[i, run]
            total += end[i, run] - at[i, run]
        found_for[i] = other
        if fewest < 0 or total < fewest:
            best, fewest = i, total
    return best


@inner
def _next(line, places, registers, value, at, end):
    """The first value from `value` on that a line may have, NONE after the last; moves its positions there."""
    place, key, least = line[PLACE], _key(line, registers, value), NONE
    for run in range(places[place]):
        address = places[place + 2 + RUN * run]
        at[run] = _seek(address, at[run], end[run], key)
        if at[run] < end[run]:
            found = np.uint64(get(address, at[run]))
            here = np.int64(found & MASK) if line[KIND] == SECOND else np.int64(found >> HALF)
            if here == value:
                if line[KIND] == FIRST or places[place + 1] == 0 or not is_tombstone(places, place, found):
                    return value
                here += 1
            least = min(least, here)
    return least


@inner
def _allowed(lines, first, last, chosen, places, registers, value, at, end):
    """The value, if all lines have it; else one that it can be at least."""
    for i in range(first, last):
        if i != chosen:
            next_value = _next(lines[i], places, registers, value, at[i], end[i])
            if next_value > value:
                return next_value
    return value


@inner
def _is_repeated(line, places, run, value, begun):
    """Whether a lead of a run is also one of a run before it."""
    key = np.uint64(value) << HALF
    for before in range(run):
        address, length = places[line[PLACE] + 2 + RUN * before], places[line[PLACE] + 3 + RUN * before]
        position = _seek(address, begun[before], length, key)
        if position < length and np.uint64(get(address, position)) >> HALF == np.uint64(value):
            return True
    return False


@inner
def _rewind(first, last, chosen, at, begun):
    """The positions of a level as they were: a new run begins with small values again."""
    for i in range(first, last):
        if i != chosen:
            for run in range(RUNS + 1):
                at[i, run] = begun[i, run]


@inner
def _advance(lines, first, last, chosen, places, registers, run, at, end, begun):
    """The run and the value of the next one that all lines have; run -1 when there is none."""
    line = lines[chosen]
    place, runs = line[PLACE], places[line[PLACE]]
    while run < runs:
        address = places[place + 2 + RUN * run]
        while at[chosen, run] < end[chosen, run]:
            key = np.uint64(get(address, at[chosen, run]))
            value = np.int64(key & MASK) if line[KIND] == SECOND else np.int64(key >> HALF)
            if line[KIND] == FIRST:
                at[chosen, run] = _seek(address, at[chosen, run], end[chosen, run], np.uint64(value + 1) << HALF)
                alive = run == 0 or not _is_repeated(line, places, run, value, begun[chosen])
            else:
                at[chosen, run] += 1
                alive = places[place + 1] == 0 or not is_tombstone(places, place, key)
            if alive:
                least = _allowed(lines, first, last, chosen, places, registers, value, at, end)
                if least == value:
                    return run, value
                if least == NONE:
                    at[chosen, run] = end[chosen, run]
                else:
                    key = _key(line, registers, least)
                    at[chosen, run] = _seek(address, at[chosen, run], end[chosen, run], key)
        run += 1
        _rewind(first, last, chosen, at, begun)
    return -1, 0


@inner
def _with_room(out, n):
    if n < len(out):
        return out
    larger = np.empty((2 * n, out.shape[1]), np.uint32)
    for i in range(n):  # slices would take far longer to compile
        for j in range(out.shape[1]):
            larger[i, j] = out[i, j]
    return larger


def _size(lines, levels, places, *_):
    """How many keys the relations have."""
    runs = [place + 2 + RUN * run for place in lines[:, PLACE].tolist() for run in range(places[place])]
    return sum(int(places[run + 1]) for run in runs)


@kernel
@form(work=_size, most=1 << 13)  # a triangle of 2,700 edges has at most 140,000 rows
def multiway_join(lines, levels, places, constants, wanted, needed, least, bound, ids):
    """The rows of the registers `wanted`. The lines of level l are lines[levels[l]:levels[l + 1]]; registers are first
    the constants, then the variables of the levels. The first variable has values from `least` to below `bound`. From
    level `needed` on, one binding of the rest is enough.
    """
    depth = len(levels) - 1
    registers = np.zeros(len(constants) + depth, np.int64)
    for i in range(len(constants)):
        registers[i] = constants[i]
    shape = (len(lines), RUNS + 1)
    at, end, begun = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    found_for = np.full(len(lines), -1, np.int64)
    chosen, runs = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    out = np.empty((1024, len(wanted)), np.uint32)
    n = level = 0
    fresh = True
    while level >= 0:
        first, last = levels[level], levels[level + 1]
        if fresh:
            if level > 0:
                least, bound = 0, ids
            chosen[level] = _begin(lines, first, last, places, registers, least, bound, found_for, at, end, begun)
            runs[level] = 0
        runs[level], value = _advance(lines, first, last, chosen[level], places, registers, runs[level], at, end, begun)
        fresh = False
        if runs[level] < 0:
            level -= 1
            continue
        registers[len(constants) + level] = value
        if level + 1 < depth:
            level, fresh = level + 1, True
            continue
        out = _with_room(out, n)
        for i in range(len(wanted)):
            out[n, i] = np.uint32(registers[wanted[i]])
        n += 1
        level = min(level, needed - 1)
    return out[:n]
