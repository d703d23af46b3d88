"""Tables to a folder: executors write part files, the driver puts them together under their names.

Who writes what is planned in the driver, which knows how many rows each table has: a predicate of up to PART_ROWS rows
is one part, and so its whole file; a larger one has several, dealt by hash. Rows go to the partition that writes them
in blocks (see `blocks`).

The parts lie in the hidden folder that becomes the result (see `deltalog.io.write`), so driver and executors must see
the same file system there. An executor names each part it has written only when it is whole; a part of a task that
died and was tried again is named by nobody, and goes. Rows are never collected: the driver copies bytes (CSV, TSV,
N-Triples) or whole row groups, as they are, with a new footer (Parquet, by the JVM's own library).
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark.io import blocks
from deltalog.backends.spark.io.arrow import binaries, words
from deltalog.backends.spark.io.arrow import number as one
from deltalog.backends.spark.io.decode import BROADCAST_TERMS, Decoder
from deltalog.backends.spark.operators.broadcast_closure import Expansion
from deltalog.backends.spark.operators.shared_scan import routed, straight
from deltalog.backends.spark.table import TAG, SparkTable, column_names, width
from deltalog.io.write import FORMATS, names_table, safe_names, whole, write_file
from deltalog.model.arrays import Integers
from deltalog.model.dictionary import Dictionary
from deltalog.model.errors import DataError, DeltalogError, UsageError
from deltalog.syntax.ast import Pred

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend

PART_ROWS = 1 << 20
PARTITIONS_PER_CORE = 2
PARTS = ".parts"
OPENING = 2_000  # what it costs to open a file, in rows
NAMED = "tag int, number int, path string"


def write(out: Path, facts: Mapping[Pred, SparkTable], backend: SparkBackend, format: str) -> None:
    """Write facts to a folder that does not exist yet, or is empty."""
    if format not in FORMATS:
        raise UsageError(f"unknown format {format!r}: choose one of {', '.join(FORMATS)}")
    whole(out, lambda folder: _fill(folder.absolute(), facts, backend, format))


def _fill(folder: Path, facts: Mapping[Pred, SparkTable], backend: SparkBackend, format: str) -> None:
    parts_folder = folder / PARTS
    parts_folder.mkdir()
    parts_folder.chmod(0o777)
    names = safe_names(facts)
    parts = _written(parts_folder, facts, backend, format)
    if format == "nt":
        _together(_marked_first(path for pred in facts for path in parts[pred]), folder / "facts.nt", backend)
    else:
        for pred in facts:
            _together(parts[pred], folder / f"{names[pred]}.{format}", backend)
        names_table(folder, names)
    shutil.rmtree(parts_folder)


def _marked_first(parts: Iterable[Path]) -> list[Path]:
    """A part of N-Triples whose blank nodes are global names first: then so are those of the whole file."""
    from deltalog.io.ntriples import is_marked

    return sorted(parts, key=lambda path: not is_marked(path))


def _written(
    folder: Path, facts: Mapping[Pred, SparkTable], backend: SparkBackend, format: str
) -> dict[Pred, list[Path]]:
    """The parts of each predicate, in order."""
    parts: dict[Pred, list[Path]] = {pred: [] for pred in facts}
    far: dict[int, dict[Pred, SparkTable]] = {}
    for pred, table in facts.items():
        if table.expansion is not None and backend.dictionary.total <= BROADCAST_TERMS:
            parts |= _written_expanded(folder, pred, table.expansion, backend, format)
            continue
        if table.near is None:
            far.setdefault(width(pred.arity), {})[pred] = table
            continue
        columns = [backend.near.local_ids(ids) for ids in backend.rows(table)]
        parts[pred].append(_part(folder, pred, columns, backend.dictionary.near, format))
    for wide, tables in far.items():
        parts |= _written_far(folder, tables, wide, backend, format)
    return parts


def _part(folder: Path, pred: Pred, columns: Sequence[Any], dictionary: Dictionary, format: str) -> Path:
    """One part file, written."""
    path = folder / f"{uuid.uuid4().hex}.{format}"
    if format == "nt":
        from deltalog.io.triples import write_triples

        write_triples(path, {pred: columns}, dictionary)
        return path
    try:
        write_file(path, columns, dictionary, format)
    except DataError as problem:
        raise DataError(f"{pred}: {problem}") from None
    return path


def _written_far(
    folder: Path, tables: Mapping[Pred, SparkTable], columns: int, backend: SparkBackend, format: str
) -> dict[Pred, list[Path]]:
    """The parts that executors write, for predicates of one width, in one job."""
    preds = list(tables)
    parts = Parts.planned([backend.size(table) for table in tables.values()], backend)
    dealt, decoder = _dealt(tables, columns, parts, backend)
    places = F.element_at(F.lit(parts.places.tolist()), F.col("to") + 1).cast("int")
    placed = backend.narrowed(dealt).select(F.col("to").alias("part"), places.alias("to"), "data")
    names = column_names(columns)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for number, rows in _by_part(batches):
                pred = preds[parts.tags[number]]
                dictionary, found = decoder.local(rows, names[: pred.arity])
                path = _part(folder, pred, found, dictionary, format)
                yield _named(int(parts.tags[number]), number, str(path))
        except DeltalogError as problem:
            yield _named(-1, 0, str(problem))

    written = blocks.gathered(placed, parts.count).select("part", "data").mapInArrow(each, NAMED)
    return _in_order(written.collect(), preds)


def _dealt(
    tables: Mapping[Pred, SparkTable], columns: int, parts: Parts, backend: SparkBackend
) -> tuple[DataFrame, Decoder]:
    """The rows of tables in blocks that go to the parts, and the decoder for them."""
    broadcast = backend.dictionary.total <= BROADCAST_TERMS
    dealt = routed(straight(tables.values()), columns, parts.of if broadcast else blocks.nowhere)
    assert dealt is not None
    if broadcast:
        return dealt, Decoder(*backend.dictionary.shared())
    names = [TAG, *column_names(columns)]
    frame, decoder = Decoder.of(blocks.all_rows(dealt, names), names[1:], backend)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from blocks.rows_sent(batch, parts.of([words(batch.column(name)) for name in names]))

    return frame.mapInArrow(each, blocks.BLOCKS), decoder


@dataclass(frozen=True, slots=True)
class Parts:
    """Who writes what: the tag and the place (a partition) of each part. The parts of a tag are consecutive."""

    tags: Integers
    places: Integers
    firsts: Integers  # of each tag: its first part
    counts: Integers  # of each tag: how many parts it has
    count: int  # of places

    @classmethod
    def planned(cls, sizes: Sequence[int], backend: SparkBackend) -> Parts:
        """Parts of at most about PART_ROWS rows, in places that have about as many rows each."""
        counts = np.array([max(1, -(-size // PART_ROWS)) for size in sizes], np.int64)
        tags = np.repeat(np.arange(len(sizes)), counts)
        rows = (np.array(sizes, np.int64) // counts)[tags]
        count = max(PARTITIONS_PER_CORE * backend.spark.sparkContext.defaultParallelism, sum(sizes) // PART_ROWS)
        places, load = np.zeros(len(tags), np.int64), np.zeros(max(1, min(count, len(tags))), np.int64)
        for part in np.argsort(-rows, kind="stable"):
            places[part] = load.argmin()
            load[places[part]] += rows[part] + OPENING
        return cls(tags, places, np.cumsum(counts) - counts, counts, len(load))

    def of(self, columns: Sequence[Integers]) -> Integers:
        """The part of each row, whose first column is the tag."""
        counts = self.counts[columns[0]]
        hashed = blocks.spread(columns, 1 << 30) if (counts > 1).any() else 0
        parts: Integers = self.firsts[columns[0]] + hashed % counts
        return parts


def _by_part(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each part of a partition."""
    waiting: dict[int, list[bytes]] = {}
    for batch in batches:
        for number, block in zip(batch.column("part").to_pylist(), batch.column("data").to_pylist(), strict=True):
            waiting.setdefault(number, []).append(block)
    for number in sorted(waiting):
        rows = blocks.together(waiting.pop(number))
        assert rows is not None
        yield number, rows.to_batches(max_chunksize=2**31 - 1)[0]


