"""Joins into sorted runs, by numpy: candidates are made all at once, sorted, and compared with what is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import MOST_ITEMS_BY_NUMPY, by_numpy, form, outgrown
from deltalog.kernels.interpreted.sorted_keys import difference, union
from deltalog.kernels.sorted_keys import HALF, LOW

MOST_CANDIDATES = 1 << 18
by_rows = form(work=lambda low, *_: len(low), most=MOST_ITEMS_BY_NUMPY)


@form(work=lambda offsets, ids, *_: len(ids), most=MOST_ITEMS_BY_NUMPY)
def ranges_offsets(offsets: Any, ids: Any, low: Any, high: Any) -> None:
    known = ids.astype(np.int64) < len(offsets) - 1
    at = np.where(known, ids, 0).astype(np.int64)
    if len(offsets) > 1:
        low[:], high[:] = np.where(known, offsets[at], 0), np.where(known, offsets[at + 1], 0)
    else:
        low[:] = high[:] = 0


@form(work=lambda keys, ids, *_: len(ids), most=MOST_ITEMS_BY_NUMPY)
def ranges_search(keys: Any, ids: Any, low: Any, high: Any) -> None:
    leads = ids.astype(np.uint64) << HALF
    low[:] = np.searchsorted(keys, leads)
    high[:] = np.searchsorted(keys, leads | LOW, side="right")


@by_rows
def total(low: Any, high: Any) -> int:
    return int((high - low).sum())


def _positions(low: Any, high: Any) -> tuple[Any, Any]:
    """The row number and the position, for every position of every range."""
    sizes = high - low
    left = np.repeat(np.arange(len(low)), sizes)
    return left, np.arange(len(left)) + np.repeat(low - (np.cumsum(sizes) - sizes), sizes)


@by_numpy
def expand_keys(low: Any, high: Any, keys: Any, left: Any, right: Any) -> None:
    rows, positions = _positions(low, high)
    left[: len(rows)], right[: len(rows)] = rows, keys[positions] & LOW


@by_numpy
def expand(low: Any, high: Any, left: Any, right: Any) -> None:
    rows, positions = _positions(low, high)
    left[: len(rows)], right[: len(rows)] = rows, positions


def _pairs(left: Any, keys: Any, offsets: Any) -> Any:
    """The candidates (x, z) of one run."""
    ids = (left & LOW).astype(np.int64)
    low, high = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
    ranges_offsets(offsets, ids, low, high)
    outgrown(total(low, high), MOST_CANDIDATES)
    rows, positions = _positions(low, high)
    return (left[rows] & ~LOW) | (keys[positions] & LOW)


def without_known(pairs: Any, known: Any) -> Any:
    for run in known:
        if len(run):
            pairs = difference(pairs, run)
    return pairs


@by_numpy
def compose(
    left: Any, right: Any, right_offsets: Any, known: Any, known_offsets: Any, stamp: Any, generation: int, bits: Any
) -> tuple[Any, int]:
    pairs = np.empty(0, np.uint64)
    for keys, offsets in zip(right, right_offsets, strict=True):
        if len(keys):
            pairs = union(pairs, _pairs(left, keys, offsets))
    return without_known(pairs, known), generation
