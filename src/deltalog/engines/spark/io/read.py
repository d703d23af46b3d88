"""Executors (Python workers): files to tables. The driver only lists files and plans splits.

The driver cuts large files into splits of whole lines or of row groups, and a partition gets a group of them. An
executor parses them with the readers of `deltalog.formats`, each split with its own dictionary, and returns blocks (see
`blocks`) of facts and terms, the names of predicates, and errors. Executors do not raise: Spark would retry a bad line
four times and print pages of Java. The driver raises, with file and line.

FactColumns become tables as derived facts do (see `operators.store`).
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

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, DeltalogError, UsageError
from deltalog.core.rules import HiddenName, Pred
from deltalog.engines.spark.io import blocks
from deltalog.engines.spark.io import hashed_ids as identity
from deltalog.engines.spark.io.arrow import binaries, numbers
from deltalog.engines.spark.io.arrow import number as one
from deltalog.engines.spark.io.dictionary import term_blocks
from deltalog.engines.spark.operators.store import store_distinct
from deltalog.engines.spark.stored import TAG, checkpointed, column_names, release
from deltalog.engines.spark.table import SparkTable, tag_of, width
from deltalog.formats.columns import Column, FactColumns
from deltalog.formats.documents import Reading
from deltalog.formats.formats import DELIMITERS, TABLE_FORMATS
from deltalog.formats.subjects import SubjectCheck

if TYPE_CHECKING:
    from deltalog.core.table_options import TableSettings
    from deltalog.engines.spark.backend import SparkBackend
    from deltalog.formats.table_files import TableFile

DRIVER_READ_BYTES = 2**20  # smaller input is read by the driver
SPLIT_BYTES = 32 * 2**20  # of a file that one task parses
PARTITION_BYTES = 256 * 2**20  # at most, of the files whose facts are in one partition
DECOMPRESSION_FACTOR = 8  # estimated
FACT, TERM, NAME, ERROR = range(4)
SCHEMA = "to int, what int, number long, data binary"


class Split(NamedTuple):
    """What a task parses: a file, or a range of its bytes or row groups; `table` is what table it is of, if any."""

    number: int
    path: str
    format: str
    table: TableFile
    start: int
    end: int  # 0: the whole file
    size: int


def is_small(paths: Sequence[Path]) -> bool:
    """Whether the driver reads the files sooner than executors start Python."""
    return input_bytes(paths) <= DRIVER_READ_BYTES


def input_bytes(paths: Sequence[Path]) -> int:
    """The bytes of files and folders, decompressed by estimate."""
    from deltalog.formats.files import name_of
    from deltalog.formats.read import files_of

    files = [file for path in paths for file in files_of(Path(path))]
    return sum(file.stat().st_size * (DECOMPRESSION_FACTOR if name_of(file).compression else 1) for file in files)


def read(paths: Sequence[Path], reading: Reading, backend: SparkBackend) -> dict[Pred, SparkTable]:
    """The facts of files and folders."""
    splits = list(splits_of(paths, reading.tables, backend))
    if not splits:
        return {}
    groups = balanced(splits, backend.task_partitions)
    salt, partitions = backend.salt, partitions_for(sum(split.size for split in splits), backend)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0).to_pylist():
                for split in groups[group]:
                    yield from parsed_blocks(split.number, partial(parse, split, reading), salt)

    group_numbers = backend.spark.range(0, len(groups), 1, len(groups))
    return tables_of(group_numbers.mapInArrow(each, SCHEMA), partitions, backend)


def encode_frame(
    predicate: str, data: DataFrame, backend: SparkBackend, subjects: SubjectCheck | None = None
) -> tuple[int, SparkTable]:
    """The rows of a Spark DataFrame as a table; none is collected."""
    from deltalog.formats.frames import KIND

    kinds = [field.metadata.get(KIND.decode()) for field in data.schema.fields]
    salt, partitions = backend.salt, partitions_for(0, backend)
    pred = Pred(predicate, len(data.columns))

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            fields = [f.with_metadata({KIND: k}) if k else f for f, k in zip(batch.schema, kinds, strict=True)]
            table = pa.Table.from_batches([pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))])
            yield from parsed_blocks(0, partial(frame_facts, pred, table, subjects), salt)

    tables = tables_of(data.mapInArrow(each, SCHEMA), partitions, backend)
    return pred.arity, tables.get(pred, backend.empty(pred.arity))


# In the driver.


def splits_of(paths: Sequence[Path], settings: TableSettings, backend: SparkBackend) -> Iterator[Split]:
    from deltalog.formats.files import name_of
    from deltalog.formats.read import files_of
    from deltalog.formats.table_files import TableFile, TableFiles

    number, tables = 0, TableFiles()
    for file in (file for path in paths for file in files_of(Path(path))):
        _, format, compression = name_of(file)
        table = tables.of(file).renamed(settings.predicate) if format in TABLE_FORMATS else TableFile("")
        size = file.stat().st_size
        whole_text = format in DELIMITERS and settings.of(table.predicate).matter_for(format)
        for start, end in [(0, 0)] if whole_text else _ranges(file, format, compression, size, backend):
            whole = size * (DECOMPRESSION_FACTOR if compression else 1)
            yield Split(number, str(file.absolute()), format, table, start, end, (end - start) or whole)
            number += 1


def _ranges(file: Path, format: str, compression: str, size: int, backend: SparkBackend) -> Iterable[tuple[int, int]]:
    if compression or size <= SPLIT_BYTES:
        return [(0, 0)]
    if format == "parquet":
        return _row_groups(file, size)
    cuts = [*range(0, size, SPLIT_BYTES), size]
    ranges = list(pairwise(cuts))
    if format == "ntriples" or (format in ("csv", "tsv") and not _has_quotes(file, ranges, backend)):
        return ranges
    return [(0, 0)]


def _row_groups(file: Path, size: int) -> list[tuple[int, int]]:
    import pyarrow.parquet as pq

    try:
        count = pq.ParquetFile(file).num_row_groups
    except (pa.ArrowException, OSError):
        return [(0, 0)]  # the executor reports the error
    step = max(1, count * SPLIT_BYTES // size)
    cuts = [*range(0, count, step), count]
    return list(pairwise(cuts)) or [(0, 0)]


def _has_quotes(file: Path, ranges: Sequence[tuple[int, int]], backend: SparkBackend) -> bool:
    """Whether a table has quoted cells, which may contain line ends."""

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


def balanced(splits: Sequence[Split], count: int) -> list[list[Split]]:
    """Splits in groups of about equal size."""
    groups: list[list[Split]] = [[] for _ in range(min(count, len(splits)))]
    sizes = [0] * len(groups)
    for split in sorted(splits, key=lambda split: -split.size):
        least = sizes.index(min(sizes))
        groups[least].append(split)
        sizes[least] += split.size + 4096
    return groups


def partitions_for(size: int, backend: SparkBackend) -> int:
    """The number of partitions for the facts of files of a size in bytes."""
    return max(size // PARTITION_BYTES + 1, int(backend.spark.conf.get("spark.sql.shuffle.partitions")))


def tables_of(parsed: DataFrame, partitions: int, backend: SparkBackend) -> dict[Pred, SparkTable]:
    """The tables of parsed blocks; terms are added to the dictionary."""
    parsed = checkpointed(parsed)
    preds = _preds(parsed.where(F.col("what") >= NAME).collect(), backend)
    backend.dictionary.add_blocks(parsed.where(F.col("what") == TERM).select("to", "data"), partitions)
    facts = parsed.where(F.col("what") == FACT)
    tables: dict[Pred, SparkTable] = {}
    for columns in sorted({width(pred.arity) for pred in preds.values()}):
        mine = {tag: pred for tag, pred in preds.items() if width(pred.arity) == columns}
        rows = blocks.all_rows(facts.where(F.col("number") == columns), [TAG, *column_names(columns)])
        tables |= store_distinct(rows, (), mine, columns, backend.partitions, backend.tuning)
    backend.dictionary.merge_pending()
    release(parsed)
    return tables


def _preds(rows: Sequence[Any], backend: SparkBackend) -> dict[int, Pred]:
    """The predicates by their tags; raises the first error in the order of files."""
    errors = sorted((row.to, row.number, bytes(row.data).decode()) for row in rows if row.what == ERROR)
    if errors:
        _, usage, message = errors[0]
        raise UsageError(message) if usage else DataError(message)
    names = ((bytes(row.data).decode(), row) for row in rows)
    return backend.tags({Pred(HiddenName(name) if row.to else name, row.number) for name, row in names})


# In Python workers.


def frame_facts(pred: Pred, table: pa.Table, subjects: SubjectCheck | None, dictionary: Dictionary) -> FactColumns:
    """Rows of a DataFrame as facts; UsageError if the subject of a triple is a literal."""
    from deltalog.formats.frames import columns_of

    columns = columns_of(table, dictionary)
    if subjects is not None:
        subjects.check(pred, columns, dictionary)
    return {pred: columns}


def parsed_blocks(number: int, parse: Callable[[Dictionary], FactColumns], salt: int) -> Iterator[pa.RecordBatch]:
    """The blocks of what is parsed, or one row with the error."""
    dictionary = Dictionary()
    try:
        facts = parse(dictionary)
    except DeltalogError as problem:
        yield _row(number, ERROR, int(isinstance(problem, UsageError)), str(problem).encode())
        return
    yield from encoded_blocks(facts, dictionary, salt)


def encoded_blocks(facts: FactColumns, dictionary: Dictionary, salt: int) -> Iterator[pa.RecordBatch]:
    ids, need, terms = identity.fresh_terms(dictionary, salt)
    for to, block in term_blocks(need, terms):
        yield _row(to, TERM, len(need), block)
    by_width: dict[int, list[Pred]] = {}
    for pred in facts:
        yield _row(int(pred.hidden), NAME, pred.arity, pred.name.encode())
        by_width.setdefault(width(pred.arity), []).append(pred)
    for columns, preds in by_width.items():
        rows = _tagged({pred: facts[pred] for pred in preds}, ids, columns, salt)
        batch = pa.RecordBatch.from_arrays(list(map(numbers, rows)), [TAG, *column_names(columns)])
        for start in range(0, batch.num_rows, blocks.BLOCK_ROWS):
            yield _row(0, FACT, columns, blocks.pack(batch.slice(start, blocks.BLOCK_ROWS)))


def _tagged(facts: FactColumns, ids: identity.Ids64, columns: int, salt: int) -> list[identity.Ids64]:
    """The rows of predicates of one width: a column of tags, then columns of 64-bit ids (0 where the arity is less)."""
    sizes = [len(found[0]) if found else 1 for found in facts.values()]
    rows = np.zeros((columns + 1, sum(sizes)), np.int64)
    start = 0
    for (pred, found), size in zip(facts.items(), sizes, strict=True):
        rows[0, start : start + size] = tag_of(pred, salt)
        for i, column in enumerate(found):
            rows[i + 1, start : start + size] = ids[column]
        start += size
    return list(rows)


def _row(to: int, what: int, number: int, data: bytes) -> pa.RecordBatch:
    columns = [one(to), one(what), one(number, np.int64), binaries([data])]
    return pa.RecordBatch.from_arrays(columns, ["to", "what", "number", "data"])


def parse(split: Split, reading: Reading, dictionary: Dictionary) -> FactColumns:
    """The facts of a split."""
    from deltalog.engines.spark.io.file_splits import read_row_groups, read_table_lines, read_triple_lines
    from deltalog.formats.read import read_file, table_facts
    from deltalog.formats.table_reader import read_parquet_table

    path, table = Path(split.path), split.table
    if not split.end:
        return read_file(path, dictionary, reading, lambda _: table)
    options = reading.tables.of(table.predicate)
    if split.format == "parquet" and options.matter_for("parquet"):
        chosen = read_parquet_table(path, dictionary, options, table, range(split.start, split.end))
        return table_facts(path, table, chosen, dictionary, reading)
    if split.format == "parquet":
        columns: list[Column] | None = read_row_groups(path, split.start, split.end, table.names, dictionary)
    elif split.format == "ntriples":
        return read_triple_lines(path, split.start, split.end, dictionary, reading)
    else:
        columns = read_table_lines(path, split.format, split.start, split.end, dictionary)
    columns = None if columns is None else table.with_partition(columns, dictionary)
    return table_facts(path, table, columns, dictionary, reading)
