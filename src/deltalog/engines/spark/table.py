"""Driver: tables, which are sets of rows of 64-bit ids.

A table has disjoint segments of decreasing size, as in a log-structured merge tree. All that is read or derived in one
job is one `Stored` DataFrame of the columns `tag, c0, c1, ...`: the tag says of which predicate a row is, and missing
columns are 0 (facts of more than two arguments have a DataFrame for each arity). It is hash-partitioned by all of its
columns and sorted by them, and Spark knows that: removing known rows moves none of them (`operators.store`). For joins
on other columns, a segment that is read again has an index, a copy that is partitioned by the columns of the join.

The columns of a table are `c0`, `c1`, ...; a table of arity 0 has one column, `unit`. The size is None until it is
counted.

Rows that are removed become tombstones of the segments, a literal in the plans that read them, until there are many.

A driver table has its rows in an array in the driver. A plan over driver tables needs no Spark job. In other plans a
small driver table is a constant DataFrame. What the driver derives stays in driver tables until executors need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.core.rules import HiddenName, Pred
from deltalog.core.tuning import Tuning
from deltalog.engines.spark.io.blocks import sorted_distinct
from deltalog.engines.spark.literals import IdMatrix, is_among
from deltalog.engines.spark.settings import task_slots
from deltalog.engines.spark.stored import TAG, StoredFrame, checkpointed, column_names, constant, selected_columns
from deltalog.kernels.digest import hash_bytes

_COUNTED_ROWS = 1_000_000  # of which the driver counts distinct values


def tag_of(pred: Pred, salt: int) -> int:
    """The tag of a predicate, everywhere the same."""
    hidden = b"#" if isinstance(pred.name, HiddenName) else b""
    name = np.frombuffer(b"%d:%b%b" % (pred.arity, hidden, pred.name.encode()), np.uint8)
    return int(hash_bytes(name, salt)) >> 1


def width(arity: int) -> int:
    """The number of columns for facts of an arity in a shared DataFrame."""
    return max(2, arity)


class Segment(NamedTuple):
    """Rows of a table: those of a tag in a stored DataFrame, or a DataFrame of the table's columns that is computed
    from `sources` whenever it is read. `gone` are tombstones, a few rows that it may have and the table has not; `size`
    counts them."""

    frame: DataFrame
    stored: StoredFrame | None = None
    tag: int = 0
    size: int | None = None
    sources: tuple[SparkTable, ...] = ()
    gone: IdMatrix | None = None

    def present(self) -> DataFrame:
        """The rows, in whatever columns they are stored."""
        return self.living(self.frame if self.stored is None else self.stored.of_tag(self.tag))

    def living(self, rows: DataFrame) -> DataFrame:
        """Rows without tombstones; they keep their partitions and their order."""
        return rows if self.gone is None else rows.where(~is_among(column_names(self.gone.shape[1]), self.gone))

    def rows(self, arity: int) -> DataFrame:
        """The rows as a DataFrame; columns have fresh aliases."""
        return self.present().select(*selected_columns(arity))

    def tagged(self, tag: int, columns: int) -> DataFrame:
        """The rows with a tag, in so many columns."""
        names, frame = column_names(columns), self.present()
        if self.stored is not None and self.tag == tag:
            return frame.select(TAG, *names)
        there, zero = frame.columns, F.lit(0).cast("long")
        chosen = [F.col(name) if name in there else zero.alias(name) for name in names]
        return frame.select(constant(tag, F.col(there[-1])).alias(TAG), *chosen)

    def by(self, key: tuple[int, ...], arity: int, partitions: int) -> DataFrame:
        """The rows, in an index on some columns if they have been read by these before."""
        if self.stored is None or not key:
            return self.rows(arity)
        return self.living(self.stored.index(self.tag, key, arity, partitions))


@dataclass(eq=False, slots=True)
class SparkTable:
    """A set of rows; `distinct` estimates the distinct values of each column, where that is known."""

    arity: int
    segments: tuple[Segment, ...] = ()
    size: int | None = 0
    distinct: Sequence[float] = ()
    driver_rows: IdMatrix | None = None
    inline: bool = False  # whether a driver table is small enough to be a constant of plans
    spark: Any = None
    closure: Any = None  # a BroadcastClosure, if executors can list the rows

    @property
    def empty(self) -> bool:
        """Known to have no rows."""
        return self.size == 0

    def is_literal(self, tuning: Tuning) -> bool:
        """Whether its rows are so few that they may be part of a plan (see `literals`)."""
        return (
            self.driver_rows is not None
            and self.driver_rows.size > 0
            and len(self.driver_rows) <= tuning.spark_literal_max_rows
        )

    def to_segments(self) -> tuple[Segment, ...]:
        """The segments; a driver table becomes one segment."""
        if not self.segments and self.driver_rows is not None:
            frame = constant_frame(self.driver_rows, self.arity, self.spark)
            if not self.inline:  # sent to executors once
                frame = checkpointed(frame.repartition(task_slots(self.spark)))
            self.segments = (Segment(frame, size=self.size),)
        return self.segments

    def frame(self) -> DataFrame:
        """All rows as one DataFrame; columns have fresh aliases."""
        return reduce(DataFrame.unionAll, [segment.rows(self.arity) for segment in self.to_segments()])

    def by(self, key: tuple[int, ...], partitions: int) -> DataFrame:
        """All rows for a join on some columns: partitioned by them, where they have been read so before."""
        return reduce(DataFrame.unionAll, [segment.by(key, self.arity, partitions) for segment in self.to_segments()])

    def pin(self) -> None:
        """Leaves it to Spark to release the rows, because a DataFrame of the user's reads them."""
        for segment in self.segments:
            if segment.stored is not None:
                segment.stored.pin()
            for source in segment.sources:
                source.pin()


def driver_table(rows: IdMatrix, spark: Any, tuning: Tuning) -> SparkTable:
    """A driver table of distinct rows."""
    size, arity = rows.shape
    counted = size <= _COUNTED_ROWS
    distinct = [float(len(np.unique(rows[:, i]))) for i in range(arity)] if counted else []
    return SparkTable(arity, (), size, distinct, rows, size <= tuning.spark_driver_table_max_rows, spark)


def distinct_rows(rows: IdMatrix) -> IdMatrix:
    """The distinct rows."""
    if rows.shape[1] == 0:
        return rows[:1]
    return np.unique(rows, axis=0)


def constant_frame(rows: IdMatrix, arity: int, spark: Any) -> DataFrame:
    """Rows as a constant DataFrame."""
    columns = [pa.array(np.ascontiguousarray(rows[:, i])) for i in range(arity)] or [
        pa.array([0] * len(rows), pa.int64())
    ]
    return spark.createDataFrame(pa.table(columns, names=column_names(arity)))


def difference(rows: IdMatrix, gone: IdMatrix) -> IdMatrix:
    """The rows that are not among others; neither has duplicates."""
    if rows.shape[1] == 0:
        return rows[: max(0, len(rows) - len(gone))]
    both = np.concatenate([gone, rows])
    is_row = np.repeat(np.array([0, 1], np.int64), [len(gone), len(rows)])
    return np.stack(sorted_distinct(list(both.T), is_row), axis=1)
