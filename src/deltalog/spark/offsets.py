"""What has changed in a source since the last version.

    full        all rows are read, and compared with the explicit facts
    files       files that were not there are read; a file that vanished or was rewritten is an error
    version     rows with a greater version than the greatest one so far
    operation   a feed of insertions and deletions: rows beyond the greatest `order` so far, or new files, or all rows

How far a source was read is its offset, a JSON value in the manifest of a version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from deltalog.io.documents import Reading
from deltalog.kb import KnowledgeBase
from deltalog.model.errors import DataError
from deltalog.spark.hadoop import Hadoop
from deltalog.spark.sources import arguments, chosen, load_rdf, source_frame
from deltalog.spark.spec import Source
from deltalog.syntax.ast import Pred

Tables = dict[Pred, Any]
Offset = Mapping[str, Any]


@dataclass
class TableReader:
    """Reads facts as tables of a knowledge base's backend, without adding them to it."""

    kb: KnowledgeBase
    tables: Tables = field(default_factory=dict)

    def add(self, predicate: str, frame: DataFrame) -> None:
        self.take(self.kb._encoded({predicate: frame}))

    def load(self, *paths: str | PathLike[str], base: str | None, shared_blank_nodes: bool, strict: bool) -> None:
        reading = Reading(base, shared_blank_nodes, strict)
        self.take(self.kb._backend.codec.read([Path(path) for path in paths], reading))

    def load_tables(self, read: Any) -> None:
        self.take(read(self.kb._backend))

    def take(self, tables: Mapping[Pred, Any]) -> None:
        """Adds tables to those that were read."""
        include(self.tables, tables, self.kb._backend)


def include(tables: Tables, others: Mapping[Pred, Any], backend: Any) -> None:
    """Adds the rows of tables to others."""
    for pred, table in others.items():
        known = tables.get(pred)
        tables[pred] = table if known is None else backend.merge(known, backend.minus(table, known))


@dataclass(frozen=True)
class SourceChange:
    """Rows that a source adds and removes, or with `is_full` all that it has; and its new offset."""

    added: Tables
    offset: Offset
    removed: Tables = field(default_factory=dict)
    is_full: bool = False


def read_change(
    source: Source, before: Offset | None, kb: KnowledgeBase, spark: Any, frame: Any = None
) -> SourceChange:
    """What has changed in a source since an offset; `frame` has all of its rows as arguments, if that is known."""
    known = before if before is not None and before.get("kind") == source.changes.kind else None
    match source.changes.kind:
        case "files":
            return _files(source, known, kb, spark)
        case "version":
            rows, offset = _beyond(source, source_frame(source, spark), source.changes.version, known)
            return SourceChange(_encoded(kb, source, rows), offset)
        case "operation":
            return _feed(source, known, kb, spark)
    reader = TableReader(kb)
    _read(reader, source, spark, frame)
    preds = [[pred.name, pred.arity] for pred in reader.tables]
    return SourceChange(reader.tables, {"kind": "full", "predicates": preds}, is_full=True)


def _read(reader: TableReader, source: Source, spark: Any, frame: Any = None) -> None:
    if source.is_rdf:
        load_rdf(reader, source, spark)  # type: ignore[arg-type]
    else:
        reader.add(source.predicate, arguments(source, source_frame(source, spark)) if frame is None else frame)


def _encoded(kb: KnowledgeBase, source: Source, rows: DataFrame | None) -> Tables:
    return {} if rows is None else kb._encoded({source.predicate: arguments(source, rows)})


# New files.


def _files(source: Source, before: Offset | None, kb: KnowledgeBase, spark: Any) -> SourceChange:
    new, offset = _new_files(source, before, spark)
    reader = TableReader(kb)
    if new and source.is_rdf:
        load_rdf(reader, replace(source, paths=tuple(uri for uris in new.values() for uri in uris)), spark)  # type: ignore[arg-type]
    elif new:
        reader.tables = _encoded(kb, source, _file_frame(source, new, spark))
    return SourceChange(reader.tables, offset)


def _new_files(source: Source, before: Offset | None, spark: Any) -> tuple[dict[str, list[str]], Offset]:
    """The files that are new since an offset, by the path of the source that they are in; and the new offset."""
    if before is not None and "files" not in before:
        raise DataError(
            "the source was read in the order of a column so far, and which files were read is not known; set order "
            "again, or use a new state"
        )
    seen: Mapping[str, Sequence[int]] = before["files"] if before is not None else {}
    found = {path: list(Hadoop(spark).files(path)) for path in source.paths}
    now = {file.uri: [file.size, file.modified] for files in found.values() for file in files}
    gone, other = sorted(seen.keys() - now.keys()), sorted(uri for uri in seen if now.get(uri, seen[uri]) != seen[uri])
    if gone or other:
        what = f"{gone[0]} has vanished" if gone else f"{other[0]} was rewritten"
        raise DataError(f'{what}, and with changes = "files" files only come; restore it, or set changes = "full"')
    new = {path: [file.uri for file in files if file.uri not in seen] for path, files in found.items()}
    return {path: uris for path, uris in new.items() if uris}, {"kind": source.changes.kind, "files": now}


def _file_frame(source: Source, files: Mapping[str, Sequence[str]], spark: Any) -> DataFrame:
    """The rows of some files, with the columns of the folders they are in."""
    reader = spark.read.options(**source.options).format(source.format)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    frames = [reader.option("basePath", _base(path, uris)).load(list(uris)) for path, uris in files.items()]
    return reduce(DataFrame.unionByName, frames)


def _base(path: str, files: Sequence[str]) -> str:
    """The folder below which names such as `k=v` are columns."""
    whole = re.split(r"[*?\[{]", path)[0]
    is_file = whole == path and any(uri.endswith(path.rpartition("/")[2]) for uri in files)
    return whole.rpartition("/")[0] if whole != path or is_file else whole


# Greater versions.


def _beyond(
    source: Source, rows: DataFrame, column: str, before: Offset | None
) -> tuple[DataFrame | None, dict[str, Any]]:
    """The rows whose value of a column is greater than the greatest one so far (None if there are none), and the new
    offset."""
    value, type_ = _ordered(rows, column)
    known = None if before is None else before.get("value")
    greatest, nulls = rows.agg(F.max(value).cast("string"), F.count_if(value.isNull())).collect()[0]
    if nulls:
        raise DataError(f"the column {column} has {nulls:,} nulls, and a row without a value has no place in the order")
    offset = {"kind": source.changes.kind, "value": greatest if greatest is not None else known}
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


def _feed(source: Source, before: Offset | None, kb: KnowledgeBase, spark: Any) -> SourceChange:
    rows: DataFrame | None
    if source.changes.order is not None:
        rows, offset = _beyond(source, source_frame(source, spark), source.changes.order, before)
    elif source.paths:
        files, files_offset = _new_files(source, before, spark)
        rows, offset = _file_frame(source, files, spark) if files else None, dict(files_offset)
    else:
        rows, offset = source_frame(source, spark), {"kind": "operation"}
    added, removed = (None, None) if rows is None else operations(source, rows)
    return SourceChange(_encoded(kb, source, added), offset, _encoded(kb, source, removed))


def operations(source: Source, rows: DataFrame) -> tuple[DataFrame, DataFrame]:
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
    return last.where("_last.inserts"), last.where("not _last.inserts")


def full_preds(offsets: Iterable[Offset]) -> set[Pred]:
    """The predicates of sources that were read in full."""
    return {Pred(name, arity) for one in offsets if one.get("kind") == "full" for name, arity in one["predicates"]}
