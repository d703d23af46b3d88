"""Joins into sorted runs.

A probe has an id per row; the run has keys with that id in the high half. First the range of every probe is found
(`ranges_*`), then the ranges are written out (`expand_*`). `compose` does both for the commonest rule of all,
h(x, z) <- l(x, y), r(y, z), without ever writing a pair twice: for one x after the other, a stamp per z says whether
the pair has been seen or is known already (Gustavson's sparse matrix product, with a mask).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from deltalog.kernels.rows import HALF, LOW, gallop

RUNS = 6  # how many runs compose reads at once; shorter lists are padded with empty ones


@njit(nogil=True, cache=True)
def ranges_offsets(offsets, probe, low, high):
    """low[i] to high[i] are the keys of id probe[i], by direct access."""
    last = len(offsets) - 1
    for i in range(len(probe)):
        a = np.int64(probe[i])
        if a < last:
            low[i] = offsets[a]
            high[i] = offsets[a + 1]
        else:
            low[i] = high[i] = 0


@njit(nogil=True, cache=True)
def ranges_search(keys, probe, low, high):
    """The same by search: for few probes, or a run that is small beside the ids."""
    at = 0
    for i in range(len(probe)):
        if i > 0 and probe[i] < probe[i - 1]:
            at = 0
        if i > 0 and probe[i] == probe[i - 1]:
            low[i], high[i] = low[i - 1], high[i - 1]
            continue
        low[i] = at = gallop(keys, np.uint64(probe[i]) << HALF, at)
        high[i] = at = gallop(keys, (np.uint64(probe[i]) + np.uint64(1)) << HALF, at)


@njit(nogil=True, cache=True)
def total(low, high):
    """How many rows the ranges have together."""
    n = 0
    for i in range(len(low)):
        n += high[i] - low[i]
    return n


@njit(nogil=True, cache=True)
def expand_keys(low, high, keys, left, right):
    """left: the probe's row number, right: the low half of the key, for every key of every range."""
    n = 0
    for i in range(len(low)):
        for position in range(low[i], high[i]):
            left[n] = i
            right[n] = np.uint32(keys[position] & LOW)
            n += 1


@njit(nogil=True, cache=True)
def expand(low, high, left, right):
    """left: the probe's row number, right: the position in the run."""
    n = 0
    for i in range(len(low)):
        for position in range(low[i], high[i]):
            left[n] = i
            right[n] = position
            n += 1


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def row_size(offsets, x):
    """How many keys with high half x the runs have."""
    n = 0
    for r in range(len(offsets)):
        if x + 1 < len(offsets[r]):
            n += np.int64(offsets[r][x + 1]) - np.int64(offsets[r][x])
    return n


@njit(nogil=True, cache=True)
def compose(left, right, right_offsets, known, known_offsets, stamp, generation):
    """The new pairs (x, z): (x, y) in left, (y, z) in right, (x, z) not in known; and the next free generation.

    left is sorted. right and known are tuples of RUNS runs with their offsets. Pairs come grouped by ascending x, each
    once, in no order within a group. stamp has a place for every id, and no entry of it is as high as generation.
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
        if candidates == 0:
            i = end
            continue
        generation += 1
        present = row_size(known_offsets, x)
        search = present > 16 * candidates
        if present > 0 and not search:
            for r in range(RUNS):
                if x + 1 < len(known_offsets[r]):
                    for position in range(known_offsets[r][x], known_offsets[r][x + 1]):
                        stamp[known[r][position] & LOW] = generation
        if n + min(candidates, len(stamp)) > len(out):
            larger = np.empty(max(2 * len(out), n + min(candidates, len(stamp))), np.uint64)
            larger[:n] = out[:n]
            out = larger
        lead = np.uint64(x) << HALF
        for e in range(i, end):
            y = np.int64(left[e] & LOW)
            for r in range(RUNS):
                if y + 1 < len(right_offsets[r]):
                    for position in range(right_offsets[r][y], right_offsets[r][y + 1]):
                        z = right[r][position] & LOW
                        if stamp[z] != generation:
                            stamp[z] = generation
                            if not (search and has_key(known, known_offsets, x, z)):
                                out[n] = lead | z
                                n += 1
        i = end
    return out[:n], generation
