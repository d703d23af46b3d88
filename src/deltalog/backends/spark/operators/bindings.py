"""JVM (Spark SQL): bindings as a DataFrame with a column for each variable."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark.table import UNIT
from deltalog.syntax.ast import Variable

_numbers = count()


@dataclass(slots=True)
class Bindings:
    """A DataFrame and the column of each variable; `max_rows` is an upper bound on its rows, if one is known."""

    frame: DataFrame
    names: dict[Variable, str]
    max_rows: int | None = None

    def column(self, variable: Variable) -> Column:
        return F.col(self.names[variable])

    def columns(self) -> list[Column]:
        return [F.col(name) for name in self.names.values()] or [F.col(UNIT)]


def fresh_name() -> str:
    """A column name that is used nowhere else."""
    return f"x{next(_numbers)}"
