"""JVM (Spark SQL), then executors (Python workers): new rows are made distinct, known ones removed, the rest stored.

One job does it. The new rows of all predicates go together, with their tags, and are shuffled by a hash of the row; no
known row is. What is known is stored in the same partitions in order (see `stored`), so it is merged with the sorted
new rows, one stored DataFrame after the other. The rest is stored, and Python workers summarise it for the driver: for
each predicate the number of rows, and for each column a sketch that estimates the number of distinct values (the k
least hashes; Bar-Yossef et al., Counting Distinct Elements in a Data Stream, 2002).

Small results come to the driver in the same job, and become driver tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltalog.core.arrays import Integers
from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.engines.spark.io import blocks
from deltalog.engines.spark.io.arrow import binaries, numbers, words
from deltalog.engines.spark.literals import is_among
from deltalog.engines.spark.stored import TAG, StoredFrame, column_names
from deltalog.engines.spark.table import Segment, SparkTable, driver_table

_MAX_SEGMENTS = 4  # stored DataFrames that new rows are compared with one after the other

SKETCH_HASHES = 128
SUMMARY = "statistics binary, data binary"


class Known(NamedTuple):
    """What is known of a predicate: the table, and the tag of the predicate."""

    table: SparkTable
    tag: int


def store_distinct(
    rows: DataFrame, known: Sequence[Known], preds: Mapping[int, Pred], columns: int, partitions: int, tuning: Tuning
) -> dict[Pred, SparkTable]:
    """The distinct rows `tag, c0, c1, ...` that are not known, as tables by their tags; a result that is small in all
    becomes driver tables."""
    names = [TAG, *column_names(columns)]
    new = _in_this_order(rows.select(*names).distinct())
    known = [one for one in known if not one.table.empty]
    few = [one for one in known if one.table.is_literal(tuning)]
    for table, tag in few:
        new = new.where((F.col(TAG) != tag) | ~is_among(column_names(table.arity), table.driver_rows))  # type: ignore[arg-type]
    for frame, size in _known_frames([one for one in known if one not in few], columns, tuning):
        new = without(new, frame, names, size, tuning)
    stored = StoredFrame(new, partitions, preds)
    max_rows = tuning.spark_driver_table_max_rows
    found = stored.frame.mapInArrow(_summary(max_rows // partitions + 1 if max_rows else 0), SUMMARY).collect()
    tables = _tables(stored, [bytes(row.statistics) for row in found], preds)
    if max_rows and tables and sum(table.size or 0 for table in tables.values()) <= max_rows:
        return _driver_tables(_small_rows(stored, found), preds, stored.frame.sparkSession, tuning)
    return tables


def _in_this_order(rows: DataFrame) -> DataFrame:
    """The same rows, by a condition that Spark's optimiser does not push joins through: otherwise it would remove known
    rows from each member of a union, and before duplicates are removed."""
    return rows.where(F.spark_partition_id() >= 0)


def without(new: DataFrame, known: DataFrame, names: Sequence[str], size: int | None, tuning: Tuning) -> DataFrame:
    """The rows that are not among known ones, which are broadcast only if they are small."""
    other = known.select(*[F.col(name).alias(f"known_{name}") for name in names])
    same = reduce(Column.__and__, [F.col(name) == F.col(f"known_{name}") for name in names])
    small = size is not None and 8 * len(names) * size <= tuning.spark_broadcast_max_bytes
    return new.join(other.hint("broadcast" if small else "merge"), same, "left_anti")


def _known_frames(known: Sequence[Known], columns: int, tuning: Tuning) -> Iterator[tuple[DataFrame, int | None]]:
    """DataFrames of all known rows with their sizes: one for each stored DataFrame, but only so many that Spark plans
    them quickly, and one for everything else."""
    in_place: dict[int, tuple[StoredFrame, dict[int, Segment]]] = {}
    others: list[tuple[DataFrame, int | None]] = []
    for table, tag in known:
        for segment in table.to_segments():
            if segment.stored is not None and segment.tag == tag:
                in_place.setdefault(id(segment.stored), (segment.stored, {}))[1][tag] = segment
            else:
                others.append((segment.tagged(tag, columns), segment.size))
    largest = sorted(in_place.values(), key=lambda found: -sum(segment.size or 0 for segment in found[1].values()))
    alone, rest = largest[:_MAX_SEGMENTS], largest[_MAX_SEGMENTS:]
    for stored, segments in alone:
        yield _living(stored, segments), None  # in place: merging is cheaper than a broadcast, however small it is
    if rest:
        yield reduce(DataFrame.unionAll, [_living(stored, segments) for stored, segments in rest]), None
    if others:
        sizes = [size for _, size in others if size is not None]
        yield (
            reduce(DataFrame.unionAll, [frame for frame, _ in others]),
            sum(sizes) if len(sizes) == len(others) else None,
        )


def _living(stored: StoredFrame, segments: Mapping[int, Segment]) -> DataFrame:
    """The rows of some tags without tombstones, in place."""
    rows = stored.of_tags(segments)
    for tag, segment in segments.items():
        if segment.gone is not None:
            gone = is_among(column_names(segment.gone.shape[1]), segment.gone)
            rows = rows.where((F.col(TAG) != tag) | ~gone)
    return rows


def _tables(stored: StoredFrame, statistics: Iterable[bytes], preds: Mapping[int, Pred]) -> dict[Pred, SparkTable]:
    by_tag: dict[int, list[dict[str, Any]]] = {}
    for line in (line for block in statistics for line in blocks.unpack(block).to_pylist()):
        by_tag.setdefault(line["tag"], []).append(line)
    tables = {}
    for tag, lines in by_tag.items():
        pred, size = preds[tag], sum(line["size"] for line in lines)
        distinct = [estimated([line["sketches"][i] for line in lines]) for i in range(pred.arity)]
        tables[pred] = SparkTable(pred.arity, (Segment(stored.frame, stored, tag, size),), size, distinct)
    return tables


def _small_rows(stored: StoredFrame, found: Sequence[Any]) -> list[list[Integers]]:
    """The columns of a small result, which has come with the summaries unless it was skewed."""
    if all(row.data is not None for row in found):
        batches = [blocks.unpack(bytes(row.data)) for row in found]
    else:
        batches = stored.frame.toArrow().to_batches()
    return [[words(column) for column in batch.columns] for batch in batches if batch.num_rows]


def _driver_tables(
    found: Sequence[Sequence[Integers]], preds: Mapping[int, Pred], spark: Any, tuning: Tuning
) -> dict[Pred, SparkTable]:
    """Stored rows as driver tables."""
    rows: dict[int, list[Integers]] = {}
    for columns in found:
        matrix = np.stack(columns, axis=1)
        for tag, start, end in blocks.tag_runs(matrix[:, 0]):
            rows.setdefault(tag, []).append(matrix[start:end, 1 : preds[tag].arity + 1])
    return {preds[tag]: driver_table(np.concatenate(parts), spark, tuning) for tag, parts in rows.items()}


# In Python workers.


def _summary(max_rows: int) -> Any:
    """A function for `mapInArrow` that summarises a partition in one row: statistics, and its rows if they are few."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        summary = PartitionSummary()
        few: list[pa.RecordBatch] = []
        for batch in batches:
            summary.add(batch)
            if summary.rows <= max_rows:
                few.append(batch)
        if summary.rows:
            data = _packed(few) if summary.rows <= max_rows else None
            cells = [binaries([summary.statistics()]), pa.array([data], pa.binary())]
            yield pa.RecordBatch.from_arrays(cells, ["statistics", "data"])

    return each


