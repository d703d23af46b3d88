"""Sources: whatever `spark.read` reads, as facts of a predicate; and RDF, by deltalog's parsers in executors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltalog.model.errors import DataError, DeltalogError, UsageError
from deltalog.spark.failures import first_line
from deltalog.spark.spec import Column, Source

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

KINDS = ("iri", "cell")  # types of columns that are deltalog's own: text that is read as IRIs, or as cells of CSV
KIND = "deltalog:kind"  # the metadata of a column that say so


def source_frame(source: Source, spark: SparkSession) -> DataFrame:
    """The rows of a source as Spark reads them, all columns."""
    reader = spark.read.options(**source.options)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    if source.table is not None:
        return reader.table(source.table)
    return reader.format(source.format).load(list(source.paths) or None)


def arguments(source: Source, frame: DataFrame) -> DataFrame:
    """The columns of a source that are arguments of its predicate: chosen, renamed and cast, nulls by policy."""
    from pyspark.sql import functions as F

    fields = {field.name.lower(): field for field in frame.schema.fields}
    columns = []
    for column in chosen(source, frame.columns):
        field = fields[column.column.lower()]
        value, kind = _typed(F.col(f"`{field.name}`"), column), column.type if column.type in KINDS else None
        metadata = {**field.metadata, KIND: kind} if kind else {} if column.type else field.metadata
        if _replaces(source, column.type or field.dataType.simpleString()):
            value = F.coalesce(value, F.lit(source.nulls))
        columns.append(value.alias(column.name, metadata=metadata))
    made = frame.select(*columns)
    return made.dropna() if source.nulls == "drop" else made


def chosen(source: Source, columns: list[str]) -> tuple[Column, ...]:
    """The columns that a source chooses of those that there are; all that describe no change by default."""
    if source.columns is not None:
        return source.columns
    changes = source.changes
    others = {name.lower() for name in (changes.version, changes.operation, changes.order) if name}
    return tuple(Column(name, name) for name in columns if name.lower() not in others)


def _typed(value: SparkColumn, column: Column) -> SparkColumn:
    return value if column.type is None else value.cast("string" if column.type in KINDS else column.type)


def _replaces(source: Source, type_: str) -> bool:
    """Whether `nulls` replaces those of a column of a type: text in texts, numbers in numbers, as `fillna` does."""
    value = source.nulls
    if value in ("error", "drop"):
        return False
    if isinstance(value, bool):
        return type_ == "boolean"
    is_text = type_ in KINDS or type_.startswith(("string", "varchar", "char"))
    numbers = ("tinyint", "byte", "smallint", "short", "int", "bigint", "long", "float", "double", "decimal")
    return is_text if isinstance(value, str) else type_.startswith(numbers)


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Errors while a source is read or a sink is written, with its name and without a trace."""
    try:
        yield
    except DeltalogError as problem:
        hint = '; set nulls = "drop", or a value that replaces them' if "(null)" in str(problem) else ""
        kind = UsageError if isinstance(problem, UsageError) else DataError
        raise kind(f"{place}: {problem}{hint}") from None
    except Exception as problem:
        if not type(problem).__module__.startswith(("pyspark", "py4j")):
            raise
        raise DataError(f"{place}: {first_line(problem)}") from None
