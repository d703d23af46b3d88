"""Tables to a folder: executors write part files, the driver puts them together under their names.

The parts lie in the hidden folder that becomes the result (see `deltalog.io.write`), so driver and executors must see
the same file system there. An executor names each part it has written only when it is whole; a part of a task that
died and was tried again is named by nobody, and goes. Rows are never collected: the driver copies bytes (CSV, TSV,
N-Triples) or whole row groups, as they are, with a new footer (Parquet, by the JVM's own library).
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deltalog.backends.spark.decode import BROADCAST_TERMS, Decoder
from deltalog.backends.spark.expansion import Expansion
from deltalog.backends.spark.routes import routed, straight
from deltalog.backends.spark.table import TAG, SparkTable, column_names, width
from deltalog.dictionary import Dictionary
from deltalog.errors import DataError, DeltalogError, UsageError
from deltalog.io.write import FORMATS, names_table, safe_names, whole, write_file
from deltalog.syntax.ast import Pred

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend

PART_ROWS = 1 << 20
PARTS = ".parts"
NAMED = "tag int, partition int, number int, path string"


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
        _together([path for pred in facts for path in parts[pred]], folder / "facts.nt", backend)
    else:
        for pred in facts:
            _together(parts[pred], folder / f"{names[pred]}.{format}", backend)
        names_table(folder, names)
    shutil.rmtree(parts_folder)


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
    rows = routed(straight(tables.values()), columns)
    assert rows is not None
    names = column_names(columns)
    frame, decoder = Decoder.of(backend.narrowed(rows).sortWithinPartitions(TAG), names, backend)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        try:
            for number, (tag, rows) in enumerate(_gathered(batches)):
                pred = preds[tag]
                dictionary, found = decoder.local(rows, names[: pred.arity])
                path = _part(folder, pred, found, dictionary, format)
                yield _named(tag, partition, number, str(path))
        except DeltalogError as problem:
            yield _named(-1, partition, 0, str(problem))

    return _in_order(frame.mapInArrow(each, NAMED).collect(), preds)


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
                yield _named(0, 0, number, str(path))
        except DeltalogError as problem:
            yield _named(-1, 0, 0, str(problem))

    return _in_order(expansion.numbers(backend.spark).mapInArrow(each, NAMED).collect(), [pred])


def _named(tag: int, partition: int, number: int, path: str) -> pa.RecordBatch:
    numbers = [pa.array([n], pa.int32()) for n in (tag, partition, number)]
    return pa.RecordBatch.from_arrays([*numbers, pa.array([path])], ["tag", "partition", "number", "path"])


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows of one tag, as many as a part should have."""
    waiting: list[pa.RecordBatch] = []
    tag, rows = -1, 0
    for batch in batches:
        for one, piece in _by_tag(batch):
            if waiting and (one != tag or rows >= PART_ROWS):
                yield tag, _one(waiting)
                waiting, rows = [], 0
            tag, rows = one, rows + piece.num_rows
            waiting.append(piece)
    if waiting:
        yield tag, _one(waiting)


def _by_tag(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The stretches of a batch in which the tag is the same."""
    tags = batch.column(TAG).to_numpy(zero_copy_only=False)
    cuts = [0, *(np.flatnonzero(tags[1:] != tags[:-1]) + 1).tolist(), len(tags)]
    for start, end in pairwise(cuts):
        if start < end:
            yield int(tags[start]), batch.slice(start, end - start)


def _one(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches(max_chunksize=2**31 - 1)[0]


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
    from deltalog.io.cells import print_cell
    from deltalog.io.frames import KIND, columns_of

    dictionary = Dictionary()
    columns = [
        pa.array([print_cell(value) for value in dictionary.decode(ids)], pa.string())
        for ids in columns_of(table, dictionary)
    ]
    fields = [pa.field(name, pa.string(), metadata={KIND: b"cell"}) for name in table.column_names]
    return pa.table(columns, schema=pa.schema(fields))
