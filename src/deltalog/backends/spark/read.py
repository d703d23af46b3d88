"""Files to tables, inside executors.

The driver only lists files and cuts large ones into ranges of whole lines (or of row groups). A partition is a handful
of such tasks; an executor parses them with the readers of `deltalog.io`, each with a dictionary of its own, and sends
on rows of five kinds: facts, terms, names of predicates, and what was wrong in a file. Nobody raises in an executor,
so a bad line is neither tried four times nor followed by pages of Java; the driver raises, with file and line.

Facts are made distinct and are kept in memory in columns, sorted by predicate within a partition: a scan of one
predicate skips the blocks of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark import ids as identity
from deltalog.backends.spark.arrow import numbers
from deltalog.backends.spark.table import TAG, Piece, SparkTable, column_names, cut, width
from deltalog.dictionary import Dictionary
from deltalog.errors import DataError, DeltalogError, EngineError, UsageError
from deltalog.io.facts import Facts
from deltalog.kernels.digest import hash_bytes
from deltalog.syntax.ast import Pred

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend

SMALL = 2**20
RANGE = 32 * 2**20  # bytes of a file that one task parses
BATCH = 1 << 17
TASKS_PER_CORE = 2
FACT, TERM, NAME, WRONG = range(4)
SCHEMA = "what byte, tag long, c0 long, c1 long, rest array<long>, term binary"
ARROW = pa.schema(
    [
        ("what", pa.int8()),
        ("tag", pa.int64()),
        ("c0", pa.int64()),
        ("c1", pa.int64()),
        ("rest", pa.list_(pa.int64())),
        ("term", pa.binary()),
    ]
)


class Task(NamedTuple):
    """What to parse: a file, or a range of its bytes or row groups. `name` is the predicate of a table."""

    number: int
    path: str
    format: str
    name: str
    start: int
    end: int  # 0: all of it
    size: int


def is_small(paths: Sequence[Path]) -> bool:
    """Whether the files are so small that the driver reads them sooner than executors have started Python."""
    from deltalog.io.read import files_of

    return sum(file.stat().st_size for path in paths for file in files_of(Path(path))) <= SMALL


def read(paths: Sequence[Path], backend: SparkBackend) -> dict[Pred, SparkTable]:
    """The facts of files and folders."""
    tasks = list(_tasks(paths, backend))
    if not tasks:
        return {}
    groups = _balanced(tasks, TASKS_PER_CORE * max(1, backend.spark.sparkContext.defaultParallelism))
    salt = backend.salt

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0).to_pylist():
                for task in groups[group]:
                    yield from _guarded(task.number, partial(parse, task), salt)

    partitions = backend.spark.range(0, len(groups), 1, len(groups))
    return collected(partitions.mapInArrow(each, SCHEMA), backend)


def encode_frame(data: DataFrame, backend: SparkBackend) -> tuple[int, SparkTable]:
    """The rows of a Spark DataFrame as a table, without collecting them."""
    from deltalog.io.frames import KIND, columns_of

    kinds = [field.metadata.get(KIND.decode()) for field in data.schema.fields]
    name, salt = "", backend.salt
    pred = Pred(name, len(data.columns))

    def encoded(table: pa.Table, dictionary: Dictionary) -> Facts:
        return {pred: columns_of(table, dictionary)}

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            fields = [f.with_metadata({KIND: k}) if k else f for f, k in zip(batch.schema, kinds, strict=True)]
            table = pa.Table.from_batches([pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))])
            yield from _guarded(0, partial(encoded, table), salt)

    tables = collected(data.mapInArrow(each, SCHEMA), backend)
    return pred.arity, tables.get(pred, backend.empty(pred.arity))


# In the driver.


def _tasks(paths: Sequence[Path], backend: SparkBackend) -> Iterator[Task]:
    from deltalog.io.files import name_of
    from deltalog.io.read import files_of, names_of

    number = 0
    for file in (file for path in paths for file in files_of(Path(path))):
        stem, format, compression = name_of(file)
        name = names_of(file.parent).get(stem, stem) if format in ("csv", "tsv", "parquet") else ""
        size = file.stat().st_size
        for start, end in _ranges(file, format, compression, size, backend):
            yield Task(number, str(file.absolute()), format, name, start, end, (end - start) or size)
            number += 1


def _ranges(file: Path, format: str, compression: str, size: int, backend: SparkBackend) -> Iterable[tuple[int, int]]:
    if compression or size <= RANGE:
        return [(0, 0)]
    if format == "parquet":
        return _row_groups(file, size)
    cuts = [*range(0, size, RANGE), size]
    ranges = list(pairwise(cuts))
    if format == "ntriples" or (format in ("csv", "tsv") and not _has_quotes(file, ranges, backend)):
        return ranges
    return [(0, 0)]


def _row_groups(file: Path, size: int) -> list[tuple[int, int]]:
    import pyarrow.parquet as pq

    try:
        count = pq.ParquetFile(file).num_row_groups
    except (pa.ArrowException, OSError):
        return [(0, 0)]  # the executor says what is wrong with it
    step = max(1, count * RANGE // size)
    cuts = [*range(0, count, step), count]
    return list(pairwise(cuts)) or [(0, 0)]


def _has_quotes(file: Path, ranges: Sequence[tuple[int, int]], backend: SparkBackend) -> bool:
    """Whether a table has quoted cells, in which a line may end without the row being at its end."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                start, end = ranges[number]
                with open(file, "rb") as stream:
                    stream.seek(start)
                    found = b'"' in stream.read(end - start)
                yield pa.RecordBatch.from_arrays([pa.array([found])], ["found"])

    looked = backend.spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(each, "found boolean")
    return any(row.found for row in looked.collect())