def _in_order(named: Sequence[Any], preds: Sequence[Pred]) -> dict[Pred, list[Path]]:
    """The parts of each predicate, from what executors say that they have written; what was wrong is raised."""
    wrong = [row.path for row in named if row.tag < 0]
    if wrong:
        raise DataError(wrong[0])
    parts: dict[Pred, list[Path]] = {pred: [] for pred in preds}
    for row in sorted(named):
        parts[preds[row.tag]].append(Path(row.path))
    return parts


def _written_expanded(
    folder: Path, pred: Pred, expansion: Expansion, backend: SparkBackend, format: str
) -> dict[Pred, list[Path]]:
    """The parts of a closure: each executor lists, decodes and writes its own."""
    decoder = Decoder(*backend.dictionary.shared())
    shared = expansion.shared

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pairs = shared.value
        dictionary, local = decoder.ids(pairs.ids)
        try:
            for number in (number for batch in batches for number in batch.column(0).to_pylist()):
                columns = [local[column] for column in pairs.chunk(number)]
                path = _part(folder, pred, columns, dictionary, format)
                yield _named(0, number, str(path))
        except DeltalogError as problem:
            yield _named(-1, 0, str(problem))

    return _in_order(expansion.numbers(backend.spark).mapInArrow(each, NAMED).collect(), [pred])


