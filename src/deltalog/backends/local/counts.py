"""Rows with how many times each comes: as sorted keys with numbers, and as tables with one more column.

In a table the number is the id of an integer, like any other value. See `engine.counts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deltalog.backends.local.probe import ANY, Probe, Rows
from deltalog.backends.local.table import Keys, Table, empty, no_keys, pack, unpack
from deltalog.dictionary import Dictionary
from deltalog.syntax.ast import Variable

Numbers = NDArray[np.int64]
COUNT = Variable("#count")


class Times(NamedTuple):
    """Sorted distinct keys, and how many times each comes."""

    keys: Keys
    counts: Numbers


def times(keys: Keys) -> Times:
    """Keys in any order, some of them more than once."""
    keys = np.sort(keys) if keys.ndim == 1 else keys[np.lexsort(keys.T[::-1])]
    starts = _starts(keys)
    return Times(np.ascontiguousarray(keys[starts]), np.diff(starts, append=len(keys)))


def total(parts: Sequence[Times], arity: int) -> Times:
    """The sum of parts."""
    if len(parts) <= 1:
        return parts[0] if parts else Times(no_keys(arity), np.zeros(0, np.int64))
    keys, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(keys, kind="stable") if keys.ndim == 1 else np.lexsort(keys.T[::-1])
    keys, counts = keys[order], counts[order]
    starts = _starts(keys)
    return Times(np.ascontiguousarray(keys[starts]), np.add.reduceat(counts, starts) if len(keys) else counts)


def _starts(keys: Keys) -> Numbers:
    """Where each of some sorted keys begins."""
    change = np.ones(len(keys), np.bool_)
    change[1:] = keys[1:] != keys[:-1] if keys.ndim == 1 else (keys[1:] != keys[:-1]).any(axis=1)
    return np.flatnonzero(change)


def rows_with_counts(found: Times, arity: int, dictionary: Dictionary) -> Keys:
    """The keys of a table with a column for the counts; as sorted as they were."""
    return pack([*unpack(found.keys, arity), dictionary.intern_integers(found.counts)], len(found.keys))


def counted(table: Table, dictionary: Dictionary) -> Times:
    """The counts of a table."""
    *columns, counts = unpack(table.keys(), table.arity)
    return Times(_keys(columns, table.size), dictionary.integers[counts].astype(np.int64))


def uncounted(table: Table) -> Table:
    """The rows of a table without their counts."""
    columns = unpack(table.keys(), table.arity)[:-1]
    return Table.of(_keys(columns, table.size), table.arity - 1)


def _keys(columns: Sequence[NDArray[np.uint32]], size: int) -> Keys:
    return pack(columns, size) if columns else np.zeros(size, np.uint64)


def recounted(old: Table, won: Sequence[Table], lost: Sequence[Table], dictionary: Dictionary) -> Table:
    """A table after counts have been added to its own and taken off; only rows that this concerns are touched."""
    parts = [counted(table, dictionary) for table in won]
    parts += [Times(keys, -counts) for keys, counts in (counted(table, dictionary) for table in lost)]
    arity = old.arity - 1
    keys, change = total(parts, arity)
    keys, change = keys[change != 0], change[change != 0]
    if not len(keys):
        return old
    present = _present(old, keys, len(dictionary))
    after = total([Times(keys, change), counted(present, dictionary)], arity)
    after = Times(after.keys[after.counts != 0], after.counts[after.counts != 0])
    return old.minus(present).merge(Table.of(rows_with_counts(after, arity, dictionary), old.arity))


def _present(table: Table, keys: Keys, ids: int) -> Table:
    """The rows of a table for some keys without counts."""
    names = tuple(Variable(f"#{i}") for i in range(table.arity - 1))
    if not names or not table.size:
        return table
    rows = Rows(dict(zip(names, unpack(keys, len(names)), strict=True)), len(keys))
    found = Probe.of((*names, COUNT), frozenset(names)).join(table, rows, ids, names, frozenset([COUNT]), ANY)
    assert isinstance(found, Rows)
    columns = [found.columns[name] for name in (*names, COUNT)]
    return Table.of(_sorted(pack(columns, found.size)), table.arity) if found.size else empty(table.arity)


def _sorted(keys: Keys) -> Keys:
    return np.sort(keys) if keys.ndim == 1 else np.ascontiguousarray(keys[np.lexsort(keys.T[::-1])])
