"""A knowledge base's first materialisation, with the report of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from deltalog.core.errors import LimitReached
from deltalog.core.limits import peak_memory
from deltalog.core.rules import Pred
from deltalog.evaluation.maintenance.materialisation import Evaluator, Materialisation, start
from deltalog.evaluation.report import Observer, Report, RoundSeries
from deltalog.program import Program

T = TypeVar("T")


def materialise_first(
    analysed: Callable[[], Program], explicit: dict[Pred, T], evaluator: Evaluator[T], report: Report, partial: bool
) -> Materialisation[T]:
    """Takes explicit facts to the fixpoint, and fills the report in. At a limit: LimitReached, or with `partial` the
    facts derived so far and a report that says so."""
    evaluator = replace(observed(report, evaluator), keep_partial=partial)
    started, planned = time.perf_counter(), 0.0
    program = analysed()
    analysing = time.perf_counter() - started
    relations = start(program.placed(explicit), evaluator.backend)
    try:
        planned = evaluator.run(program, relations)
    except LimitReached as limit:
        if not partial:
            raise
        report.complete, report.why_incomplete = False, limit.reason
    finish(report, evaluator, started, analysing + planned)
    return Materialisation(program, explicit, relations, evaluator.trees)


def finish(report: Report, evaluator: Evaluator[T], started: float, planned: float) -> None:
    """Fills in a report on what was done since a time, `planned` seconds of it planning."""
    report.seconds["plan"] = planned
    report.seconds["evaluate"] = time.perf_counter() - started - planned
    report.peak_memory_bytes = peak_memory()
    report.engine = evaluator.engine
    report.pipeline = "local" if evaluator.backend.capabilities.data_frames is None else "spark"
    report.cyclic_rules = evaluator.trees.reported()


def observed(report: Report, evaluator: Evaluator[T]) -> Evaluator[T]:
    """An evaluator that also notes rounds in a report."""
    observe: Observer = evaluator.observe

    def noted(series: RoundSeries) -> None:
        report.add_rounds(series)
        observe(series)

    return replace(evaluator, observe=noted)
