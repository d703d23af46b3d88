"""Tables as Spark DataFrames of values, without collecting a row.

A column gets the type that `deltalog.io.frames` gives it: long, double, boolean, date or string; IRIs and blank nodes
are strings, and a column of other or of mixed values has the cells of CSV. What the strings are is in the metadata of
the column (`deltalog:kind`), so that a DataFrame that is added to a knowledge base gives the same values again. Times
are cells, too: Spark would move them to its own time zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from deltalog.backends.spark.io.decode import Decoder
from deltalog.backends.spark.table import SparkTable, column_names
from deltalog.io.csv_cells import print_cell
from deltalog.model.terms import Kind, lexical

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend

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


def to_spark(table: SparkTable, columns: Sequence[str], backend: SparkBackend) -> DataFrame:
    """A DataFrame of the table's values."""
    names = column_names(table.arity)[: table.arity]
    kinds = _kinds(table, names, backend)
    forms = [PLAIN.get(next(iter(found)), CELL) if len(found) == 1 else CELL for found in kinds]
    fields = [
        T.StructField(name, form[0], False, {"deltalog:kind": form[2]} if form[2] else None)
        for name, form in zip(columns, forms, strict=True)
    ]
    if table.empty or not names:
        size = 0 if table.empty else 1
        return backend.spark.createDataFrame([()] * size, T.StructType(fields))
    frame, decoder = Decoder.of(table.frame(), names, backend)
    types = [(form[1], form[2]) for form in forms]

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            dictionary, local = decoder.local(batch, names)
            arrays = [_array(dictionary.decode(ids), *what) for ids, what in zip(local, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, list(columns))

    typed = frame.mapInArrow(each, T.StructType(fields))
    return typed.select(*[F.col(f"`{f.name}`").alias(f.name, metadata=f.metadata) for f in fields])


def _array(values: Sequence[Any], type_: Any, what: str | None) -> pa.Array:
    if what == "cell":
        return pa.array([print_cell(value) for value in values], type_)
    return pa.array([lexical(value) for value in values] if what else values, type_)


def _kinds(table: SparkTable, names: Sequence[str], backend: SparkBackend) -> list[set[Kind]]:
    """The kinds of values that each column has."""
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
