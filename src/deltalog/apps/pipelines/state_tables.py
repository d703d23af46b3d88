"""The rows of a state as Parquet: tables of either engine, in and out.

Rows have the 64-bit ids of the Spark engine, which are derived from values. A folder has

    facts    relation int, removed boolean, c0 long, c1 long, ...    (null beyond the arity), sorted by relation
    terms    id long, term binary                                    of all ids of added rows but inline integers

The driver writes and reads the files of tables that it has; executors those of all others. Either reads what the other
has written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.apps.pipelines.hadoop import Hadoop, escaped
from deltalog.apps.pipelines.manifest import StoredRelation
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import Pred
from deltalog.engines.spark.backend import SparkBackend
from deltalog.engines.spark.io import hashed_ids as identity
from deltalog.engines.spark.io.arrow import numbers, words
from deltalog.engines.spark.io.hashed_ids import INLINE, Ids64
from deltalog.engines.spark.settings import salt
from deltalog.engines.spark.stored import column_names, selected_columns
from deltalog.engines.spark.table import Segment, SparkTable
from deltalog.engines.spark.table import width as stored_width

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend

_ROWS_PER_PARTITION = 4_000_000  # that an executor writes to a file
_CHUNK_ROWS = 1 << 20  # rows that the driver writes or reads at a time

PredTables = dict[Pred, Any]  # tables of a backend
FACTS, TERMS = "facts", "terms"
TERM_SCHEMA = pa.schema([("id", pa.int64()), ("term", pa.binary())])


class StoredRows(NamedTuple):
    """Rows to write: those of a table that a relation gets, or loses."""

    number: int
    arity: int
    table: Any
    removed: bool = False


class StateTables(Protocol):
    """The tables of a backend, in files of a state."""

    @property
    def list_schemes(self) -> bool:
        """Whether relations of schemes are stored like others."""
        ...

    def write(self, folder: str, rows: Sequence[StoredRows]) -> int:
        """Writes rows, and the terms of those that are added, to a new folder; the number of terms."""
        ...

    def read(self, folders: Sequence[str], relations: Sequence[StoredRelation]) -> dict[int, Any]:
        """The tables of relations, by their numbers. The first folder is the base, and the others change it."""
        ...


def state_tables(backend: Backend[Any], spark: Any) -> StateTables:
    """The tables of an engine's backend."""
    if isinstance(backend, SparkBackend):
        return ExecutorTables(backend, Hadoop(spark))
    return DriverTables(backend, Hadoop(spark), salt(spark))


# In the driver.


