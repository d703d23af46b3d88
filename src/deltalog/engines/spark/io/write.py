"""Executors (Python workers) and driver: tables to a folder. Executors write part files, the driver merges them.

The driver plans who writes what, from the sizes of the tables: a predicate of up to PART_ROWS rows is one part, which
becomes its file; a larger one has several, partitioned by hash. Rows are shuffled to the task that writes them as
blocks (see `blocks`).

The parts are in the hidden folder that becomes the result (see `deltalog.formats.write`), so driver and executors must see
the same file system there. An executor reports a part only when it is complete; parts of a failed task are reported by
nobody, and are deleted. Rows are never collected: the driver copies bytes (CSV, TSV, N-Triples) or whole row groups
with a new footer (Parquet, by the JVM's own library).
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.core.arrays import Integers
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, DeltalogError, UsageError
from deltalog.core.rules import Pred
from deltalog.engines.spark.io import blocks
from deltalog.engines.spark.io.arrow import binaries, words
from deltalog.engines.spark.io.arrow import number as one
from deltalog.engines.spark.io.decode import Decoder
from deltalog.engines.spark.operators.broadcast_closure import BroadcastClosure
from deltalog.engines.spark.operators.shared_scan import full_scans, shared_scan
from deltalog.engines.spark.stored import TAG, column_names
from deltalog.engines.spark.table import SparkTable, width
from deltalog.formats.formats import TRIPLE_FORMATS, TURTLE_FORMATS, OutputForm
from deltalog.formats.write import check_format, header_of, names_table, safe_names, whole, write_file

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend

PART_ROWS = 1 << 20
PARTS = ".parts"
FILE_COST_ROWS = 2_000  # rows that take as long as opening a file
NAMED = "tag int, number int, path string, left_out int, reason string"


def write(out: Path, facts: Mapping[Pred, SparkTable], backend: SparkBackend, form: OutputForm) -> None:
    """Writes facts to a folder that does not exist yet, or is empty."""
    check_format(form.format)
    if form.format in TURTLE_FORMATS:
        other = "nt" if form.format == "ttl" else "nq"
        raise UsageError(f"only the local engine writes {form.format}; write {other}, or use engine='local'")
    whole(out, lambda folder: _fill(folder.absolute(), facts, backend, form))


def _fill(folder: Path, facts: Mapping[Pred, SparkTable], backend: SparkBackend, form: OutputForm) -> None:
    parts_folder = folder / PARTS
    parts_folder.mkdir()
    parts_folder.chmod(0o777)
    names = safe_names(facts)
    parts = _written(parts_folder, facts, backend, form)
    if form.format in TRIPLE_FORMATS:
        _report_left_out(facts, parts, backend)
        in_order = _marked_first(part.path for pred in facts for part in parts[pred])
        _merge_parts(in_order, folder / f"facts.{form.format}", backend)
    else:
        for pred in facts:
            _merge_parts(
                [part.path for part in parts[pred]],
                folder / f"{names[pred]}.{form.format}",
                backend,
                header_of(pred, form),
            )
        names_table(folder, names)
    shutil.rmtree(parts_folder)


def _report_left_out(
    facts: Mapping[Pred, SparkTable], parts: Mapping[Pred, Sequence[WrittenPart]], backend: SparkBackend
) -> None:
    """Warns of facts that are not triples, or raises DataError if there are no others."""
    from deltalog.formats.triples import LeftOut, report_left_out

    reasons = {pred: next((part.reason for part in parts[pred] if part.reason), "") for pred in facts}
    found = [LeftOut(pred, sum(part.left_out for part in parts[pred]), reasons[pred]) for pred in facts]
    written = sum(backend.size(table) for table in facts.values()) > sum(one.facts for one in found)
    report_left_out([one for one in found if one.facts], written)


def _marked_first(parts: Iterable[Path]) -> list[Path]:
    """Parts of N-Triples, those with global names of blank nodes first: then the names of the whole file are global."""
    from deltalog.formats.ntriples import is_marked

    return sorted(parts, key=lambda path: not is_marked(path))


def _written(
    folder: Path, facts: Mapping[Pred, SparkTable], backend: SparkBackend, form: OutputForm
) -> dict[Pred, list[WrittenPart]]:
    """The parts of each predicate, in order."""
    parts: dict[Pred, list[WrittenPart]] = {pred: [] for pred in facts}
    in_executors: dict[int, dict[Pred, SparkTable]] = {}
    for pred, table in facts.items():
        if table.closure is not None and backend.dictionary.is_small:
            parts |= _written_closure(folder, pred, table.closure, backend, form)
            continue
        if table.driver_rows is None:
            in_executors.setdefault(width(pred.arity), {})[pred] = table
            continue
        columns = [backend.driver.local_ids(ids) for ids in backend.rows(table)]
        parts[pred].append(_part(folder, pred, columns, backend.dictionary.local, form))
    for wide, tables in in_executors.items():
        parts |= _written_by_executors(folder, tables, wide, backend, form)
    return parts


class WrittenPart(NamedTuple):
    """A part file, and the facts that are not in it, because they are not triples."""

    path: Path
    left_out: int = 0
    reason: str = ""


def _part(folder: Path, pred: Pred, columns: Sequence[Any], dictionary: Dictionary, form: OutputForm) -> WrittenPart:
    """Writes one part file."""
    path = folder / f"{uuid.uuid4().hex}.{form.format}"
    if form.format in TRIPLE_FORMATS:
        from deltalog.formats.triples import write_part

        left_out = write_part(path, pred, columns, dictionary)
        return WrittenPart(path) if left_out is None else WrittenPart(path, left_out.facts, left_out.reason)
    try:
        write_file(path, pred, columns, dictionary, replace(form, header=False))
    except DataError as problem:
        raise DataError(f"{pred}: {problem}") from None
    return WrittenPart(path)


def _written_by_executors(
    folder: Path, tables: Mapping[Pred, SparkTable], columns: int, backend: SparkBackend, form: OutputForm
) -> dict[Pred, list[WrittenPart]]:
    """Has executors write predicates of one width, in one job."""
    preds = list(tables)
    parts = PartPlan.planned([backend.size(table) for table in tables.values()], backend)
    blocks_of_parts, decoder = _blocks_of_parts(tables, columns, parts, backend)
    partitions = F.element_at(F.lit(parts.partitions.tolist()), F.col("to") + 1).cast("int")
    placed = backend.narrowed(blocks_of_parts).select(F.col("to").alias("part"), partitions.alias("to"), "data")
    names = column_names(columns)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for number, rows in _by_part(batches):
                pred = preds[parts.tags[number]]
                dictionary, found = decoder.local(rows, names[: pred.arity])
                yield _named(int(parts.tags[number]), number, _part(folder, pred, found, dictionary, form))
        except DeltalogError as problem:
            yield _failed(problem)

    written = blocks.shuffled(placed, parts.partition_count).select("part", "data").mapInArrow(each, NAMED)
    return _in_order(written.collect(), preds)


def _blocks_of_parts(
    tables: Mapping[Pred, SparkTable], columns: int, parts: PartPlan, backend: SparkBackend
) -> tuple[DataFrame, Decoder]:
    """The rows of tables as blocks, partitioned by part, and the decoder for them."""
    broadcast = backend.dictionary.is_small
    rows = shared_scan(full_scans(tables.values()), columns)
    assert rows is not None
    if broadcast:
        return rows.mapInArrow(blocks.to_blocks(parts.of), blocks.BLOCKS), Decoder(*backend.dictionary.broadcast())
    names = [TAG, *column_names(columns)]
    frame, decoder = Decoder.of(rows, names[1:], backend)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from blocks.batch_as_blocks(batch, parts.of([words(batch.column(name)) for name in names]))

    return frame.mapInArrow(each, blocks.BLOCKS), decoder


@dataclass(frozen=True, slots=True)
class PartPlan:
    """Who writes what: the tag and the partition of each part. The parts of a tag are consecutive."""

    tags: Integers
    partitions: Integers
    firsts: Integers  # the first part of each tag
    counts: Integers  # the number of parts of each tag
    partition_count: int

    @classmethod
    def planned(cls, sizes: Sequence[int], backend: SparkBackend) -> PartPlan:
        """Parts of about PART_ROWS rows or less, in partitions of about equal size."""
        counts = np.array([max(1, -(-size // PART_ROWS)) for size in sizes], np.int64)
        tags = np.repeat(np.arange(len(sizes)), counts)
        rows = (np.array(sizes, np.int64) // counts)[tags]
        count = max(backend.task_partitions, sum(sizes) // PART_ROWS)
        partitions, load = np.zeros(len(tags), np.int64), np.zeros(max(1, min(count, len(tags))), np.int64)
        for part in np.argsort(-rows, kind="stable"):
            partitions[part] = load.argmin()
            load[partitions[part]] += rows[part] + FILE_COST_ROWS
        return cls(tags, partitions, np.cumsum(counts) - counts, counts, len(load))

    def of(self, columns: Sequence[Integers]) -> Integers:
        """The part of each row, whose first column is the tag."""
        counts = self.counts[columns[0]]
        hashed = blocks.hash_partition(columns, 1 << 30) if (counts > 1).any() else 0
        parts: Integers = self.firsts[columns[0]] + hashed % counts
        return parts


def _by_part(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The parts of a partition, with their rows."""
    buffered: dict[int, list[bytes]] = {}
    for batch in batches:
        for number, block in zip(batch.column("part").to_pylist(), batch.column("data").to_pylist(), strict=True):
            buffered.setdefault(number, []).append(block)
    for number in sorted(buffered):
        rows = blocks.concatenated(buffered.pop(number))
        assert rows is not None
        yield number, rows.to_batches(max_chunksize=2**31 - 1)[0]


