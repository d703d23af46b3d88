"""Sources: whatever `spark.read` reads, as facts of a predicate; and RDF, by deltalog's parsers in executors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from deltalog.apps.pipelines.failures import failed_in_spark, first_line, unlogged
from deltalog.apps.pipelines.hadoop import FileStatus, Hadoop
from deltalog.apps.pipelines.spec import SourceColumn, SourceSpec
from deltalog.core.errors import DataError, DeltalogError, UsageError
from deltalog.core.limits import OverBudget
from deltalog.core.rules import Pred
from deltalog.formats.documents import Reading
from deltalog.formats.files import name_of
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.changes import load_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import SourceColumn as SparkColumn

    from deltalog.knowledge_base.facade import KnowledgeBase

PARSERS = {"ntriples": "ntriples", "nquads": "ntriples", "turtle": "turtle", "rdfxml": "xml"}
KINDS = ("iri", "cell")  # types of columns that are deltalog's own: text that is read as IRIs, or as cells of CSV
KIND = "deltalog:kind"  # the metadata of a column that say so


def source_frame(source: SourceSpec, spark: SparkSession) -> DataFrame:
    """The rows of a source as Spark reads them, all columns."""
    return _loaded(spark.read, source, [list(source.paths)] if source.paths else [])


def stream_frame(source: SourceSpec, spark: SparkSession) -> DataFrame:
    """The rows of a stream, all columns."""
    return _loaded(spark.readStream, source, source.paths[:1])


def _loaded(reader: Any, source: SourceSpec, paths: Sequence[Any]) -> DataFrame:
    reader = reader.options(**source.options)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    found: DataFrame = (
        reader.table(source.table) if source.table is not None else reader.format(source.format).load(*paths)
    )
    return found


def arguments(source: SourceSpec, frame: DataFrame) -> DataFrame:
    """The columns of a source that are arguments of its predicate: chosen, renamed and cast, nulls by policy."""
    from pyspark.sql import functions as F

    fields = {field.name.lower(): field for field in frame.schema.fields}
    columns = []
    for column in chosen(source, frame.columns):
        field = fields[column.column.lower()]
        value, kind = _typed(F.col(f"`{field.name}`"), column), column.type if column.type in KINDS else None
        metadata = {**field.metadata, KIND: kind} if kind else {} if column.type else field.metadata
        if source.nulls not in ("error", "drop"):
            type_ = frame.select(value).schema.fields[0].dataType
            if replaces(source, type_.simpleString()):
                value = F.coalesce(value, F.lit(source.nulls).cast(type_))
        columns.append(value.alias(column.name, metadata=metadata))
    made = frame.select(*columns)
    if source.nulls == "drop":  # not by dropna, which also drops NaN
        return made.where(reduce(and_, (F.col(f"`{name}`").isNotNull() for name in made.columns), F.lit(True)))
    return made


def chosen(source: SourceSpec, columns: list[str]) -> tuple[SourceColumn, ...]:
    """The columns that a source chooses of those that there are; all that describe no change by default."""
    if source.columns is not None:
        return source.columns
    changes = source.changes
    others = {name.lower() for name in (changes.version, changes.operation, changes.order) if name}
    return tuple(SourceColumn(name, name) for name in columns if name.lower() not in others)


def _typed(value: SparkColumn, column: SourceColumn) -> SparkColumn:
    return value if column.type is None else value.cast("string" if column.type in KINDS else column.type)


def replaces(source: SourceSpec, type_: str) -> bool:
    """Whether `nulls` replaces those of a column of a type: text in texts, numbers in numbers, as `fillna` does."""
    value = source.nulls
    if value in ("error", "drop"):
        return False
    if isinstance(value, bool):
        return type_ == "boolean"
    is_text = type_ in KINDS or type_.startswith(("string", "varchar", "char"))
    numbers = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
    return is_text if isinstance(value, str) else type_.partition("(")[0] in numbers


# RDF.


def rdf_files(source: SourceSpec, spark: SparkSession) -> dict[str, list[FileStatus]]:
    """The files of an RDF source by their format; DataError if there are none, or if a format is not known."""
    found: dict[str, list[FileStatus]] = {}
    for path in source.paths:
        files = list(Hadoop(spark).files(path))
        if not files:
            raise DataError(f"{path}: no such file or folder")
        for file in files:
            format = PARSERS.get(source.format or "") or name_of(Path(file.name)).format
            if format not in PARSERS.values():
                raise DataError(
                    f"{file.uri}: the ending of the name says no format of RDF; set format to ntriples, nquads, turtle "
                    "or rdfxml"
                )
            found.setdefault(format, []).append(file)
    return found


class FactReader(Protocol):
    """What takes the facts of a source."""

    def load(self, *paths: Path, base: str | None, shared_blank_nodes: bool, strict: bool, graphs: bool) -> None: ...

    def load_tables(self, read: Callable[[Any], Mapping[Pred, Any]]) -> None: ...


class Loader:
    """Adds facts to a knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._session, self.load = session_of(kb), kb.load

    def load_tables(self, read: Callable[[Any], Mapping[Pred, Any]]) -> None:
        """Adds the facts that a reader makes tables of, with the backend of the knowledge base."""
        session = self._session
        with session.lock.held:
            load_tables(session, lambda: read(session.backend))


def load_rdf(reader: FactReader, source: SourceSpec, spark: SparkSession) -> None:
    """Adds the facts of an RDF source. Local files with their usual endings are split as `kb.load` does."""
    files = rdf_files(source, spark)
    reading = Reading(source.base, source.shared_blank_nodes, source.strict, graphs=False)
    local = [_local(file.uri) for some in files.values() for file in some]
    fitting = all(name_of(Path(file.name)).format == format for format, some in files.items() for file in some)
    if fitting and all(path is not None for path in local):
        paths = [path for path in local if path is not None]
        shared, strict = source.shared_blank_nodes, source.strict
        reader.load(*paths, base=source.base, shared_blank_nodes=shared, strict=strict, graphs=False)
        return
    uris = {format: [file.uri for file in some] for format, some in files.items()}
    reader.load_tables(lambda backend: _uri_tables(uris, reading, backend))


def _uri_tables(uris: Mapping[str, list[str]], reading: Reading, backend: Any) -> dict[Pred, Any]:
    """The facts of files, parsed by executors, as tables of a backend in executors or in the driver."""
    from deltalog.engines.spark.driver_backend import DriverBackend
    from deltalog.engines.spark.io.read_uris import read_uris
    from deltalog.engines.spark.residence import table_bytes

    if not isinstance(backend, DriverBackend):
        return read_uris(uris, reading, backend)
    found = read_uris(uris, reading, backend.far)
    backend.residence.expect(sum(table_bytes(table.size or 0, table.arity) for table in found.values()))
    return {pred: backend.far.driver.to_local(table) for pred, table in found.items()}


def _local(uri: str) -> Path | None:
    """The path of a `file:` URI, as Hadoop writes it; None for other schemes."""
    return Path(re.sub("^file:/+", "/", uri)) if uri.startswith("file:") else None


@contextmanager
def naming(place: str, null_hint: str = "") -> Iterator[None]:
    """Errors while a source is read or a sink is written, with its name and without a trace."""
    try:
        with unlogged():
            yield
    except OverBudget:
        raise
    except DeltalogError as problem:
        kind = UsageError if isinstance(problem, UsageError) else DataError
        raise kind(f"{place}: {problem}{null_hint if '(null)' in str(problem) else ''}") from None
    except Exception as problem:
        if not failed_in_spark(problem):
            raise
        raise DataError(f"{place}: {first_line(problem)}") from None
