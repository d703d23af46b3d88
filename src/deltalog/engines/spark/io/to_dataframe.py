"""Executors (Python workers) and driver: tables as Spark DataFrames of values; no row is collected.

A column gets the type that `deltalog.formats.frames` gives it: long, double, boolean, date or string. IRIs and blank nodes
are strings, and a column of other or mixed values has the cells of CSV. The metadata of a column says what its strings
are (`deltalog:kind`), so a DataFrame that is added to a knowledge base gives the same values again. Times are cells,
too, because Spark would move them to its session's time zone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from deltalog.core.dictionary import Dictionary, distinct_ids
from deltalog.core.terms import Kind, lexical
from deltalog.engines.spark.io.arrow import numbers
from deltalog.engines.spark.io.decode import Decoder
from deltalog.engines.spark.stored import column_names
from deltalog.engines.spark.table import SparkTable
from deltalog.formats.csv_cells import print_cell
from deltalog.formats.frames import to_arrow

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend

PLAIN: dict[Kind, tuple[Any, Any, str | None]] = {
    Kind.INTEGER: (T.LongType(), pa.int64(), None),
    Kind.DOUBLE: (T.DoubleType(), pa.float64(), None),
    Kind.BOOLEAN: (T.BooleanType(), pa.bool_(), None),
    Kind.DATE: (T.DateType(), pa.date32(), None),
    Kind.STRING: (T.StringType(), pa.string(), None),
    Kind.IRI: (T.StringType(), pa.string(), "iri"),
    Kind.BLANK: (T.StringType(), pa.string(), "blank"),
}
CELL = (T.StringType(), pa.string(), "cell")


def to_spark(
    table: SparkTable, columns: Sequence[str], backend: SparkBackend, cells: Collection[int] | None = None
) -> DataFrame:
    """A DataFrame of the table's values; `cells` as in `DataFrames`."""
    table.pin()
    names = column_names(table.arity)[: table.arity]
    kinds = _kinds(table, names, backend)
    column_types = _column_types(kinds, cells)
    fields = _fields(columns, column_types)
    if table.empty or not names:
        size = 0 if table.empty else 1
        return backend.spark.createDataFrame([()] * size, T.StructType(fields))
    frame, decoder = Decoder.of(table.frame(), names, backend)
    backend.dictionary.pin()
    types = [(column_type[1], column_type[2]) for column_type in column_types]

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            dictionary, local = decoder.local(batch, names)
            arrays = [_array(dictionary.decode(ids), *what) for ids, what in zip(local, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, list(columns))

    typed = frame.mapInArrow(each, T.StructType(fields))
    return typed.select(*[F.col(f"`{f.name}`").alias(f.name, metadata=f.metadata) for f in fields])


def arrow_to_spark(
    columns: Sequence[Any],
    rows: int,
    names: Sequence[str],
    dictionary: Dictionary,
    backend: SparkBackend,
    cells: Collection[int] | None = None,
) -> DataFrame:
    """The same for columns of local ids in the driver; their values go to the JVM through Arrow."""
    types = _column_types([dictionary.kinds_of([ids]) or {Kind.STRING} for ids in columns], cells)
    schema = T.StructType(_fields(names, types))
    if not rows or not columns:
        return backend.spark.createDataFrame([()] * rows, schema)
    arrays = [_driver_array(ids, dictionary, what) for ids, (_, _, what) in zip(columns, types, strict=True)]
    fields = [pa.field(name, array.type, nullable=False) for name, array in zip(names, arrays, strict=True)]
    frame = backend.spark.createDataFrame(pa.table(arrays, schema=pa.schema(fields)), schema)
    return frame.coalesce(backend.task_partitions)


def _driver_array(ids: Any, dictionary: Dictionary, what: str | None) -> Any:
    if what != "cell":
        return to_arrow([ids], dictionary).column(0)
    distinct, places = distinct_ids(ids, len(dictionary))
    return _array(dictionary.decode(distinct), pa.string(), what).take(numbers(places))


def _column_types(
    kinds: Sequence[Collection[Kind]], cells: Collection[int] | None
) -> list[tuple[Any, Any, str | None]]:
    natural = list(map(_column_type, kinds))
    if cells is None:
        return natural
    return [CELL if place in cells or type_[1] == pa.string() else type_ for place, type_ in enumerate(natural)]


def _column_type(kinds: Collection[Kind]) -> tuple[Any, Any, str | None]:
    return PLAIN.get(next(iter(kinds)), CELL) if len(kinds) == 1 else CELL


def _fields(names: Sequence[str], types: Sequence[tuple[Any, Any, str | None]]) -> list[T.StructField]:
    return [
        T.StructField(name, type_, False, {"deltalog:kind": what} if what else None)
        for name, (type_, _, what) in zip(names, types, strict=True)
    ]


def _array(values: Sequence[Any], type_: Any, what: str | None) -> pa.Array:
    if what == "cell":
        return pa.array([print_cell(value) for value in values], type_)
    return pa.array([lexical(value) for value in values] if what else values, type_)


def _kinds(table: SparkTable, names: Sequence[str], backend: SparkBackend) -> list[set[Kind]]:
    """The kinds of values in each column."""
    if table.empty:
        return [{Kind.STRING} for _ in names]
    frame = backend.with_terms(table.frame(), names)
    kinds = [
        F.collect_set(F.when(F.col(name) < 0, F.lit("04")).otherwise(F.hex(F.substring(name + "term", 1, 1))))
        for name in names
    ]
    if not kinds:
        return []
    found = frame.agg(*[kind.alias(name) for name, kind in zip(names, kinds, strict=True)]).collect()[0]
    return [{Kind(int(code, 16)) for code in codes} for codes in found]
