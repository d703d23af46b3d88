"""Tables of the local engine: sets of rows of ids, stored as sorted runs.

A `Table` is a handful of disjoint runs whose sizes fall at least by half from one to the next: adding a small run costs
the small run, and every row is merged only logarithmically often (a log-structured merge tree in memory). Runs are
shared between tables, so OLD and ALL of a relation cost nothing beyond their difference.

Rows that are removed stay in their runs and become tombstones, a small table of their own; look-ups leave them out.
When there are many, or when all rows are read anyway, the runs are rewritten without them (`compact`).

Two threads may compact a table at the same time. All get the result that was stored first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING

import numpy as np

from deltalog.core.rules import Variable
from deltalog.core.tuning import Tuning
from deltalog.engines.local.index_join import IndexJoin, Rows, partners_in_runs
from deltalog.engines.local.relation import Mask, Positions, Relation, overlap
from deltalog.engines.local.sorted_runs import Ids, Keys, Order, Run, mark_members, no_keys, union, unpack
from deltalog.kernels import sorted_keys as kernel
from deltalog.kernels.join import RUNS

if TYPE_CHECKING:
    from deltalog.engines.local.reachability import Reachability

_SPECULATIVE_SORT_MAX_ROWS = 1 << 20  # more rows are not sorted for an attempt that may be given up

DEFAULT = Tuning()


class Table:
    """A set of rows: disjoint runs, the larger first, without the rows of `tombstones`. Immutable. See `Relation`.

    A table has the `Tuning` that it was created with, and so have the tables derived from it. (An empty table takes
    over that of the rows it is merged with.)
    """

    __slots__ = ("_addresses", "_compacted", "arity", "runs", "size", "tombstones", "tuning")

    is_stored = True

    def __init__(
        self, arity: int, runs: Sequence[Run] = (), tombstones: Table | None = None, tuning: Tuning = DEFAULT
    ) -> None:
        self.arity = arity
        self.tuning = tuning
        self.runs = tuple([run for run in runs if len(run)])
        self.tombstones = tombstones if tombstones is not None and tombstones.runs else None
        self.size: int = sum([len(run) for run in self.runs]) - (self.tombstones.size if self.tombstones else 0)
        self._addresses: dict[Order, list[int]] = {}
        self._compacted: list[Table] = []  # the first one counts

    @classmethod
    def of(cls, keys: Keys, arity: int, tuning: Tuning = DEFAULT) -> Table:
        """A table of sorted distinct keys."""
        return cls(arity, (Run(keys, arity),), None, tuning)

    @property
    def compact(self) -> Table:
        """The same rows without tombstones."""
        if self.tombstones is None:
            return self
        if not self._compacted:
            self._compacted.append(self._rewritten(self.tombstones.keys()))
        return self._compacted[0]

    @property
    def best(self) -> Table:
        """The compact form, if there is one already."""
        return self._compacted[0] if self._compacted else self

    def _rewritten(self, removed: Keys) -> Table:
        """The runs without some rows."""
        divisor = self.tuning.tombstone_scan_divisor
        return Table(self.arity, [run.without(removed, divisor) for run in self.runs], None, self.tuning)

    @property
    def closure(self) -> Reachability | None:
        return None

    def stored(self) -> Table:
        return self

    def keys(self) -> Keys:
        runs = [run.keys for run in self.compact.runs]
        return reduce(union, runs) if runs else no_keys(self.arity)

    def columns(self) -> list[Ids]:
        parts = [unpack(run.keys, self.arity) for run in self.compact.runs]
        if len(parts) == 1:
            return parts[0]
        empty = np.empty(0, np.uint32)
        return [np.concatenate([part[i] for part in parts]) if parts else empty for i in range(self.arity)]

    # Sets.

    def contains(self, keys: Keys) -> Mask:
        found = np.zeros(len(keys), np.bool_)
        for run in self.runs:
            mark_members(keys, run.keys, found)
        if self.tombstones:
            found &= ~self.tombstones.contains(keys)
        return found

    def without(self, keys: Keys) -> Keys:
        if self.tombstones or keys.ndim > 1:
            return np.ascontiguousarray(keys[~self.contains(keys)]) if len(keys) else keys
        for run in self.runs:
            keys = kernel.difference(keys, run.keys)
        return keys

    def merge(self, new: Relation) -> Table:
        base, runs = self.best, list(self.best.runs)
        tombstones = base.tombstones
        for run in new.stored().compact.runs:
            if tombstones:
                run, tombstones = _revived(run, tombstones)
            _push(runs, run)
        return Table(self.arity, runs, tombstones, self.tuning if self.runs else new.tuning)

    def with_rows(self, new: Keys, revived: Keys) -> Table:
        """With rows that are in no run, and others that are tombstones."""
        runs, tombstones = list(self.runs), self.tombstones
        if len(new):
            _push(runs, Run(new, self.arity))
        if tombstones and len(revived):
            tombstones = Table.of(kernel.difference(tombstones.keys(), revived), self.arity, self.tuning)
        return Table(self.arity, runs, tombstones, self.tuning)

    def minus(self, removed: Relation) -> Table:
        if not removed.size or not self.size:
            return self
        if self._is_small_beside(removed):
            return Table.of(removed.without(self.keys()), self.arity, self.tuning)
        base, keys = self.best, removed.keys()
        if base._loses_much(removed):
            return base._rewritten(keys)
        keys = keys[base.contains(keys)]
        return base._with_tombstones(keys) if len(keys) else self

    def minus_subset(self, removed: Relation) -> Table:
        base = self.best
        if self._is_small_beside(removed) or base._loses_much(removed):
            return self.minus(removed)
        return base._with_tombstones(removed.keys())

    def _is_small_beside(self, removed: Relation) -> bool:
        """Whether the table is so small that it is rewritten."""
        return self.size < 2 * removed.size or (self.size < self.tuning.small_table_rows and not self.tombstones)

    def _loses_much(self, removed: Relation) -> bool:
        """Whether runs without tombstones would get so many that they are rewritten."""
        return self.tombstones is None and self.tuning.tombstone_max_divisor * removed.size > self.size

    def _with_tombstones(self, removed: Keys) -> Table:
        """With more tombstones."""
        keys = removed if self.tombstones is None else union(self.tombstones.keys(), removed)
        tombstones = Table.of(keys, self.arity, self.tuning)
        left = Table(self.arity, self.runs, tombstones, self.tuning)
        return left.compact if self.tuning.tombstone_max_divisor * tombstones.size > left.size else left

    # Statistics.

    def distinct(self, column: int, ids: int) -> float:
        """That of the largest run, scaled a little for the rest."""
        if not self.runs:
            return 0.0
        largest = self.runs[0]
        rest = (sum(map(len, self.runs)) - len(largest)) / len(largest)
        return min(largest.distinct(column, ids) * (1 + 0.5 * rest), float(self.size))

    def heaviest(self, column: int) -> float:
        return float(sum(run.heaviest(column) for run in self.runs))

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self.runs) + (self.tombstones.nbytes if self.tombstones else 0)

    # Joins.

    def scan(self, columns: Sequence[int]) -> list[Ids]:
        values = self.columns()
        return [values[i] for i in columns]

    def semi_join(self, join: IndexJoin, rows: Rows, ids: int) -> Mask:
        return join.matches_in_runs(self, rows, ids)

    def join(
        self, join: IndexJoin, rows: Rows, ids: int, kept: Sequence[Variable], new: frozenset[Variable], most: int
    ) -> Rows | int:
        return join.join_runs(self, rows, ids, kept, new, most)

    def addresses(self, order: Order) -> list[int]:
        found = self._addresses.get(order)
        if found is None:
            tombstones = self.tombstones.runs if self.tombstones else ()
            fence = self.tuning.fence_min_rows
            words = (word for run in (*self.runs, *tombstones) for word in run.address(order, fence))
            found = self._addresses[order] = [len(self.runs), len(tombstones), *words]
        return found

    def cheap_addresses(self, order: Order) -> list[int] | None:
        found = self._addresses.get(order)
        if found is None:
            most = _SPECULATIVE_SORT_MAX_ROWS
            if all(run.has_order(order) or len(run) < most for run in self.runs):
                found = self.addresses(order)
        return found

    def runs_in(self, order: Order) -> Sequence[Run]:
        return () if self.tombstones else [run for run in self.runs if run.has_order(order)]

    def stored_part(self, column: int, ids: Keys, most: int) -> Table:
        return self

    # As pairs.

    def inverse(self) -> Table:
        return Table.of(np.sort(kernel.swap(self.keys())), 2, self.tuning)

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        return partners_in_runs(self, ids, forward)

    def leads(self, column: int) -> Ids:
        return np.unique(self.columns()[column])

    def blocks(self) -> Iterator[Keys]:
        yield self.keys()

    def overlap(self, others: Sequence[Relation]) -> int:
        return overlap(self, others)


@cache
def empty(arity: int) -> Table:
    return Table(arity)


def _push(runs: list[Run], run: Run) -> None:
    """Adds a run, merging those that are no longer half as long as the one before."""
    runs.append(run)
    while len(runs) > 1 and (2 * len(runs[-1]) > len(runs[-2]) or len(runs) > RUNS):
        last = runs.pop()
        runs[-1] = runs[-1].merged(last) if len(runs[-1]) >= len(last) else last.merged(runs[-1])


def _revived(run: Run, tombstones: Table) -> tuple[Run, Table]:
    """The rows of a run that are no tombstones, and the tombstones that are not in the run."""
    known = tombstones.contains(run.keys)
    if not known.any():
        return run, tombstones
    back = Table.of(np.ascontiguousarray(run.keys[known]), run.arity, tombstones.tuning)
    rest = Table.of(back.without(tombstones.keys()), run.arity, tombstones.tuning)
    return Run(np.ascontiguousarray(run.keys[~known]), run.arity), rest
