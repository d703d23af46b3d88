"""Expressions over DataFrames of ids: as SQL where that is sure to be right, else by the reference in executors.

SQL computes with integers that are their own ids, compares ids, and knows the three truth values of conditions: true,
false and failing, which is NULL. It is right as long as the dictionary has no other numbers (`only_integers`), for
then a value that is not such an integer fails in arithmetic and equals nothing but itself. What SQL does not cover
(`None` below) goes to executors: ids are joined with their terms, and `deltalog.expressions.scalar` is asked once for
each distinct combination of a batch. Values that are new are pairs (id, term), and the dictionary gets them afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from deltalog.backends.spark.io import hashed_ids as identity
from deltalog.backends.spark.io.hashed_ids import INLINE, Ids64
from deltalog.backends.spark.operators.bindings import Bindings, fresh
from deltalog.expressions import scalar
from deltalog.model.terms import Value
from deltalog.syntax.ast import Call, Constant, Expression, Variable, variables

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend

TOO_LARGE = "deltalog: an integer beyond 2^62"
_COMPARISONS: dict[str, Callable[[Column, Column], Column]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_ARITHMETIC = {"+": F.try_add, "-": F.try_subtract, "*": F.try_multiply}


def where(rows: Bindings, condition: Expression, backend: SparkBackend) -> Bindings:
    """The rows for which a condition is true."""
    fast = _condition(condition, rows, backend)
    if fast is not None:
        return Bindings(rows.frame.where(fast), rows.names, rows.most)
    names = _names(condition)
    frame = backend.with_terms(rows.frame, [rows.names[v] for v in names])
    return Bindings(_filtered(frame, rows, names, condition, backend), rows.names, rows.most)


def extended(rows: Bindings, variable: Variable, expression: Expression, backend: SparkBackend) -> Bindings:
    """The rows for which an expression has a value, with that value."""
    name = fresh()
    names = rows.names | {variable: name}
    fast = _id(expression, rows, backend)
    if fast is not None:
        frame = rows.frame.select(*[F.col(n) for n in rows.names.values()], fast.alias(name))
        return Bindings(frame.where(F.col(name).isNotNull()), names, rows.most)
    inputs = _names(expression)
    frame = backend.with_terms(rows.frame, [rows.names[v] for v in inputs])
    computed = _computed(frame, rows, inputs, expression, name, backend)
    return Bindings(backend.with_new_terms(computed, name, name + "term"), names, rows.most)


def _names(expression: Expression) -> list[Variable]:
    return list(dict.fromkeys(variables(expression)))


# SQL.


def _condition(condition: Expression, rows: Bindings, backend: SparkBackend) -> Column | None:
    """A condition as SQL; None when SQL may not know."""
    match condition:
        case Constant(bool(value)):
            return F.lit(value)
        case Call("sameterm", (left, right)):
            return _both(_id(left, rows, backend), _id(right, rows, backend), lambda a, b: a == b)
        case Call("=" | "!=", (left, right)) if backend.only_integers:
            same = _both(_id(left, rows, backend), _id(right, rows, backend), lambda a, b: a == b)
            return same if same is None or condition.function == "=" else ~same
        case Call(function, (left, right)) if function in _COMPARISONS and _is_number(left, right):
            return _both(_number(left, rows, backend), _number(right, rows, backend), _COMPARISONS[function])
        case Call("&&", (left, right)):
            return _both(_condition(left, rows, backend), _condition(right, rows, backend), lambda a, b: a & b)
        case Call("||", (left, right)):
            return _both(_condition(left, rows, backend), _condition(right, rows, backend), lambda a, b: a | b)
        case Call("!", (inner,)):
            inside = _condition(inner, rows, backend)
            return None if inside is None else ~inside
    return None


def _both(left: Column | None, right: Column | None, combine: Callable[[Column, Column], Column]) -> Column | None:
    return None if left is None or right is None else combine(left, right)


def _is_number(left: Expression, right: Expression) -> bool:
    """Whether a comparison is one of numbers: it is if one of the sides is a number or nothing."""
    return any(isinstance(side, Call) or _is_integer(side) for side in (left, right))


def _is_integer(side: Expression) -> bool:
    return isinstance(side, Constant) and type(side.value) is int and -INLINE <= side.value < INLINE


def _id(expression: Expression, rows: Bindings, backend: SparkBackend) -> Column | None:
    """The id of an expression's value."""
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
            # An integer beyond has its id from the reference only; the backend starts again without SQL.
            return (
                F.when(number.isNull(), F.lit(None))
                .when(fits, number - F.lit(INLINE))
                .otherwise(F.raise_error(F.lit(TOO_LARGE)).cast("long"))
            )


