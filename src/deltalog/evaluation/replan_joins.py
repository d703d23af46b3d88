"""Misestimated joins are planned again while they run.

The textbook estimate takes all values of a column for equally frequent. Where they are not, a join order may have
thousands of times the estimated rows. So the plans of a round have a budget: `Tuning.misestimate_factor` times
their estimated rows, plus `Tuning.replan_min_rows`. Beyond it the round is given up; nothing of it has been added yet.
Decompositions of cyclic rules are chosen again, and rules that may be the cause are planned again, both as if every
look-up met the most frequent value (`Skewed`). Then the round is repeated, without a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.join_order import joined_steps
from deltalog.evaluation.plan.multiway import worst_case_rows
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.evaluation.plan.work_counter import GivenUp

if TYPE_CHECKING:
    from deltalog.evaluation.seminaive import PlannedVariant, SemiNaive

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Skewed:
    """Statistics of the same data as if all values were as frequent as the most frequent one of their column."""

    known: Statistics

    @property
    def tuning(self) -> Tuning:
        return self.known.tuning

    def size(self, pred: Pred, part: Part) -> float:
        return self.known.size(pred, part)

    def distinct(self, pred: Pred, part: Part, column: int) -> float:
        return self.known.size(pred, part) / max(1.0, self.known.heaviest(pred, part, column))

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        return self.known.heaviest(pred, part, column)


def with_replanning(
    evaluation: SemiNaive[T], due: Sequence[PlannedVariant], derive: Callable[[Sequence[PlannedVariant]], R]
) -> R:
    """What the variants of a round derive; they are planned again if they exceed their budget."""
    backend = evaluation.relations.backend
    meter = backend.meter
    try:
        with meter.within(backend.tuning.replan_min_rows):
            return derive(due)
    except GivenUp:
        if meter.work > meter.most:
            raise  # the budget of an evaluation that this round is part of
    if evaluation.revision is not None:
        evaluation.revision.reconsider_misestimated(Skewed(evaluation.relations))
    relations, factor = evaluation.relations, backend.tuning.misestimate_factor
    for planned in due:
        if planned.body is not None and not planned.skewed and _may_be_misestimated(planned, relations, factor):
            planned.skewed, planned.body = True, None
    return derive(due)


def _may_be_misestimated(planned: PlannedVariant, statistics: Statistics, factor: float) -> bool:
    """Whether the joins of a plan may have far more rows than estimated."""
    assert planned.body is not None
    return worst_case_rows(joined_steps(planned.body.notes), statistics) > factor * planned.body.cost
