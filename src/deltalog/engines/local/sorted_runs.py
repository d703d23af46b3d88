"""Rows of ids as sorted keys, and runs of them.

A row of up to two ids is one 64-bit key, the first id in its upper half; longer rows are lines of such words. A `Run`
is immutable: distinct rows, sorted in canonical column order, and beside it the same rows sorted in other column
orders, each created when a join first needs it and then kept: its indexes.

Two threads may create the same index at the same time. All get the one that was stored first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deltalog.core.arrays import Ids as Ids
from deltalog.kernels import sorted_keys as kernel
from deltalog.kernels.addresses import Addresses
from deltalog.kernels.run_search import STRIDE

Keys = NDArray[np.uint64]  # one-dimensional for arity 0 to 2, a line of words per row above
Order = tuple[int, ...]

NO_KEYS: Keys = np.empty(0, np.uint64)
NO_OFFSETS: Ids = np.zeros(1, np.uint32)


def pack(columns: Sequence[Ids], rows: int) -> Keys:
    """Rows of columns as keys (or lines of words), in the order given."""
    if not columns:
        return np.zeros(min(rows, 1), np.uint64)
    if len(columns) == 1:
        return columns[0].astype(np.uint64) << kernel.HALF
    if len(columns) == 2:
        packed: Keys = kernel.pack(columns[0], columns[1])
        return packed
    words = np.empty((rows, (len(columns) + 1) // 2), np.uint64)
    for i in range(0, len(columns) - 1, 2):
        kernel.pack_into(words, i // 2, columns[i], columns[i + 1])
    if len(columns) % 2:
        np.left_shift(columns[-1], kernel.HALF, out=words[:, -1], dtype=np.uint64)
    return words


def unpack(keys: Keys, arity: int) -> list[Ids]:
    """The columns of keys."""
    if arity == 2:
        high, low = np.empty(len(keys), np.uint32), np.empty(len(keys), np.uint32)
        kernel.unpack(keys, high, low)
        return [high, low]
    if arity <= 1:
        return [(keys >> kernel.HALF).astype(np.uint32)] * arity
    halves = []
    for i in range(arity):
        word = np.ascontiguousarray(keys[:, i // 2])
        halves.append((word if i % 2 else word >> kernel.HALF).astype(np.uint32))
    return halves


def no_keys(arity: int) -> Keys:
    return np.empty((0, (arity + 1) // 2), np.uint64) if arity > 2 else NO_KEYS


def sort_distinct(keys: Keys) -> Keys:
    """Sorted, each row once. May use the memory of `keys`."""
    if keys.ndim == 1:
        if not kernel.is_sorted(keys):
            keys = np.sort(keys)
        return keys[: kernel.unique(keys)]
    if not kernel.is_sorted_words(keys):
        keys = sort_words(keys)
    return keys[: kernel.unique_words(keys)]


def sort_words(words: Keys) -> Keys:
    """Sorted lines of words; as one number each, where the ids of a line have no more than 64 bits in all."""
    halves = [int(bound).bit_length() for bound in kernel.widest_halves(words)]
    if sum(halves) > 64 or not len(words):
        return np.ascontiguousarray(words[np.lexsort(words.T[::-1])])
    shifts = np.array(halves, np.uint64)
    spread: Keys = kernel.spread(np.sort(kernel.narrowed(words, shifts)), shifts)
    return spread


def union(a: Keys, b: Keys) -> Keys:
    """The union of two sorted sets."""
    if len(a) == 0 or len(b) == 0:
        return a if len(b) == 0 else b
    merged: Keys = kernel.union(a, b) if a.ndim == 1 else kernel.union_words(a, b)
    return merged


def mark_members(keys: Keys, run: Keys, found: NDArray[np.bool_]) -> None:
    """Marks the keys that are rows of a run."""
    if keys.ndim == 1:
        kernel.mark_members(keys, run, found)
    else:
        kernel.mark_members_words(keys, run, found)


class Run:
    """Sorted distinct rows, with an index for each column order that has been needed so far.

    Its addresses are valid for as long as the run is referenced.
    """

    __slots__ = ("_addressed", "_addresses", "_distinct", "_heaviest", "_offsets", "_orders", "arity", "keys")

    def __init__(self, keys: Keys, arity: int) -> None:
        self.keys = keys
        self.arity = arity
        self._orders: dict[Order, Keys] = {}
        self._offsets: dict[Order, Ids] = {}
        self._distinct: dict[int, int] = {}
        self._heaviest: dict[int, int] = {}
        self._addressed: dict[Order, tuple[int, int, int]] = {}
        self._addresses = Addresses()

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def canonical(self) -> Order:
        return tuple(range(self.arity))

    def order(self, order: Order) -> Keys:
        """The rows with their columns in another order, sorted by it."""
        if order == self.canonical:
            return self.keys
        found = self._orders.get(order)
        return self._orders.setdefault(order, self._reorder(order)) if found is None else found

    def _reorder(self, order: Order) -> Keys:
        if self.arity == 2:
            return np.sort(kernel.swap(self.keys))
        columns = unpack(self.keys, self.arity)
        return sort_words(pack([columns[i] for i in order], len(self)))

    def indexes(self) -> dict[Order, Keys]:
        """The rows in all other orders that have been needed so far."""
        return self._orders.copy()

    def known_distinct(self) -> dict[int, int]:
        """The results of `distinct` so far."""
        return self._distinct.copy()

    def known_heaviest(self) -> dict[int, int]:
        """The results of `heaviest` so far."""
        return self._heaviest.copy()

    def has_order(self, order: Order) -> bool:
        return order == self.canonical or order in self._orders

    def offsets(self, order: Order, ids: int) -> Ids:
        """Where the rows of each first id begin, for direct access."""
        found = self._offsets.get(order)
        if found is None:
            keys = self.order(order)
            leads = keys if keys.ndim == 1 else np.ascontiguousarray(keys[:, 0])
            found = self._offsets.setdefault(order, kernel.lead_offsets(leads, ids))
        return found

    def has_offsets(self, order: Order) -> bool:
        return order in self._offsets

    def address(self, order: Order, fence_min_rows: int) -> tuple[int, int, int]:
        """The address of the keys in an order, their number, and the address of their fence (0: none), as
        `kernels.run_search` reads them."""
        found = self._addressed.get(order)
        if found is None:
            keys, fence = self.order(order), 0
            if len(keys) > fence_min_rows:
                fence = self._addresses.of(keys[:: 1 << STRIDE].copy())
            found = self._addressed.setdefault(order, (self._addresses.of(keys), len(keys), fence))
        return found

    def distinct(self, column: int, ids: int) -> int:
        """How many distinct ids a column has."""
        if column not in self._distinct:
            order = (column, *(i for i in range(self.arity) if i != column))
            if self.arity <= 2 and self.has_order(order):
                count = kernel.count_leads(self.order(order))
            else:
                count = len(kernel.distinct_ids(unpack(self.keys, self.arity)[column], ids))
            self._distinct[column] = count
        return self._distinct[column]

    def heaviest(self, column: int) -> int:
        """How many rows the most frequent id of a column has."""
        if column not in self._heaviest:
            self._heaviest[column] = int(np.bincount(unpack(self.keys, self.arity)[column]).max(initial=0))
        return self._heaviest[column]

    def without(self, removed: Keys, scan_divisor: int) -> Run:
        """This run, in all of its orders, without some rows."""
        left = Run(_without(self.keys, removed, scan_divisor), self.arity)
        columns = unpack(removed, self.arity) if self._orders else []
        for order, keys in self._orders.copy().items():
            reordered = sort_distinct(pack([columns[i] for i in order], len(removed)))
            left._orders[order] = _without(keys, reordered, scan_divisor)
        return left

    def merged(self, other: Run) -> Run:
        """The union with a disjoint run, in every order that this one has already."""
        both = Run(union(self.keys, other.keys), self.arity)
        for order, keys in self._orders.copy().items():
            both._orders[order] = union(keys, other.order(order))
        return both

    @property
    def nbytes(self) -> int:
        other = sum(keys.nbytes for keys in self._orders.values())
        return self.keys.nbytes + other + sum(offsets.nbytes for offsets in self._offsets.values())


def _without(keys: Keys, removed: Keys, scan_divisor: int) -> Keys:
    """Sorted keys without some others: by a scan where these are many, else by search."""
    if keys.ndim == 1 and scan_divisor * len(removed) > len(keys):
        left: Keys = kernel.difference(keys, removed)
        return left
    found = np.zeros(len(removed), np.bool_)
    mark_members(removed, keys, found)
    removed = removed[found]
    if keys.ndim == 1:
        return np.delete(keys, np.searchsorted(keys, removed))
    low, high = np.empty(len(removed), np.int64), np.empty(len(removed), np.int64)
    kernel.ranges_words(keys, removed, removed, low, high)
    return np.delete(keys, low, axis=0)
