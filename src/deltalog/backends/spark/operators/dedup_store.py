"""Rows that were derived or read become tables, in one job.

Blocks of new rows, and of rows that are known, come together by a hash of the row. Where they have met, new rows are
made distinct, known ones are taken out, and what is left is stored there as blocks: lineage is cut (see `table.cut`).
Along with them goes what the driver wants to know of each predicate: the number of rows, and a sketch of each column
that says about how many distinct values it has (the k least hashes, Bar-Yossef et al. 2002).

A few rows come to the driver in the same job, and stay there.
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
from deltalog.backends.spark.table import Piece, SparkTable, cut, near_table
from deltalog.model.arrays import Integers
from deltalog.syntax.ast import Pred

LEAST = 128  # hashes of a sketch
STORED = "data binary, about binary"
ROOM = 1 << 21  # rows that wait before they are made distinct


def pinned(
    new: DataFrame, known: DataFrame | None, preds: Mapping[int, Pred], places: int, near: int = 0
) -> dict[Pred, SparkTable]:
    """The tables of blocks, by the tags of their rows; up to `near` rows in all come to the driver."""
    both = new.select("to", F.lit(False).alias("known"), "data")
    if known is not None:
        both = both.unionAll(known.select("to", F.lit(True).alias("known"), "data"))
    stored = cut(blocks.gathered(both, places).select("known", "data").mapInArrow(_stored, STORED))
    few = F.length("data") <= 32 * near // places + 4096
    found = stored.select("about", F.when(few, F.col("data")).alias("data") if near else F.lit(None).alias("data"))
    rows = found.collect()
    tables = _tables(stored.select("data"), [bytes(row.about) for row in rows if row.about], preds)
    if near and tables and sum(table.size or 0 for table in tables.values()) <= near:
        data = [row.data for row in rows] if all(row.data is not None for row in rows) else _fetched(stored)
        return _near(data, preds, stored.sparkSession)
    return tables


def _tables(stored: DataFrame, about: Sequence[bytes], preds: Mapping[int, Pred]) -> dict[Pred, SparkTable]:
    told: dict[int, list[dict[str, Any]]] = {}
    for line in (line for block in about for line in blocks.unpacked(block).to_pylist()):
        told.setdefault(line["tag"], []).append(line)
    return {
        (pred := preds[tag]): SparkTable(
            pred.arity,
            (Piece(stored, tag),),
            sum(line["size"] for line in lines),
            [estimated([line["sketches"][i] for line in lines]) for i in range(pred.arity)],
        )
        for tag, lines in told.items()
    }


def _fetched(stored: DataFrame) -> list[bytes]:
    return [row.data for row in stored.select("data").collect()]


def _near(data: Sequence[bytes], preds: Mapping[int, Pred], spark: Any) -> dict[Pred, SparkTable]:
    """Stored rows as tables of the driver."""
    rows: dict[int, list[Integers]] = {}
    for block in data:
        grid = np.stack([words(column) for column in unpacked_columns(block)], axis=1)
        for tag, start, end in blocks.stretches(grid[:, 0]):
            rows.setdefault(tag, []).append(grid[start:end, 1 : preds[tag].arity + 1])
    return {preds[tag]: near_table(np.concatenate(found), preds[tag].arity, spark) for tag, found in rows.items()}


def unpacked_columns(block: bytes) -> list[pa.Array]:
    return list(blocks.unpacked(bytes(block)).columns)


# In executors.


@dataclass(slots=True)
class Meeting:
    """The rows of a partition: known ones, and new ones, which are made distinct before they become too many."""

    names: list[str] = field(default_factory=list)
    known: list[list[Integers]] = field(default_factory=list)
    new: list[list[Integers]] = field(default_factory=list)
    waiting: int = 0
    room: int = ROOM

    def add(self, known: bool, rows: pa.RecordBatch) -> None:
        self.names = rows.schema.names
        columns = [words(column) for column in rows.columns]
        if known:
            self.known.append(columns)
            return
        self.new.append(columns)
        self.waiting += len(columns[0])
        if self.waiting > self.room:
            self.new = [blocks.distinct(_joined(self.new))]
            self.waiting = len(self.new[0][0])
            self.room = max(ROOM, 2 * self.waiting)

    def fresh(self) -> list[Integers]:
        """The distinct new rows that are not known, in order."""
        if not self.new:
            return [np.empty(0, np.int64) for _ in self.names]
        if not self.known:
            return blocks.distinct(_joined(self.new))
        sizes = [sum(len(columns[0]) for columns in rows) for rows in (self.known, self.new)]
        return blocks.distinct(_joined([*self.known, *self.new]), np.repeat(np.array([0, 1], np.int64), sizes))


def _joined(rows: Sequence[Sequence[Integers]]) -> list[Integers]:
    return [np.concatenate(columns) for columns in zip(*rows, strict=True)]


def _stored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    meeting = Meeting()
    for batch in batches:
        for known, cell in zip(batch.column("known").to_pylist(), batch.column("data"), strict=True):
            meeting.add(known, blocks.unpacked(cell.as_buffer()))
    columns = meeting.fresh()
    about = _about(columns) if meeting.names else None
    for start in range(0, len(columns[0]) if columns else 0, blocks.MOST):
        part = [numbers(column[start : start + blocks.MOST]) for column in columns]
        data = blocks.packed(pa.RecordBatch.from_arrays(part, meeting.names))
        cells = [binaries([data]), binaries([b"" if start or about is None else about])]
        yield pa.RecordBatch.from_arrays(cells, ["data", "about"])


def _about(columns: Sequence[Integers]) -> bytes:
    """What there is of each tag."""
    found = list(blocks.stretches(columns[0]))
    sketches = [sketch(column[start:end]) for _, start, end in found for column in columns[1:]]
    ends = np.cumsum([0, *map(len, sketches)], dtype=np.int32)
    inner = pa.ListArray.from_arrays(numbers(ends), numbers(np.concatenate([np.empty(0, np.uint64), *sketches])))
    places = np.arange(len(found) + 1, dtype=np.int32) * np.int32(len(columns) - 1)
    tags, starts, stops = np.array(found, np.int64).reshape(-1, 3).T
    about = [numbers(tags), numbers(stops - starts), pa.ListArray.from_arrays(numbers(places), inner)]
    return blocks.packed(pa.RecordBatch.from_arrays(about, ["tag", "size", "sketches"]))


def sketch(column: Integers) -> Any:
    """The least hashes of the values of a column."""
    values = words(pc.unique(numbers(column)))
    hashes = blocks.mixed(values.view(np.uint64))
    return np.sort(hashes if len(hashes) <= LEAST else np.partition(hashes, LEAST)[:LEAST])


def estimated(sketches: Sequence[Sequence[int]]) -> float:
    """About how many distinct values there are in columns of which these are the sketches."""
    least = sorted({hashed for sketch in sketches for hashed in sketch})[:LEAST]
    return float(len(least)) if len(least) < LEAST else (LEAST - 1) * 2.0**64 / least[-1]
