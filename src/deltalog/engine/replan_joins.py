"""Joins that turn out far from their estimates are planned again while they run.

The textbook estimate takes every value of a column for equally frequent. Where that is wrong, an order of joins may
have thousands of times the rows that were estimated. So the plans of a round may go through
`Tuning.replan_misestimate_factor` times the rows that they were estimated to, together, and
`Tuning.replan_min_rows`. Beyond that the round is given up: nothing of it has been added yet.
Cyclic rules are chosen for again, and the rules that may be the cause are planned again, both as if every look-up met
the most frequent value (`Skewed`); then the round is done once more, without a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from deltalog.plan.ir import Part
from deltalog.plan.join_order import joined_steps
from deltalog.plan.multiway import most_rows
from deltalog.plan.statistics import Statistics
from deltalog.plan.work_counter import GivenUp
from deltalog.syntax.ast import Pred

if TYPE_CHECKING:
    from deltalog.engine.seminaive import PlannedVariant, SemiNaive

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Skewed:
    """The same data, if every value is as frequent as the most frequent one of its column."""

    known: Statistics

    def size(self, pred: Pred, part: Part) -> float:
        return self.known.size(pred, part)

    def distinct(self, pred: Pred, part: Part, column: int) -> float:
        return self.known.size(pred, part) / max(1.0, self.known.heaviest(pred, part, column))

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        return self.known.heaviest(pred, part, column)


def watched(
    evaluation: SemiNaive[T], due: Sequence[PlannedVariant], derive: Callable[[Sequence[PlannedVariant]], R]
) -> R:
    """What the plans of a round derive, by other plans where those that there are go through far too many rows."""
    backend = evaluation.relations.backend
    meter = backend.meter
    try:
        with meter.within(backend.tuning.replan_min_rows):
            return derive(due)
    except GivenUp:
        if meter.work > meter.most:
            raise  # it is not this round that is given up, but what it is part of
    if evaluation.revision is not None:
        evaluation.revision.given_up(Skewed(evaluation.relations))
    factor = backend.tuning.replan_misestimate_factor
    for planned in due:
        if planned.body is not None and not planned.skewed and _is_dangerous(planned, evaluation.relations, factor):
            planned.skewed, planned.body = True, None
    return derive(due)


def _is_dangerous(planned: PlannedVariant, statistics: Statistics, factor: float) -> bool:
    """Whether the joins of a plan may have far more rows than estimated."""
    assert planned.body is not None
    return most_rows(joined_steps(planned.body.notes), statistics) > factor * planned.body.cost
