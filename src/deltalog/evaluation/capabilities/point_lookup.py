"""Point look-ups and row operators, for evaluation top-down (QSQ-R) and for the estimate of a goal.

Rows are tuples of ids, and operators take and return lists of them: what matters is the cost of one call. Without this
capability, goals are answered by magic sets or from a materialisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from deltalog.core.arrays import IdRow as IdRow
from deltalog.core.rules import AggregateCall, Expression, Variable
from deltalog.core.terms import Value

T = TypeVar("T")
VariablePlaces = Sequence[tuple[Variable, int]]  # where in a row the values of variables are
RowOperator = Callable[[list[IdRow]], list[IdRow]]


class Lookup(Protocol):
    """A table by some of its columns, the bound ones: values of these in, the other columns of matching rows out."""

    @property
    def indexed(self) -> bool:
        """Whether a look-up takes an index and not a scan."""
        ...

    def __call__(self, keys: Sequence[IdRow]) -> Iterable[tuple[int, IdRow]]:
        """For every match: the number of the key, and the other columns of the row."""
        ...

    def read(self, keys: int) -> int:
        """The number of rows that this many keys will give, where that is known in advance: nothing is bound."""
        ...

    def count(self, key: IdRow) -> int:
        """The number of rows that match one key."""
        ...


class PointLookup(Protocol[T]):
    """Tables and expressions, a few rows at a time."""

    @property
    def known_ids(self) -> int:
        """The number of values that have an id."""
        ...

    def intern(self, value: Value) -> int:
        """The id of a value, which it gets if it has none."""
        ...

    def find(self, value: Value) -> int | None:
        """The id of a value; None if it has none."""
        ...

    def lookup(self, table: T, bound: Sequence[int]) -> Lookup:
        """A table by some of its columns."""
        ...

    def matching(self, table: T, bound: Sequence[int], key: IdRow) -> T | None:
        """The other columns of the rows that match one key; None where there is no index for it."""
        ...

    def table(self, rows: Sequence[IdRow], arity: int) -> T:
        """A table of the distinct rows."""
        ...

    def where(self, condition: Expression, places: VariablePlaces) -> RowOperator:
        """Keeps the rows for which a condition holds."""
        ...

    def extend(self, expression: Expression, places: VariablePlaces) -> RowOperator:
        """Appends the value of an expression to rows; rows for which it fails are dropped."""
        ...

    def group(self, on: int, names: Sequence[Variable], calls: Sequence[AggregateCall]) -> RowOperator:
        """Groups sorted distinct rows of some variables by the first `on` of them: for each group these values, then
        the results of the calls; groups for which a call fails are dropped."""
        ...
