"""Offload: rules that are cheaper to evaluate on another backend, such as the local engine in Spark's driver.

Without this capability, rules are evaluated where their relations are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.plan.ir import Part

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend

T = TypeVar("T")


class OffloadTarget(NamedTuple, Generic[T]):
    """Another backend with the same relations. `rules` are the rules as they have to be written for it; `to_table`
    converts one of its tables to one of ours."""

    backend: Backend[Any]
    tables: dict[tuple[Pred, Part], Any]
    rules: tuple[Rule, ...]
    to_table: Callable[[Any], T]


class OffloadOffer(NamedTuple, Generic[T]):
    """Where to evaluate rules (None: on the backend itself), and why there."""

    target: OffloadTarget[T] | None
    reason: str


class Offload(Protocol[T]):
    """Offers another backend for recursive hyper-nodes."""

    def watched(self) -> AbstractContextManager[None]:
        """A context for an evaluation there: OverBudget stops it when it needs too much memory."""
        ...

    def offer(self, rules: Sequence[Rule], tables: Mapping[Pred, T]) -> OffloadOffer[T]:
        """Where to evaluate rules over these relations."""
        ...
