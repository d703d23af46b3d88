"""The solutions of a query: a sequence of rows, in which None stands for a variable without a value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.extras import extra_package
from deltalog.core.limits import checked, checked_sort
from deltalog.core.render.html import html_preview
from deltalog.core.terms import Value, key
from deltalog.functions.order import sort_key
from deltalog.functions.sparql_operators import is_unbound
from deltalog.languages.sparql.parse import Form

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from deltalog.core.rules import Pred
    from deltalog.evaluation.facts import Facts
    from deltalog.evaluation.failed_expressions import FailedExpression
    from deltalog.evaluation.goals.choose_method import MethodChoice
    from deltalog.languages.sparql.query import Query

SolutionRow = tuple[Value | None, ...]


class Solutions:
    """Rows of values, or None where a variable has none. `columns` are the names of the variables.

    `method` is the one that ran, `reason` why, `seconds` what it took; `form` is that of the query, and
    `prefixes` those that it and the program declare. `failures` are the expressions of rules that had no value for
    some rows, and so may have left solutions out.
    """

    def __init__(self, query: Query, facts: Facts[Any], choice: MethodChoice) -> None:
        self.columns, self.form, self.prefixes = query.columns, query.form, query.prefixes
        self.method, self.reason, self.features = choice.method, choice.reason, choice.features
        self.seconds = 0.0
        self.reads: Collection[Pred] = {pred for rule in query.rules for pred in rule.reads}
        self.failures: tuple[FailedExpression, ...] = ()
        self._query, self._facts = query, facts

    def __len__(self) -> int:
        query = self._query
        if query.distinct and query.order:
            return len(self.rows)
        rest = max(0, len(self._facts) - query.offset)
        return rest if query.limit is None else min(rest, query.limit)

    def __iter__(self) -> Iterator[SolutionRow]:
        return iter(self._facts if self.plain else self.rows)

    def __repr__(self) -> str:
        return f"<{len(self):,} solutions of ({', '.join(self.columns)})>"

    @shielded
    def _repr_html_(self) -> str:
        return html_preview(self.columns, self, len(self), f"{repr(self)[1:-1]} by {self.method}")

    @property
    def ask(self) -> bool:
        """Whether it only matters if there is a solution."""
        return self.form is Form.ASK

    @property
    def plain(self) -> bool:
        """Whether the rows of the query's goal are the solutions as they are."""
        return self._query.plain

    @cached_property
    def rows(self) -> list[SolutionRow]:
        """All solutions, in their order."""
        return self._solution_rows()

    @shielded
    def _solution_rows(self) -> list[SolutionRow]:
        query, width = self._query, len(self._query.columns)
        rows: Iterable[tuple[Value, ...]] = self._facts
        if query.order:
            rows = _ordered(rows, width, query.order)
        solutions: Iterable[SolutionRow] = (
            tuple(None if is_unbound(v) else v for v in row[:width]) for row in checked(rows)
        )
        if query.distinct and query.order:
            solutions = _distinct(solutions)
        stop = None if query.limit is None else query.offset + query.limit
        return list(islice(solutions, query.offset, stop))

    @shielded
    def serialize(self, format: str) -> str:
        """The results as a text: json, xml, csv or tsv of the W3C, a table, or for triples nt or ttl."""
        from deltalog.languages.sparql.results import text

        return text(self, format)

    @shielded
    def write(self, stream: IO[Any], format: str) -> None:
        """Writes what `serialize` returns to a stream of text or bytes, piece by piece."""
        from deltalog.languages.sparql.results import write

        write(self, format, stream)

    def to_json(self) -> str:
        """SPARQL 1.1 Query Results JSON."""
        return self.serialize("json")

    @shielded
    def lines(self, delimiter: str = ",") -> Iterator[str]:
        """The rows as lines of CSV (or with another delimiter); a cell without a value is empty."""
        from deltalog.formats.csv_cells import print_cell

        return (delimiter.join("" if v is None else print_cell(v) for v in row) for row in self.rows)

    @shielded
    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table, with null where a variable has no value; see `deltalog.formats.frames` for the types."""
        from deltalog.formats.frames import arrow_of_rows

        if self.plain:
            return self._facts.to_arrow()
        return arrow_of_rows(self.rows, self.columns)

    @shielded
    def to_pandas(self) -> pandas.DataFrame:
        extra_package("pandas", "pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    @shielded
    def to_polars(self) -> polars.DataFrame:
        polars = extra_package("polars", "polars", "to_polars")
        return polars.from_arrow(self.to_arrow())  # type: ignore[no-any-return]

    @shielded
    def to_spark(self, session: Any = None) -> Any:
        """A Spark DataFrame, in the session given or the active one."""
        if self.plain:
            return self._facts.to_spark(session)
        sessions = extra_package("pyspark.sql", "spark", "to_spark").SparkSession
        session = session or sessions.getActiveSession() or sessions.builder.getOrCreate()
        return session.createDataFrame(self.to_arrow())


def _ordered(rows: Iterable[tuple[Value, ...]], first: int, falling: Sequence[bool]) -> Iterable[tuple[Value, ...]]:
    """Rows by the columns from the first on: the last one first, and each sort keeps what it does not decide."""
    for number, falls in reversed(list(enumerate(falling))):
        value = itemgetter(first + number)
        rows = checked_sort(rows, lambda row, value=value: sort_key(value(row)), falls)  # type: ignore[misc]
    return rows


def _distinct(rows: Iterable[SolutionRow]) -> Iterator[SolutionRow]:
    seen = set()
    for row in rows:
        mark = tuple(None if value is None else key(value) for value in row)
        if mark not in seen:
            seen.add(mark)
            yield row