@dataclass(frozen=True, slots=True)
class DriverTables:
    """Tables of the local engine, with 32-bit ids of its dictionary."""

    backend: Any
    hadoop: Hadoop
    salt: int
    list_schemes: bool = False

    @property
    def dictionary(self) -> Dictionary:
        found: Dictionary = self.backend.dictionary
        return found

    def write(self, folder: str, rows: Sequence[StoredRows]) -> int:
        used = self._used_ids([one for one in rows if not one.removed])
        everything = self._used_ids(rows)
        ids = np.zeros(len(self.dictionary), np.int64)
        ids[everything] = self._digests(everything)
        columns = ([ids[column] for column in self.backend.rows(one.table)] for one in rows)
        write_facts(self.hadoop, folder, _sized(rows, columns, self.backend), _CHUNK_ROWS)
        used = used[ids[used] >= 0]
        return write_terms(self.hadoop, folder, self._terms(ids, used))

    def _used_ids(self, rows: Iterable[StoredRows]) -> Any:
        """The distinct ids in some rows."""
        used = np.zeros(len(self.dictionary), np.bool_)
        for one in rows:
            for column in self.backend.rows(one.table):
                used[column] = True
        return np.flatnonzero(used)

    def _digests(self, local: Any) -> Ids64:
        """The 64-bit ids of some ids: a few by a dictionary of their own."""
        if len(local) > len(self.dictionary) // 4:
            found: Ids64 = identity.digests(self.dictionary, self.salt)[local]
            return found
        few = Dictionary()
        places = identity.intern_terms(few, identity.terms(self.dictionary, local))
        found = identity.digests(few, self.salt)[places]
        return found

    def _terms(self, ids: Ids64, used: Any) -> Iterator[tuple[Ids64, pa.Array]]:
        step = _CHUNK_ROWS
        for first in range(0, len(used), step):
            part = used[first : first + step]
            yield ids[part], identity.terms(self.dictionary, part)

    def read(self, folders: Sequence[str], relations: Sequence[StoredRelation]) -> dict[int, Any]:
        local = self._interned(folders)
        arity = {relation.number: relation.arity for relation in relations}
        tables = {number: self.backend.empty(columns) for number, columns in arity.items()}
        for folder in folders:
            for (number, removed), columns in _by_relation(self.hadoop, folder, arity).items():
                self.backend.limits.check()
                table = self.backend.load([local(column) for column in columns], arity[number])
                change = self.backend.minus if removed else self.backend.merge
                tables[number] = change(tables[number], table)
        return tables

    def _interned(self, folders: Sequence[str]) -> Any:
        """A function from 64-bit ids to the dictionary's; all terms of the folders are interned."""
        found: list[tuple[Ids64, Any]] = []
        for pairs in (pairs for folder in folders for pairs in _row_groups(self.hadoop, f"{folder}/{TERMS}")):
            terms = identity.combined(pairs.column("term"))
            found.append((words(pairs.column("id")), identity.intern_terms(self.dictionary, terms)))
        ids = np.concatenate([pair[0] for pair in found] or [np.empty(0, np.int64)])
        own = np.concatenate([pair[1] for pair in found] or [np.empty(0, np.uint32)])
        order = np.argsort(ids, kind="stable")
        ids, own = ids[order], own[order]

        def local(column: Ids64) -> Any:
            out = np.empty(len(column), np.uint32)
            inline = column < 0
            out[inline] = self.dictionary.intern_integers(column[inline] + INLINE)
            far = column[~inline]
            places = np.minimum(np.searchsorted(ids, far), max(len(ids) - 1, 0))
            if len(far) and not (len(ids) and (ids[places] == far).all()):
                raise _incomplete(folders[-1])
            out[~inline] = own[places] if len(far) else 0
            return out

        return local


def _sized(
    rows: Sequence[StoredRows], columns: Iterable[Sequence[Ids64]], backend: Backend[Any]
) -> Iterator[tuple[StoredRows, int, Sequence[Ids64]]]:
    for one, found in zip(rows, columns, strict=True):
        yield one, backend.size(one.table), found


def write_facts(
    hadoop: Hadoop, folder: str, rows: Iterable[tuple[StoredRows, int, Sequence[Ids64]]], chunk: int
) -> None:
    """Writes rows of ids as one file, a row group for each relation or more."""
    rows = list(rows)
    width = max((one.arity for one, _, _ in rows), default=0)
    schema = pa.schema([("relation", pa.int32()), ("removed", pa.bool_()), *_id_fields(width)])
    with _uploaded(hadoop, f"{folder}/{FACTS}/part-0.parquet", schema) as writer:
        for one, size, columns in sorted(rows, key=lambda row: row[0].number):
            for first in range(0, size, chunk):
                part = min(chunk, size - first)
                ids = [numbers(column[first : first + part]) for column in columns]
                ids += [pa.nulls(part, pa.int64())] * (width - len(ids))
                flags = pa.repeat(pa.scalar(one.removed), part)
                number = numbers(np.full(part, one.number, np.int32))
                writer.write_table(pa.Table.from_arrays([number, flags, *ids], schema=schema))


def write_terms(hadoop: Hadoop, folder: str, terms: Iterable[tuple[Ids64, pa.Array]]) -> int:
    """Writes pairs of ids and terms as one file; their number."""
    count = 0
    with _uploaded(hadoop, f"{folder}/{TERMS}/part-0.parquet", TERM_SCHEMA) as writer:
        for ids, texts in terms:
            count += len(ids)
            writer.write_table(pa.Table.from_arrays([numbers(ids), texts.cast(pa.binary())], schema=TERM_SCHEMA))
    return count


