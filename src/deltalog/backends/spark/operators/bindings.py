"""Bindings in a DataFrame: which column stands for which variable."""

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
    """A DataFrame and the column of each variable; `most` is a bound on the number of rows, if one is known."""

    frame: DataFrame
    names: dict[Variable, str]
    most: int | None = None

    def column(self, variable: Variable) -> Column:
        return F.col(self.names[variable])

    def kept(self) -> list[Column]:
        return [F.col(name) for name in self.names.values()] or [F.col(UNIT)]


def fresh() -> str:
    """A name for a column that no other column has."""
    return f"x{next(_numbers)}"
