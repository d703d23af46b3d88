"""Tables of the local engine: sets of rows of ids, as sorted runs.

A `Run` is immutable: rows in canonical column order, sorted and distinct, and beside it the same rows in other column
orders, made when a join first asks for them and kept. A `Table` is a handful of disjoint runs whose sizes fall at
least by half from one to the next: adding a small run costs the small run, and every row is merged only
logarithmically often (a log-structured merge tree in memory). Runs are shared between tables, so OLD and ALL of a
relation cost nothing beyond their difference.

Rows that are removed stay in their runs and are noted as `dead`, a small table; look-ups leave them out. When they
become many, or when all rows are read anyway, the runs are written anew without them (`compact`).

What is made when it is first needed may be made by two threads at a time. All get what was stored first: kernels are
given the addresses of arrays, which live as long as the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce

import numpy as np
from numpy.typing import NDArray

from deltalog.concurrency.cached import cached_property
from deltalog.kernels import sorted_keys as kernel
from deltalog.kernels.join import RUNS
from deltalog.kernels.nested_loop import STRIDE
from deltalog.model.arrays import Ids as Ids

Keys = NDArray[np.uint64]  # one-dimensional for arity 0 to 2, a line of words per row above
ColumnOrder = tuple[int, ...]

NO_KEYS: Keys = np.empty(0, np.uint64)
FEW = 1 << 10  # tables below this are written anew rather than having dead rows
MANY = 16  # where more than one row in sixteen goes, all are looked at
MOST_DEAD = 8  # runs are written anew when more than one row in eight is dead
LARGE = 1 << 20  # so many rows are not sorted for something that may not be done at all
FENCED = 1 << 12  # longer runs are searched by their fence
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


def no_keys(arity: int) -> Keys:
    return np.empty((0, (arity + 1) // 2), np.uint64) if arity > 2 else NO_KEYS


def sort_distinct(keys: Keys) -> Keys:
    """Sorted, each row once. May use the memory of `keys`."""
    if keys.ndim == 1:
        if not kernel.is_sorted(keys):
            keys = np.sort(keys)
        return keys[: kernel.unique(keys)]
    if not kernel.is_sorted_words(keys):
        keys = np.ascontiguousarray(keys[np.lexsort(keys.T[::-1])])
    return keys[: kernel.unique_words(keys)]


def union(a: Keys, b: Keys) -> Keys:
    """The union of two sorted sets."""
    if len(a) == 0 or len(b) == 0:
        return a if len(b) == 0 else b
    merged: Keys = kernel.union(a, b) if a.ndim == 1 else kernel.union_words(a, b)
    return merged


def members(probe: Keys, run: Keys, found: NDArray[np.bool_]) -> None:
    """Marks the probes that are rows of a run."""
    if probe.ndim == 1:
        kernel.mark_members(probe, run, found)
    else:
        kernel.mark_members_words(probe, run, found)


class Run:
    """Sorted distinct rows, in as many column orders as have been asked for."""

    __slots__ = ("_distinct", "_heaviest", "_offsets", "_orders", "_places", "arity", "keys")

    def __init__(self, keys: Keys, arity: int) -> None:
        self.keys = keys
        self.arity = arity
        self._orders: dict[ColumnOrder, Keys] = {}
        self._offsets: dict[ColumnOrder, Ids] = {}
        self._distinct: dict[int, int] = {}
        self._heaviest: dict[int, int] = {}
        self._places: dict[ColumnOrder, tuple[int, int, int, Keys]] = {}

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def canonical(self) -> ColumnOrder:
        return tuple(range(self.arity))

    def order(self, order: ColumnOrder) -> Keys:
        """The rows with their columns in another order, sorted by it."""
        if order == self.canonical:
            return self.keys
        found = self._orders.get(order)
        return self._orders.setdefault(order, self._reorder(order)) if found is None else found

    def _reorder(self, order: ColumnOrder) -> Keys:
        if self.arity == 2:
            return np.sort(kernel.swap(self.keys))
        columns = unpack(self.keys, self.arity)
        keys = pack([columns[i] for i in order], len(self))
        return np.ascontiguousarray(keys[np.lexsort(keys.T[::-1])])

    def has_order(self, order: ColumnOrder) -> bool:
        return order == self.canonical or order in self._orders

    def offsets(self, order: ColumnOrder, ids: int) -> Ids:
        """Where the rows of each first id begin, for direct access; for arity 1 and 2."""
        found = self._offsets.get(order)
        if found is None:
            found = self._offsets.setdefault(order, kernel.lead_offsets(self.order(order), ids))
        return found

    def has_offsets(self, order: ColumnOrder) -> bool:
        return order in self._offsets

    def place(self, order: ColumnOrder) -> tuple[int, int, int]:
        """Where the keys are in an order, how many, and where their fence is: as `kernels.nested_loop` reads it."""
        found = self._places.get(order)
        if found is None:
            keys = self.order(order)
            fence = keys[:: 1 << STRIDE].copy() if len(keys) > FENCED else NO_KEYS
            made = _address(keys), len(keys), _address(fence) if len(fence) else 0, fence
            found = self._places.setdefault(order, made)
        return found[:3]

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

    def without(self, gone: Table) -> Run:
        """This run, in all of its orders, without the rows of a table."""
        left = Run(_deleted(self.keys, gone.keys()), self.arity)
        rows = unpack(gone.keys(), self.arity) if self._orders else []
        for order, keys in self._orders.copy().items():
            left._orders[order] = _deleted(keys, sort_distinct(pack([rows[i] for i in order], gone.size)))
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


class Table:
    """A set of rows: disjoint runs, the larger first, without the rows of `dead`. Immutable."""

    __slots__ = ("__dict__", "arity", "dead", "runs", "size")

    def __init__(self, arity: int, runs: Sequence[Run] = (), dead: Table | None = None) -> None:
        self.arity = arity
        self.runs = tuple([run for run in runs if len(run.keys)])
        self.dead = dead if dead is not None and dead.runs else None
        self.size: int = sum([len(run.keys) for run in self.runs]) - (self.dead.size if self.dead else 0)

    @classmethod
    def of(cls, keys: Keys, arity: int) -> Table:
        """A table of sorted distinct keys."""
        return cls(arity, (Run(keys, arity),)) if len(keys) else empty(arity)

    @cached_property
    def _places(self) -> dict[ColumnOrder, list[int]]:
        return {}

    @cached_property
    def compact(self) -> Table:
        """The same rows, none of them dead."""
        return Table(self.arity, [run.without(self.dead) for run in self.runs]) if self.dead else self

    @property
    def best(self) -> Table:
        """The compact form where it is there already."""
        found: Table = self.__dict__.get("compact", self)
        return found

    def keys(self) -> Keys:
        """All rows, sorted."""
        runs = [run.keys for run in (self.compact if self.dead else self).runs]
        if not runs:
            return no_keys(self.arity)
        return reduce(union, runs)

    def places(self, order: ColumnOrder) -> list[int]:
        """Where the keys are, in an order: as `kernels.nested_loop` reads it."""
        found = self._places.get(order)
        if found is None:
            dead = self.dead.runs if self.dead else ()
            places = (word for run in (*self.runs, *dead) for word in run.place(order))
            found = self._places[order] = [len(self.runs), len(dead), *places]
        return found

    def places_soon(self, order: ColumnOrder) -> list[int] | None:
        """The same, if the rows are there in that order, or soon made so."""
        found = self._places.get(order)
        if found is None and all(run.has_order(order) or len(run) < LARGE for run in self.runs):
            found = self.places(order)
        return found

    def merge(self, new: Table) -> Table:
        """The union with a disjoint table."""
        base, runs = self.best, list(self.best.runs)
        dead = base.dead
        for run in new.compact.runs:
            if dead:
                run, dead = _revived(run, dead)
            _push(runs, run)
        return Table(self.arity, runs, dead)

    def plus(self, new: Keys, again: Keys) -> Table:
        """With rows that were not there, and with others that were dead."""
        runs, dead = list(self.runs), self.dead
        if len(new):
            _push(runs, Run(new, self.arity))
        if dead and len(again):
            dead = Table.of(kernel.difference(dead.keys(), again), self.arity)
        return Table(self.arity, runs, dead)

    def minus(self, gone: Table) -> Table:
        """The rows that are not in `gone`."""
        if not gone.size or not self.size:
            return self
        if self.size < 2 * gone.size or (self.size < FEW and not self.dead):
            return Table.of(gone.without(self.keys()), self.arity)
        base = self.best
        if base.dead is None and MOST_DEAD * gone.size > self.size:
            return Table(self.arity, [run.without(gone) for run in base.runs])
        removed = gone.keys()
        removed = removed[base.contains(removed)]
        return base._buried(removed) if len(removed) else self

    def less(self, gone: Table) -> Table:
        """The rows that are not in `gone`, all of which is in the table."""
        few = self.size < 2 * gone.size or (self.size < FEW and not self.dead)
        base = self.best
        if few or (base.dead is None and MOST_DEAD * gone.size > self.size):
            return self.minus(gone)
        return base._buried(gone.keys())

    def _buried(self, gone: Keys) -> Table:
        """With more dead rows."""
        dead = Table.of(gone if self.dead is None else union(self.dead.keys(), gone), self.arity)
        left = Table(self.arity, self.runs, dead)
        return left.compact if MOST_DEAD * dead.size > left.size else left

    def contains(self, probe: Keys) -> NDArray[np.bool_]:
        """Which of some rows (as keys, in canonical order) are in the table."""
        found = np.zeros(len(probe), np.bool_)
        for run in self.runs:
            members(probe, run.keys, found)
        if self.dead:
            found &= ~self.dead.contains(probe)
        return found

    def without(self, keys: Keys) -> Keys:
        """The sorted keys that are not rows of the table."""
        if self.dead or keys.ndim > 1:
            return np.ascontiguousarray(keys[~self.contains(keys)]) if len(keys) else keys
        for run in self.runs:
            keys = kernel.difference(keys, run.keys)
        return keys

    def columns(self) -> list[Ids]:
        """All rows, as columns."""
        parts = [unpack(run.keys, self.arity) for run in self.compact.runs]
        if len(parts) == 1:
            return parts[0]
        empty = np.empty(0, np.uint32)
        return [np.concatenate([part[i] for part in parts]) if parts else empty for i in range(self.arity)]

    def distinct(self, column: int, ids: int) -> float:
        """About how many distinct ids a column has: that of the largest run, scaled a little for the rest."""
        if not self.runs:
            return 0.0
        largest = self.runs[0]
        rest = (sum(map(len, self.runs)) - len(largest)) / len(largest)
        return min(largest.distinct(column, ids) * (1 + 0.5 * rest), float(self.size))

    def heaviest(self, column: int) -> float:
        """At most how many rows the most frequent id of a column has."""
        return float(sum(run.heaviest(column) for run in self.runs))

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self.runs) + (self.dead.nbytes if self.dead else 0)


@cache
def empty(arity: int) -> Table:
    return Table(arity)


def _push(runs: list[Run], run: Run) -> None:
    """Adds a run, merging those that are no longer half as long as the one before."""
    runs.append(run)
    while len(runs) > 1 and (2 * len(runs[-1]) > len(runs[-2]) or len(runs) > RUNS):
        last = runs.pop()
        runs[-1] = runs[-1].merged(last) if len(runs[-1]) >= len(last) else last.merged(runs[-1])


def _revived(run: Run, dead: Table) -> tuple[Run, Table]:
    """What of a run is really new, and the dead rows without those of the run: they live again."""
    known = dead.contains(run.keys)
    if not known.any():
        return run, dead
    back = Table.of(np.ascontiguousarray(run.keys[known]), run.arity)
    return Run(np.ascontiguousarray(run.keys[~known]), run.arity), Table.of(back.without(dead.keys()), run.arity)


def _address(keys: Keys) -> int:
    return int(keys.__array_interface__["data"][0])


def _deleted(keys: Keys, gone: Keys) -> Keys:
    """Sorted keys without some others."""
    if keys.ndim == 1 and MANY * len(gone) > len(keys):
        left: Keys = kernel.difference(keys, gone)
        return left
    found = np.zeros(len(gone), np.bool_)
    members(gone, keys, found)
    gone = gone[found]
    if keys.ndim == 1:
        return np.delete(keys, np.searchsorted(keys, gone))
    low, high = np.empty(len(gone), np.int64), np.empty(len(gone), np.int64)
    kernel.ranges_words(keys, gone, gone, low, high)
    return np.delete(keys, low, axis=0)