class _uploaded:
    """A Parquet file that is written on this machine and then uploaded."""

    def __init__(self, hadoop: Hadoop, uri: str, schema: pa.Schema) -> None:
        self._hadoop, self._uri, self._schema = hadoop, uri, schema

    def __enter__(self) -> pq.ParquetWriter:
        self._folder = tempfile.TemporaryDirectory(prefix="deltalog-")
        self._file = str(Path(self._folder.name) / "part.parquet")
        self._writer = pq.ParquetWriter(self._file, self._schema, store_schema=False)
        return self._writer

    def __exit__(self, kind: Any, *_: object) -> None:
        with self._folder:
            self._writer.close()
            if kind is None:
                self._hadoop.upload(self._file, self._uri)


def _id_fields(width: int) -> list[tuple[str, pa.DataType]]:
    return [(f"c{i}", pa.int64()) for i in range(width)]


def _by_relation(hadoop: Hadoop, folder: str, arity: Mapping[int, int]) -> dict[tuple[int, bool], list[Ids64]]:
    """The columns of ids that a folder adds to relations, and those that it removes, by relation and flag."""
    found: dict[tuple[int, bool], list[list[Ids64]]] = {}
    for rows in _row_groups(hadoop, f"{folder}/{FACTS}"):
        tags = 2 * rows.column("relation").to_numpy().astype(np.int64) + rows.column("removed").to_numpy()
        order = np.argsort(tags, kind="stable")
        present, starts = np.unique(tags[order], return_index=True)
        for tag, start, end in zip(present.tolist(), starts, [*starts[1:], len(order)], strict=True):
            number, removed = divmod(tag, 2)
            if number in arity:
                part = rows.take(numbers(order[start:end]))
                columns = [words(part.column(f"c{i}")) for i in range(arity[number])]
                found.setdefault((number, bool(removed)), []).append(columns)
    return {
        key: [np.concatenate([part[i] for part in parts]) for i in range(arity[key[0]])] for key, parts in found.items()
    }


def _row_groups(hadoop: Hadoop, uri: str) -> Iterator[pa.Table]:
    """The row groups of the Parquet files in a folder."""
    files = [status.uri for status in hadoop.files(escaped(uri)) if status.name.endswith(".parquet")]
    if not files:
        raise _incomplete(uri)
    with tempfile.TemporaryDirectory(prefix="deltalog-") as folder:
        for uri in files:
            file = uri.removeprefix("file:")
            if file == uri:
                file = f"{folder}/part.parquet"
                hadoop.download(uri, file)
            with pq.ParquetFile(file) as parquet:
                for group in range(parquet.num_row_groups):
                    yield parquet.read_row_group(group).combine_chunks()


def _incomplete(uri: str) -> DataError:
    return DataError(f"{uri}: files of the state are missing; restore them, or start with a new state")


# By executors.


