"""JVM (Spark SQL): bindings as a DataFrame with a column for each variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltalog.core.rules import Variable
from deltalog.engines.spark.literals import IdMatrix
from deltalog.engines.spark.stored import UNIT

_numbers = count()


@dataclass(slots=True)
class Bindings:
    """A DataFrame and the column of each variable; `max_rows` is an upper bound on its rows, if one is known. `indexed`
    gives the same rows for a join on some variables, in place if there is an index. `literal` has the rows themselves,
    if they are few and in the driver."""

    frame: DataFrame
    names: dict[Variable, str]
    max_rows: int | None = None
    indexed: Callable[[Sequence[Variable]], DataFrame] | None = None
    literal: IdMatrix | None = None

    def by(self, shared: Sequence[Variable]) -> DataFrame:
        """The rows for a join on some variables."""
        return self.frame if self.indexed is None else self.indexed(shared)

    def column(self, variable: Variable) -> Column:
        return F.col(self.names[variable])

    def columns(self) -> list[Column]:
        return [F.col(name) for name in self.names.values()] or [F.col(UNIT)]


def fresh_name() -> str:
    """A column name that is used nowhere else."""
    return f"x{next(_numbers)}"
