"""Searches in the sorted runs of stored relations.

`places` is an array of words. Where a relation begins, it has the number of its runs, the number of its runs of
tombstones, and then for each run the address of its keys, their number, and the address of its fence, or 0 (see
`kernels.addresses`). A fence has every 64th key: a search begins there, where it reads few words, and ends within a few
cache lines.
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.compiling import inner
from deltalog.kernels.memory import get

MASK = np.uint64(0xFFFFFFFF)  # the lower half of a key
RUN = 3  # words of a run in `places`
STRIDE = 6  # a fence has every 64th key


@inner
def _first(address, low, high, key):
    """The first position from low on whose key is not less, or high."""
    while low < high:
        middle = (low + high) >> 1
        if np.uint64(get(address, middle)) < key:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def search(places, run, key):
    """The first position of a run (by its place) whose key is not less."""
    address, length, fence = places[run], places[run + 1], places[run + 2]
    if fence == 0:
        return _first(address, 0, length, key)
    post = _first(fence, 0, ((length - 1) >> STRIDE) + 1, key)
    return _first(address, max(0, ((post - 1) << STRIDE) + 1), min(length, post << STRIDE), key)


@inner
def is_tombstone(places, place, key):
    """Whether a key is in one of the runs of tombstones."""
    first = place + 2 + RUN * places[place]
    for run in range(first, first + RUN * places[place + 1], RUN):
        at = search(places, run, key)
        if at < places[run + 1] and np.uint64(get(places[run], at)) == key:
            return True
    return False


@inner
def holds(places, place, key):
    """Whether a relation has a key."""
    for run in range(place + 2, place + 2 + RUN * places[place], RUN):
        at = search(places, run, key)
        if at < places[run + 1] and np.uint64(get(places[run], at)) == key:
            return places[place + 1] == 0 or not is_tombstone(places, place, key)
    return False
