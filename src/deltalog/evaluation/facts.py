"""Facts as users see them: the rows of a predicate, or the answers of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from deltalog.core.arguments import checked_text, names_of, short_repr
from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.errors import UsageError
from deltalog.core.extras import extra_package
from deltalog.core.limits import count
from deltalog.core.render.html import html_preview
from deltalog.core.terms import Value
from deltalog.formats.detached_rows import DetachedRows

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from deltalog.core.rules import Pred
    from deltalog.evaluation.backend import Backend

T = TypeVar("T")
DECODED_ROWS = 1 << 12  # rows that are decoded at a time
UNCHECKED_ROWS = 1 << 10  # that are given away between two checks of limits


def rows(
    table: T, arity: int, backend: Backend[T], first: int = 0, most: int | None = None
) -> Iterator[tuple[Value, ...]]:
    """The rows of a table as tuples of values; `most` rows from a `first` one on."""
    size = backend.size(table)
    size = size if most is None else min(size, first + most)
    if arity == 0:
        yield from [()] * (size - first)
        return
    ids = shielded(backend.rows)(table)
    for start in range(first, size, DECODED_ROWS):
        decoded = _decoded(backend, ids, slice(start, min(start + DECODED_ROWS, size)))
        while some := list(islice(decoded, UNCHECKED_ROWS)):
            backend.limits.check()
            yield from some


@shielded
def _decoded(backend: Backend[Any], ids: Sequence[Any], part: slice) -> Iterator[tuple[Value, ...]]:
    backend.limits.check()
    return zip(*(backend.codec.values(column[part]) for column in ids), strict=True)


class Facts(Generic[T]):
    """Rows of values. Iterating gives tuples; `len`, `in` and the frames need no Python object per row.

    `columns` are the names of the columns: the variables of a query, or those of a predicate
    (`deltalog.program.column_names`), or `_0`, `_1`, ... where they have none.
    """

    def __init__(self, columns: Sequence[str], table: T, backend: Backend[T]) -> None:
        self.columns = tuple(columns)
        self.table = table
        self._backend = backend

    def named(self, columns: Sequence[str]) -> Facts[T]:
        """The same rows with other names of columns."""
        names = names_of(columns, "columns")
        if len(names) != len(self.columns):
            raise UsageError(
                f"there are {len(self.columns)} columns, and {len(names)} names for them: {short_repr(names)}"
            )
        return Facts(names, self.table, self._backend)

    def __len__(self) -> int:
        return self._backend.size(self.table)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return rows(self.table, len(self.columns), self._backend)

    @shielded
    def page(self, first: int, most: int) -> list[tuple[Value, ...]]:
        """Some rows: `most` of them, from the one with number `first` on, in the table's order."""
        places = count(first, "rows"), count(most, "rows")
        return list(rows(self.table, len(self.columns), self._backend, *places))

    def check(self) -> None:
        """Raises LimitReached if the call that works on the rows has reached a limit."""
        self._backend.limits.check()

    @shielded
    def __contains__(self, row: object) -> bool:
        if not isinstance(row, tuple | list) or len(row) != len(self.columns):
            return False
        try:
            return self._backend.codec.contains(self.table, row)
        except (TypeError, ValueError, OverflowError, RecursionError):  # what is no value is in no fact
            return False

    def __repr__(self) -> str:
        return f"<{len(self):,} rows of ({', '.join(self.columns)})>"

    @shielded
    def _repr_html_(self) -> str:
        return html_preview(self.columns, self, len(self), f"{len(self):,} rows")

    def __reduce__(self) -> tuple[Any, ...]:
        return Facts, (self.columns, list(self), DetachedRows())

    @shielded
    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table; see `deltalog.formats.frames` for the types."""
        return self._backend.codec.to_arrow(self.table, self.columns)

    @shielded
    def to_pandas(self) -> pandas.DataFrame:
        extra_package("pandas", "pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    @shielded
    def to_polars(self) -> polars.DataFrame:
        polars = extra_package("polars", "polars", "to_polars")
        return polars.from_arrow(self.to_arrow())  # type: ignore[no-any-return]

    @shielded
    def lines(self, delimiter: str = ",") -> Iterator[str]:
        """The rows as lines of CSV (or with another delimiter), in the form that readers take."""
        from deltalog.formats.csv_cells import print_cell

        delimiter = checked_text(delimiter, "a delimiter such as ','")
        return (delimiter.join(map(print_cell, row)) for row in self)

    @shielded
    def to_spark(self, session: Any = None) -> Any:
        """A Spark DataFrame, in the session given or the active one. On the Spark engine nothing is collected."""
        frames = self._backend.capabilities.data_frames
        if frames is not None:
            return frames.to_spark(self.table, self.columns)
        sessions = extra_package("pyspark.sql", "spark", "to_spark").SparkSession
        session = session or sessions.getActiveSession() or sessions.builder.getOrCreate()
        return session.createDataFrame(self.to_arrow())


def of_predicate(pred: Pred, table: T, backend: Backend[T], names: Sequence[str] = ()) -> Facts[T]:
    """The facts of a predicate, with the names of its columns if they have any."""
    return Facts(names or [f"_{i}" for i in range(pred.arity)], table, backend)