@dataclass(frozen=True, slots=True)
class ExecutorTables:
    """Tables of the Spark engine. Few rows are written by the driver."""

    backend: SparkBackend
    hadoop: Hadoop
    list_schemes: bool = True

    def write(self, folder: str, rows: Sequence[StoredRows]) -> int:
        total = sum(self.backend.size(one.table) for one in rows)
        if total <= self.backend.tuning.spark_driver_table_max_rows:
            return self._write_few(folder, rows)
        width = max(one.arity for one in rows)
        frames = [_tagged(one, width) for one in rows if self.backend.size(one.table)]
        partitions = total // _ROWS_PER_PARTITION + 1
        facts = reduce(DataFrame.unionAll, frames).repartition(partitions, "relation", *_first_column(width))
        with self.backend.jobs.named("write the state"):
            facts.sortWithinPartitions("relation").write.parquet(f"{folder}/{FACTS}")
            self._used_terms(folder, width).write.parquet(f"{folder}/{TERMS}")
            return int(self.backend.spark.read.parquet(escaped(f"{folder}/{TERMS}")).count())

    def _used_terms(self, folder: str, width: int) -> DataFrame:
        """The pairs of all ids in the added rows of a folder but inline integers."""
        added = self.backend.spark.read.parquet(escaped(f"{folder}/{FACTS}")).where("not removed")
        ids = F.explode(F.array(*column_names(width))) if width else F.lit(-1)
        used = added.select(ids.alias("id")).where("id >= 0").distinct()
        return self.backend.dictionary.frame().join(used, "id", "left_semi")

    def _write_few(self, folder: str, rows: Sequence[StoredRows]) -> int:
        keys = [Pred(str(place), one.arity) for place, one in enumerate(rows)]
        found = self.backend.rows_of({key: one.table for key, one in zip(keys, rows, strict=True)})
        columns = [found[key] for key in keys]
        chunk = _CHUNK_ROWS
        write_facts(self.hadoop, folder, _sized(rows, columns, self.backend), chunk)
        added = [ids for one, each in zip(rows, columns, strict=True) if not one.removed for ids in each]
        used = np.unique(np.concatenate([*added, np.empty(0, np.int64)]))
        used = used[used >= 0]
        dictionary = self.backend.dictionary
        terms = identity.terms(dictionary.local, dictionary.fetch(used)) if len(used) else pa.array([], pa.binary())
        return write_terms(self.hadoop, folder, [(used, terms)])

    def read(self, folders: Sequence[str], relations: Sequence[StoredRelation]) -> dict[int, Any]:
        spark, backend = self.backend.spark, self.backend
        for folder in (f"{folder}/{what}" for folder in folders for what in (FACTS, TERMS)):
            if not self.hadoop.exists(folder):
                raise _incomplete(folder)
        backend.dictionary.add(
            spark.read.schema("id long, term binary").parquet(*(escaped(f"{f}/{TERMS}") for f in folders))
        )
        width = max((relation.arity for relation in relations), default=0)
        names = column_names(width)[:width]
        schema = ", ".join(["relation int", "removed boolean", *(f"{name} long" for name in names)])
        base, *deltas = (spark.read.schema(schema).parquet(escaped(f"{folder}/{FACTS}")) for folder in folders)
        net = backend.cut(_net(reduce(DataFrame.unionAll, deltas), names)) if deltas else None
        tables = {relation.number: self._table(relation, base, net) for relation in relations}
        return tables | self._few(tables)

    def _few(self, tables: Mapping[int, SparkTable]) -> dict[int, SparkTable]:
        """The small ones of some tables, fetched together: they stay in the driver."""
        most = self.backend.tuning.spark_driver_table_max_rows
        few = {Pred(str(n), t.arity): t for n, t in tables.items() if t.arity and not t.empty and (t.size or 0) <= most}
        rows = self.backend.rows_of(few)
        return {int(pred.name): self.backend.load(columns, pred.arity) for pred, columns in rows.items()}

    def _table(self, relation: StoredRelation, base: DataFrame, net: DataFrame | None) -> SparkTable:
        """The rows of a relation in the base, without those that deltas remove, and with those that they add."""
        if not relation.rows:
            return self.backend.empty(relation.arity)
        mine = F.col("relation") == relation.number
        rows = base.where(mine).select(*selected_columns(relation.arity))
        if net is not None and relation.removed:
            gone = net.where(mine & (F.col("net") < 0)).select(*selected_columns(relation.arity))
            few = relation.removed <= self.backend.tuning.spark_broadcast_max_rows
            rows = rows.join(F.broadcast(gone) if few else gone, column_names(relation.arity), "left_anti")
        if net is not None and relation.added:
            rows = rows.unionAll(net.where(mine & (F.col("net") > 0)).select(*selected_columns(relation.arity)))
        tagged = Segment(rows).tagged(0, stored_width(relation.arity))
        return SparkTable(relation.arity, (self.backend.stored_segment(tagged, 0, relation.rows),), relation.rows)


def _tagged(one: StoredRows, width: int) -> DataFrame:
    """The rows of a table as rows of a folder."""
    columns = [F.col(f"c{i}") for i in range(one.arity)]
    columns += [F.lit(None).cast("long").alias(f"c{i}") for i in range(one.arity, width)]
    number, removed = F.lit(one.number).cast("int").alias("relation"), F.lit(one.removed).alias("removed")
    return one.table.frame().select(number, removed, *columns)


def _first_column(width: int) -> list[str]:
    return ["c0"] if width else []


def _net(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows of deltas with their net effect: 1 if they are added, -1 if they are removed."""
    net = F.sum(F.when(F.col("removed"), -1).otherwise(1)).alias("net")
    return rows.groupBy("relation", *names).agg(net).where("net <> 0")
