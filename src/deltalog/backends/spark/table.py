"""Tables of the Spark engine: sets of rows of 64-bit ids, as a few DataFrames that share no row, or in the driver.

A table's columns are `c0`, `c1`, ...; a table of arity 0 has one column `unit`, so that it has rows at all. Merging
puts DataFrames side by side, and the backend makes one of them again before there are too many. `size` is None while
nobody knows it.

A table of few rows is an array in the driver (`near`): a plan over such tables needs no job at all, and as a DataFrame
it is a constant of the plan that uses it. What the driver itself has derived stays there, too, until a plan of
executors needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

MOST_PIECES = 8
NEAR = 20_000  # rows up to which a table is kept in the driver
LOOKED_AT = 1_000_000  # rows of which the driver counts distinct values
UNIT = "unit"

Grid = NDArray[np.int64]  # one line for each row


def column_names(arity: int) -> list[str]:
    """The columns of a table."""
    return [f"c{i}" for i in range(arity)] or [UNIT]


@dataclass(eq=False, slots=True)
class SparkTable:
    """A set of rows. `distinct` has estimates per column where they are known."""

    arity: int
    pieces: tuple[DataFrame, ...] = ()
    size: int | None = 0
    distinct: Sequence[float] = ()
    near: Grid | None = None
    spark: Any = None

    @property
    def empty(self) -> bool:
        """Known to have no rows."""
        return self.size == 0

    def frame(self) -> DataFrame:
        """All rows as one DataFrame, every column under a fresh alias."""
        names = column_names(self.arity)
        if not self.pieces:
            assert self.near is not None
            frame = constant(self.near, self.arity, self.spark)
            if len(self.near) > NEAR:  # sent once, not with every plan
                frame = frame.repartition(self.spark.sparkContext.defaultParallelism).localCheckpoint(eager=False)
            self.pieces = (frame,)
        pieces = [piece.select(*[F.col(name).alias(name) for name in names]) for piece in self.pieces]
        return reduce(DataFrame.unionAll, pieces)


def near_table(rows: Grid, arity: int, spark: Any) -> SparkTable:
    """A table of distinct rows that the driver has."""
    distinct = [float(len(np.unique(rows[:, i]))) for i in range(arity)] if len(rows) <= LOOKED_AT else []
    return SparkTable(arity, (), len(rows), distinct, rows, spark)


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
    """The rows that are not among others."""
    if rows.shape[1] == 0:
        return rows[: max(0, len(rows) - len(gone))]
    known = set(map(tuple, gone.tolist()))
    return rows[[row not in known for row in map(tuple, rows.tolist())]]
