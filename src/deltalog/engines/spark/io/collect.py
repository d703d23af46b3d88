"""Executors (Python workers) and driver: parsed files and large DataFrames to the driver's dictionary.

Each split (or part of a partition) has a dictionary of its own in the executor, and its facts are 32-bit ids of that.
So a split costs its terms, once each, and four bytes for each argument of a fact. The driver interns the terms and maps
the ids, in bulk. Parsing is one job, which also gives sizes and errors; the driver fetches what was parsed only if it
fits, in portions that `spark.driver.maxResultSize` allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.core.arrays import Ids
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, DeltalogError, UsageError
from deltalog.core.rules import Pred
from deltalog.engines.spark.io import blocks
from deltalog.engines.spark.io import hashed_ids as identity
from deltalog.engines.spark.io.arrow import binaries, number, numbers
from deltalog.engines.spark.io.read import balanced, frame_facts, parse, splits_of
from deltalog.formats.columns import FactColumns, together
from deltalog.formats.documents import Reading
from deltalog.formats.subjects import SubjectCheck

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend

TERMS, IDS, LAYOUT, ERROR = range(4)
SCHEMA = "split long, what int, place int, rows long, data binary"
CHUNK_BYTES = 1 << 26  # of terms or ids in one cell
OFFSET_BYTES = 8  # of a term, in a cell
SPLITS_PER_PARTITION = 1 << 20  # at most, of a DataFrame

Layout = list[tuple[Pred, int]]  # the predicates of a split, in order, with their numbers of facts


class ParsedSplits(NamedTuple):
    """What executors have parsed and keep: by split the bytes and the layout of its facts; and the terms of all."""

    frame: DataFrame
    sizes: dict[int, int]
    layouts: dict[int, Layout]
    terms: int
    text: int

    @property
    def facts(self) -> list[tuple[Pred, int]]:
        """The predicates with their numbers of facts; a predicate may be there several times."""
        return [pair for layout in self.layouts.values() for pair in layout]


def parse_files(paths: Sequence[Path], reading: Reading, backend: SparkBackend) -> ParsedSplits:
    """Has executors parse files and folders; raises the first error in the order of files."""
    splits = list(splits_of(paths, reading.tables, backend))
    groups = balanced(splits, backend.task_partitions)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for split in (split for group in batch.column(0).to_pylist() for split in groups[group]):
                yield from _packed(split.number, partial(parse, split, reading))

    group_numbers = backend.spark.range(0, len(groups), 1, max(1, len(groups)))
    return _kept(group_numbers.mapInArrow(each, SCHEMA))


def parse_frame(predicate: str, data: DataFrame, subjects: SubjectCheck | None = None) -> ParsedSplits:
    """Has executors encode the rows of a DataFrame, as facts of a predicate."""
    from deltalog.formats.frames import KIND

    kinds = [field.metadata.get(KIND.decode()) for field in data.schema.fields]
    pred = Pred(predicate, len(data.columns))

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for split, rows in enumerate(blocks.buffered(batches), context.partitionId() * SPLITS_PER_PARTITION):
            fields = [f.with_metadata({KIND: k}) if k else f for f, k in zip(rows.schema, kinds, strict=True)]
            yield from _packed(split, partial(frame_facts, pred, rows.cast(pa.schema(fields)), subjects))

    return _kept(data.mapInArrow(each, SCHEMA))


# In the driver.


def _kept(frame: DataFrame) -> ParsedSplits:
    """Runs the job; its rows stay in executors, but for layouts and errors."""
    frame = frame.persist()
    try:
        small = F.when(F.col("what") >= LAYOUT, F.col("data")).alias("data")
        rows = frame.select("split", "what", "rows", F.length("data").alias("size"), small).collect()
        for row in sorted((row for row in rows if row.what == ERROR), key=lambda row: row.split):
            message = bytes(row.data).decode()
            raise UsageError(message) if row.rows else DataError(message)
    except BaseException:
        frame.unpersist()
        raise
    sizes: dict[int, int] = {}
    for row in rows:
        sizes[row.split] = sizes.get(row.split, 0) + row.size
    layouts = {row.split: _layout(bytes(row.data)) for row in rows if row.what == LAYOUT}
    terms = [(row.rows, row.size) for row in rows if row.what == TERMS]
    text = sum(size - OFFSET_BYTES * count for count, size in terms)
    return ParsedSplits(frame, sizes, layouts, sum(count for count, _ in terms), text)


def fetch(parsed: ParsedSplits, dictionary: Dictionary, portion_bytes: int, check: Callable[[], None]) -> FactColumns:
    """The facts, with their values in a dictionary; a job brings up to so many bytes."""
    found: list[FactColumns] = []
    for portion in _portions(parsed.sizes, portion_bytes):
        check()
        frame = parsed.frame.where(F.col("what") <= IDS)
        if len(portion) < len(parsed.sizes):
            frame = frame.where(F.col("split").isin(portion))
        found += _unpacked(frame.select("split", "what", "place", "data").toArrow(), parsed.layouts, dictionary, check)
    return together(found)


def _portions(sizes: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """Splits in groups of at most so many bytes, or of a single one."""
    portion: list[int] = []
    total = 0
    for split, size in sizes.items():
        if portion and total + size > most:
            yield portion
            portion, total = [], 0
        portion.append(split)
        total += size
    if portion:
        yield portion


def _unpacked(
    cells: pa.Table, layouts: Mapping[int, Layout], dictionary: Dictionary, check: Callable[[], None]
) -> Iterator[FactColumns]:
    """The facts of each split."""
    places = zip(*(cells.column(name).to_pylist() for name in ("split", "what", "place")), strict=True)
    data = [cell.as_buffer() for cell in cells.column("data")]
    order = sorted((*place, i) for i, place in enumerate(places))
    for split, group in groupby(order, key=lambda place: place[0]):
        check()
        mine = [(what, data[i]) for _, what, _, i in group]
        terms = [
            identity.intern_terms(dictionary, blocks.unpack(cell).column(0)) for what, cell in mine if what == TERMS
        ]
        known = np.concatenate([np.zeros(1, np.uint32), *terms])
        ids = [np.frombuffer(cell, np.uint32) for what, cell in mine if what == IDS]
        yield _columns(known[np.concatenate([np.empty(0, np.uint32), *ids])], layouts[split])


def _columns(ids: Ids, layout: Layout) -> FactColumns:
    """The columns of predicates, which are in `ids` one after the other."""
    found: FactColumns = {}
    start = 0
    for pred, rows in layout:
        end = start + rows * pred.arity
        found[pred] = list(ids[start:end].reshape(pred.arity, rows)) if pred.arity else []
        start = end
    return found


def _layout(cell: bytes) -> Layout:
    names, arities, rows = blocks.unpack(cell).columns
    each = zip(names.to_pylist(), arities.to_pylist(), rows.to_pylist(), strict=True)
    return [(Pred(name.decode("utf-8", "surrogatepass"), arity), count) for name, arity, count in each]


# In Python workers.


def _packed(split: int, parse: Callable[[Dictionary], FactColumns]) -> Iterator[pa.RecordBatch]:
    """The cells of what is parsed, or one row with the error."""
    dictionary = Dictionary()
    try:
        facts = parse(dictionary)
    except DeltalogError as problem:
        yield _cell(split, ERROR, 0, int(isinstance(problem, UsageError)), str(problem).encode())
        return
    sizes = {pred: len(columns[0]) if columns else 1 for pred, columns in facts.items()}
    yield _cell(split, LAYOUT, 0, 0, _layout_cell(sizes))
    terms = identity.terms(dictionary, np.arange(1, len(dictionary)))
    for place, (start, end) in enumerate(pairwise(_cuts(terms))):
        chunk = pa.RecordBatch.from_arrays([terms.slice(start, end - start)], ["term"])
        yield _cell(split, TERMS, place, end - start, blocks.pack(chunk))
    ids = np.concatenate([np.empty(0, np.uint32), *(ids for columns in facts.values() for ids in columns)])
    for place, start in enumerate(range(0, len(ids), CHUNK_BYTES // 4)):
        chunk = ids[start : start + CHUNK_BYTES // 4]
        yield _cell(split, IDS, place, len(chunk), chunk.tobytes())


def _layout_cell(sizes: Mapping[Pred, int]) -> bytes:
    names = binaries([pred.name.encode("utf-8", "surrogatepass") for pred in sizes])
    columns = [numbers(np.array(column, np.int64)) for column in ([pred.arity for pred in sizes], list(sizes.values()))]
    return blocks.pack(pa.RecordBatch.from_arrays([names, *columns], ["name", "arity", "rows"]))


def _cuts(terms: pa.Array) -> list[int]:
    """Where chunks of terms begin and end."""
    ends = np.frombuffer(terms.buffers()[1], np.int64)[1 : len(terms) + 1]
    inner = np.flatnonzero(ends[1:] // CHUNK_BYTES != ends[:-1] // CHUNK_BYTES) + 1
    return [0, *inner.tolist(), len(terms)] if len(terms) else [0]


def _cell(split: int, what: int, place: int, rows: int, data: bytes) -> pa.RecordBatch:
    columns = [number(split, np.int64), number(what), number(place), number(rows, np.int64), binaries([data])]
    return pa.RecordBatch.from_arrays(columns, ["split", "what", "place", "rows", "data"])