def _in_order(named: Sequence[Any], preds: Sequence[Pred]) -> dict[Pred, list[WrittenPart]]:
    """The parts of each predicate that executors have reported; raises the first error."""
    errors = [row.reason for row in named if row.tag < 0]
    if errors:
        raise DataError(errors[0])
    parts: dict[Pred, list[WrittenPart]] = {pred: [] for pred in preds}
    for row in sorted(named):
        parts[preds[row.tag]].append(WrittenPart(Path(row.path), row.left_out, row.reason))
    return parts


def _written_closure(
    folder: Path, pred: Pred, closure: BroadcastClosure, backend: SparkBackend, form: OutputForm
) -> dict[Pred, list[WrittenPart]]:
    """Has executors write a closure: each lists, decodes and writes its own part."""
    decoder = Decoder(*backend.dictionary.broadcast())
    shared = closure.shared

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pairs = shared.value
        dictionary, local = decoder.ids(pairs.ids)
        try:
            for number in (number for batch in batches for number in batch.column(0).to_pylist()):
                columns = [local[column] for column in pairs.chunk(number)]
                yield _named(0, number, _part(folder, pred, columns, dictionary, form))
        except DeltalogError as problem:
            yield _failed(problem)

    return _in_order(closure.chunk_numbers(backend.spark).mapInArrow(each, NAMED).collect(), [pred])


