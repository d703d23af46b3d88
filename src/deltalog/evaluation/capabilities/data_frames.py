"""Tables as Spark DataFrames, without collecting them. Without this capability, rows go through Arrow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)


class DataFrames(Protocol[T_contra]):
    """Tables that are DataFrames of the engine beneath."""

    def to_spark(self, table: T_contra, columns: Sequence[str], cells: Collection[int] | None = None) -> Any:
        """A lazy Spark DataFrame of the table's values with these column names. With `cells`, all columns have cells
        of CSV but those of numbers, booleans and dates; the columns at these places have cells in any case."""
        ...
