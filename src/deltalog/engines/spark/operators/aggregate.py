"""JVM (Spark SQL) where that is exact, otherwise executors (Python workers): aggregates.

SQL computes counts, and sums, minima and maxima of inline integers (see `io.hashed_ids`). The distinct bindings are
persisted while one query finds out whether all arguments are integers, and how large. For everything else the terms of
a group are collected into one row, to which the reference semantics are applied; such a group must fit an executor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltalog.core.rules import AggregateCall, Variable
from deltalog.engines.spark.io import hashed_ids as identity
from deltalog.engines.spark.io.hashed_ids import INLINE
from deltalog.engines.spark.operators import reference
from deltalog.engines.spark.operators.bindings import Bindings, fresh_name
from deltalog.engines.spark.stored import UNIT
from deltalog.functions import scalar
from deltalog.functions.failures import Tally, tally

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend


def aggregate(
    rows: Bindings | None,
    variables: Sequence[Variable],
    on: Sequence[Variable],
    calls: Sequence[AggregateCall],
    backend: SparkBackend,
) -> Bindings | None:
    """The calls over the distinct bindings, one row for each group in which all of them have a value."""
    if rows is None:
        return None if on else _of_nothing(calls, backend)
    frame = backend.keep(rows.frame.select(*[rows.column(v) for v in variables] or [F.col(UNIT)]).distinct())
    names = {v: rows.names[v] for v in on} | {call.variable: fresh_name() for call in calls}
    arguments = {v: rows.names[v] for call in calls if isinstance(v := call.argument, Variable)}
    exact_calls = _in_sql(frame, calls, arguments)
    if not all(exact_calls):
        frame = backend.with_terms(frame, list(dict.fromkeys(arguments.values())))
    columns = [
        (_sql(call, arguments) if exact else _collected(call, arguments)).alias(names[call.variable])
        for call, exact in zip(calls, exact_calls, strict=True)
    ]
    grouped = frame.groupBy(*[F.col(names[v]) for v in on]).agg(*columns)
    collected = {names[call.variable]: call for call, exact in zip(calls, exact_calls, strict=True) if not exact}
    result = _by_reference(grouped, collected, list(names.values()), backend) if collected else grouped
    for call in calls:
        result = result.where(F.col(names[call.variable]).isNotNull())
    return Bindings(result, names)


def counted(rows: Bindings, variable: Variable) -> Bindings:
    """The distinct bindings, and the number of occurrences of each."""
    name = fresh_name()
    number = F.count(F.lit(1))
    grouped = rows.frame.groupBy(*[F.col(column) for column in rows.names.values()]).agg(number.alias(name))
    found = grouped.where(F.col(name) > 0).withColumn(name, F.col(name) - F.lit(INLINE))
    return Bindings(found, rows.names | {variable: name}, rows.max_rows)


def _of_nothing(calls: Sequence[AggregateCall], backend: SparkBackend) -> Bindings | None:
    """The calls over one empty group: counts and sums are 0, other functions have no value."""
    try:
        results = [scalar.aggregate(call.function, []) for call in calls]
    except scalar.ExpressionFails:
        return None
    names = {call.variable: fresh_name() for call in calls}
    ids = [F.lit(backend.dictionary.id(value)).cast("long") for value in results]
    return Bindings(backend.unit().select(*map(Column.alias, ids, names.values())), names, 1)


def _in_sql(frame: DataFrame, calls: Sequence[AggregateCall], arguments: dict[Variable, str]) -> list[bool]:
    """For each call, whether SQL is exact: always for counts, else for integers whose sum stays below 2^62."""
    if all(call.function == "count" for call in calls):
        return [True] * len(calls)
    looks: list[Column] = [F.count(F.lit(1))]
    for call in calls:
        column = F.col(arguments[call.argument]) if isinstance(call.argument, Variable) else F.lit(0)
        number = F.when(column < 0, column + F.lit(INLINE)).cast("double")
        looks += [F.max(column), F.max(F.abs(number))]
    found = list(frame.agg(*[look.alias(f"a{i}") for i, look in enumerate(looks)]).collect()[0])
    size = found[0]
    plain = []
    for i, call in enumerate(calls):
        greatest, magnitude = found[1 + 2 * i], found[2 + 2 * i]
        integers = size == 0 or greatest < 0
        fits = size == 0 or (magnitude or 0.0) * size < 2.0**61
        plain.append(call.function == "count" or (call.function in ("min", "max", "sum") and integers and fits))
    return plain


def _sql(call: AggregateCall, arguments: dict[Variable, str]) -> Column:
    if call.function == "count" and not (call.distinct and call.argument is not None):
        return F.count(F.lit(1)) - F.lit(INLINE)
    assert isinstance(call.argument, Variable)
    column = F.col(arguments[call.argument])
    match call.function:
        case "count":
            return F.count_distinct(column) - F.lit(INLINE)
        case "min":
            return F.min(column)
        case "max":
            return F.max(column)
    number = column + F.lit(INLINE)
    total = F.sum_distinct(number) if call.distinct else F.sum(number)
    return F.coalesce(total, F.lit(0).cast("long")) - F.lit(INLINE)


def _collected(call: AggregateCall, arguments: dict[Variable, str]) -> Column:
    assert isinstance(call.argument, Variable)
    name = arguments[call.argument]
    pair = F.struct(F.col(name).alias("id"), F.col(name + "term").alias("term"))
    return F.collect_set(pair) if call.distinct else F.collect_list(pair)


def _by_reference(
    grouped: DataFrame, collected: dict[str, AggregateCall], names: Sequence[str], backend: SparkBackend
) -> DataFrame:
    """Replaces collected pairs (id, term) by the id of the result, NULL where the function fails."""
    salt, plain = backend.salt, [name for name in names if name not in collected]
    failures = backend.executor_failures.accumulator
    numbers = {name: backend.executor_failures.number(call) for name, call in collected.items()}

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [batch.column(name) for name in plain]
            for name, call in collected.items():
                ids, terms, failed = _results(call, batch.column(name), salt)
                if failed is not None:
                    failures.add({numbers[name]: failed})
                arrays += [ids, terms]
            yield pa.RecordBatch.from_arrays(
                arrays, [*plain, *(n for name in collected for n in (name, name + "term"))]
            )

    schema = [f"{name} long" for name in plain] + [f"{name} long, {name}term binary" for name in collected]
    frame = grouped.mapInArrow(each, ", ".join(schema))
    for name in collected:
        frame = backend.with_new_terms(frame, name, name + "term")
    return frame


def _results(call: AggregateCall, lists: pa.Array, salt: int) -> tuple[pa.Array, pa.Array, Tally | None]:
    """The result for each group of pairs (id, term), as ids and terms, and how it fails: of nothing, it does not."""
    pairs = lists.flatten()
    values = identity.values_of(pairs.field("id").to_numpy(zero_copy_only=False), pairs.field("term"))
    ends = np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False)).tolist()
    groups = (values[start:end] for start, end in pairwise([0, *ends]))
    found = reference.results(partial(scalar.aggregate, call.function), groups)
    ids, terms = identity.encode(found.values, salt)
    mask = pa.array(~found.ok)
    count = int(np.count_nonzero(~found.ok & (lists.value_lengths().to_numpy(zero_copy_only=False) > 0)))
    failed = tally(count, [({}, why) for values, why in found.failed if values]) if count else None
    return (
        pa.compute.if_else(mask, pa.scalar(None, pa.int64()), pa.array(ids)),
        pa.compute.if_else(mask, pa.scalar(None, pa.binary()), terms.cast(pa.binary())),
        failed,
    )
