"""Sorted sets of rows, by numpy. Rows of several words are compared as records of their bytes, the highest first."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import MOST_ITEMS_BY_NUMPY, by_numpy, form
from deltalog.kernels.sorted_keys import HALF, LOW

by_probes = form(work=lambda probe, *_: len(probe), most=MOST_ITEMS_BY_NUMPY)  # a search reads few of the keys


@by_numpy
def pack(high: Any, low: Any) -> Any:
    return (high.astype(np.uint64) << HALF) | low.astype(np.uint64)


@by_numpy
def pack_into(words: Any, word: int, high: Any, low: Any) -> None:
    words[:, word] = pack(high, low)


@by_numpy
def swap(keys: Any) -> Any:
    return (keys << HALF) | (keys >> HALF)


@by_numpy
def unpack(keys: Any, high: Any, low: Any) -> None:
    high[:] = keys >> HALF
    low[:] = keys & LOW


@by_numpy
def is_sorted(keys: Any) -> bool:
    return bool((keys[:-1] <= keys[1:]).all())


@by_numpy
def unique(keys: Any) -> int:
    if len(keys) == 0:
        return 0
    distinct = keys[np.concatenate(([True], keys[1:] != keys[:-1]))]
    keys[: len(distinct)] = distinct
    return len(distinct)


@by_numpy
def union(a: Any, b: Any) -> Any:
    merged = np.concatenate((a, b))
    merged.sort(kind="stable")
    return merged[: unique(merged)]


@by_probes
def mark_members(probe: Any, keys: Any, found: Any) -> None:
    if len(keys):
        at = np.searchsorted(keys, probe)
        found |= keys[np.minimum(at, len(keys) - 1)] == probe


@by_probes
def mark_leads(probe: Any, keys: Any, found: Any) -> None:
    if len(keys):
        leads = probe.astype(np.uint64)
        at = np.minimum(np.searchsorted(keys, leads << HALF), len(keys) - 1)
        found |= keys[at] >> HALF == leads


@by_numpy
def difference(keys: Any, removed: Any) -> Any:
    found = np.zeros(len(keys), np.bool_)
    mark_members(keys, removed, found)
    return keys[~found]


@by_numpy
def lead_offsets(keys: Any, ids: int) -> Any:
    counts = np.bincount((keys >> HALF).astype(np.int64), minlength=ids)
    return np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)


@by_numpy
def count_leads(keys: Any) -> int:
    leads = keys >> HALF
    return int((leads[1:] != leads[:-1]).sum()) + 1 if len(keys) else 0


@by_numpy
def distinct_ids(column: Any, ids: int) -> Any:
    return np.unique(column).astype(np.uint64) << HALF


# Rows of several words.


def _texts(rows: Any) -> Any:
    """Rows as texts of bytes, which compare as the rows do."""
    return np.ascontiguousarray(rows.astype(">u8")).view(f"S{8 * rows.shape[1]}").reshape(-1)


@by_numpy
def is_sorted_words(rows: Any) -> bool:
    return is_sorted(_texts(rows))


@by_numpy
def unique_words(rows: Any) -> int:
    if len(rows) == 0:
        return 0
    distinct = rows[np.concatenate(([True], (rows[1:] != rows[:-1]).any(axis=1)))]
    rows[: len(distinct)] = distinct
    return len(distinct)


@by_numpy
def ranges_words(rows: Any, first: Any, last: Any, low: Any, high: Any) -> None:
    texts = _texts(rows)
    low[:] = np.searchsorted(texts, _texts(first))
    high[:] = np.searchsorted(texts, _texts(last), side="right")


@by_numpy
def ranges_pairs(rows: Any, offsets: Any, a: Any, b: Any, low: Any, high: Any) -> None:
    words, keys, known = np.ascontiguousarray(rows[:, 0]), pack(a, b), a < len(offsets) - 1
    low[:] = np.where(known, np.searchsorted(words, keys), 0)
    high[:] = np.where(known, np.searchsorted(words, keys, side="right"), 0)


@by_numpy
def widest_halves(rows: Any) -> Any:
    halves = np.stack((rows >> HALF, rows & LOW), axis=2).reshape(len(rows), 2 * rows.shape[1])
    return np.bitwise_or.reduce(halves, axis=0) if len(rows) else np.zeros(2 * rows.shape[1], np.uint64)


@by_numpy
def narrowed(rows: Any, bits: Any) -> Any:
    numbers = np.zeros(len(rows), np.uint64)
    for w in range(rows.shape[1]):
        numbers = (numbers << bits[2 * w]) | (rows[:, w] >> HALF)
        numbers = (numbers << bits[2 * w + 1]) | (rows[:, w] & LOW)
    return numbers


@by_numpy
def spread(numbers: Any, bits: Any) -> Any:
    words, one = np.empty((len(numbers), len(bits) // 2), np.uint64), np.uint64(1)
    for w in range(words.shape[1] - 1, -1, -1):
        low, numbers = numbers & ((one << bits[2 * w + 1]) - one), numbers >> bits[2 * w + 1]
        high, numbers = numbers & ((one << bits[2 * w]) - one), numbers >> bits[2 * w]
        words[:, w] = (high << HALF) | low
    return words


@by_numpy
def union_words(a: Any, b: Any) -> Any:
    rows = np.concatenate((a, b))
    rows = rows[np.argsort(_texts(rows), kind="stable")]
    return rows[: unique_words(rows)]


@by_numpy
def mark_members_words(probe: Any, rows: Any, found: Any) -> None:
    mark_members(_texts(probe), _texts(rows), found)