def _named(tag: int, number: int, path: str) -> pa.RecordBatch:
    columns = [one(tag), one(number), binaries([path.encode()]).cast(pa.string())]
    return pa.RecordBatch.from_arrays(columns, ["tag", "number", "path"])


# Parts into one file.


def _together(parts: Sequence[Path], path: Path, backend: SparkBackend) -> None:
    if path.suffix == ".parquet" and len(parts) > 1:
        _row_groups_together(parts, path, backend)
        return
    if parts:
        parts[0].replace(path)
    with open(path, "ab") as out:
        for part in parts[1:]:
            with open(part, "rb") as file:
                shutil.copyfileobj(file, out, 1 << 24)


def _row_groups_together(parts: Sequence[Path], path: Path, backend: SparkBackend) -> None:
    import pyarrow.parquet as pq

    schemas = [pq.read_schema(part) for part in parts]
    if all(schema.equals(schemas[0], check_metadata=True) for schema in schemas):
        _appended(parts, path, backend.spark.sparkContext._jvm)
        return
    tables = [_as_cells(pq.read_table(part)) for part in parts]
    with pq.ParquetWriter(path, tables[0].schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)


def _appended(parts: Sequence[Path], path: Path, jvm: Any) -> None:
    """Row groups of files of one schema in one file; no value is looked at."""
    io, hadoop = jvm.org.apache.parquet.io, jvm.org.apache.parquet.hadoop
    files = [io.LocalInputFile(jvm.java.io.File(str(part)).toPath()) for part in parts]
    first = hadoop.ParquetFileReader.open(files[0])
    about = first.getFileMetaData()
    first.close()
    out = io.LocalOutputFile(jvm.java.io.File(str(path)).toPath())
    writer = hadoop.ParquetFileWriter(out, about.getSchema(), hadoop.ParquetFileWriter.Mode.CREATE, 1 << 27, 1 << 23)
    writer.start()
    for file in files:
        writer.appendFile(file)
    writer.end(about.getKeyValueMetaData())


def _as_cells(table: pa.Table) -> pa.Table:
    """A table all of whose columns are cells, which can have any values."""
    from deltalog.io.csv_cells import print_cell
    from deltalog.io.frames import KIND, columns_of

    dictionary = Dictionary()
    columns = [
        pa.array([print_cell(value) for value in dictionary.decode(ids)], pa.string())
        for ids in columns_of(table, dictionary)
    ]
    fields = [pa.field(name, pa.string(), metadata={KIND: b"cell"}) for name in table.column_names]
    return pa.table(columns, schema=pa.schema(fields))
