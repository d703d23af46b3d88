"""JVM (Spark SQL) where that is exact, otherwise executors (Python workers): expressions over DataFrames of ids.

SQL computes with inline integers (see `io.hashed_ids`), compares ids, and has the three truth values of conditions:
true, false, and failed, which is NULL. It is exact as long as the dictionary has no other numbers (`only_integers`):
then any other value fails in arithmetic and equals only itself. What SQL does not cover (`None` below) is evaluated in
Python workers: ids are joined with their terms, and the reference semantics (`deltalog.functions.scalar`) are applied
once to each distinct combination of values of a batch. New values are pairs (id, term), which are then added to the
dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from deltalog.core.rules import Call, Constant, Expression, Variable, variables
from deltalog.core.terms import Value
from deltalog.engines.spark.io import hashed_ids as identity
from deltalog.engines.spark.io.hashed_ids import INLINE, Ids64
from deltalog.engines.spark.operators import reference
from deltalog.engines.spark.operators.bindings import Bindings, fresh_name
from deltalog.functions import scalar
from deltalog.functions.failures import Tally, tally
from deltalog.functions.function import Sort
from deltalog.functions.registry import FUNCTIONS

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend

TOO_LARGE = "deltalog: an integer beyond 2^62"


def where(rows: Bindings, condition: Expression, backend: SparkBackend) -> Bindings:
    """The bindings for which a condition is true."""
    fast = _condition(condition, rows, backend)
    if fast is not None:
        return Bindings(rows.frame.where(fast), rows.names, rows.max_rows)
    names = _names(condition)
    frame = backend.with_terms(rows.frame, [rows.names[v] for v in names])
    return Bindings(_filtered(frame, rows, names, condition, backend), rows.names, rows.max_rows)


def extended(rows: Bindings, variable: Variable, expression: Expression, backend: SparkBackend) -> Bindings:
    """The bindings for which an expression has a value, with that value."""
    name = fresh_name()
    names = rows.names | {variable: name}
    fast = _id(expression, rows, backend)
    if fast is not None:
        frame = rows.frame.select(*[F.col(n) for n in rows.names.values()], fast.alias(name))
        return Bindings(frame.where(F.col(name).isNotNull()), names, rows.max_rows)
    inputs = _names(expression)
    frame = backend.with_terms(rows.frame, [rows.names[v] for v in inputs])
    computed = _computed(frame, rows, inputs, expression, name, backend)
    return Bindings(backend.with_new_terms(computed, name, name + "term"), names, rows.max_rows)


def _names(expression: Expression) -> list[Variable]:
    return list(dict.fromkeys(variables(expression)))


# SQL.


def _condition(condition: Expression, rows: Bindings, backend: SparkBackend) -> Column | None:
    """A condition as SQL; None if SQL may not be exact."""
    match condition:
        case Constant(bool(value)):
            return F.lit(value)
        case Call("sameterm", (left, right)):
            return _both(_id(left, rows, backend), _id(right, rows, backend), lambda a, b: a == b)
        case Call("=" | "!=", (left, right)) if backend.only_integers:
            same = _both(_id(left, rows, backend), _id(right, rows, backend), lambda a, b: a == b)
            return same if same is None or condition.function == "=" else ~same
        case Call(function, arguments) if set(FUNCTIONS[function].takes) == {Sort.TRUTH}:
            return _applied(function, [_condition(each, rows, backend) for each in arguments])
        case Call(function, arguments) if FUNCTIONS[function].gives is Sort.TRUTH and any(map(_is_number, arguments)):
            return _applied(function, [_number(each, rows, backend) for each in arguments])
    return None


def _applied(function: str, arguments: Sequence[Column | None]) -> Column | None:
    """A function of columns; None if SQL has no exact form of it, or of an argument."""
    known, sql = [each for each in arguments if each is not None], FUNCTIONS[function].sql
    if sql is None or len(known) < len(arguments):
        return None
    found: Column = sql(F, *known)
    return found


def _both(left: Column | None, right: Column | None, combine: Callable[[Column, Column], Column]) -> Column | None:
    return None if left is None or right is None else combine(left, right)


def _is_number(side: Expression) -> bool:
    """Whether a side makes a comparison one of numbers: it is a number or fails."""
    return isinstance(side, Call) or _is_integer(side)


def _is_integer(side: Expression) -> bool:
    return isinstance(side, Constant) and type(side.value) is int and -INLINE <= side.value < INLINE


def _id(expression: Expression, rows: Bindings, backend: SparkBackend) -> Column | None:
    """The id of the value of an expression; None if SQL may not be exact."""
    match expression:
        case Variable():
            return rows.column(expression)
        case Constant(value):
            return F.lit(backend.dictionary.id(value)).cast("long")
        case Call():
            number = _number(expression, rows, backend)
            if number is None:
                return None
            fits = (number >= F.lit(-INLINE)) & (number < F.lit(INLINE))
            # Larger integers have no inline id; the backend then evaluates again without SQL.
            return (
                F.when(number.isNull(), F.lit(None))
                .when(fits, number - F.lit(INLINE))
                .otherwise(F.raise_error(F.lit(TOO_LARGE)).cast("long"))
            )


def _number(expression: Expression, rows: Bindings, backend: SparkBackend) -> Column | None:
    """The integer value of an expression, NULL where it fails; None if SQL may not be exact."""
    if not backend.only_integers:
        return None
    match expression:
        case Variable():
            column = rows.column(expression)
            return F.when(column < 0, column + F.lit(INLINE))
        case Constant(value):
            return F.lit(value).cast("long") if _is_integer(expression) else None
        case Call("-", (inner,)):
            return _number(Call("-", (Constant(0), inner)), rows, backend)
        case Call(function, (left, right)) if FUNCTIONS[function].gives is Sort.SAME:
            return _applied(function, [_number(left, rows, backend), _number(right, rows, backend)])
    return None


# The reference semantics, in Python workers.


def _filtered(
    frame: Any, rows: Bindings, names: Sequence[Variable], condition: Expression, backend: SparkBackend
) -> Any:
    kept, inputs = list(rows.names.values()), [rows.names[v] for v in names]
    failures, number = backend.executor_failures.accumulator, backend.executor_failures.number(condition)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            truth, ok, failed = _results(condition, names, _columns(batch, inputs), batch.num_rows, scalar.holds)
            if failed is not None:
                failures.add({number: failed})
            mask = pa.array(ok & np.array(truth, np.bool_))
            yield pa.RecordBatch.from_arrays([batch.column(n).filter(mask) for n in kept], kept)

    if not kept:
        return _filtered_units(frame, condition)
    return frame.mapInArrow(each, ", ".join(f"{n} long" for n in kept))


def _filtered_units(frame: Any, condition: Expression) -> Any:
    """A condition without variables over bindings without columns: it holds for all or for none."""
    try:
        holds = scalar.holds(condition, {})
    except scalar.ExpressionFails:
        holds = False
    return frame.where(F.lit(holds))


def _computed(
    frame: Any, rows: Bindings, names: Sequence[Variable], expression: Expression, name: str, backend: SparkBackend
) -> Any:
    """The bindings with the columns `name` and `name + "term"`, the id and the term of an expression's value."""
    kept, inputs = list(rows.names.values()), [rows.names[v] for v in names]
    failures, number = backend.executor_failures.accumulator, backend.executor_failures.number(expression)
    salt, all_names = backend.salt, [*rows.names.values(), name, name + "term"]

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found, ok, failed = _results(expression, names, _columns(batch, inputs), batch.num_rows, scalar.evaluate)
            if failed is not None:
                failures.add({number: failed})
            mask = pa.array(ok)
            ids, terms = identity.encode([value for value, good in zip(found, ok, strict=True) if good], salt)
            old = [batch.column(n).filter(mask) for n in kept]
            yield pa.RecordBatch.from_arrays([*old, pa.array(ids), terms.cast(pa.binary())], all_names)

    schema = ", ".join([*(f"{n} long" for n in [*kept, name]), f"{name}term binary"])
    return frame.mapInArrow(each, schema)


