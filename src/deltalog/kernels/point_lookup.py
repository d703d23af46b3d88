"""Point look-ups in one call: for top-down evaluation, where most look-ups are small.

Each takes the ids or keys that are wanted and gives, for every match, the position of the id or key, and the match.
The result is written as it is found, into arrays that grow.
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.compiling import form, inner, kernel
from deltalog.kernels.sorted_keys import HALF, LOW

by_wanted = form(work=lambda keys, wanted: len(wanted))


@inner
def lower_bound(keys, key):
    """The position of the first key that is not below `key`."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
@by_wanted
def lookup_pairs(keys, leads):
    """Sorted keys by their high half: for every key of every lead, the number of the lead and the low half."""
    lows = np.empty(len(leads), np.int64)
    counts = np.empty(len(leads), np.int64)
    total = 0
    for i in range(len(leads)):
        first = np.uint64(leads[i]) << HALF
        at = lower_bound(keys, first)
        end = at
        while end < len(keys) and keys[end] >> HALF == leads[i]:
            end += 1
        lows[i], counts[i] = at, end - at
        total += end - at
    left, right = np.empty(total, np.int64), np.empty(total, np.uint32)
    n = 0
    for i in range(len(leads)):
        for position in range(lows[i], lows[i] + counts[i]):
            left[n] = i
            right[n] = np.uint32(keys[position] & LOW)
            n += 1
    return left, right


@kernel
@form(work=lambda keys, tails: len(keys) * len(tails), most=1 << 14)
def scan_pairs(keys, tails):
    """Keys by their low half, reading all of them: for each match, the number of the tail and the high half."""
    left, right = np.empty(16, np.int64), np.empty(16, np.uint32)
    n = 0
    for position in range(len(keys)):
        tail = np.uint32(keys[position] & LOW)
        for i in range(len(tails)):
            if tails[i] == tail:
                if n == len(left):
                    left = np.append(left, np.empty(n, np.int64))
                    right = np.append(right, np.empty(n, np.uint32))
                left[n], right[n] = i, np.uint32(keys[position] >> HALF)
                n += 1
    return left[:n], right[:n]


@kernel
@by_wanted
def lookup_keys(keys, wanted):
    """The positions of the wanted keys that are present."""
    found = np.empty(len(wanted), np.int64)
    n = 0
    for i in range(len(wanted)):
        at = lower_bound(keys, wanted[i])
        if at < len(keys) and keys[at] == wanted[i]:
            found[n] = i
            n += 1
    return found[:n]
