"""Tables of the local engine: sets of rows of ids, as sorted runs.

A `Run` is immutable: rows in canonical column order, sorted and distinct, and beside it the same rows in other column
orders, made when a join first asks for them and kept. A `Table` is a handful of disjoint runs whose sizes fall at
least by half from one to the next: adding a small run costs the small run, and every row is merged only
logarithmically often (a log-structured merge tree in memory). Runs are shared between tables, so OLD and ALL of a
relation cost nothing beyond their difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deltalog.kernels import rows as kernel
from deltalog.kernels.join import RUNS

Ids = NDArray[np.uint32]
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
        return kernel.pack(columns[0], columns[1])
    words = np.zeros((rows, (len(columns) + 1) // 2), np.uint64)
    for i, column in enumerate(columns):
        half = column.astype(np.uint64)
        words[:, i // 2] |= half if i % 2 else half << kernel.HALF
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


def sort_distinct(keys: Keys) -> Keys:
    """Sorted, each row once. May use the memory of `keys`."""
    if keys.ndim == 1:
        if not kernel.is_sorted(keys):
            keys = np.sort(keys)
        return keys[: kernel.unique(keys)]
    keys = np.ascontiguousarray(keys[np.lexsort(keys.T[::-1])])
    return keys[: kernel.unique_words(keys)]


def union(a: Keys, b: Keys) -> Keys:
    """The union of two sorted sets."""
    if len(a) == 0 or len(b) == 0:
        return a if len(b) == 0 else b
    return kernel.union(a, b) if a.ndim == 1 else kernel.union_words(a, b)


def members(probe: Keys, run: Keys, found: NDArray[np.bool_]) -> None:
    """Marks the probes that are rows of a run."""
    if probe.ndim == 1:
        kernel.mark_members(probe, run, found)
    else:
        kernel.mark_members_words(probe, run, found)


class Run:
    """Sorted distinct rows, in as many column orders as have been asked for."""

    __slots__ = ("_distinct", "_offsets", "_orders", "arity", "keys")

    def __init__(self, keys: Keys, arity: int) -> None:
        self.keys = keys
        self.arity = arity
        self._orders: dict[Order, Keys] = {}
        self._offsets: dict[Order, Ids] = {}
        self._distinct: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def canonical(self) -> Order:
        return tuple(range(self.arity))

    def order(self, order: Order) -> Keys:
        """The rows with their columns in another order, sorted by it."""
        if order == self.canonical:
            return self.keys
        if order not in self._orders:
            self._orders[order] = self._reorder(order)
        return self._orders[order]

    def _reorder(self, order: Order) -> Keys:
        if self.arity == 2:
            return np.sort(kernel.swap(self.keys))
        columns = unpack(self.keys, self.arity)
        keys = pack([columns[i] for i in order], len(self))
        return np.ascontiguousarray(keys[np.lexsort(keys.T[::-1])])

    def has_order(self, order: Order) -> bool:
        return order == self.canonical or order in self._orders

    def offsets(self, order: Order, ids: int) -> Ids:
        """Where the rows of each first id begin, for direct access; for arity 1 and 2."""
        if order not in self._offsets:
            self._offsets[order] = kernel.lead_offsets(self.order(order), ids)
        return self._offsets[order]

    def has_offsets(self, order: Order) -> bool:
        return order in self._offsets

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

    def merged(self, other: Run) -> Run:
        """The union with a disjoint run, in every order that this one has already."""
        both = Run(union(self.keys, other.keys), self.arity)
        for order, keys in self._orders.items():
            both._orders[order] = union(keys, other.order(order))
        return both

    @property
    def nbytes(self) -> int:
        arrays = [self.keys, *self._orders.values(), *self._offsets.values()]
        return sum(array.nbytes for array in arrays)


class Table:
    """A set of rows: disjoint runs, the larger first. Immutable."""

    __slots__ = ("__dict__", "arity", "runs")

    def __init__(self, arity: int, runs: Sequence[Run] = ()) -> None:
        self.arity = arity
        self.runs = tuple(run for run in runs if len(run))

    @classmethod
    def of(cls, keys: Keys, arity: int) -> Table:
        """A table of sorted distinct keys."""
        return cls(arity, (Run(keys, arity),))

    @cached_property
    def size(self) -> int:
        return sum(len(run) for run in self.runs)

    def merge(self, new: Table) -> Table:
        """The union with a disjoint table."""
        runs = list(self.runs)
        for run in new.runs:
            runs.append(run)
            while len(runs) > 1 and (2 * len(runs[-1]) > len(runs[-2]) or len(runs) > RUNS):
                last = runs.pop()
                runs[-1] = runs[-1].merged(last) if len(runs[-1]) >= len(last) else last.merged(runs[-1])
        return Table(self.arity, runs)

    def minus(self, gone: Table) -> Table:
        """The rows that are not in `gone`; runs that lose nothing are shared."""
        return Table(self.arity, [self._run_minus(run, gone) for run in self.runs])

    @staticmethod
    def _run_minus(run: Run, gone: Table) -> Run:
        found = np.zeros(len(run), np.bool_)
        for other in gone.runs:
            members(run.keys, other.keys, found)
        return Run(run.keys[~found], run.arity) if found.any() else run

    def contains(self, probe: Keys) -> NDArray[np.bool_]:
        """Which of some rows (as keys, in canonical order) are in the table."""
        found = np.zeros(len(probe), np.bool_)
        for run in self.runs:
            members(probe, run.keys, found)
        return found

    def without(self, keys: Keys) -> Keys:
        """The sorted keys that are not rows of the table."""
        for run in self.runs:
            if len(keys) and keys.ndim == 1:
                keys = kernel.difference(keys, run.keys)
            elif len(keys):
                found = np.zeros(len(keys), np.bool_)
                members(keys, run.keys, found)
                keys = np.ascontiguousarray(keys[~found])
        return keys

    def columns(self) -> list[Ids]:
        """All rows, as columns."""
        parts = [unpack(run.keys, self.arity) for run in self.runs]
        if len(parts) == 1:
            return parts[0]
        empty = np.empty(0, np.uint32)
        return [np.concatenate([part[i] for part in parts]) if parts else empty for i in range(self.arity)]

    def distinct(self, column: int, ids: int) -> float:
        """About how many distinct ids a column has: that of the largest run, scaled a little for the rest."""
        if not self.runs:
            return 0.0
        largest = self.runs[0]
        rest = (self.size - len(largest)) / len(largest)
        return min(largest.distinct(column, ids) * (1 + 0.5 * rest), float(self.size))

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self.runs)
