"""A JSON of results as a Markdown page: one table a benchmark, and what each way's phases mean.

The figures are the best of the repeated runs, with the spread of the total: how much slower the slowest run was than
the best. `x` columns are a way's time divided by ours: 8.0 x means that we are eight times as fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

OURS = "deltalog"
HEADER = (
    "way",
    "load s",
    "plan s",
    "evaluate s",
    "total s",
    "spread",
    "evaluate x",
    "total x",
    "peak MB",
    "facts",
)


def best(result: dict[str, Any], phase: str) -> float:
    """The least time of a phase, or of all phases together (`total`), over the runs."""
    return min(seconds_of(run, phase) for run in result["runs"])


def seconds_of(run: dict[str, Any], phase: str) -> float:
    seconds: dict[str, float] = run["seconds"]
    return sum(seconds.values()) if phase == "total" else seconds.get(phase, 0.0)


def spread(result: dict[str, Any]) -> float:
    """How much slower the slowest run was than the best: 0.1 is ten per cent."""
    totals = [seconds_of(run, "total") for run in result["runs"]]
    return max(totals) / min(totals) - 1 if min(totals) > 0 else 0.0


def markdown(report: dict[str, Any]) -> str:
    where = report["machine"]
    memory = f", {where['memory_bytes'] / 2**30:.0f} GB" if where["memory_bytes"] else ""
    lines = [f"{where['date']}, {where['processor']}, {where['cores']} cores{memory}, Python {where['python']}", ""]
    for (name, size), results in groupby(report["results"], key=lambda r: (r["benchmark"], r["size"])):
        lines += [f"### {name} ({size})", "", *_table(list(results)), ""]
    for way, measures in report["measures"].items():
        lines.append(f"- **{way}** {report['versions'][way] or '(not installed)'}: {measures}")
    return "\n".join(lines)


def _table(results: list[dict[str, Any]]) -> Iterable[str]:
    ours = next((r for r in results if r["way"] == OURS and r["status"] == "ok"), None)
    yield f"| {' | '.join(HEADER)} |"
    yield f"| --- |{' ---: |' * (len(HEADER) - 1)}"
    for result in results:
        cells = _cells(result, ours) if result["runs"] else [f"{result['status']}: {result['why']}"]
        if result["runs"] and result["status"] != "ok":
            cells[-1] += f" **{result['status']}**: {result['why']}"
        cells += [""] * (len(HEADER) - 1 - len(cells))
        yield f"| {' | '.join([result['way'], *cells])} |"


def _cells(result: dict[str, Any], ours: dict[str, Any] | None) -> list[str]:
    phases = [f"{best(result, phase):.3f}" for phase in ("load", "plan", "evaluate", "total")]
    ratios = [_ratio(result, ours, phase) for phase in ("evaluate", "total")]
    peak = max(run["peak_memory"] for run in result["runs"]) / 2**20
    facts = sum(result["counts"].values())
    return [*phases, f"{spread(result):.0%}", *ratios, f"{peak:.0f}", f"{facts:,}"]


def _ratio(result: dict[str, Any], ours: dict[str, Any] | None, phase: str) -> str:
    if ours is None or best(ours, phase) == 0:
        return ""
    return f"{best(result, phase) / best(ours, phase):.1f}"
