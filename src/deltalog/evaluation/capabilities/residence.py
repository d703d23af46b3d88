"""Residence: tables that are in one place while they fit a budget of memory, and in another beyond it.

A knowledge base moves once, when a call is over the budget, and the call starts over there (`knowledge_base.session`).
Without this capability, tables stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from deltalog.core.rules import Pred

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend

T_contra = TypeVar("T_contra", contravariant=True)


class Moved(NamedTuple):
    """The backend that tables have moved to, and the tables there."""

    backend: Backend[Any]
    tables: dict[Pred, Any]


class Residence(Protocol[T_contra]):
    """The budget of a backend, and where tables go beyond it."""

    @property
    def reason(self) -> str:
        """Why the tables are here."""
        ...

    def watched(self) -> AbstractContextManager[None]:
        """A context in which a running call is stopped by OverBudget when the process exceeds the budget."""
        ...

    def check(self, tables: Iterable[T_contra]) -> None:
        """Counts the bytes of all tables and of the dictionary; raises OverBudget if they exceed the budget."""
        ...

    def move(self, tables: Mapping[Pred, T_contra]) -> Moved:
        """Copies tables to the other backend."""
        ...
