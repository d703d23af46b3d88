"""Small changes of many tables in one kernel call: see `kernels.batch_update`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.engines.local.addresses import TableAddresses
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import Ids
from deltalog.engines.local.table import Table, empty
from deltalog.evaluation.capabilities.tuple_maintenance import Exchange
from deltalog.kernels import batch_update as kernel

Ends = NDArray[np.int64]
Exchanged = Exchange[Relation]


def load_all(several: Sequence[Sequence[Ids]], tuning: Tuning) -> list[Table]:
    """Tables of columns, one or two each."""
    sizes = [len(columns[0]) for columns in several]
    high = np.concatenate([columns[0] for columns in several])
    low = np.concatenate(
        [columns[1] if len(columns) == 2 else np.zeros(len(columns[0]), np.uint32) for columns in several]
    )
    ends = _ends(sizes)
    keys, counts = kernel.pack_parts(high, low, ends)
    parts = zip(several, ends.tolist(), counts.tolist(), strict=False)
    return [Table.of(keys[start : start + count].copy(), len(columns), tuning) for columns, start, count in parts]


def batch_update(
    tables: Mapping[Pred, Relation], removed: Mapping[Pred, Relation], added: Mapping[Pred, Relation], tuning: Tuning
) -> Exchanged | None:
    """Tables after a change, and its net effect; None if it is too large for one call."""
    given = list(chain(removed.items(), added.items()))
    size = sum([table.size for _, table in given])
    if size > tuning.batch_update_max_rows or any(pred.arity > 2 for pred, _ in given):
        return None
    both = [pred for pred in removed if pred in added]
    removed = {**removed, **{pred: removed[pred].minus(added[pred]) for pred in both}}
    parts = [(pred, rows, False) for pred, rows in removed.items() if pred in tables]
    parts += [(pred, rows, True) for pred, rows in added.items()]
    result: Exchanged = Exchange(dict(tables), {}, {})
    for (pred, rows, adds), found, counts in zip(parts, *_sifted(tables, parts), strict=True):
        (_add if adds else _remove)(pred, rows, found, counts, result)
    return result


def _sifted(
    tables: Mapping[Pred, Relation], parts: Sequence[tuple[Pred, Relation, bool]]
) -> tuple[list[NDArray[np.uint64]], list[list[int]]]:
    """Of each part, the rows that change its table, in two groups, and how many are in each."""
    addresses, places = TableAddresses(), []
    for pred, _, _ in parts:
        table = tables.get(pred, empty(pred.arity)).stored().best
        places.append(addresses.add(table, table.addresses(tuple(range(pred.arity)))))
    keys = [rows.keys() for _, rows, _ in parts]
    ends = _ends([len(part) for part in keys])
    adds = np.array([adds for _, _, adds in parts], np.bool_)
    if not parts:
        return [], []
    found, counts = kernel.sift(np.concatenate(keys), ends, np.array(places), adds, addresses.words())
    starts = ends.tolist()
    return [found[start:end] for start, end in pairwise(starts)], counts.tolist()


def _ends(sizes: Sequence[int]) -> Ends:
    ends = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends


def _remove(pred: Pred, rows: Relation, found: NDArray[np.uint64], counts: list[int], result: Exchanged) -> None:
    if counts[0]:
        removed = rows if counts[0] == rows.size else Table.of(found[: counts[0]].copy(), pred.arity, rows.tuning)
        result.removed[pred] = removed
        result.tables[pred] = result.tables[pred].minus_subset(removed)


def _add(pred: Pred, rows: Relation, found: NDArray[np.uint64], counts: list[int], result: Exchanged) -> None:
    new, revived = counts
    if not new + revived:
        return
    before = result.tables.get(pred) or Table(pred.arity, tuning=rows.tuning)
    whole = new + revived == rows.size
    result.added[pred] = rows if whole else Table.of(np.sort(found[: new + revived]), pred.arity, rows.tuning)
    if pred in result.removed:  # it is another table by now, and may have other tombstones
        result.tables[pred] = before.merge(result.added[pred])
    else:
        result.tables[pred] = before.stored().best.with_rows(found[:new].copy(), found[new : new + revived])
