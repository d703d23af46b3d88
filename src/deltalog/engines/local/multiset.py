"""Multisets of rows: as sorted keys with counts, and as tables with a column for the counts.

In a table a count is the id of an integer, like any other value. See `maintenance.derivation_counts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deltalog.core.arrays import Integers
from deltalog.core.dictionary import Dictionary
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import Ids, Keys, no_keys, pack, unpack
from deltalog.engines.local.table import Table
from deltalog.kernels import sorted_keys as kernel


class Multiset(NamedTuple):
    """Sorted distinct keys, and how many times each occurs."""

    keys: Keys
    counts: Integers


def multiset_of(keys: Keys) -> Multiset:
    """The multiset of keys, which come in any order and may be repeated."""
    keys = _sorted(keys)
    starts = _starts(keys)
    return Multiset(np.ascontiguousarray(keys[starts]), np.diff(starts, append=len(keys)))


def multiset_sum(parts: Sequence[Multiset], arity: int) -> Multiset:
    """The sum of several multisets."""
    if len(parts) <= 1:
        return parts[0] if parts else Multiset(no_keys(arity), np.zeros(0, np.int64))
    keys, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(keys, kind="stable") if keys.ndim == 1 else np.lexsort(keys.T[::-1])
    keys, counts = keys[order], counts[order]
    starts = _starts(keys)
    return Multiset(np.ascontiguousarray(keys[starts]), np.add.reduceat(counts, starts) if len(keys) else counts)


def _sorted(keys: Keys) -> Keys:
    return np.sort(keys) if keys.ndim == 1 else np.ascontiguousarray(keys[np.lexsort(keys.T[::-1])])


def _starts(keys: Keys) -> Integers:
    """Where each of some sorted keys begins."""
    change = np.ones(len(keys), np.bool_)
    change[1:] = keys[1:] != keys[:-1] if keys.ndim == 1 else (keys[1:] != keys[:-1]).any(axis=1)
    return np.flatnonzero(change)


# Keys without counts and with them, for rows of a given arity; the order of rows is the same.


def joined(keys: Keys, counts: Ids, arity: int) -> Keys:
    if arity == 2:
        return np.stack([keys, counts.astype(np.uint64) << kernel.HALF], axis=1)
    return pack([*unpack(keys, arity), counts], len(keys))


def divided(keys: Keys, arity: int) -> tuple[Keys, Ids]:
    if arity == 2:
        return np.ascontiguousarray(keys[:, 0]), (keys[:, 1] >> kernel.HALF).astype(np.uint32)
    *columns, counts = unpack(keys, arity + 1)
    return pack(columns, len(keys)) if columns else np.zeros(len(keys), np.uint64), counts


def with_count_column(found: Multiset, arity: int, dictionary: Dictionary) -> Keys:
    """The keys of a table with a column for the counts."""
    return joined(found.keys, dictionary.intern_integers(found.counts), arity)


def _counted(table: Relation, dictionary: Dictionary) -> Multiset:
    keys, counts = divided(table.keys(), table.arity - 1)
    return Multiset(keys, dictionary.integers[counts].astype(np.int64))


def uncounted(table: Relation) -> Table:
    """The rows of a table without their counts."""
    return Table.of(divided(table.keys(), table.arity - 1)[0], table.arity - 1, table.tuning)


def with_counts(keys: Keys, counts: Relation) -> Table:
    """The rows that a table has for some sorted keys without counts."""
    table = counts.stored()
    none = np.zeros(len(keys), np.uint32)
    first, last = joined(keys, none, table.arity - 1), joined(keys, ~none, table.arity - 1)
    found = [_between(run.keys, first, last) for run in table.runs]
    rows = _sorted(np.concatenate(found)) if found else no_keys(table.arity)
    if table.tombstones and len(rows):
        rows = np.ascontiguousarray(rows[~table.tombstones.contains(rows)])
    return Table.of(rows, table.arity, table.tuning)


def _between(rows: Keys, first: Keys, last: Keys) -> Keys:
    """The rows from first[i] to last[i], both included, for all i."""
    if rows.ndim == 1:
        low, high = np.searchsorted(rows, first), np.searchsorted(rows, last, "right")
    else:
        low, high = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
        kernel.ranges_words(rows, first, last, low, high)
    lengths = high - low
    ends = np.cumsum(lengths)
    return rows[np.repeat(high - ends, lengths) + np.arange(ends[-1] if len(ends) else 0)]


def recounted(
    old: Relation, added: Sequence[Relation], removed: Sequence[Relation], dictionary: Dictionary
) -> Relation:
    """A table after counts have been added and subtracted; rows without a change are not touched."""
    parts = [_counted(table, dictionary) for table in added]
    parts += [Multiset(keys, -counts) for keys, counts in (_counted(table, dictionary) for table in removed)]
    arity = old.arity - 1
    change = _not_zero(multiset_sum(parts, arity))
    if not len(change.keys):
        return old
    present = with_counts(change.keys, old)
    after = _not_zero(multiset_sum([change, _counted(present, dictionary)], arity))
    return old.minus(present).merge(Table.of(with_count_column(after, arity, dictionary), old.arity, old.tuning))


def _not_zero(found: Multiset) -> Multiset:
    chosen = found.counts != 0
    return found if chosen.all() else Multiset(np.ascontiguousarray(found.keys[chosen]), found.counts[chosen])
