"""A JSON of results as a page: one table a benchmark, plots, the papers' figures, and what each way's phases mean.

`markdown` is the text alone; `write` makes a folder of `report.md`, `report.html` and the plots. A long measurement may
be made in parts; several files of one machine are one report, and of what was measured twice the last counts:

    python -m benchmarks.report RESULTS.json... FOLDER

The figures are the best of the repeated runs, with the spread of the task itself: how much slower the slowest run was
than the best. `x` is a way's time for the task divided by ours: 8.0 means that we are eight times as fast. For ways
that do not maintain a materialisation the task itself is the evaluation from scratch over what the task leads to.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare import key, read, seconds
from benchmarks.papers import Figure, figures
from benchmarks.tasks import TASKS
from deltalog.core.errors import UsageError

OURS = "deltalog"
HEADER = ("task", "way", "load s", "plan s", "task s", "spread", "x", "peak MB", "facts")
PAPERS_HEADER = ("benchmark", "task", "source", "system", "s", "facts", "ours s", "our facts", "remark")
Result = dict[str, Any]


def best(result: Result) -> float:
    """The least time of the task itself."""
    return min(seconds(result))


def spread(result: Result) -> float:
    """How much slower the slowest run was than the best: 0.1 is ten per cent."""
    times = seconds(result)
    return max(times) / min(times) - 1 if min(times) > 0 else 0.0


def peak(result: Result) -> float:
    """The peak of memory of a first run, in bytes: later runs in one process only add to it."""
    return float(min(run["peak_memory"] for run in result["runs"]))


def facts_of(result: Result) -> int:
    return sum(result["counts"].values())


def is_ok(result: Result) -> bool:
    return bool(result["status"] == "ok" and result["runs"])


def where(report: dict[str, Any]) -> str:
    machine = report["machine"]
    memory = f", {machine['memory_bytes'] / 2**30:.0f} GB" if machine["memory_bytes"] else ""
    busy = machine.get("load_average") or 0
    others = f", busy with other work (load {busy:g})" if busy > machine["cores"] / 2 else ""
    cores = f"{machine['cores']} cores{memory}"
    return f"{machine['date']}, {machine['processor']}, {cores}, Python {machine['python']}{others}"


def tables(report: dict[str, Any]) -> Iterable[tuple[str, list[list[str]]]]:
    """A title and rows of cells for each benchmark and size; the first row is the header."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in report["results"]:
        groups.setdefault((result["benchmark"], result["size"]), []).append(result)
    for (name, size), group in groups.items():
        results = sorted(group, key=lambda r: list(TASKS).index(r["task"]))
        ours = {r["task"]: r for r in results if r["way"] == OURS and is_ok(r)}
        yield f"{name} ({size})", [list(HEADER), *(_cells(r, ours.get(r["task"])) for r in results)]


def _cells(result: Result, ours: Result | None) -> list[str]:
    cells = [TASKS[result["task"]].title, result["way"]]
    if not result["runs"]:
        return [*cells, f"{result['status']}: {result['why']}", *[""] * (len(HEADER) - 3)]
    phases = [min(run["seconds"].get(phase, 0.0) for run in result["runs"]) for phase in ("load", "plan")]
    cells += [f"{time:.3f}" if time else "" for time in phases]
    cells += [f"{best(result):.4f}", f"{spread(result):.0%}", _ratio(result, ours)]
    cells += [f"{peak(result) / 2**20:.0f}", f"{facts_of(result):,}"]
    if result["status"] != "ok":
        cells[-1] += f" **{result['status']}**: {result['why']}"
    return cells


def _ratio(result: Result, ours: Result | None) -> str:
    return "" if ours is None or best(ours) == 0 else f"{best(result) / best(ours):.1f}"


def papers_table(report: dict[str, Any]) -> list[list[str]]:
    """The papers' figures beside ours, for the benchmarks that are in the report; empty when there are none."""
    ours: dict[tuple[str, str], Result] = {}
    for result in report["results"]:
        if result["way"] == OURS and is_ok(result):
            key = (result["benchmark"], result["task"])
            ours[key] = max(ours.get(key, result), result, key=facts_of)
    found = [(f, ours[f.benchmark, f.task]) for f in figures() if (f.benchmark, f.task) in ours]
    return [list(PAPERS_HEADER), *(_papers_row(f, r) for f, r in found)] if found else []


def _papers_row(figure: Figure, ours: Result) -> list[str]:
    source = f"{figure.source} ({figure.machine})"
    theirs = [source, figure.system, f"{figure.seconds:g}", figure.facts_text]
    return [
        figure.benchmark,
        TASKS[figure.task].title,
        *theirs,
        f"{best(ours):.4f}",
        f"{facts_of(ours):,} ({ours['size']})",
        figure.remark,
    ]


def markdown(report: dict[str, Any], plots: Sequence[str] = ()) -> str:
    lines = ["# Benchmarks", "", where(report), ""]
    for name in plots:
        lines += [f"![{name}]({name}.svg)", ""]
    for title, rows in tables(report):
        lines += [f"### {title}", "", *_markdown_table(rows, 2), ""]
    rows = papers_table(report)
    if rows:
        lines += ["### The papers' figures", "", *_markdown_table(rows, 4), ""]
    for way, measures in report["measures"].items():
        lines.append(f"- **{way}** {report['versions'][way] or '(not installed)'}: {measures}")
    return "\n".join(lines)


def _markdown_table(rows: list[list[str]], texts: int) -> Iterable[str]:
    """`texts` columns are aligned to the left, the others to the right."""
    header, *body = rows
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * texts}{' ---: |' * (len(header) - texts)}"
    for row in body:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"


def write(report: dict[str, Any], folder: Path) -> None:
    """The page in both forms, and its plots."""
    from benchmarks.page import html, plots

    folder.mkdir(parents=True, exist_ok=True)
    drawn = plots(report)
    for name, svg in drawn.items():
        (folder / f"{name}.svg").write_text(svg, "utf-8")
    (folder / "report.md").write_text(markdown(report, list(drawn)) + "\n", "utf-8")
    (folder / "report.html").write_text(html(report, drawn), "utf-8")


def merged(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several files of results as one."""
    if len({(r["machine"]["processor"], r["machine"]["cores"]) for r in reports}) > 1:
        raise UsageError("the results are of different machines; compare them, do not mix them")
    results: dict[tuple[str, ...], Result] = {}
    for result in (result for report in reports for result in report["results"]):
        if result["status"] != "skipped" or key(result) not in results:
            results[key(result)] = result
    both = {part: {k: v for report in reports for k, v in report[part].items()} for part in ("versions", "measures")}
    busiest = max(reports, key=lambda r: r["machine"].get("load_average") or 0)
    return {"machine": busiest["machine"], **both, "results": list(results.values())}


def main(words: Sequence[str]) -> int:
    if len(words) < 2:
        print("usage: python -m benchmarks.report RESULTS.json... FOLDER", file=sys.stderr)
        return 2
    *files, folder = map(Path, words)
    try:
        report = merged([read(path) for path in files])
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    write(report, folder)
    (folder / "results.json").write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
