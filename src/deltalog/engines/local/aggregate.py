"""Aggregates over sorted groups.

The input is a table of distinct bindings with the ON columns first, so a group is a range of it. Counts, and sums,
averages, least and greatest of integers, and medians of numbers of one kind are computed by numpy per range; everything
else by `expressions.aggregate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from deltalog.core.dictionary import Dictionary
from deltalog.core.limits import checked
from deltalog.core.rules import AggregateCall, Variable
from deltalog.core.terms import Kind, Value
from deltalog.engines.local.column_expressions import ColumnExpressions
from deltalog.engines.local.relation import Mask
from deltalog.engines.local.sorted_runs import Ids, sort_distinct
from deltalog.functions import scalar
from deltalog.functions.failures import EXAMPLES, tally
from deltalog.functions.function import SPARQL_PREFIX as PREFIX
from deltalog.kernels import sorted_keys as kernel

Bounds = NDArray[np.int64]
DECODED_ROWS = 1 << 11  # between two checks of limits
_SPARQL = {PREFIX + name: name for name in ("sum", "min", "max")}  # the same of integers


def group_starts(on: Sequence[Ids], size: int) -> Bounds:
    """Where each group begins, in rows sorted by the ON columns; one group when there are none."""
    if not on:
        return np.zeros(1, np.int64)
    change = np.zeros(size, np.bool_)
    change[:1] = True
    for column in on:
        change[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(change).astype(np.int64)


def aggregate(
    call: AggregateCall,
    columns: dict[Variable, Ids],
    on: Sequence[Variable],
    starts: Bounds,
    size: int,
    vectors: ColumnExpressions,
) -> tuple[Ids, Mask | None]:
    """The id of the call's value for each group, and the groups for which it has one (None: all)."""
    dictionary = vectors.dictionary
    ends = np.append(starts[1:], size)[: len(starts)]  # no groups, no ends
    if call.argument is None or (call.function == "count" and not call.distinct):
        return dictionary.intern_integers(ends - starts), None
    assert isinstance(call.argument, Variable)
    column, begins = columns[call.argument], starts
    if call.distinct:
        column, starts, ends = _distinct_in_groups(column, starts, ends)
        if call.function == "count":
            return dictionary.intern_integers(ends - starts), None
    if call.function == "med":
        fast = _medians(column, starts, ends, dictionary)
    else:
        fast = _integers(_SPARQL.get(call.function, call.function), column, starts, ends, dictionary)
    if fast is not None:
        return fast, None
    results, ok = _reference(call, column, starts, ends, dictionary)
    failed = np.flatnonzero(~ok & (starts < ends))  # of nothing, a minimum is no failure
    if len(failed):
        some = failed[:EXAMPLES]
        groups = {v.name: dictionary.decode(columns[v][begins[some]]) for v in on}
        reasons = (_why(call, dictionary.decode(column[starts[i] : ends[i]])) for i in some)
        examples = [({v: values[i] for v, values in groups.items()}, why) for i, why in enumerate(reasons)]
        vectors.failures.add(call, tally(len(failed), examples))
    return results, ok


def _why(call: AggregateCall, values: Sequence[Value]) -> str:
    return scalar.why_it_fails(partial(scalar.aggregate, call.function), values)


def _distinct_in_groups(column: Ids, starts: Bounds, ends: Bounds) -> tuple[Ids, Bounds, Bounds]:
    group = np.repeat(np.arange(len(starts), dtype=np.uint32), ends - starts)
    keys = sort_distinct(kernel.pack(group, column))
    groups = (keys >> kernel.HALF).astype(np.int64)
    numbers = np.arange(len(starts))
    return (
        (keys & kernel.LOW).astype(np.uint32),
        np.searchsorted(groups, numbers, "left"),
        np.searchsorted(groups, numbers, "right"),
    )


def _integers(function: str, column: Ids, starts: Bounds, ends: Bounds, dictionary: Dictionary) -> Ids | None:
    """The fast path: groups that are not empty, of integers whose sums cannot overflow; None when in doubt."""
    if not len(column) or (starts == ends).any() or not (dictionary.kinds[column] == Kind.INTEGER).all():
        return None
    values = dictionary.integers[column]
    if function == "min":
        return dictionary.intern_integers(np.minimum.reduceat(values, starts))
    if function == "max":
        return dictionary.intern_integers(np.maximum.reduceat(values, starts))
    if np.abs(values.astype(np.float64)).max() * len(values) > 2**53:
        return None
    if function == "sum":
        return dictionary.intern_integers(np.add.reduceat(values, starts))
    if function == "avg":
        return dictionary.intern_doubles(np.add.reduceat(values, starts) / (ends - starts))
    return None


def _medians(column: Ids, starts: Bounds, ends: Bounds, dictionary: Dictionary) -> Ids | None:
    """The middle of each group, or the mean of the two that are there: of integers, or of finite floats, only."""
    kinds = dictionary.kinds[column]
    if not len(column) or (starts == ends).any() or not (kinds == kinds[0]).all():
        return None
    if kinds[0] not in (Kind.INTEGER, Kind.DOUBLE):
        return None
    values = (dictionary.integers if kinds[0] == Kind.INTEGER else dictionary.doubles)[column]
    sizes = ends - starts
    values = values[np.lexsort((values, np.repeat(np.arange(len(starts)), sizes)))]
    below, above = values[starts + (sizes - 1) // 2], values[starts + sizes // 2]
    with np.errstate(over="ignore", invalid="ignore"):
        means = (below.astype(np.float64) + above.astype(np.float64)) / 2
    if not np.isfinite(means).all() or not np.isfinite(values).all():
        return None
    if kinds[0] == Kind.DOUBLE:
        return dictionary.intern_doubles(means + 0.0)  # the mean of one with itself is itself
    found, odd = np.empty(len(starts), np.uint32), sizes % 2 == 1
    found[odd] = dictionary.intern_integers(below[odd])
    found[~odd] = dictionary.intern_doubles(means[~odd])
    return found


def _reference(
    call: AggregateCall, column: Ids, starts: Bounds, ends: Bounds, dictionary: Dictionary
) -> tuple[Ids, Mask]:
    parts = checked(range(0, len(column), DECODED_ROWS), 1)
    values = [value for start in parts for value in dictionary.decode(column[start : start + DECODED_ROWS])]
    groups = (values[start:end] for start, end in zip(starts, ends, strict=True))
    results, failed = scalar.apply_each(partial(scalar.aggregate, call.function), groups)
    ok = np.ones(len(starts), np.bool_)
    ok[failed] = False
    return dictionary.encode(results), ok
