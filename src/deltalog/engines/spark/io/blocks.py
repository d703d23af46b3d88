"""Executors (Python workers) and driver: blocks, many rows of numbers or terms in one row of a DataFrame.

The JVM needs about a microsecond for a row wherever it is converted, cached, shuffled or grouped; Python and Arrow need
a hundredth of that. So Python workers store, copy, partition and deduplicate rows, and Spark sees rows only where it
joins them. A block is an Arrow stream in one binary cell; its column `to` has the number of its target partition. Spark
moves a few thousand blocks without reading them.

Blocks of facts have the columns `tag`, `c0`, `c1` (and more for wider facts). The rows of a stored block are sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from deltalog.core.arrays import Integers
from deltalog.engines.spark.io.arrow import binaries, number, numbers, words

BLOCK_ROWS = 1 << 19  # at most
BLOCKS = "to int, data binary"
Partitioner = Callable[[Sequence[Integers]], Any]  # the target partition of each row


def pack(batch: pa.RecordBatch) -> bytes:
    """A batch as a block."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpack(block: bytes) -> pa.RecordBatch:
    """The rows of a block."""
    return pa.ipc.open_stream(block).read_next_batch()


def concatenated(blocks: Iterable[bytes]) -> pa.Table | None:
    """The rows of all blocks; None if there is no block."""
    batches = [unpack(block) for block in blocks]
    return pa.Table.from_batches(batches).combine_chunks() if batches else None


def cells(batches: Iterable[pa.RecordBatch], name: str = "data") -> Iterator[Any]:
    """The blocks in a column of batches."""
    for batch in batches:
        for cell in batch.column(name):
            yield cell.as_buffer()


def shuffled(blocks: DataFrame, partitions: int) -> DataFrame:
    """Blocks in their target partitions."""
    if hasattr(blocks, "repartitionById"):  # Spark 4.1
        return blocks.repartitionById(partitions, "to")
    return blocks.repartition(partitions, "to")


# Partitioning.


def split_by_partition(rows: pa.RecordBatch, to: Any) -> Iterator[tuple[int, bytes]]:
    """Rows as blocks with one target partition each; yields pairs of partition and block."""
    order = np.argsort(to, kind="stable")
    partitions, starts = np.unique(to[order], return_index=True)
    for partition, (start, end) in zip(partitions.tolist(), pairwise([*starts.tolist(), len(order)]), strict=True):
        for first in range(start, end, BLOCK_ROWS):
            yield partition, pack(rows.take(numbers(order[first : min(first + BLOCK_ROWS, end)])))


def hash_partition(columns: Sequence[Integers], partitions: int) -> Any:
    """The target partition of each row, by a hash of all columns."""
    hashed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hashed = mix_hash(hashed ^ column.view(np.uint64))
    return (hashed % np.uint64(partitions)).astype(np.int32)


def mix_hash(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijective hash of 64-bit words (the finaliser of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def as_blocks(columns: Sequence[Integers], names: Sequence[str], partitioner: Partitioner) -> Iterator[pa.RecordBatch]:
    """Rows as BLOCKS."""
    return batch_as_blocks(pa.RecordBatch.from_arrays(list(map(numbers, columns)), list(names)), partitioner(columns))


def batch_as_blocks(rows: pa.RecordBatch, to: Any) -> Iterator[pa.RecordBatch]:
    """A batch as BLOCKS, given the target partition of each row."""
    for partition, block in split_by_partition(rows, to):
        yield pa.RecordBatch.from_arrays([number(partition), binaries([block])], ["to", "data"])


def to_blocks(partitioner: Partitioner) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow` that turns rows into BLOCKS and removes duplicates within each buffer."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in buffered(batches):
            columns = sorted_distinct([words(column) for column in rows.columns])
            yield from as_blocks(columns, rows.column_names, partitioner)

    return each


def buffered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches combined to about the size of a block."""
    buffer: list[pa.RecordBatch] = []
    for batch in batches:
        buffer.append(batch)
        if sum(one.num_rows for one in buffer) >= BLOCK_ROWS:
            yield pa.Table.from_batches(buffer).combine_chunks()
            buffer = []
    if buffer:
        yield pa.Table.from_batches(buffer).combine_chunks()


# Sorted rows.


def sorted_distinct(columns: Sequence[Integers], flags: Integers | None = None) -> list[Integers]:
    """The distinct rows, sorted. With `flags`, only rows none of whose duplicates has the flag 0."""
    order = np.lexsort(columns[::-1] if flags is None else [flags, *columns[::-1]])
    ordered = [column[order] for column in columns]
    new = np.zeros(len(order), np.bool_)
    new[:1] = True
    for column in ordered:
        new[1:] |= column[1:] != column[:-1]
    if flags is not None:
        new &= flags[order] != 0
    return [column[new] for column in ordered]


def tag_runs(tags: Integers) -> Iterator[tuple[int, int, int]]:
    """Each tag of a sorted column, with where its run begins and ends."""
    cuts = [0, *(np.flatnonzero(tags[1:] != tags[:-1]) + 1).tolist(), len(tags)]
    for start, end in pairwise(cuts):
        if start < end:
            yield int(tags[start]), start, end


def all_rows(blocks: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows of all blocks as a DataFrame."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(unpack, cells(batches))

    return blocks.select("data").mapInArrow(each, ", ".join(f"{name} long" for name in names))
