"""Files to tables, inside executors.

The driver only lists files and cuts large ones into ranges of whole lines (or of row groups). A partition is a handful
of such tasks; an executor parses them with the readers of `deltalog.io`, each with a dictionary of its own, and sends
on blocks (see `blocks`) of facts and of terms, the names of predicates, and what was wrong in a file. Nobody raises in
an executor, so a bad line is neither tried four times nor followed by pages of Java; the driver raises, with file and
line.

Facts become tables as derived ones do (see `pinned`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark.io import blocks
from deltalog.backends.spark.io import hashed_ids as identity
from deltalog.backends.spark.io.arrow import binaries, numbers
from deltalog.backends.spark.io.arrow import number as one
from deltalog.backends.spark.io.dictionary import term_blocks
from deltalog.backends.spark.operators.dedup_store import pinned
from deltalog.backends.spark.table import TAG, SparkTable, column_names, cut, width
from deltalog.io.columns import FactColumns
from deltalog.io.documents import Reading
from deltalog.kernels.digest import hash_bytes
from deltalog.model.dictionary import Dictionary
from deltalog.model.errors import DataError, DeltalogError, EngineError, UsageError
from deltalog.syntax.ast import Pred

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend

SMALL = 2**20
RANGE = 32 * 2**20  # bytes of a file that one task parses
PLACE = 256 * 2**20  # bytes of files whose facts one partition has, at the most
UNPACKED = 8  # bytes for a byte of a compressed file
TASKS_PER_CORE = 2
FACT, TERM, NAME, WRONG = range(4)
SCHEMA = "to int, what int, number long, data binary"


class ReadTask(NamedTuple):
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


def read(paths: Sequence[Path], reading: Reading, backend: SparkBackend) -> dict[Pred, SparkTable]:
    """The facts of files and folders."""
    tasks = list(_tasks(paths, backend))
    if not tasks:
        return {}
    groups = _balanced(tasks, TASKS_PER_CORE * max(1, backend.spark.sparkContext.defaultParallelism))
    salt, places = backend.salt, _places(sum(task.size for task in tasks), backend)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0).to_pylist():
                for task in groups[group]:
                    yield from _guarded(task.number, partial(parse, task, reading), salt, places)

    partitions = backend.spark.range(0, len(groups), 1, len(groups))
    return collected(partitions.mapInArrow(each, SCHEMA), places, backend)


def encode_frame(data: DataFrame, backend: SparkBackend) -> tuple[int, SparkTable]:
    """The rows of a Spark DataFrame as a table, without collecting them."""
    from deltalog.io.frames import KIND, columns_of

    kinds = [field.metadata.get(KIND.decode()) for field in data.schema.fields]
    salt, places = backend.salt, _places(0, backend)
    pred = Pred("", len(data.columns))

    def encoded(table: pa.Table, dictionary: Dictionary) -> FactColumns:
        return {pred: columns_of(table, dictionary)}

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            fields = [f.with_metadata({KIND: k}) if k else f for f, k in zip(batch.schema, kinds, strict=True)]
            table = pa.Table.from_batches([pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))])
            yield from _guarded(0, partial(encoded, table), salt, places)

    tables = collected(data.mapInArrow(each, SCHEMA), places, backend)
    return pred.arity, tables.get(pred, backend.empty(pred.arity))


# In the driver.


def _tasks(paths: Sequence[Path], backend: SparkBackend) -> Iterator[ReadTask]:
    from deltalog.io.files import name_of
    from deltalog.io.read import files_of, names_of

    number = 0
    for file in (file for path in paths for file in files_of(Path(path))):
        stem, format, compression = name_of(file)
        name = names_of(file.parent).get(stem, stem) if format in ("csv", "tsv", "parquet") else ""
        size = file.stat().st_size
        for start, end in _ranges(file, format, compression, size, backend):
            whole = size * (UNPACKED if compression else 1)
            yield ReadTask(number, str(file.absolute()), format, name, start, end, (end - start) or whole)
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


def _balanced(tasks: Sequence[ReadTask], count: int) -> list[list[ReadTask]]:
    """Tasks in groups of about the same size."""
    groups: list[list[ReadTask]] = [[] for _ in range(min(count, len(tasks)))]
    sizes = [0] * len(groups)
    for task in sorted(tasks, key=lambda task: -task.size):
        least = sizes.index(min(sizes))
        groups[least].append(task)
        sizes[least] += task.size + 4096
    return groups


def _places(size: int, backend: SparkBackend) -> int:
    """How many partitions facts go to, of files of so many bytes."""
    return max(size // PLACE + 1, int(backend.spark.conf.get("spark.sql.shuffle.partitions")))


def collected(parsed: DataFrame, places: int, backend: SparkBackend) -> dict[Pred, SparkTable]:
    """The tables of parsed blocks; their terms go to the dictionary."""
    parsed = cut(parsed)
    preds = _preds(parsed.where(F.col("what") >= NAME).collect(), backend.salt)
    backend.dictionary.add_blocks(parsed.where(F.col("what") == TERM).select("to", "data"), places)
    facts = parsed.where(F.col("what") == FACT)
    tables: dict[Pred, SparkTable] = {}
    for columns in sorted({width(pred.arity) for pred in preds.values()}):
        mine = {tag: pred for tag, pred in preds.items() if width(pred.arity) == columns}
        tables |= pinned(facts.where(F.col("number") == columns), None, mine, places)
    backend.dictionary.settle()
    return tables


def _preds(rows: Sequence[Any], salt: int) -> dict[int, Pred]:
    """The predicates by their tags; the first error in the order of the files is raised."""
    wrong = sorted((row.to, row.number, bytes(row.data).decode()) for row in rows if row.what == WRONG)
    if wrong:
        _, usage, message = wrong[0]
        raise UsageError(message) if usage else DataError(message)
    preds: dict[int, Pred] = {}
    for pred in {Pred(bytes(row.data).decode(), row.number) for row in rows}:
        if (other := preds.setdefault(_tag(pred, salt), pred)) != pred:
            raise EngineError(f"the predicates {pred} and {other} have the same number; rename one of them")
    return preds


# In executors.


def _guarded(
    number: int, parse: Callable[[Dictionary], FactColumns], salt: int, places: int
) -> Iterator[pa.RecordBatch]:
    """The blocks of what is parsed, or the one row that says what is wrong."""
    dictionary = Dictionary()
    try:
        facts = parse(dictionary)
    except DeltalogError as problem:
        yield _row(number, WRONG, int(isinstance(problem, UsageError)), str(problem).encode())
        return
    yield from _sent(facts, dictionary, salt, places)


def _sent(facts: FactColumns, dictionary: Dictionary, salt: int, places: int) -> Iterator[pa.RecordBatch]:
    ids, need, terms = identity.fresh_terms(dictionary, salt)
    for to, block in term_blocks(need, terms):
        yield _row(to, TERM, len(need), block)
    by_width: dict[int, list[Pred]] = {}
    for pred in facts:
        yield _row(0, NAME, pred.arity, pred.name.encode())
        by_width.setdefault(width(pred.arity), []).append(pred)
    for columns, preds in by_width.items():
        rows = _tagged({pred: facts[pred] for pred in preds}, ids, columns, salt)
        batch = pa.RecordBatch.from_arrays(list(map(numbers, rows)), [TAG, *column_names(columns)])
        for to, block in blocks.dealt(batch, blocks.spread(rows, places)):
            yield _row(to, FACT, columns, block)


def _tagged(facts: FactColumns, ids: identity.Ids64, columns: int, salt: int) -> list[identity.Ids64]:
    """The rows of predicates of one width: tags, and 64-bit ids in columns (0 where an arity has no such column)."""
    sizes = [len(found[0]) if found else 1 for found in facts.values()]
    rows = np.zeros((columns + 1, sum(sizes)), np.int64)
    start = 0
    for (pred, found), size in zip(facts.items(), sizes, strict=True):
        rows[0, start : start + size] = _tag(pred, salt)
        for i, column in enumerate(found):
            rows[i + 1, start : start + size] = ids[column]
        start += size
    return list(rows)


def _tag(pred: Pred, salt: int) -> int:
    """The number of a predicate, the same everywhere."""
    name = np.frombuffer(b"%d:%b" % (pred.arity, pred.name.encode()), np.uint8)
    return int(hash_bytes(name, salt)) >> 1


def _row(to: int, what: int, number: int, data: bytes) -> pa.RecordBatch:
    columns = [one(to), one(what), one(number, np.int64), binaries([data])]
    return pa.RecordBatch.from_arrays(columns, ["to", "what", "number", "data"])


def parse(task: ReadTask, reading: Reading, dictionary: Dictionary) -> FactColumns:
    """The facts of a task."""
    from deltalog.backends.spark.io.file_splits import read_lines, read_row_groups
    from deltalog.io.read import read_file

    path = Path(task.path)
    if task.end and task.format == "parquet":
        columns = read_row_groups(path, task.start, task.end, dictionary)
    elif task.end:
        return read_lines(task.name, path, task.format, task.start, task.end, dictionary, reading)
    else:
        facts = read_file(path, dictionary, reading)
        return {Pred(task.name, pred.arity): found for pred, found in facts.items()} if task.name else facts
    return {Pred(task.name, len(columns)): columns}
