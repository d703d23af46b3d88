"""Rows without an engine: what `Facts` are over after they were pickled.

`DetachedRows` has as much of a backend and its codec as `Facts` read; a table is a list of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from deltalog.core.limits import Limits
from deltalog.core.terms import Value, key

if TYPE_CHECKING:
    import pyarrow

PlainRows = list[tuple[Value, ...]]


class DetachedRows:
    """A backend and codec whose ids are the values themselves."""

    capabilities = SimpleNamespace(data_frames=None)
    limits = Limits()

    @property
    def codec(self) -> DetachedRows:
        return self

    def size(self, table: PlainRows) -> int:
        return len(table)

    def rows(self, table: PlainRows) -> list[tuple[Value, ...]]:
        """The columns."""
        return list(zip(*table, strict=True))

    def values(self, column: Sequence[Value]) -> list[Value]:
        return list(column)

    def empty(self, arity: int) -> PlainRows:
        return []

    def contains(self, table: PlainRows, row: Sequence[Value]) -> bool:
        wanted = [key(value) for value in row]
        return any([key(value) for value in each] == wanted for each in table)

    def to_arrow(self, table: PlainRows, columns: Sequence[str]) -> pyarrow.Table:
        from deltalog.formats.frames import arrow_of_rows

        return arrow_of_rows(table, columns)

    def write(self, folder: Any, tables: Any, form: Any) -> None:
        from deltalog.core.errors import UsageError

        raise UsageError("a change that was pickled is not written: write it before, or read its facts one by one")
