"""Tables of the Spark engine: sets of rows of 64-bit ids, as a few DataFrames that share no row.

A table's columns are `c0`, `c1`, ...; a table of arity 0 has one column `unit`, so that it has rows at all. Merging
puts DataFrames side by side; `Pieces` grows by one a round, and `compacted` makes one of them again before there are
too many. `size` is None while nobody knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

MOST_PIECES = 8
UNIT = "unit"


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
    release: tuple[Callable[[], Any], ...] = field(default=())

    @property
    def empty(self) -> bool:
        """Known to have no rows."""
        return not self.pieces or self.size == 0

    def frame(self) -> DataFrame:
        """All rows as one DataFrame, every column under a fresh alias."""
        names = column_names(self.arity)
        pieces = [piece.select(*[F.col(name).alias(name) for name in names]) for piece in self.pieces]
        return reduce(DataFrame.unionAll, pieces)
