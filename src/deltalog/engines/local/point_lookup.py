"""Point look-ups: a few rows of a table at a time.

Top-down evaluation makes thousands of small look-ups, so the cost of one counts: a call of one kernel, and no plan.
Where a run has no index for the bound columns, it is scanned, for as long as that is cheaper than sorting it. Rows of
more than two columns and tables with tombstones are looked up by an `IndexJoin`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.rules import Variable
from deltalog.core.tuning import Tuning
from deltalog.engines.local.index_join import IndexJoin, Rows
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import Ids, Run, pack, sort_distinct
from deltalog.engines.local.table import DEFAULT, Table
from deltalog.evaluation.capabilities.point_lookup import IdRow
from deltalog.kernels.point_lookup import lookup_keys, lookup_pairs, scan_pairs

_SORT_READS = 64  # an index for point look-ups is made when the run would have been scanned this often

SWAPPED = (1, 0)
NUMBER = Variable("#number")


class TableLookup:
    """A table by some of its columns, `bound`: values of these in, the other columns of matching rows out."""

    __slots__ = ("_bound", "_dictionary", "_free", "_read", "_table")

    def __init__(self, table: Relation, bound: Sequence[int], dictionary: Dictionary) -> None:
        self._table, self._dictionary = table.stored(), dictionary
        self._bound = tuple(bound)
        self._free = tuple(i for i in range(table.arity) if i not in bound)
        self._read = 0  # how many keys were looked up by a scan

    def __call__(self, keys: Sequence[IdRow]) -> Iterable[tuple[int, IdRow]]:
        """For every match: the number of the key, and the other columns of the row."""
        if not self._table.runs:
            return ()
        if self._table.tombstones or self._table.arity > 2:
            return self._by_index_join(keys)
        if not self._bound:
            rows = list(zip(*(column.tolist() for column in self._table.columns()), strict=True))
            return ((number, row) for number in range(len(keys)) for row in (rows if self._free else [()]))
        if not self._free:
            return zip(self._present(keys), repeat(()))
        return self._pairs(np.fromiter((key[0] for key in keys), np.uint32, len(keys)))

    @property
    def indexed(self) -> bool:
        """Whether look-ups need no scan."""
        return self._bound != (1,) or all(run.has_order(SWAPPED) for run in self._table.runs)

    def read(self, keys: int) -> int:
        """How many rows a number of keys will give, where that is known: with nothing bound, all of them match."""
        return 0 if self._bound else keys * self._table.size

    def count(self, key: IdRow) -> int:
        """How many rows match one key."""
        return self._table.size if not self._bound else sum(1 for _ in self([key]))

    def _present(self, keys: Sequence[IdRow]) -> Iterable[int]:
        wanted = np.fromiter((_key(key) for key in keys), np.uint64, len(keys))
        return [number for run in self._table.runs for number in lookup_keys(run.keys, wanted).tolist()]

    def _pairs(self, wanted: Ids) -> Iterable[tuple[int, IdRow]]:
        found: list[tuple[int, IdRow]] = []
        for run in self._table.runs:
            left, right = self._pairs_of(run, wanted)
            found.extend(zip(left.tolist(), zip(right.tolist(), strict=True), strict=True))
        return found

    def _pairs_of(self, run: Run, wanted: Ids) -> tuple[Ids, Ids]:
        if self._bound == (0,):
            pairs: tuple[Ids, Ids] = lookup_pairs(run.keys, wanted)
        elif run.has_order(SWAPPED) or self._read + len(wanted) > _SORT_READS:
            pairs = lookup_pairs(run.order(SWAPPED), wanted)
        else:
            self._read += len(wanted)
            pairs = scan_pairs(run.keys, wanted)
        return pairs

    def _by_index_join(self, keys: Sequence[IdRow]) -> Iterable[tuple[int, IdRow]]:
        names = [Variable(f"#{i}") for i in range(self._table.arity)]
        columns = {names[i]: np.array(c, np.uint32) for i, c in zip(self._bound, zip(*keys, strict=True), strict=False)}
        join, free = IndexJoin.of(names, frozenset(columns)), [names[i] for i in self._free]
        rows = Rows({**columns, NUMBER: np.arange(len(keys), dtype=np.uint32)}, len(keys))
        found = join.join(self._table, rows, len(self._dictionary), [NUMBER], frozenset(free))
        assert isinstance(found, Rows)
        values = zip(*(found.columns[v].tolist() for v in free), strict=True) if free else repeat(())
        return zip(found.columns[NUMBER].tolist(), values, strict=False)


def _key(row: IdRow) -> int:
    """A row of at most two ids as a key; see `pack`."""
    return row[0] << 32 | row[1] if len(row) == 2 else row[0] << 32 if row else 0


def rows_of(rows: Sequence[IdRow], arity: int, tuning: Tuning = DEFAULT) -> Table:
    """A table of rows of ids."""
    if arity == 0:
        return Table.of(np.zeros(min(1, len(rows)), np.uint64), 0, tuning)
    if not rows:
        return Table(arity, tuning=tuning)
    ids = np.array(rows, np.uint32)
    keys = pack([np.ascontiguousarray(ids[:, i]) for i in range(arity)], len(rows))
    return Table.of(sort_distinct(keys), arity, tuning)
