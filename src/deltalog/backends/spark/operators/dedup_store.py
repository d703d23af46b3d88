"""Executors (Python workers): new rows are deduplicated, known rows removed, the rest stored as tables, in one job.

Blocks of new and of known rows are shuffled by a hash of the row. Each partition then deduplicates the new rows,
removes the known ones and stores the rest as blocks. The lineage ends there (see `table.checkpointed`). Statistics for
the driver go along: for each predicate the number of rows, and for each column a sketch that estimates the number of
distinct values (the k least hashes; Bar-Yossef et al., Counting Distinct Elements in a Data Stream, 2002).

Small results come to the driver in the same job, and become driver tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark.io import blocks
from deltalog.backends.spark.io.arrow import binaries, numbers, words
from deltalog.backends.spark.table import Segment, SparkTable, checkpointed, driver_table
from deltalog.model.arrays import Integers
from deltalog.model.tuning import Tuning
from deltalog.syntax.ast import Pred

SKETCH_HASHES = 128
STORED = "data binary, statistics binary"
BUFFER_ROWS = 1 << 21  # new rows of a partition that are buffered before they are deduplicated


def store_distinct(
    new: DataFrame, known: DataFrame | None, preds: Mapping[int, Pred], partitions: int, tuning: Tuning | None = None
) -> dict[Pred, SparkTable]:
    """The distinct new rows that are not known, as tables by their tags. With a tuning, a result that is
    small in all becomes driver tables."""
    max_rows = tuning.spark_driver_table_max_rows if tuning else 0
    both = new.select("to", F.lit(False).alias("known"), "data")
    if known is not None:
        both = both.unionAll(known.select("to", F.lit(True).alias("known"), "data"))
    stored = checkpointed(
        blocks.shuffled(both, partitions).select("known", "data").mapInArrow(_store_partition, STORED)
    )
    small = F.length("data") <= 32 * max_rows // partitions + 4096
    found = stored.select(
        "statistics", F.when(small, F.col("data")).alias("data") if max_rows else F.lit(None).alias("data")
    )
    rows = found.collect()
    tables = _tables(stored.select("data"), [bytes(row.statistics) for row in rows if row.statistics], preds)
    if tuning and max_rows and tables and sum(table.size or 0 for table in tables.values()) <= max_rows:
        data = [row.data for row in rows] if all(row.data is not None for row in rows) else _fetched(stored)
        return _driver_tables(data, preds, stored.sparkSession, tuning)
    return tables


def _tables(stored: DataFrame, statistics: Sequence[bytes], preds: Mapping[int, Pred]) -> dict[Pred, SparkTable]:
    by_tag: dict[int, list[dict[str, Any]]] = {}
    for line in (line for block in statistics for line in blocks.unpack(block).to_pylist()):
        by_tag.setdefault(line["tag"], []).append(line)
    return {
        (pred := preds[tag]): SparkTable(
            pred.arity,
            (Segment(stored, tag),),
            sum(line["size"] for line in lines),
            [estimated([line["sketches"][i] for line in lines]) for i in range(pred.arity)],
        )
        for tag, lines in by_tag.items()
    }


def _fetched(stored: DataFrame) -> list[bytes]:
    return [row.data for row in stored.select("data").collect()]


def _driver_tables(
    data: Sequence[bytes], preds: Mapping[int, Pred], spark: Any, tuning: Tuning
) -> dict[Pred, SparkTable]:
    """Stored rows as driver tables."""
    rows: dict[int, list[Integers]] = {}
    for block in data:
        matrix = np.stack([words(column) for column in unpacked_columns(block)], axis=1)
        for tag, start, end in blocks.tag_runs(matrix[:, 0]):
            rows.setdefault(tag, []).append(matrix[start:end, 1 : preds[tag].arity + 1])
    return {preds[tag]: driver_table(np.concatenate(found), spark, tuning) for tag, found in rows.items()}


def unpacked_columns(block: bytes) -> list[pa.Array]:
    return list(blocks.unpack(bytes(block)).columns)


# In Python workers.


@dataclass(slots=True)
class PartitionRows:
    """The known and new rows of a partition. New rows are deduplicated whenever the buffer is full."""

    names: list[str] = field(default_factory=list)
    known: list[list[Integers]] = field(default_factory=list)
    new: list[list[Integers]] = field(default_factory=list)
    buffered: int = 0
    capacity: int = BUFFER_ROWS

    def add(self, known: bool, rows: pa.RecordBatch) -> None:
        self.names = rows.schema.names
        columns = [words(column) for column in rows.columns]
        if known:
            self.known.append(columns)
            return
        self.new.append(columns)
        self.buffered += len(columns[0])
        if self.buffered > self.capacity:
            self.new = [blocks.sorted_distinct(_joined(self.new))]
            self.buffered = len(self.new[0][0])
            self.capacity = max(BUFFER_ROWS, 2 * self.buffered)

    def new_rows(self) -> list[Integers]:
        """The distinct new rows that are not known, in order."""
        if not self.new:
            return [np.empty(0, np.int64) for _ in self.names]
        if not self.known:
            return blocks.sorted_distinct(_joined(self.new))
        sizes = [sum(len(columns[0]) for columns in rows) for rows in (self.known, self.new)]
        return blocks.sorted_distinct(_joined([*self.known, *self.new]), np.repeat(np.array([0, 1], np.int64), sizes))


def _joined(rows: Sequence[Sequence[Integers]]) -> list[Integers]:
    return [np.concatenate(columns) for columns in zip(*rows, strict=True)]


def _store_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = PartitionRows()
    for batch in batches:
        for known, cell in zip(batch.column("known").to_pylist(), batch.column("data"), strict=True):
            rows.add(known, blocks.unpack(cell.as_buffer()))
    columns = rows.new_rows()
    statistics = _statistics(columns) if rows.names else None
    for start in range(0, len(columns[0]) if columns else 0, blocks.BLOCK_ROWS):
        part = [numbers(column[start : start + blocks.BLOCK_ROWS]) for column in columns]
        data = blocks.pack(pa.RecordBatch.from_arrays(part, rows.names))
        cells = [binaries([data]), binaries([b"" if start or statistics is None else statistics])]
        yield pa.RecordBatch.from_arrays(cells, ["data", "statistics"])


def _statistics(columns: Sequence[Integers]) -> bytes:
    """The number of rows of each tag, and the sketches of its columns."""
    found = list(blocks.tag_runs(columns[0]))
    sketches = [sketch(column[start:end]) for _, start, end in found for column in columns[1:]]
    ends = np.cumsum([0, *map(len, sketches)], dtype=np.int32)
    inner = pa.ListArray.from_arrays(numbers(ends), numbers(np.concatenate([np.empty(0, np.uint64), *sketches])))
    offsets = np.arange(len(found) + 1, dtype=np.int32) * np.int32(len(columns) - 1)
    tags, starts, stops = np.array(found, np.int64).reshape(-1, 3).T
    statistics = [numbers(tags), numbers(stops - starts), pa.ListArray.from_arrays(numbers(offsets), inner)]
    return blocks.pack(pa.RecordBatch.from_arrays(statistics, ["tag", "size", "sketches"]))


def sketch(column: Integers) -> Any:
    """The SKETCH_HASHES least hashes of the values of a column."""
    values = words(pc.unique(numbers(column)))
    hashes = blocks.mix_hash(values.view(np.uint64))
    return np.sort(hashes if len(hashes) <= SKETCH_HASHES else np.partition(hashes, SKETCH_HASHES)[:SKETCH_HASHES])


def estimated(sketches: Sequence[Sequence[int]]) -> float:
    """The estimated number of distinct values in columns with these sketches."""
    least = sorted({hashed for sketch in sketches for hashed in sketch})[:SKETCH_HASHES]
    return float(len(least)) if len(least) < SKETCH_HASHES else (SKETCH_HASHES - 1) * 2.0**64 / least[-1]
