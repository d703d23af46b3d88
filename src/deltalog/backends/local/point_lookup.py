"""A table, asked for a few rows at a time.

Evaluation top-down asks thousands of small questions, so what counts is what one costs: a call of one kernel and no
plan. Where the columns asked by are not the first of any order that a run has, the run is read from end to end for as
long as that is cheaper than sorting it; rows of more than two columns, and tables with dead rows, go by a `Probe`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np

from deltalog.backends.local.index_join import Probe, Rows
from deltalog.backends.local.table import Ids, Run, Table, pack
from deltalog.kernels.point_lookup import lookup_keys, lookup_pairs, scan_pairs
from deltalog.model.arrays import IdRow
from deltalog.syntax.ast import Variable

SWAPPED = (1, 0)
NUMBER = Variable("#number")
WORTH_SORTING = 64  # a run is sorted when it would have been read this often


class Lookup:
    """A table by some of its columns, `bound`: values of these in, the other columns of matching rows out."""

    __slots__ = ("_bound", "_free", "_read", "_table")

    def __init__(self, table: Table, bound: Sequence[int]) -> None:
        self._table = table
        self._bound = tuple(bound)
        self._free = tuple(i for i in range(table.arity) if i not in bound)
        self._read = 0  # how many questions were answered by reading everything

    def __call__(self, keys: Sequence[IdRow], ids: int) -> Iterable[tuple[int, IdRow]]:
        """For every match: the number of the key, and the other columns of the row."""
        if not self._table.runs:
            return ()
        if self._table.dead or self._table.arity > 2:
            return self._probed(keys, ids)
        if not self._bound:
            rows = list(zip(*(column.tolist() for column in self._table.columns()), strict=True))
            return ((number, row) for number in range(len(keys)) for row in (rows if self._free else [()]))
        if not self._free:
            return zip(self._present(keys), repeat(()))
        return self._pairs(np.fromiter((key[0] for key in keys), np.uint32, len(keys)))

    @property
    def indexed(self) -> bool:
        """Whether a question is answered without reading everything."""
        return self._bound != (1,) or all(run.has_order(SWAPPED) for run in self._table.runs)

    def read(self, keys: int) -> int:
        """How many rows so many keys will give, where that is known: nothing is bound, and all of them match."""
        return 0 if self._bound else keys * self._table.size

    def count(self, key: IdRow, ids: int) -> int:
        """How many rows match one key."""
        return self._table.size if not self._bound else sum(1 for _ in self([key], ids))

    def _present(self, keys: Sequence[IdRow]) -> Iterable[int]:
        asked = np.fromiter((_key(key) for key in keys), np.uint64, len(keys))
        return [number for run in self._table.runs for number in lookup_keys(run.keys, asked).tolist()]

    def _pairs(self, asked: Ids) -> Iterable[tuple[int, IdRow]]:
        found: list[tuple[int, IdRow]] = []
        for run in self._table.runs:
            left, right = self._pairs_of(run, asked)
            found.extend(zip(left.tolist(), zip(right.tolist(), strict=True), strict=True))
        return found

    def _pairs_of(self, run: Run, asked: Ids) -> tuple[Ids, Ids]:
        if self._bound == (0,):
            pairs: tuple[Ids, Ids] = lookup_pairs(run.keys, asked)
        elif run.has_order(SWAPPED) or self._read + len(asked) > WORTH_SORTING:
            pairs = lookup_pairs(run.order(SWAPPED), asked)
        else:
            self._read += len(asked)
            pairs = scan_pairs(run.keys, asked)
        return pairs

    def _probed(self, keys: Sequence[IdRow], ids: int) -> Iterable[tuple[int, IdRow]]:
        names = [Variable(f"#{i}") for i in range(self._table.arity)]
        columns = {names[i]: np.array(c, np.uint32) for i, c in zip(self._bound, zip(*keys, strict=True), strict=False)}
        probe, free = Probe.of(names, frozenset(columns)), [names[i] for i in self._free]
        rows = Rows({**columns, NUMBER: np.arange(len(keys), dtype=np.uint32)}, len(keys))
        found = probe.join(self._table, rows, ids, [NUMBER], frozenset(free))
        assert isinstance(found, Rows)
        values = zip(*(found.columns[v].tolist() for v in free), strict=True) if free else repeat(())
        return zip(found.columns[NUMBER].tolist(), values, strict=False)


def _key(row: IdRow) -> int:
    """A row of at most two ids as a key; see `pack`."""
    return row[0] << 32 | row[1] if len(row) == 2 else row[0] << 32 if row else 0


def rows_of(rows: Sequence[IdRow], arity: int) -> Table:
    """A table of rows of ids."""
    from deltalog.backends.local.table import sort_distinct

    if arity == 0:
        return Table.of(np.zeros(1, np.uint64), 0) if rows else Table(0)
    if not rows:
        return Table(arity)
    ids = np.array(rows, np.uint32)
    return Table.of(sort_distinct(pack([np.ascontiguousarray(ids[:, i]) for i in range(arity)], len(rows))), arity)
