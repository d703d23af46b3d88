"""Tables of the Spark engine: sets of rows of 64-bit ids, as a few pieces that share no row, or in the driver.

A piece is a DataFrame of its own, or the rows of one tag in shared blocks: what is read or derived in one job is
one DataFrame of blocks (see `blocks`) with columns `tag`, `c0`, `c1` (0 where an arity has no such column; wider facts
have a DataFrame for each arity). `deltalog.backends.spark.operators.shared_scan` reads many tables of it in one go.

A table's own columns are `c0`, `c1`, ...; a table of arity 0 has one column `unit`, so that it has rows at all. Merging
puts pieces side by side, and the backend makes one of them again before there are too many. `size` is None while nobody
knows it.

A table of few rows is an array in the driver (`near`): a plan over such tables needs no job at all, and as a DataFrame
it is a constant of the plan that uses it. What the driver itself has derived stays there, too, until a plan of
executors needs it.
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

from deltalog.backends.spark.io.blocks import distinct, rows_of
from deltalog.model.tuning import Tuning

UNIT = "unit"
TAG = "tag"

Grid = NDArray[np.int64]  # one line for each row


def column_names(arity: int) -> list[str]:
    """The columns of a table."""
    return [f"c{i}" for i in range(arity)] or [UNIT]


def width(arity: int) -> int:
    """How many columns a shared DataFrame has for facts of an arity."""
    return max(2, arity)


def cut(frame: DataFrame) -> DataFrame:
    """A DataFrame that is computed once, when it is first read, and whose plan is forgotten.

    In the folder for checkpoints if the user has set one; else with the executors. On a cluster there are two copies of
    each part then, so that an executor may die.
    """
    context = frame.sparkSession.sparkContext
    if context.getCheckpointDir():
        return frame.checkpoint(eager=False)
    if context.master.startswith("local"):
        return frame.localCheckpoint(eager=False)
    return frame.localCheckpoint(eager=False, storageLevel=StorageLevel.MEMORY_AND_DISK_2)


def columns_of(arity: int) -> list[Any]:
    """The columns of a table, of a DataFrame that has them and possibly others."""
    return [F.col(name).alias(name) for name in column_names(arity)] if arity else [F.lit(0).cast("long").alias(UNIT)]


class Piece(NamedTuple):
    """Rows of a table: a DataFrame of its columns, or the rows that have a tag in a DataFrame of blocks."""

    frame: DataFrame
    tag: int | None = None

    def rows(self, arity: int) -> DataFrame:
        """As a DataFrame of the table's columns, every one under a fresh alias."""
        if self.tag is None:
            return self.frame.select(*columns_of(arity))
        names = column_names(arity) if arity else ["c0"]
        return rows_of(self.frame, self.tag, names).select(*columns_of(arity))


@dataclass(eq=False, slots=True)
class SparkTable:
    """A set of rows. `distinct` has estimates per column where they are known."""

    arity: int
    pieces: tuple[Piece, ...] = ()
    size: int | None = 0
    distinct: Sequence[float] = ()
    near: Grid | None = None
    inline: bool = False  # whether the rows in the driver are few enough to go along with every plan
    spark: Any = None
    expansion: Any = (
        None  # where executors can list the rows by themselves (`deltalog.backends.spark.operators.broadcast_closure`)
    )

    @property
    def empty(self) -> bool:
        """Known to have no rows."""
        return self.size == 0

    def parts(self) -> tuple[Piece, ...]:
        """The pieces; rows in the driver become one."""
        if not self.pieces and self.near is not None:
            frame = constant(self.near, self.arity, self.spark)
            if not self.inline:  # sent once
                frame = cut(frame.repartition(self.spark.sparkContext.defaultParallelism))
            self.pieces = (Piece(frame),)
        return self.pieces

    def frame(self) -> DataFrame:
        """All rows as one DataFrame, every column under a fresh alias."""
        return reduce(DataFrame.unionAll, [piece.rows(self.arity) for piece in self.parts()])


def near_table(rows: Grid, spark: Any, tuning: Tuning) -> SparkTable:
    """A table of distinct rows that the driver has."""
    size, arity = rows.shape
    counted = size <= tuning.spark_distinct_count_max_rows
    distinct = [float(len(np.unique(rows[:, i]))) for i in range(arity)] if counted else []
    return SparkTable(arity, (), size, distinct, rows, size <= tuning.spark_driver_table_max_rows, spark)


def distinct_rows(rows: Grid) -> Grid:
    """Each row once; a row without columns is there or not."""
    if rows.shape[1] == 0:
        return rows[:1]
    return np.unique(rows, axis=0)


def constant(rows: Grid, arity: int, spark: Any) -> DataFrame:
    """Rows as a DataFrame."""
    columns = [pa.array(np.ascontiguousarray(rows[:, i])) for i in range(arity)] or [
        pa.array([0] * len(rows), pa.int64())
    ]
    return spark.createDataFrame(pa.table(columns, names=column_names(arity)))


def without(rows: Grid, gone: Grid) -> Grid:
    """The rows that are not among others. Both are sets."""
    if rows.shape[1] == 0:
        return rows[: max(0, len(rows) - len(gone))]
    both = np.concatenate([gone, rows])
    is_row = np.repeat(np.array([0, 1], np.int64), [len(gone), len(rows)])
    return np.stack(distinct(list(both.T), is_row), axis=1)
