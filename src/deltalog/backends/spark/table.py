"""Driver: tables, which are sets of rows of 64-bit ids.

A table has disjoint segments. A segment is a DataFrame of its own, or the rows of one tag in a shared DataFrame: all
that is read or derived in one job is one DataFrame of blocks (see `io.blocks`) with the columns `tag`, `c0`, `c1` (0
where the arity is smaller; wider facts have a DataFrame for each arity). `operators.shared_scan` reads many tables of a
shared DataFrame in one pass. Merging tables concatenates segments; the backend rewrites a table with too many of them.

The columns of a table are `c0`, `c1`, ...; a table of arity 0 has one column, `unit`. The size is None until it is
counted.

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
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark.io.blocks import rows_with_tag, sorted_distinct
from deltalog.backends.spark.settings import is_local_master, task_slots
from deltalog.model.tuning import Tuning

UNIT = "unit"
TAG = "tag"

IdMatrix = NDArray[np.int64]  # rows of ids, as the rows of the matrix


def column_names(arity: int) -> list[str]:
    """The names of a table's columns."""
    return [f"c{i}" for i in range(arity)] or [UNIT]


def width(arity: int) -> int:
    """The number of columns for facts of an arity in a shared DataFrame."""
    return max(2, arity)


def checkpointed(frame: DataFrame) -> DataFrame:
    """The same rows, computed when they are first read and then stored, without lineage.

    They are stored in the checkpoint folder if the user has set one, and otherwise by the executors; on a cluster in
    two copies, so that an executor may fail.
    """
    context = frame.sparkSession.sparkContext
    if context.getCheckpointDir():
        return frame.checkpoint(eager=False)
    if is_local_master(context.master):
        return frame.localCheckpoint(eager=False)
    return frame.localCheckpoint(eager=False, storageLevel=StorageLevel.MEMORY_AND_DISK_2)


def selected_columns(arity: int) -> list[Any]:
    """The columns of a table, selected from a DataFrame that may have others."""
    return [F.col(name).alias(name) for name in column_names(arity)] if arity else [F.lit(0).cast("long").alias(UNIT)]


class Segment(NamedTuple):
    """Rows of a table: a DataFrame of its columns, or the rows of a tag in a DataFrame of blocks."""

    frame: DataFrame
    tag: int | None = None

    def rows(self, arity: int) -> DataFrame:
        """The rows as a DataFrame; columns have fresh aliases."""
        if self.tag is None:
            return self.frame.select(*selected_columns(arity))
        names = column_names(arity) if arity else ["c0"]
        return rows_with_tag(self.frame, self.tag, names).select(*selected_columns(arity))


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

    def to_segments(self) -> tuple[Segment, ...]:
        """The segments; a driver table becomes one segment."""
        if not self.segments and self.driver_rows is not None:
            frame = constant_frame(self.driver_rows, self.arity, self.spark)
            if not self.inline:  # sent to executors once
                frame = checkpointed(frame.repartition(task_slots(self.spark)))
            self.segments = (Segment(frame),)
        return self.segments

    def frame(self) -> DataFrame:
        """All rows as one DataFrame; columns have fresh aliases."""
        return reduce(DataFrame.unionAll, [segment.rows(self.arity) for segment in self.to_segments()])


def driver_table(rows: IdMatrix, spark: Any, tuning: Tuning) -> SparkTable:
    """A driver table of distinct rows."""
    size, arity = rows.shape
    counted = size <= tuning.spark_distinct_count_max_rows
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