def _balanced(tasks: Sequence[Task], count: int) -> list[list[Task]]:
    """Tasks in groups of about the same size."""
    groups: list[list[Task]] = [[] for _ in range(min(count, len(tasks)))]
    sizes = [0] * len(groups)
    for task in sorted(tasks, key=lambda task: -task.size):
        least = sizes.index(min(sizes))
        groups[least].append(task)
        sizes[least] += task.size + 4096
    return groups


def collected(parsed: DataFrame, backend: SparkBackend) -> dict[Pred, SparkTable]:
    """The tables of parsed rows; their terms go to the dictionary."""
    parsed = cut(parsed)
    preds = _preds(parsed.where(F.col("what") >= NAME).select("what", "tag", "c0", "term").collect())
    terms = parsed.where(F.col("what") == TERM)
    backend.dictionary.add(terms.select(F.col("c0").alias("id"), "term"))
    facts = parsed.where(F.col("what") == FACT)
    tables = _tables(facts, {tag: pred for tag, pred in preds.items() if pred.arity <= 2}, backend)
    for arity in sorted({pred.arity for pred in preds.values()} - {0, 1, 2}):
        tables |= _tables(facts, {tag: pred for tag, pred in preds.items() if pred.arity == arity}, backend)
    backend.dictionary.settle()
    return tables


def _preds(rows: Sequence[Any]) -> dict[int, Pred]:
    """The predicates by their tags; the first error in the order of the files is raised."""
    wrong = sorted((row.tag, row.c0, bytes(row.term).decode()) for row in rows if row.what == WRONG)
    if wrong:
        _, usage, message = wrong[0]
        raise UsageError(message) if usage else DataError(message)
    preds: dict[int, Pred] = {}
    for row in rows:
        pred = Pred(bytes(row.term).decode(), row.c0)
        if preds.setdefault(row.tag, pred) != pred:
            raise EngineError(f"the predicates {pred} and {preds[row.tag]} have the same number; rename one of them")
    return preds