def _number(expression: Expression, rows: Bindings, backend: SparkBackend) -> Column | None:
    """The integer that an expression is, NULL where it fails; None when SQL may not know."""
    if not backend.only_integers:
        return None
    match expression:
        case Variable():
            column = rows.column(expression)
            return F.when(column < 0, column + F.lit(INLINE))
        case Constant(value):
            return F.lit(value).cast("long") if _is_integer(expression) else None
        case Call("-", (inner,)):
            number = _number(inner, rows, backend)
            return None if number is None else F.try_subtract(F.lit(0).cast("long"), number)
        case Call(function, (left, right)) if function in _ARITHMETIC:
            return _both(_number(left, rows, backend), _number(right, rows, backend), _ARITHMETIC[function])
        case Call("%", (left, right)):
            return _both(_number(left, rows, backend), _number(right, rows, backend), _modulo)
    return None


def _modulo(a: Column, b: Column) -> Column:
    """With the sign of the divisor; NULL for a divisor of 0."""
    rest = a % F.nullif(b, F.lit(0).cast("long"))
    return F.when((rest != 0) & ((rest < 0) != (b < 0)), rest + b).otherwise(rest)


# The reference, in executors.


def _filtered(
    frame: Any, rows: Bindings, names: Sequence[Variable], condition: Expression, backend: SparkBackend
) -> Any:
    kept, inputs, failures = list(rows.names.values()), [rows.names[v] for v in names], backend.accumulator

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            truth, ok = _results(condition, names, _columns(batch, inputs), batch.num_rows, scalar.holds)
            failures.add(int(batch.num_rows - np.count_nonzero(ok)))
            mask = pa.array(ok & np.array(truth, np.bool_))
            yield pa.RecordBatch.from_arrays([batch.column(n).filter(mask) for n in kept], kept)

    if not kept:
        return _filtered_units(frame, condition)
    return frame.mapInArrow(each, ", ".join(f"{n} long" for n in kept))


def _filtered_units(frame: Any, condition: Expression) -> Any:
    """A condition without variables over rows without columns: it holds for all or for none."""
    try:
        holds = scalar.holds(condition, {})
    except scalar.ExpressionFails:
        holds = False
    return frame.where(F.lit(holds))


def _computed(
    frame: Any, rows: Bindings, names: Sequence[Variable], expression: Expression, name: str, backend: SparkBackend
) -> Any:
    """The rows with the columns `name` and `name + "term"`, the id and the term of an expression's value."""
    kept, inputs, failures = list(rows.names.values()), [rows.names[v] for v in names], backend.accumulator
    salt, all_names = backend.salt, [*rows.names.values(), name, name + "term"]

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found, ok = _results(expression, names, _columns(batch, inputs), batch.num_rows, scalar.evaluate)
            failures.add(int(batch.num_rows - np.count_nonzero(ok)))
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
) -> tuple[list[Any], np.ndarray[Any, np.dtype[np.bool_]]]:
    """What the reference says of each row (False where it fails), and where it does not fail."""
    coded = [_distinct_values(ids, terms) for ids, terms in columns]
    memory: dict[tuple[int, ...], tuple[Any, bool]] = {}
    results, ok = [], np.empty(size, np.bool_)
    keys: Any = zip(*(codes for _, codes in coded), strict=True) if coded else [()] * size
    for i, key in enumerate(keys):
        known = memory.get(key)
        if known is None:
            binding = {v: values[code] for v, (values, _), code in zip(names, coded, key, strict=True)}
            try:
                known = (function(expression, binding), True)
            except scalar.ExpressionFails:
                known = (False, False)
            memory[key] = known
        results.append(known[0])
        ok[i] = known[1]
    return results, ok


def _distinct_values(ids: Ids64, terms: pa.Array) -> tuple[list[Value], list[int]]:
    distinct, first, codes = np.unique(ids, return_index=True, return_inverse=True)
    return identity.values_of(distinct, terms.take(pa.array(first))), codes.tolist()
