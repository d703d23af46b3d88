"""What has changed in a source since the last version.

    full        all rows are read, and compared with the explicit facts
    files       files that were not there are read, with the columns of the source when it was read first; a file that
                vanished or was rewritten is an error, and so is a source that has other columns now
    version     rows with a greater version than the greatest one so far
    operation   a feed of insertions and deletions: rows beyond the greatest `order` so far, or new files, or all rows

How far a source was read is its offset, a JSON value in the manifest of a version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from deltalog.apps.pipelines.hadoop import FileStatus, Hadoop, escaped, is_hidden
from deltalog.apps.pipelines.sources import arguments, chosen, load_rdf
from deltalog.apps.pipelines.spec import SourceSpec
from deltalog.apps.pipelines.state_tables import PredTables
from deltalog.core.errors import DataError
from deltalog.core.rules import Pred
from deltalog.formats.documents import Reading
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.changes import encoded
from deltalog.knowledge_base.facade import KnowledgeBase

Offset = Mapping[str, Any]


@dataclass
class TableReader:
    """Reads facts as tables of a knowledge base's backend, without adding them to it."""

    kb: KnowledgeBase
    tables: PredTables = field(default_factory=dict)

    def add(self, predicate: str, frame: DataFrame) -> None:
        self.take(encoded(session_of(self.kb), {predicate: frame}))

    def load(
        self, *paths: str | PathLike[str], base: str | None, shared_blank_nodes: bool, strict: bool, graphs: bool
    ) -> None:
        reading = Reading(base, shared_blank_nodes, strict, graphs)
        self.take(session_of(self.kb).backend.codec.read([Path(path) for path in paths], reading))

    def load_tables(self, read: Any) -> None:
        self.take(read(session_of(self.kb).backend))

    def take(self, tables: Mapping[Pred, Any]) -> None:
        """Adds tables to those that were read."""
        include(self.tables, tables, session_of(self.kb).backend)


def include(tables: PredTables, others: Mapping[Pred, Any], backend: Any) -> None:
    """Adds the rows of tables to others."""
    for pred, table in others.items():
        known = tables.get(pred)
        tables[pred] = table if known is None else backend.merge(known, backend.minus(table, known))


@dataclass(frozen=True)
class SourceChange:
    """Rows that a source adds and removes, or with `is_full` all that it has; and its new offset."""

    added: PredTables
    offset: Offset
    removed: PredTables = field(default_factory=dict)
    is_full: bool = False


def read_change(
    source: SourceSpec, before: Offset | None, kb: KnowledgeBase, spark: Any, frame: DataFrame | None
) -> SourceChange:
    """What has changed in a source since an offset; `frame` has all of its rows as Spark reads them (None: RDF)."""
    known = before if before is not None and before.get("kind") == source.changes.kind else None
    match source.changes.kind:
        case "files":
            return _files(source, known, kb, spark, frame)
        case "version":
            assert frame is not None
            rows, offset = _beyond(source, frame, source.changes.version, known)
            return SourceChange(_encoded(kb, source, rows), offset)
        case "operation":
            assert frame is not None
            return _feed(source, known, kb, spark, frame)
    reader = TableReader(kb)
    _read(reader, source, spark, frame)
    preds = [[pred.name, pred.arity] for pred in reader.tables]
    return SourceChange(reader.tables, {"kind": "full", "predicates": preds}, is_full=True)


def _read(reader: TableReader, source: SourceSpec, spark: Any, frame: DataFrame | None) -> None:
    if frame is None:
        load_rdf(reader, source, spark)  # type: ignore[arg-type]
    else:
        reader.add(source.predicate, arguments(source, frame))


def _encoded(kb: KnowledgeBase, source: SourceSpec, rows: DataFrame | None, adding: bool = True) -> PredTables:
    return {} if rows is None else encoded(session_of(kb), {source.predicate: arguments(source, rows)}, adding=adding)


# New files.