def _tables(facts: DataFrame, preds: Mapping[int, Pred], backend: SparkBackend) -> dict[Pred, SparkTable]:
    """The tables of predicates of one width (2, or that of the first of them), from one DataFrame."""
    if not preds:
        return {}
    columns = width(next(iter(preds.values())).arity)
    rest = [F.col("rest")[i - 2].alias(f"c{i}") for i in range(2, columns)]
    mine = facts.where(F.col(TAG).isin(list(preds))).select(TAG, "c0", "c1", *rest)
    rows = mine.distinct().sortWithinPartitions(TAG).persist(StorageLevel.MEMORY_AND_DISK)
    looks = [F.approx_count_distinct(name, 0.1) for name in column_names(columns)]
    found = rows.groupBy(TAG).agg(F.count(F.lit(1)), *looks).collect()
    return {
        (pred := preds[tag]): SparkTable(
            pred.arity, (Piece(rows, tag),), size, [float(max(1, d)) for d in distinct[: pred.arity]]
        )
        for tag, size, *distinct in found
    }


# In executors.


def _guarded(number: int, parse: Callable[[Dictionary], Facts], salt: int) -> Iterator[pa.RecordBatch]:
    """The rows of what is parsed, or the one row that says what is wrong."""
    dictionary = Dictionary()
    try:
        facts = parse(dictionary)
    except DeltalogError as problem:
        yield _rows(WRONG, number, [np.array([isinstance(problem, UsageError)], np.int64)], [str(problem).encode()])
        return
    yield from _sent(facts, dictionary, salt)


def _sent(facts: Facts, dictionary: Dictionary, salt: int) -> Iterator[pa.RecordBatch]:
    ids, need, terms = identity.fresh_terms(dictionary, salt)
    for start in range(0, len(need), BATCH):
        yield _rows(TERM, 0, [need[start : start + BATCH]], terms[start : start + BATCH].cast(pa.binary()))
    for pred, columns in facts.items():
        name = pred.name.encode()
        tag = int(hash_bytes(np.frombuffer(b"%d:%b" % (pred.arity, name), np.uint8), salt)) >> 1
        yield _rows(NAME, tag, [np.array([pred.arity], np.int64)], [name])
        size = len(columns[0]) if columns else 1
        for start in range(0, size, BATCH):
            part = [ids[column[start : start + BATCH]] for column in columns]
            yield _rows(FACT, tag, part or [np.zeros(1, np.int64)], None)


def _rows(what: int, tag: int, columns: Sequence[Any], term: Any) -> pa.RecordBatch:
    """Rows of one kind. Columns that are not there are 0."""
    size = len(columns[0])
    zeros = np.zeros(size, np.int64)
    rest: pa.Array = pa.nulls(size, pa.list_(pa.int64()))
    if len(columns) > 2:
        width = len(columns) - 2
        offsets = np.arange(0, width * size + 1, width, dtype=np.int32)
        rest = pa.ListArray.from_arrays(numbers(offsets), numbers(np.stack(columns[2:], axis=1).reshape(-1)))
    return pa.RecordBatch.from_arrays(
        [
            numbers(np.full(size, what, np.int8)),
            numbers(np.full(size, tag, np.int64)),
            numbers(columns[0]),
            numbers(columns[1] if len(columns) > 1 else zeros),
            rest,
            pa.nulls(size, pa.binary()) if term is None else term if isinstance(term, pa.Array) else pa.array(term),
        ],
        schema=ARROW,
    )


def parse(task: Task, dictionary: Dictionary) -> Facts:
    """The facts of a task."""
    from deltalog.backends.spark.ranges import read_lines, read_row_groups
    from deltalog.io.read import read_file

    path = Path(task.path)
    if task.end and task.format == "parquet":
        columns = read_row_groups(path, task.start, task.end, dictionary)
    elif task.end:
        return read_lines(task.name, path, task.format, task.start, task.end, dictionary)
    else:
        facts = read_file(path, dictionary)
        return {Pred(task.name, pred.arity): found for pred, found in facts.items()} if task.name else facts
    return {Pred(task.name, len(columns)): columns}
