"""Sets of numbers, by numpy: words of bits are unpacked to arrays of their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import by_numpy, form
from deltalog.kernels.sorted_keys import HALF, LOW

MOST_SETS = 1 << 12
FULL = 0xFFFFFFFFFFFFFFFF
by_sets = form(work=lambda sets, *_: len(sets), most=MOST_SETS)


def _bit_numbers(words: Any, first: int = 0) -> Any:
    """The numbers of the bits that are set in words, of which the first has number `first`."""
    if len(words) == 0:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")) + 64 * first


def _from_intervals(low: Any, high: Any) -> Any:
    """The numbers of intervals, both ends included."""
    sizes = high - low + 1
    return np.arange(int(sizes.sum())) + np.repeat(low - (np.cumsum(sizes) - sizes), sizes)


def _members(c: int, start: Any, length: Any, data: Any) -> Any:
    """The numbers of set c."""
    n, begin = int(length[c]), int(start[c])
    if n < 0:
        return _bit_numbers(data[begin + 1 : begin - n], int(data[begin]))
    words = data[begin : begin + n]
    return _from_intervals((words >> HALF).astype(np.int64), (words & LOW).astype(np.int64))


def fill(bits: Any, low: int, high: int) -> None:
    first, last = low >> 6, high >> 6
    head, tail = (FULL << (low & 63)) & FULL, FULL >> (63 - (high & 63))
    if first == last:
        bits[first] |= np.uint64(head & tail)
        return
    bits[first] |= np.uint64(head)
    bits[first + 1 : last] = FULL
    bits[last] |= np.uint64(tail)


def include(bits: Any, begin: int, length: int, data: Any) -> tuple[int, int]:
    if length < 0:
        first = int(data[begin])
        bits[first : first - length - 1] |= data[begin + 1 : begin - length]
        return first, first - length - 2
    words = data[begin : begin + length].tolist()
    for word in words:
        fill(bits, word >> 32, word & 0xFFFFFFFF)
    return words[0] >> 38, (words[-1] & 0xFFFFFFFF) >> 6


def _runs(bits: Any, first: int, last: int) -> tuple[Any, Any]:
    """The first and the last number of every interval."""
    found = _bit_numbers(bits[first : last + 1], first)
    breaks = np.flatnonzero(np.diff(found) != 1)
    return found[np.concatenate(([0], breaks + 1))], found[np.concatenate((breaks, [len(found) - 1]))]


def runs_of(bits: Any, first: int, last: int) -> int:
    return len(_runs(bits, first, last)[0])


def write_intervals(bits: Any, first: int, last: int, data: Any, used: int) -> int:
    low, high = _runs(bits, first, last)
    data[used : used + len(low)] = (low.astype(np.uint64) << HALF) | high.astype(np.uint64)
    return used + len(low)


def same(data: Any, a: int, b: int, n: int) -> bool:
    return bool((data[a : a + n] == data[b : b + n]).all())


@form(work=lambda order, must, offsets, successors, *_: len(order) + len(successors))
def close(*arguments: Any) -> tuple[Any, int]:
    from deltalog.kernels.reachable_sets import close

    order, must, offsets, successors, start, length, data, used, bits, fresh = arguments
    lists = (each.tolist() for each in (order, must, offsets, successors))
    return close.straight(*lists, start, length, data, used, bits, fresh)  # type: ignore[no-any-return]


@by_sets
def cardinalities(cs: Any, start: Any, length: Any, data: Any, offsets: Any) -> Any:
    sizes = np.diff(offsets)
    return np.array([sizes[_members(c, start, length, data)].sum() for c in cs.tolist()], np.int64)


@form(work=lambda cs, place, start, length, data, offsets, members, out: len(cs) + (len(out) >> 5), most=MOST_SETS)
def expand(cs: Any, place: Any, start: Any, length: Any, data: Any, offsets: Any, members: Any, out: Any) -> None:
    for c, at in zip(cs.tolist(), place.tolist(), strict=True):
        found = _of_numbers(_members(c, start, length, data), offsets, members)
        out[at : at + len(found)] = found


def _of_numbers(found: Any, offsets: Any, members: Any) -> Any:
    """The members that numbers stand for."""
    return members[_from_intervals(offsets[found], offsets[found + 1] - 1)]


@form(work=lambda sources, *_: len(sources))
def mark_related(sources: Any, targets: Any, component: Any, start: Any, length: Any, data: Any, found: Any) -> None:
    n = len(component)
    inside = np.flatnonzero((sources < n) & (targets < n))
    cs, ds = component[sources[inside]], component[targets[inside]]
    known: dict[int, set[int]] = {}
    for i, c, d in zip(inside.tolist(), cs.tolist(), ds.tolist(), strict=True):
        if c >= 0 and c not in known:
            known[c] = set(_members(c, start, length, data).tolist())
        found[i] = c >= 0 and d >= 0 and d in known[c]


@form(work=lambda wanted, start, length, data, count: count + len(wanted))
def meeting(wanted: Any, start: Any, length: Any, data: Any, count: int) -> Any:
    is_wanted = np.zeros(count + 1, np.bool_)
    is_wanted[wanted] = True
    found = [c for c in range(count) if length[c] != 0 and is_wanted[_members(c, start, length, data)].any()]
    return np.array(found, np.int64)


@form(work=lambda cs, *_: len(cs))
def gather(cs: Any, start: Any, length: Any, data: Any, bits: Any) -> None:
    for c in cs.tolist():
        bits[c >> 6] |= np.uint64(1 << (c & 63))
        if length[c] != 0:
            include(bits, int(start[c]), int(length[c]), data)


@by_numpy
def numbers(bits: Any) -> Any:
    return _bit_numbers(bits)


@form(work=lambda start, *_: len(start))
def compacted(start: Any, length: Any, data: Any) -> tuple[Any, Any]:
    sizes = np.abs(length)
    ends = np.cumsum(sizes)
    return ends - sizes, data[_from_intervals(start, start + sizes - 1)]


@form(work=lambda before, *_: len(before))
def gained(
    before: Any,
    after: Any,
    old_start: Any,
    old_length: Any,
    old_data: Any,
    start: Any,
    length: Any,
    data: Any,
    offsets: Any,
    bits: Any,
) -> tuple[Any, Any, Any]:
    sizes, found = np.diff(offsets), [np.empty(0, np.int64)]
    begins, weights = np.zeros(len(before) + 1, np.int64), np.zeros(len(before), np.int64)
    for i, (b, c) in enumerate(zip(before.tolist(), after.tolist(), strict=True)):
        if c >= 0 and length[c] != 0:
            new = _members(c, start, length, data)
            if b >= 0 and old_length[b] != 0:
                new = np.setdiff1d(new, _members(b, old_start, old_length, old_data), assume_unique=True)
            found.append(new)
            weights[i] = sizes[new].sum()
        begins[i + 1] = begins[i] + (len(found[-1]) if c >= 0 and length[c] != 0 else 0)
    return begins, np.concatenate(found), weights


@form(work=lambda sources, group, begins, found, offsets, members, total: len(sources) + (total >> 5), most=MOST_SETS)
def pairs(sources: Any, group: Any, begins: Any, found: Any, offsets: Any, members: Any, total: int) -> Any:
    parts = [np.empty(0, np.uint64)]
    for source, g in zip(sources.tolist(), group.tolist(), strict=True):
        ids = _of_numbers(found[begins[g] : begins[g + 1]], offsets, members)
        parts.append(ids.astype(np.uint64) | np.uint64(source << 32))
    return np.concatenate(parts)


@form(work=lambda sources, cs, *rest: len(cs) + (len(rest[-1]) >> 5), most=MOST_SETS)
def sorted_pairs(
    sources: Any, cs: Any, start: Any, length: Any, data: Any, offsets: Any, members: Any, bits: Any, out: Any
) -> int:
    n = 0
    for source, c in zip(sources.tolist(), cs.tolist(), strict=True):
        ids = np.sort(_of_numbers(_members(c, start, length, data), offsets, members))
        out[n : n + len(ids)] = ids.astype(np.uint64) | np.uint64(source << 32)
        n += len(ids)
    return n
