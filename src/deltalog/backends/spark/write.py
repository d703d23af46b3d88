"""Tables to a folder: executors write part files, the driver puts them together under their names.

The parts lie in the hidden folder that becomes the result (see `deltalog.io.write`), so driver and executors must see
the same file system there. An executor names each part it has written only when it is whole; a part of a task that
died and was tried again is named by nobody, and goes. Rows are never collected: the driver copies bytes (CSV, TSV,
N-Triples) or row groups (Parquet).
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark.decode import Decoder
from deltalog.backends.spark.table import SparkTable, column_names
from deltalog.dictionary import Dictionary
from deltalog.errors import DataError, DeltalogError, UsageError
from deltalog.io.write import FORMATS, names_table, safe_names, whole, write_file
from deltalog.syntax.ast import Pred

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend

PART_ROWS = 1 << 20
PARTS = ".parts"


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
        _together([path for pred in facts for path in parts[pred]], folder / "facts.nt", format)
    else:
        for pred in facts:
            _together(parts[pred], folder / f"{names[pred]}.{format}", format)
        names_table(folder, names)
    shutil.rmtree(parts_folder)


def _written(
    folder: Path, facts: Mapping[Pred, SparkTable], backend: SparkBackend, format: str
) -> dict[Pred, list[Path]]:
    """The parts of each predicate, in order."""
    parts: dict[Pred, list[Path]] = {pred: [] for pred in facts}
    far: dict[int, dict[Pred, SparkTable]] = {}
    for pred, table in facts.items():
        if table.near is None:
            far.setdefault(pred.arity, {})[pred] = table
            continue
        columns = [backend.near.local_ids(ids) for ids in backend.rows(table)]
        parts[pred].append(_part(folder, pred, columns, backend.dictionary.near, format))
    for tables in far.values():
        for pred, paths in _written_far(folder, tables, backend, format).items():
            parts[pred] = paths
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
    folder: Path, tables: Mapping[Pred, SparkTable], backend: SparkBackend, format: str
) -> dict[Pred, list[Path]]:
    """The parts that executors write, for predicates of one arity, in one job."""
    preds = list(tables)
    names = column_names(preds[0].arity)
    tagged = [table.frame().select(F.lit(tag).alias("tag"), *names) for tag, table in enumerate(tables.values())]
    names = names[: preds[0].arity]
    frame, decoder = Decoder.of(reduce(DataFrame.unionAll, tagged), names, backend)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        try:
            for number, (tag, rows) in enumerate(_gathered(batches)):
                dictionary, columns = decoder.local(rows, names)
                path = _part(folder, preds[tag], columns, dictionary, format)
                yield _named(tag, partition, number, str(path))
        except DeltalogError as problem:
            yield _named(-1, partition, 0, str(problem))

    named = backend.narrowed(frame).mapInArrow(each, "tag int, partition int, number int, path string").collect()
    wrong = [row.path for row in named if row.tag < 0]
    if wrong:
        raise DataError(wrong[0])
    parts: dict[Pred, list[Path]] = {pred: [] for pred in preds}
    for row in sorted(named):
        parts[preds[row.tag]].append(Path(row.path))
    return parts


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
    tags = batch.column("tag").to_numpy(zero_copy_only=False)
    cuts = [0, *(np.flatnonzero(tags[1:] != tags[:-1]) + 1).tolist(), len(tags)]
    for start, end in pairwise(cuts):
        if start < end:
            yield int(tags[start]), batch.slice(start, end - start)


def _one(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches(max_chunksize=2**31 - 1)[0]


# Parts into one file.


def _together(parts: Sequence[Path], path: Path, format: str) -> None:
    if format == "parquet" and len(parts) > 1:
        _row_groups_together(parts, path)
        return
    if parts:
        parts[0].replace(path)
    with open(path, "ab") as out:
        for part in parts[1:]:
            with open(part, "rb") as file:
                shutil.copyfileobj(file, out, 1 << 24)


def _row_groups_together(parts: Sequence[Path], path: Path) -> None:
    import pyarrow.parquet as pq

    files = [pq.ParquetFile(part) for part in parts]
    schema = files[0].schema_arrow
    alike = all(file.schema_arrow.equals(schema, check_metadata=True) for file in files)
    if not alike:
        schema = _as_cells(files[0].read()).schema
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for file in files:
            writer.write_table(file.read() if alike else _as_cells(file.read()))


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
