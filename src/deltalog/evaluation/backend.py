"""The protocol of a backend.

The algorithms (semi-naive evaluation, maintenance, queries) are written once, against this protocol. A backend stores
sets of rows of ids and evaluates the algebra of `deltalog.evaluation.plan.ir` over them; it knows nothing of rules, strata or
strategies. How values become ids and back is the business of its codec (`deltalog.evaluation.codec`); what it can do
beyond the algebra, of its capabilities (`deltalog.evaluation.capabilities`).

Tables are immutable handles: `merge` and `minus` return new ones, and the old stay valid. So OLD, DELTA and ALL of a
relation are three handles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from deltalog.core.limits import Limits
from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.evaluation.capabilities import Capabilities
from deltalog.evaluation.codec import Codec
from deltalog.evaluation.plan.ir import Part, Plan, columns
from deltalog.evaluation.plan.work_counter import Meter
from deltalog.functions.failures import FailureLog

T = TypeVar("T")
Tables = Mapping[tuple[Pred, Part], T]


class TableStatistics(Protocol):
    """What the planner knows of a table."""

    def distinct(self, column: int) -> float:
        """About how many distinct values a column has; cheap."""
        ...

    def heaviest(self, column: int) -> float:
        """An upper bound on how many rows the most frequent value of a column has, where multiway joins are possible;
        an estimate elsewhere."""
        ...


class Backend(Protocol[T]):
    """Sets of rows of ids, and plans over them; T is the backend's handle of a table."""

    @property
    def name(self) -> str:
        """The engine's name, as in `KnowledgeBase(engine=...)`."""
        ...

    @property
    def codec(self) -> Codec[T]:
        """Facts in and out."""
        ...

    @property
    def capabilities(self) -> Capabilities[T]:
        """What it can do beyond the algebra."""
        ...

    @property
    def batch_independent_plans(self) -> bool:
        """Whether a call of `run_all` has a fixed cost, so that the plans of all hyper-nodes of one depth should go
        into one call."""
        ...

    @property
    def tuning(self) -> Tuning:
        """The thresholds of evaluation and maintenance."""
        ...

    @property
    def limits(self) -> Limits:
        """The limits that are checked during long work."""
        ...

    @property
    def meter(self) -> Meter:
        """Counts the work of this thread's plans, where the backend knows it."""
        ...

    @property
    def failures(self) -> FailureLog:
        """The rows dropped so far because an expression failed."""
        ...

    def load(self, columns: Sequence[Any], arity: int) -> T:
        """A table of the distinct rows of these columns of ids (for arity 0: a table with the one empty row)."""
        ...

    def empty(self, arity: int) -> T:
        """A table without rows."""
        ...

    def run_all(self, plans: Mapping[Pred, Plan], tables: Tables[T]) -> dict[Pred, T]:
        """The distinct rows of several plans, computed now; a backend may compute them together. A relation that
        `tables` does not have is empty."""
        ...

    def merge(self, old: T, new: T) -> T:
        """The union of two tables that share no row."""
        ...

    def minus(self, old: T, gone: T) -> T:
        """The rows of one table that are not in another."""
        ...

    def remove(self, old: T, gone: T) -> T:
        """The same where all rows of `gone` are known to be in the other table, so that the size is known, too."""
        ...

    def size(self, table: T) -> int:
        """The number of rows."""
        ...

    def rows(self, table: T) -> Sequence[Any]:
        """The columns of ids, in the table's order."""
        ...

    def statistics(self, table: T) -> TableStatistics:
        """Statistics of a table, computed when they are read."""
        ...


def run(backend: Backend[T], plan: Plan, tables: Tables[T]) -> T:
    """The distinct rows of one plan."""
    pred = Pred("", len(columns(plan)))
    return backend.run_all({pred: plan}, tables)[pred]


def united(first: Mapping[Pred, T], second: Mapping[Pred, T], backend: Backend[T]) -> dict[Pred, T]:
    """The facts of either."""
    found = dict(first)
    for pred, table in second.items():
        known = found.get(pred)
        found[pred] = table if known is None else backend.merge(known, backend.minus(table, known))
    return found


def without(tables: Mapping[Pred, T], others: Mapping[Pred, T], backend: Backend[T]) -> dict[Pred, T]:
    """The facts that others do not have; each predicate stays, even if it has no facts any more."""
    return {pred: backend.minus(table, others[pred]) if pred in others else table for pred, table in tables.items()}