def _files(
    source: SourceSpec, before: Offset | None, kb: KnowledgeBase, spark: Any, frame: DataFrame | None
) -> SourceChange:
    new, offset = _new_files(source, before, spark, frame)
    reader = TableReader(kb)
    if new and source.is_rdf:
        paths = tuple(escaped(uri) for uris in new.values() for uri in uris)
        load_rdf(reader, replace(source, paths=paths), spark)  # type: ignore[arg-type]
    elif new:
        reader.tables = _encoded(kb, source, _file_frame(source, new, offset["schema"], spark))
    return SourceChange(reader.tables, offset)


def _new_files(
    source: SourceSpec, before: Offset | None, spark: Any, frame: DataFrame | None
) -> tuple[dict[str | None, list[str]], Offset]:
    """The files that are new since an offset, by the folder below which names such as `k=v` are columns (None if there
    are no such names); and the new offset."""
    if before is not None and "files" not in before:
        raise DataError(
            "the source was read in the order of a column so far, and which files were read is not known; set order "
            "again, or use a new state"
        )
    seen: Mapping[str, Sequence[int]] = before["files"] if before is not None else {}
    found = list(_source_files(source, Hadoop(spark)))
    now = {file.uri: [file.size, file.modified] for _, file in found}
    gone, other = sorted(seen.keys() - now.keys()), sorted(uri for uri in seen if now.get(uri, seen[uri]) != seen[uri])
    if gone or other:
        what = f"{gone[0]} has vanished" if gone else f"{other[0]} was rewritten"
        raise DataError(f'{what}, and with changes = "files" files only come; restore it, or set changes = "full"')
    new: dict[str | None, list[str]] = {}
    for base, file in found:
        if file.uri not in seen:
            new.setdefault(base, []).append(file.uri)
    offset = {"kind": source.changes.kind, "files": now}
    return new, offset if frame is None else {**offset, "schema": _schema(source, before, frame)}


def _source_files(source: SourceSpec, hadoop: Hadoop) -> Iterator[tuple[str | None, FileStatus]]:
    """The files of a source, each with the folder below which names such as `k=v` are columns."""
    base = source.option("basePath")
    for path in source.paths:
        if source.is_rdf:
            yield from ((None, file) for file in hadoop.files(path))
            continue
        for root in hadoop.glob(path):
            for file in _files_of_spark(root, source.option("recursiveFileLookup") == "true", hadoop):
                yield base or (root.uri if "=" in _folders(file, root) else None), file


def _files_of_spark(root: FileStatus, is_recursive: bool, hadoop: Hadoop) -> list[FileStatus]:
    """The files that Spark reads of a file or folder. Without partitions, those in inner folders are none of them."""
    files = [file for file in hadoop.below(root) if not is_hidden(file.name)]
    if is_recursive or any("=" in _folders(file, root) for file in files):
        return files
    return [file for file in files if "/" not in _folders(file, root)]


def _folders(file: FileStatus, root: FileStatus) -> str:
    """The folders from a folder to a file, each with a `/`."""
    return file.uri[len(root.uri.rstrip("/")) + 1 : -len(file.name)] if root.is_folder else ""


def _schema(source: SourceSpec, before: Offset | None, frame: DataFrame) -> Any:
    """The columns of all files: those that the source had when it was read first, unless `columns` names them."""
    known = None if source.columns is not None or source.schema is not None else (before or {}).get("schema")
    if known is None:
        return frame.schema.jsonValue()
    names = T.StructType.fromJson(known).names
    if {name.lower() for name in names} != {name.lower() for name in frame.columns}:
        raise DataError(
            f"the columns of the source were {', '.join(names)} when it was read first, and are "
            f"{', '.join(frame.columns)} now; name those that you want with columns, or use a new state"
        )
    return known


def known_columns(source: SourceSpec, before: Offset | None) -> tuple[str, ...] | None:
    """The names of the arguments of a source that was read before, if an offset has them."""
    if before is None or source.schema is not None or before.get("schema") is None:
        return None
    names = T.StructType.fromJson(before["schema"]).names
    return tuple(column.name for column in chosen(source, names))


