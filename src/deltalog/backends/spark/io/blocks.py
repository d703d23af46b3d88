"""Blocks: many rows of numbers or terms as one row of Spark.

To the JVM a row costs about a microsecond wherever it is converted, cached, shuffled or grouped; Python and Arrow need
a hundredth of that for a row of a column. So where rows are only kept, copied, dealt out or made distinct, Python does
it: a block is an Arrow stream in one binary cell, and `to` says to which place (a partition) it goes. Spark moves a few
thousand blocks and never looks into them. Rows of their own come about where Spark shall join them.

Blocks of facts have the columns `tag`, `c0`, `c1` (and more for wider facts); the rows of a stored one are sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from deltalog.backends.spark.io.arrow import binaries, number, numbers, words
from deltalog.model.arrays import Integers

MOST = 1 << 19  # rows of a block
BLOCKS = "to int, data binary"
Deal = Callable[[Sequence[Integers]], Any]  # the place of each row


def packed(batch: pa.RecordBatch) -> bytes:
    """A block of rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpacked(block: bytes) -> pa.RecordBatch:
    """The rows of a block."""
    return pa.ipc.open_stream(block).read_next_batch()


def together(blocks: Iterable[bytes]) -> pa.Table | None:
    """The rows of all blocks; None if there is no block."""
    batches = [unpacked(block) for block in blocks]
    return pa.Table.from_batches(batches).combine_chunks() if batches else None


def cells(batches: Iterable[pa.RecordBatch], name: str = "data") -> Iterator[Any]:
    """The blocks in a column of batches."""
    for batch in batches:
        for cell in batch.column(name):
            yield cell.as_buffer()


def gathered(blocks: DataFrame, places: int) -> DataFrame:
    """Blocks in so many partitions, each in that of its place."""
    if hasattr(blocks, "repartitionById"):  # Spark 4.1
        return blocks.repartitionById(places, "to")
    return blocks.repartition(places, "to")


# Dealing.


def dealt(rows: pa.RecordBatch, to: Any) -> Iterator[tuple[int, bytes]]:
    """The blocks of rows that go to different places, and the place of each."""
    order = np.argsort(to, kind="stable")
    places, starts = np.unique(to[order], return_index=True)
    for place, (start, end) in zip(places.tolist(), pairwise([*starts.tolist(), len(order)]), strict=True):
        for first in range(start, end, MOST):
            yield place, packed(rows.take(numbers(order[first : min(first + MOST, end)])))


def spread(columns: Sequence[Integers], places: int) -> Any:
    """One of so many places for each row, from a hash of all its columns."""
    hashed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hashed = mixed(hashed ^ column.view(np.uint64))
    return (hashed % np.uint64(places)).astype(np.int32)


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Another word for each, as if by chance (the last steps of splitmix64); no two words have the same."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def sent(columns: Sequence[Integers], names: Sequence[str], deal: Deal) -> Iterator[pa.RecordBatch]:
    """Rows as BLOCKS."""
    return rows_sent(pa.RecordBatch.from_arrays(list(map(numbers, columns)), list(names)), deal(columns))


def rows_sent(rows: pa.RecordBatch, to: Any) -> Iterator[pa.RecordBatch]:
    """Rows that go to places as BLOCKS."""
    for place, block in dealt(rows, to):
        yield pa.RecordBatch.from_arrays([number(place), binaries([block])], ["to", "data"])


def nowhere(columns: Sequence[Integers]) -> Any:
    """All rows in one place."""
    return np.zeros(len(columns[0]), np.int32)


def dealing(deal: Deal) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: rows as BLOCKS, without the repetitions that are close to each other."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _buffered(batches):
            columns = distinct([words(column) for column in rows.columns])
            yield from sent(columns, rows.column_names, deal)

    return each


def _buffered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches, as many as a block may have rows at a time."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= MOST:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


# Sorted rows.


def distinct(columns: Sequence[Integers], first: Integers | None = None) -> list[Integers]:
    """Rows in order, each once; the columns of one matrix. With `first`, only rows that have no 0 there."""
    order = np.lexsort(columns[::-1] if first is None else [first, *columns[::-1]])
    ordered = [column[order] for column in columns]
    new = np.zeros(len(order), np.bool_)
    new[:1] = True
    for column in ordered:
        new[1:] |= column[1:] != column[:-1]
    if first is not None:
        new &= first[order] != 0
    return [column[new] for column in ordered]


def stretches(tags: Integers) -> Iterator[tuple[int, int, int]]:
    """Where each tag begins and ends among sorted ones."""
    cuts = [0, *(np.flatnonzero(tags[1:] != tags[:-1]) + 1).tolist(), len(tags)]
    for start, end in pairwise(cuts):
        if start < end:
            yield int(tags[start]), start, end


def rows_of(blocks: DataFrame, tag: int, names: Sequence[str]) -> DataFrame:
    """The rows of a tag, of stored blocks, as a DataFrame."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for cell in cells(batches):
            rows = unpacked(cell)
            start, end = np.searchsorted(words(rows.column(0)), [tag, tag + 1])
            if start < end:
                yield rows.select(list(names)).slice(start, end - start)

    return blocks.select("data").mapInArrow(each, ", ".join(f"{name} long" for name in names))


def all_rows(blocks: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows of all blocks as a DataFrame."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(unpacked, cells(batches))

    return blocks.select("data").mapInArrow(each, ", ".join(f"{name} long" for name in names))
