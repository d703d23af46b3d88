"""The report of `deltalog run`: a table for people, one JSON object for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from deltalog.apps.cli.options import counted
from deltalog.core.render.text_table import text_table

if TYPE_CHECKING:
    from deltalog.evaluation.report import Report

ROWS_SHOWN = 20
TERMINAL_ROWS_SHOWN = 10


def as_json(report: Report) -> dict[str, Any]:
    """The report as `--json` prints it."""
    return {
        "facts_in": report.facts_in,
        "facts_total": report.facts_total,
        "facts_derived": report.facts_derived,
        "per_predicate": report.per_predicate,
        "rounds": report.round_count,
        "seconds": {phase: round(seconds, 6) for phase, seconds in report.seconds.items()},
        "peak_memory_bytes": report.peak_memory_bytes,
        "engine": report.engine,
        "engine_reason": report.engine_reason,
        "equality": report.equality,
        "pipeline": report.pipeline,
        "spark": report.spark,
        "complete": report.complete,
        "failed_expressions": report.failed_expressions,
        "failures": [each.as_json for each in report.failures],
        "inconsistencies": report.inconsistencies,
        "inconsistency_examples": report.inconsistency_examples,
        "cyclic_rules": [asdict(rule) for rule in report.cyclic_rules],
        "magic_sets": None if report.magic_sets is None else asdict(report.magic_sets),
        "skipped_inputs": report.skipped_inputs,
    }


def summary(report: Report, most: int = ROWS_SHOWN) -> str:
    """The end of a run: the largest predicates, and five lines of figures."""
    counts = sorted(report.per_predicate.items(), key=lambda item: (-item[1], item[0]))
    rows = [(name, f"{count:,}") for name, count in counts[:most]]
    lines = list(text_table(("predicate", f"{'facts':>14}"), rows, (False, True), underlined=False))
    if len(counts) > most:
        lines.append(f"... and {counted(len(counts) - most, 'more predicate')}")
    seconds = ", ".join(f"{phase} {taken:.2f} s" for phase, taken in report.seconds.items())
    lines += [
        f"{report.facts_total:,} facts ({report.facts_derived:,} derived) from {report.facts_in:,} given",
        f"{counted(report.round_count, 'round')} in {counted(len(report.work), 'hyper-node')}",
        f"{sum(report.seconds.values()):.2f} s: {seconds}",
        f"peak memory {report.peak_memory_bytes / 1e6:,.0f} MB",
        engine_line(report),
    ]
    if report.equality:
        lines.append(f"equality by {report.equality}")
    if report.magic_sets is not None:
        lines.append(report.magic_sets.lines[0])
    trees = sum(rule.way == "hypertree" for rule in report.cyclic_rules)
    if trees:
        cyclic = counted(len(report.cyclic_rules), "cyclic rule")
        lines.append(f"{trees} of {cyclic} evaluated by hypertree decompositions")
    return "\n".join(lines)


def engine_line(report: Report) -> str:
    """The engine, what Spark did if it took part, and the reason for the choice."""
    if report.pipeline != "spark":
        return f"engine: {report.engine} ({report.engine_reason})"
    jobs, shuffles = (sum(phase[what] for phase in report.spark.values()) for what in ("jobs", "shuffles"))
    engine = "spark" if report.engine == "spark" else "local in the Spark driver, input and output by Spark"
    return f"engine: {engine}, {jobs:,} jobs with {shuffles:,} shuffles ({report.engine_reason})"


def spark_by_phase(metrics: Sequence[dict[str, int]]) -> dict[str, dict[str, int]]:
    """What Spark did in each phase, from its metrics at the end of each."""
    if not metrics[-1]:
        return {}
    before = [dict.fromkeys(metrics[0], 0), *metrics]
    phases = zip(("load", "evaluate", "write"), pairwise(before), strict=True)
    return {phase: {what: new[what] - old[what] for what in new} for phase, (old, new) in phases}
