"""Where every step of an update is a job: when starting over is cheaper than following a change."""

from __future__ import annotations

from deltalog.core.tuning import Tuning
from deltalog.evaluation.maintenance.policy import DecisionKind, JobEstimate, decide_all

TUNING = Tuning(jobs_per_stratum=4.0)


def test_many_jobs_cost_more_than_starting_over() -> None:
    decision = decide_all(5, 100_000, TUNING, JobEstimate(strata=10, seconds_per_job=0.5, recompute_seconds=9.0))
    assert decision.kind is DecisionKind.RECOMPUTE
    assert decision.why == "10 strata take about 40 jobs of 0.50 s, and starting over takes 9.0 s"


def test_few_jobs_cost_less() -> None:
    decision = decide_all(5, 100_000, TUNING, JobEstimate(strata=4, seconds_per_job=0.5, recompute_seconds=9.0))
    assert decision.kind is DecisionKind.SETS


def test_nothing_is_estimated_without_a_measurement() -> None:
    assert decide_all(5, 100_000, TUNING, JobEstimate(10, 0.5, recompute_seconds=0.0)).kind is DecisionKind.SETS
    assert decide_all(5, 100_000, TUNING).kind is DecisionKind.SETS


def test_recursive_strata_take_more_jobs() -> None:
    decision = decide_all(5, 100_000, TUNING, JobEstimate(4, 0.5, recompute_seconds=9.0, recursive=2))
    assert decision.why == "4 strata take about 40 jobs of 0.50 s, and starting over takes 9.0 s"
