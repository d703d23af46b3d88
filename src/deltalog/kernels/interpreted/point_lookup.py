"""Point look-ups, by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import MOST_ITEMS_BY_NUMPY, form
from deltalog.kernels.sorted_keys import HALF, LOW

by_wanted = form(work=lambda keys, wanted: len(wanted), most=MOST_ITEMS_BY_NUMPY)


@by_wanted
def lookup_pairs(keys: Any, leads: Any) -> tuple[Any, Any]:
    first = leads.astype(np.uint64) << HALF
    low, high = np.searchsorted(keys, first), np.searchsorted(keys, first | LOW, side="right")
    if len(leads) == 1:
        right = (keys[low[0] : high[0]] & LOW).astype(np.uint32)
        return np.zeros(len(right), np.int64), right
    sizes = high - low
    left = np.repeat(np.arange(len(leads)), sizes)
    positions = np.arange(len(left)) + np.repeat(low - (np.cumsum(sizes) - sizes), sizes)
    return left, (keys[positions] & LOW).astype(np.uint32)


@form(work=lambda keys, tails: len(keys) * len(tails), most=8 * MOST_ITEMS_BY_NUMPY)
def scan_pairs(keys: Any, tails: Any) -> tuple[Any, Any]:
    position, number = (keys[:, None] & LOW == tails[None, :]).nonzero()
    return number, (keys[position] >> HALF).astype(np.uint32)


@by_wanted
def lookup_keys(keys: Any, wanted: Any) -> Any:
    at = np.searchsorted(keys, wanted)
    return np.flatnonzero(keys[np.minimum(at, len(keys) - 1)] == wanted) if len(keys) else np.empty(0, np.int64)