def _packed(batches: Sequence[pa.RecordBatch]) -> bytes:
    rows = pa.Table.from_batches(batches).combine_chunks()
    return blocks.pack(rows.to_batches(max_chunksize=2**31 - 1)[0])


class PartitionSummary:
    """The number of rows of each tag, and the sketches of its columns; one batch after the other."""

    def __init__(self) -> None:
        self.rows, self._sizes = 0, dict[int, int]()
        self._sketches: dict[int, list[Any]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        tags, *columns = (words(column) for column in batch.columns)
        self.rows += len(tags)
        for tag, start, end in blocks.tag_runs(tags):
            found = [sketch(column[start:end]) for column in columns]
            known = self._sketches.get(tag)
            self._sizes[tag] = self._sizes.get(tag, 0) + end - start
            self._sketches[tag] = found if known is None else [merged(*both) for both in zip(known, found, strict=True)]

    def statistics(self) -> bytes:
        columns = [
            pa.array(list(self._sizes), pa.int64()),
            pa.array(list(self._sizes.values()), pa.int64()),
            pa.array([[one.tolist() for one in found] for found in self._sketches.values()], LISTS),
        ]
        return blocks.pack(pa.RecordBatch.from_arrays(columns, ["tag", "size", "sketches"]))


LISTS = pa.list_(pa.list_(pa.uint64()))


def sketch(column: Integers) -> Any:
    """The SKETCH_HASHES least hashes of the values of a column."""
    values = words(pc.unique(numbers(column)))
    hashes = blocks.mix_hash(values.view(np.uint64))
    return np.sort(hashes if len(hashes) <= SKETCH_HASHES else np.partition(hashes, SKETCH_HASHES)[:SKETCH_HASHES])


def merged(one: Any, other: Any) -> Any:
    """The sketch of two columns together."""
    return np.union1d(one, other)[:SKETCH_HASHES]


def estimated(sketches: Sequence[Sequence[int]]) -> float:
    """The estimated number of distinct values in columns with these sketches."""
    least = sorted({hashed for sketch in sketches for hashed in sketch})[:SKETCH_HASHES]
    return float(len(least)) if len(least) < SKETCH_HASHES else (SKETCH_HASHES - 1) * 2.0**64 / least[-1]