def _file_frame(source: SourceSpec, files: Mapping[str | None, Sequence[str]], schema: Any, spark: Any) -> DataFrame:
    """The rows of some files. Columns have their names and types from the schema, whatever the files have."""
    frames = []
    for base, uris in files.items():
        reader = spark.read.options(**source.options).format(source.format).schema(T.StructType.fromJson(schema))
        if base is not None:
            reader = reader.option("basePath", base)
        frames.append(reader.load([escaped(uri) for uri in uris]))
    return reduce(DataFrame.unionByName, frames)


# Greater versions.


def _beyond(
    source: SourceSpec, rows: DataFrame, column: str, before: Offset | None
) -> tuple[DataFrame | None, dict[str, Any]]:
    """The rows whose value of a column is greater than the greatest one so far (None if there are none), and the new
    offset."""
    value, type_ = _ordered(rows, column)
    known = None if before is None else before.get("value")
    column_before = column if before is None else before.get("column", column)
    if column_before.lower() != column.lower():
        raise DataError(
            f"the order of the rows was that of the column {column_before}, and is that of {column} now, so it is not "
            f"known which rows are new; set it to {column_before}, or use a new state"
        )
    greatest, nulls = rows.agg(F.max(value).cast("string"), F.count_if(value.isNull())).collect()[0]
    if nulls:
        raise DataError(f"the column {column} has {nulls:,} nulls, and a row without a value has no place in the order")
    offset = {"kind": source.changes.kind, "column": column, "value": greatest if greatest is not None else known}
    if greatest is None:
        return None, offset
    new = value <= F.lit(greatest).cast(type_)
    if known is not None:
        if greatest == known:
            return None, offset
        new = new & (value > F.lit(known).cast(type_))
    return rows.where(new), offset


def _ordered(rows: DataFrame, column: str) -> tuple[Column, Any]:
    """A column as a value that is the same text in every session, and its type."""
    name = next(name for name in rows.columns if name.lower() == column.lower())
    type_ = rows.schema[name].dataType
    if isinstance(type_, T.TimestampType):
        return F.unix_micros(F.col(f"`{name}`")), T.LongType()
    return F.col(f"`{name}`"), type_


# Feeds.


def _feed(source: SourceSpec, before: Offset | None, kb: KnowledgeBase, spark: Any, frame: DataFrame) -> SourceChange:
    rows: DataFrame | None
    if source.changes.order is not None:
        rows, offset = _beyond(source, frame, source.changes.order, before)
    elif source.paths:
        files, files_offset = _new_files(source, before, spark, frame)
        rows = _file_frame(source, files, files_offset["schema"], spark) if files else None
        offset = dict(files_offset)
    else:
        rows, offset = frame, {"kind": "operation"}
    added, removed = (None, None) if rows is None else operations(source, rows)
    return SourceChange(_encoded(kb, source, added), offset, _encoded(kb, source, removed, adding=False))


def operations(source: SourceSpec, rows: DataFrame) -> tuple[DataFrame, DataFrame]:
    """The rows of a feed that are inserted, and those that are deleted. The last operation of a row counts; of several
    with the same order (or without one) an insertion."""
    changes = source.changes
    operation = F.col(f"`{changes.operation}`").cast("string")
    inserts, deletes = operation.isin(*changes.insert), operation.isin(*changes.delete)
    other = rows.where(operation.isNull() | ~(inserts | deletes)).select(operation).limit(1).collect()
    if other:
        known = ", ".join(map(repr, (*changes.insert, *changes.delete)))
        raise DataError(
            f"the column {changes.operation} has the operation {other[0][0]!r}; those that changes knows are {known}"
        )
    if changes.order is None:
        return rows.where(inserts), rows.where(deletes)
    names = list(dict.fromkeys(column.column for column in chosen(source, rows.columns)))
    order = F.struct(F.col(f"`{changes.order}`"), inserts.alias("inserts"))
    last = rows.groupBy(*[f"`{name}`" for name in names]).agg(F.max(order).alias("_last"))
    inserted, deleted = last.where("_last.inserts"), last.where("not _last.inserts")
    return inserted.drop("_last"), deleted.drop("_last")


def full_preds(offsets: Iterable[Offset]) -> set[Pred]:
    """The predicates of sources that were read in full."""
    return {Pred(name, arity) for one in offsets if one.get("kind") == "full" for name, arity in one["predicates"]}
