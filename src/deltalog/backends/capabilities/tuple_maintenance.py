"""Small changes, tuple at a time: maintenance of strata and updates of explicit tables in one call.

Without this capability, strata are maintained set at a time (`maintenance.dred`) and tables updated one by one
(`maintenance.materialisation.exchanged`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from deltalog.plan.delta_rules import SmallPlans
from deltalog.plan.ir import Part
from deltalog.syntax.ast import Pred

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Exchange(Generic[T]):
    """Tables after a change, and the rows that it removed and added."""

    tables: dict[Pred, T]
    removed: dict[Pred, T]
    added: dict[Pred, T]


@dataclass(frozen=True, slots=True)
class SmallChange(Generic[T]):
    """A change as strata see it.

    `before`: relations before the change; `explicit`: explicit facts after it; `removed`, `added`: the net changes of
    the relations whose deltas are known; `removed_facts`, `added_facts`: the changes of explicit facts.
    """

    before: Mapping[tuple[Pred, Part], T]
    explicit: Mapping[Pred, T]
    removed: Mapping[Pred, T]
    added: Mapping[Pred, T]
    removed_facts: Mapping[Pred, T]
    added_facts: Mapping[Pred, T]
    # For each stratum: whether to give up when far more facts would be overdeleted than are candidates at first,
    bounded: Sequence[bool]
    # and the number of changed facts among its inputs beyond which to give up, if some of them are deletions.
    max_changed: Sequence[float]


@dataclass(frozen=True, slots=True)
class SmallResult(Generic[T]):
    """The effect of a change on strata: how many of them were maintained, the new tables and deltas of their relations,
    and for each relation how many facts were overdeleted, rederived and inserted."""

    done: int = 0
    tables: dict[Pred, T] = field(default_factory=dict)
    removed: dict[Pred, T] = field(default_factory=dict)
    added: dict[Pred, T] = field(default_factory=dict)
    counts: dict[Pred, tuple[int, int, int]] = field(default_factory=dict)


class TupleMaintenance(Protocol[T]):
    """Delete and rederive, and updates of explicit facts, tuple at a time."""

    def maintain(self, strata: Sequence[SmallPlans], change: SmallChange[T]) -> SmallResult[T]:
        """Maintains strata, one after the other, until one of them has too much to do."""
        ...

    def exchange(
        self, tables: Mapping[Pred, T], removed: Mapping[Pred, T], added: Mapping[Pred, T]
    ) -> Exchange[T] | None:
        """Tables without some rows, and then with others; None where the change is too large for one call."""
        ...
