"""Joins into sorted runs.

The left side has an id per row; the run has keys with that id in the high half. First the range of each id is found
(`ranges_*`), then the ranges are expanded (`expand_*`). `compose` does both for the commonest rule of all,
h(x, z) <- l(x, y), r(y, z), and gives each pair once: for one x after the other, a stamp per z says whether the pair
has been seen or is known already (Gustavson's sparse matrix product, with a mask); where a row has many candidates,
a bit per z.
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.bits import clear_known, read_bits
from deltalog.kernels.compiling import inner, kernel
from deltalog.kernels.sorted_keys import HALF, LOW, gallop

SIX, ONE, LAST_SIX = np.uint64(6), np.uint64(1), np.uint64(63)
RUNS = 6  # how many runs compose reads at once; shorter lists are padded with empty ones


@kernel
def ranges_offsets(offsets, ids, low, high):
    """low[i] to high[i] are the keys of id ids[i], by direct access."""
    last = len(offsets) - 1
    for i in range(len(ids)):
        a = np.int64(ids[i])
        if a < last:
            low[i] = offsets[a]
            high[i] = offsets[a + 1]
        else:
            low[i] = high[i] = 0


@kernel
def ranges_search(keys, ids, low, high):
    """The same by search: for few ids, or a run that is small beside the number of ids."""
    at = 0
    for i in range(len(ids)):
        if i > 0 and ids[i] < ids[i - 1]:
            at = 0
        if i > 0 and ids[i] == ids[i - 1]:
            low[i], high[i] = low[i - 1], high[i - 1]
            continue
        low[i] = at = gallop(keys, np.uint64(ids[i]) << HALF, at)
        high[i] = at = gallop(keys, (np.uint64(ids[i]) + np.uint64(1)) << HALF, at)


@kernel
def total(low, high):
    """How many rows the ranges have together."""
    n = 0
    for i in range(len(low)):
        n += high[i] - low[i]
    return n


@kernel
def expand_keys(low, high, keys, left, right):
    """left: the row number, right: the low half of the key, for every key of every range."""
    n = 0
    for i in range(len(low)):
        for position in range(low[i], high[i]):
            left[n] = i
            right[n] = np.uint32(keys[position] & LOW)
            n += 1


@kernel
def expand(low, high, left, right):
    """left: the row number, right: the position in the run, for every key of every range."""
    n = 0
    for i in range(len(low)):
        for position in range(low[i], high[i]):
            left[n] = i
            right[n] = position
            n += 1


@inner
def has_key(runs, offsets, x, z):
    """Whether (x, z) is in one of the runs."""
    key = (np.uint64(x) << HALF) | np.uint64(z)
    for r in range(len(runs)):
        if x + 1 < len(offsets[r]):
            low, high = np.int64(offsets[r][x]), np.int64(offsets[r][x + 1])
            while low < high:
                middle = (low + high) >> 1
                if runs[r][middle] < key:
                    low = middle + 1
                else:
                    high = middle
            if low < np.int64(offsets[r][x + 1]) and runs[r][low] == key:
                return True
    return False


@inner
def row_size(offsets, x):
    """How many keys with high half x the runs have."""
    n = 0
    for r in range(len(offsets)):
        if x + 1 < len(offsets[r]):
            n += np.int64(offsets[r][x + 1]) - np.int64(offsets[r][x])
    return n


@kernel
def compose(left, right, right_offsets, known, known_offsets, stamp, generation, bits):
    """The new pairs (x, z): (x, y) in left, (y, z) in right, (x, z) not in known; and the next free generation.

    left is sorted. right and known are tuples of RUNS runs with their offsets. Pairs come sorted, each once. stamp has
    a place for every id, and no entry of it is as high as generation; bits has a bit for every id, all zero.
    """
    out = np.empty(max(1024, len(left)), np.uint64)
    n = 0
    i = 0
    while i < len(left):
        x = np.int64(left[i] >> HALF)
        end = i
        candidates = 0
        while end < len(left) and np.int64(left[end] >> HALF) == x:
            candidates += row_size(right_offsets, np.int64(left[end] & LOW))
            end += 1
        if candidates > 0:
            most = n + min(candidates, len(stamp))
            if most > len(out):
                larger = np.empty(max(2 * len(out), most), np.uint64)
                larger[:n] = out[:n]
                out = larger
            present = row_size(known_offsets, x)
            if 2 * candidates > len(bits) and 8 * candidates > present:
                n = _row_by_bits(x, left[i:end], right, right_offsets, known, known_offsets, bits, out, n)
            else:
                generation += 1
                n = _row_by_stamps(
                    x,
                    left[i:end],
                    right,
                    right_offsets,
                    known,
                    known_offsets,
                    stamp,
                    generation,
                    present > 16 * candidates,
                    out,
                    n,
                )
        i = end
    return out[:n], generation


@inner
def _row_by_stamps(x, pairs, right, right_offsets, known, known_offsets, stamp, generation, search, out, n):
    """The row of one x: a stamp per z. What is known is stamped first, or (`search`) looked up if it is much."""
    if not search:
        for r in range(RUNS):
            if x + 1 < len(known_offsets[r]):
                for position in range(known_offsets[r][x], known_offsets[r][x + 1]):
                    stamp[known[r][position] & LOW] = generation
    first = n
    lead = np.uint64(x) << HALF
    for e in range(len(pairs)):
        y = np.int64(pairs[e] & LOW)
        for r in range(RUNS):
            if y + 1 < len(right_offsets[r]):
                for position in range(right_offsets[r][y], right_offsets[r][y + 1]):
                    z = right[r][position] & LOW
                    if stamp[z] != generation:
                        stamp[z] = generation
                        if not (search and has_key(known, known_offsets, x, z)):
                            out[n] = lead | z
                            n += 1
    if n - first > 1:
        out[first:n].sort()
    return n


@inner
def _row_by_bits(x, pairs, right, right_offsets, known, known_offsets, bits, out, n):
    """The row of one x: a bit per z, set by candidates, cleared by what is known, then read in order."""
    low, high = len(bits), -1
    for e in range(len(pairs)):
        y = np.int64(pairs[e] & LOW)
        for r in range(RUNS):
            if y + 1 < len(right_offsets[r]):
                start, stop = np.int64(right_offsets[r][y]), np.int64(right_offsets[r][y + 1])
                if start < stop:
                    low = min(low, np.int64((right[r][start] & LOW) >> SIX))
                    high = max(high, np.int64((right[r][stop - 1] & LOW) >> SIX))
                    for position in range(start, stop):
                        z = right[r][position] & LOW
                        bits[z >> SIX] |= ONE << (z & LAST_SIX)
    clear_known(x, known, known_offsets, bits)
    return read_bits(x, bits, low, high, out, n)