def _named(tag: int, number: int, part: WrittenPart) -> pa.RecordBatch:
    texts = [binaries([text.encode()]).cast(pa.string()) for text in (str(part.path), part.reason)]
    columns = [one(tag), one(number), texts[0], one(part.left_out), texts[1]]
    return pa.RecordBatch.from_arrays(columns, ["tag", "number", "path", "left_out", "reason"])


def _failed(problem: DeltalogError) -> pa.RecordBatch:
    return _named(-1, 0, WrittenPart(Path(), reason=str(problem)))


# PartPlan into one file.


def _merge_parts(parts: Sequence[Path], path: Path, backend: SparkBackend, header: bytes = b"") -> None:
    if path.suffix == ".parquet" and len(parts) > 1:
        _merge_row_groups(parts, path, backend)
        return
    if parts and not header:
        parts[0].replace(path)
    with open(path, "ab") as out:
        out.write(header)
        for part in parts if header else parts[1:]:
            with open(part, "rb") as file:
                shutil.copyfileobj(file, out, 1 << 24)


def _merge_row_groups(parts: Sequence[Path], path: Path, backend: SparkBackend) -> None:
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
    """Row groups of files of one schema in one file; no value is decoded."""
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
    """A table with all columns as cells, which can have any values."""
    from deltalog.formats.csv_cells import print_cell
    from deltalog.formats.frames import KIND, columns_of

    dictionary = Dictionary()
    columns = [
        pa.array([print_cell(value) for value in dictionary.decode(ids)], pa.string())
        for ids in columns_of(table, dictionary)
    ]
    fields = [pa.field(name, pa.string(), metadata={KIND: b"cell"}) for name in table.column_names]
    return pa.table(columns, schema=pa.schema(fields))
