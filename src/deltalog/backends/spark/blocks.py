"""Blocks: many rows of numbers or terms as one row of Spark.

To the JVM a row costs about a microsecond wherever it is converted, cached, shuffled or grouped; Python and Arrow need
a hundredth of that for a row of a column. So where rows are only dealt out and put together again (facts and terms of
files, facts to be written), Python does it: a block is an Arrow stream in one binary cell, and `to` says which
partition it belongs to. Spark moves a few thousand blocks and never looks into them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from deltalog.backends.spark.arrow import numbers

MOST = 1 << 18  # rows of a block
Numbers = NDArray[np.int64]


def packed(batch: pa.RecordBatch) -> bytes:
    """A block of rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def together(blocks: Iterable[bytes]) -> pa.Table | None:
    """The rows of all blocks; None if there is no block."""
    tables = [pa.ipc.open_stream(block).read_all() for block in blocks]
    return pa.concat_tables(tables).combine_chunks() if tables else None


def dealt(rows: pa.RecordBatch, to: Any) -> Iterator[tuple[int, bytes]]:
    """The blocks of rows that go to different places, and the place of each."""
    order = np.argsort(to, kind="stable")
    places, starts = np.unique(to[order], return_index=True)
    for place, (start, end) in zip(places.tolist(), pairwise([*starts.tolist(), len(order)]), strict=True):
        for first in range(start, end, MOST):
            yield place, packed(rows.take(numbers(order[first : min(first + MOST, end)])))


def spread(columns: Sequence[Any], places: int) -> Any:
    """One of so many places for each row, from a hash of all its columns."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ column.view(np.uint64)) * np.uint64(0x9E3779B185EBCA87)
        mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(places)).astype(np.int32)


def gathered(blocks: DataFrame, places: int) -> DataFrame:
    """Blocks in so many partitions, each in that of its place."""
    if hasattr(blocks, "repartitionById"):  # Spark 4.1
        return blocks.repartitionById(places, "to")
    return blocks.repartition(places, "to")


def cells(batches: Iterable[pa.RecordBatch], name: str = "data") -> Iterator[bytes]:
    """The blocks in a column of batches."""
    for batch in batches:
        for cell in batch.column(name):
            yield cell.as_buffer()


def distinct(columns: Sequence[Numbers]) -> list[Numbers]:
    """Rows in order, each once; the columns of one matrix."""
    order = np.lexsort(columns[::-1])
    ordered = [column[order] for column in columns]
    new = np.zeros(len(order), np.bool_)
    new[:1] = True
    for column in ordered:
        new[1:] |= column[1:] != column[:-1]
    return [column[new] for column in ordered]
