"""Small changes, tuple at a time: maintenance of strata and updates of explicit tables in one call.

Without this capability, strata are maintained set at a time (`maintenance.dred`) and tables updated one by one
(`maintenance.materialisation.exchanged`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from deltalog.core.rules import Pred
from deltalog.evaluation.plan.delta_rules import TuplePlans
from deltalog.evaluation.plan.ir import Part

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Exchange(Generic[T]):
    """Tables after a change, and the rows that it removed and added."""

    tables: dict[Pred, T]
    removed: dict[Pred, T]
    added: dict[Pred, T]


class TupleBudget(NamedTuple):
    """The work that the tuple-at-a-time kernel may do in a stratum before it gives up: changed facts that the stratum
    reads or has as explicit ones; the same where some are removed; matches; and overdeleted facts, in all and for each
    seed."""

    max_changed_facts: int
    max_changed_facts_with_removals: int
    max_matches: int
    overdeletion_min_facts: int
    overdeletion_factor: int


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
    budgets: Sequence[TupleBudget]  # one for each stratum


@dataclass(frozen=True, slots=True)
class SmallResult(Generic[T]):
    """The effect of a change on strata: how many of them were maintained, the new tables and deltas of their relations,
    and for each relation how many facts were overdeleted, rederived and inserted."""

    done: int = 0
    tables: dict[Pred, T] = field(default_factory=dict)
    removed: dict[Pred, T] = field(default_factory=dict)
    added: dict[Pred, T] = field(default_factory=dict)
    counts: dict[Pred, tuple[int, int, int]] = field(default_factory=dict)
    # Of the stratum on which the kernel gave up: the number of changed facts that it reads (0 if that does not matter),
    # and whether the attempt failed or these were more than its budget.
    changed: int = 0
    tried: bool = False


class TupleMaintenance(Protocol[T]):
    """Delete and rederive, and updates of explicit facts, tuple at a time."""

    def maintain(self, strata: Sequence[TuplePlans], change: SmallChange[T]) -> SmallResult[T]:
        """Maintains strata, one after the other, until one of them has too much to do."""
        ...

    def exchange(
        self, tables: Mapping[Pred, T], removed: Mapping[Pred, T], added: Mapping[Pred, T]
    ) -> Exchange[T] | None:
        """Tables without some rows, and then with others; None where the change is too large for one call."""
        ...