def _columns(batch: pa.RecordBatch, inputs: Sequence[str]) -> list[tuple[Ids64, pa.Array]]:
    return [(batch.column(n).to_numpy(zero_copy_only=False), batch.column(n + "term")) for n in inputs]


def _results(
    expression: Expression,
    names: Sequence[Variable],
    columns: Sequence[tuple[Ids64, pa.Array]],
    size: int,
    function: Callable[[Expression, dict[Variable, Value]], Any],
) -> tuple[list[Any], np.ndarray[Any, np.dtype[np.bool_]], Tally | None]:
    """The result for each row (False where the expression fails), where it does not fail, and how it fails."""
    coded = [_distinct_values(ids, terms) for ids, terms in columns]
    keys = list(zip(*(codes for _, codes in coded), strict=True)) if coded else [()] * size
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}

    def binding(key: tuple[int, ...]) -> dict[Variable, Value]:
        return {v: values[code] for v, (values, _), code in zip(names, coded, key, strict=True)}

    found = reference.results(lambda key: function(expression, binding(key)), numbers)
    rows = [numbers[key] for key in keys]
    ok = found.ok[rows]
    examples = [({v.name: value for v, value in binding(key).items()}, why) for key, why in found.failed]
    failed = tally(int(size - np.count_nonzero(ok)), examples) if examples else None
    return [found.values[row] for row in rows], ok, failed


def _distinct_values(ids: Ids64, terms: pa.Array) -> tuple[list[Value], list[int]]:
    distinct, first, codes = np.unique(ids, return_index=True, return_inverse=True)
    return identity.values_of(distinct, terms.take(pa.array(first))), codes.tolist()
