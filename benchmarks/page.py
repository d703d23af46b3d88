"""The report as a page: plots of the results, and HTML around them and the tables."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from html import escape
from typing import Any

from benchmarks.compare import seconds
from benchmarks.ours import ours
from benchmarks.papers import Figure, figures
from benchmarks.plots import Bar, Panel, bars, lines, panels
from benchmarks.registry import BENCHMARKS
from benchmarks.report import OURS, Result, best, facts_of, is_ok, papers_table, peak, tables, where
from benchmarks.tasks import TASKS

SCRATCH = "scratch"
MAIN = ("tc_linear", "tc_nonlinear", "same_generation", "lubm_l", "motivating", "yago")  # on docs/benchmarks.md
SETTINGS = tuple(way.name for way in ours() if way.settings)
CHANGES = tuple(name for name, task in TASKS.items() if task.phase == "update")


def plots(report: dict[str, Any]) -> dict[str, str]:
    """SVG by name; only those that there is something to draw in."""
    results = report["results"]
    drawn = {
        "main": _peers(report, MAIN),
        "peers": _peers(report, BENCHMARKS),
        "time": _by_way(results, "Materialisation: evaluation time", "s", best, lambda value: f"{value:.3g} s"),
        "memory": _by_way(results, "Materialisation: peak memory", "MB", _megabytes, lambda value: f"{value:,.0f} MB"),
        "settings": _settings(results),
        "speedup": _speedup(results),
        "growth": _growth(results),
        "papers": _papers(results),
    }
    return {name: svg for name, svg in drawn.items() if svg}


def _megabytes(result: Result) -> float:
    return peak(result) / 2**20


def _largest(results: Iterable[Result]) -> list[Result]:
    """Of each benchmark, task and way the result with the most facts, that is of the largest size."""
    found: dict[tuple[str, ...], Result] = {}
    for result in results:
        key = (result["benchmark"], result["task"], result["way"])
        if key not in found or facts_of(result) > facts_of(found[key]):
            found[key] = result
    return list(found.values())


def _materialised(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Of each benchmark the results of the materialisation at the size that most ways have measured."""
    sizes: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        if result["task"] == "materialise" and result["status"] not in ("missing", "skipped"):
            sizes.setdefault(result["benchmark"], {}).setdefault(result["size"], []).append(result)
    order = [name for name in BENCHMARKS if name in sizes] + [name for name in sizes if name not in BENCHMARKS]
    return {name: max(sizes[name].values(), key=lambda g: (len(g), sum(map(facts_of, g)))) for name in order}


def _peers(report: dict[str, Any], names: Container[str]) -> str:
    """Deltalog and the peers, for each of some benchmarks that a peer has finished."""
    drawn, order = [], [OURS]
    for name, results in _materialised(report["results"]).items():
        group = [r for r in results if r["way"] not in SETTINGS] if name in names else []
        ours = next((r for r in group if r["way"] == OURS and is_ok(r)), None)
        if ours is not None and sum(map(is_ok, group)) > 1:
            title = f"{BENCHMARKS[name].title}: {facts_of(ours):,} facts"
            drawn.append(Panel(title, [_way(result, ours) for result in group]))
            order += [result["way"] for result in group if result["way"] not in order]
    note = f"seconds of evaluation, logarithmic; all found the same facts; {where(report)}"
    return panels("Materialisation: deltalog and its peers", note, drawn, order) if drawn else ""


def _settings(results: Sequence[Result]) -> str:
    """Every task of those benchmarks that were measured with other settings of ours, too."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in (r for r in results if r["way"] in (OURS, *SETTINGS) and is_ok(r)):
        groups.setdefault((result["benchmark"], result["size"], result["task"]), []).append(result)
    several = {
        f"{name} ({size}), {TASKS[task].title.split(' (')[0]}": [_way(r, group[0]) for r in group]
        for (name, size, task), group in groups.items()
        if len(group) > 1 and group[0]["way"] == OURS and task != "load"
    }
    order = [OURS, *SETTINGS]
    return bars("Ways of deltalog: seconds of the task", "s", list(several.items()), order) if several else ""


def _way(result: Result, ours: Result) -> Bar:
    if is_ok(result):
        ratio = best(result) / best(ours) if best(ours) else 0.0
        times = f" ({ratio:,.0f} x)" if ratio >= 100 else f" ({ratio:.3g} x)" if ratio and result is not ours else ""
        return Bar(result["way"], best(result) or None, f"{best(result):.3g} s{times}")
    return Bar(result["way"], None, result["why"] if result["status"] == "timeout" else result["status"])


def _by_way(results: Sequence[Result], title: str, unit: str, value: Any, text: Any) -> str:
    """A group of bars a benchmark, a bar a way, for the materialisation."""
    groups: dict[str, list[Bar]] = {}
    for result in (r for group in _materialised(results).values() for r in group):
        done = value(result) if is_ok(result) else None
        label = text(done) if done is not None else result["status"]
        groups.setdefault(f"{result['benchmark']} ({result['size']})", []).append(Bar(result["way"], done, label))
    order = list(dict.fromkeys(bar.series for group in groups.values() for bar in group))
    return bars(title, unit, list(groups.items()), order) if groups else ""


def _with_plans(anew: Result) -> float:
    """The least time of starting anew. An update plans, too, and that is in its time."""
    return min(task + run["seconds"].get("plan", 0.0) for task, run in zip(seconds(anew), anew["runs"], strict=True))


def _speedup(results: Sequence[Result]) -> str:
    """How many times faster a change is than starting anew."""
    found = {(r["benchmark"], r["task"], r["way"]): r for r in _largest(results) if is_ok(r)}
    groups: dict[str, list[Bar]] = {}
    for (name, task, way), result in found.items():
        anew = found.get((name, task, SCRATCH))
        if way == OURS and task in CHANGES and anew is not None and best(result) > 0:
            times = _with_plans(anew) / best(result)
            bar = Bar(TASKS[task].title, times or None, f"{times:.3g} x")
            groups.setdefault(f"{name} ({result['size']})", []).append(bar)
    order = [TASKS[task].title for task in CHANGES]
    return bars("Changes: speed-up over starting from scratch", "x", list(groups.items()), order) if groups else ""


def _growth(results: Sequence[Result]) -> str:
    """Time over the number of facts, for what was measured at several sizes."""
    series: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        if result["way"] == OURS and result["task"] == "materialise" and is_ok(result) and best(result) > 0:
            series.setdefault(result["benchmark"], []).append((max(facts_of(result), 1), best(result)))
    several = {name: points for name, points in series.items() if len(points) > 1}
    return lines("Growth: evaluation time over derived facts", "facts", "s", several) if several else ""


def _papers(results: Sequence[Result]) -> str:
    """Microseconds a fact of a materialisation, ours and the papers': sizes differ, so seconds would not compare."""
    groups: dict[str, list[Bar]] = {}
    for result in _largest(r for r in results if r["way"] == OURS and r["task"] == "materialise" and is_ok(r)):
        theirs = [f for f in figures() if (f.benchmark, f.task) == (result["benchmark"], "materialise") and f.facts]
        if theirs and facts_of(result):
            group = [_per_fact("deltalog, this machine", best(result), facts_of(result))]
            group += [_per_fact(_named(f), f.seconds, f.facts or 1) for f in theirs]
            groups[f"{result['benchmark']} ({result['size']})"] = group
    order = list(dict.fromkeys(bar.series for group in groups.values() for bar in group))
    title = "Materialisation: microseconds a fact, beside the papers' on their machines"
    return bars(title, "µs", list(groups.items()), order) if groups else ""


def _named(figure: Figure) -> str:
    """`Zhang et al. (Dell R730): HD`"""
    return f"{figure.source.split(',')[0]} ({figure.machine.split(',')[0]}): {figure.system}"


def _per_fact(series: str, seconds: float, facts: int) -> Bar:
    value = seconds / facts * 1e6
    return Bar(series, value or None, f"{value:.3g} µs")


STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: .6em 0 1.6em; font-size: 13px; }
th, td { border-bottom: 1px solid #ddd; padding: 2px 9px; text-align: right; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
tr.wrong td { background: #fdd; } tr.none td { color: #888; text-align: left; }
svg { max-width: 100%; height: auto; display: block; margin: 1em 0; }
.wide { overflow-x: auto; }
:root { color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #0d1117; } th, td { border-color: #3a3f47; } tr.wrong td { background: #5a1f1f; }
}
"""


def html(report: dict[str, Any], drawn: dict[str, str]) -> str:
    """One page with everything in it; it is XML, too."""
    parts = ["<h1>Benchmarks</h1>", f"<p>{escape(where(report))}</p>", *drawn.values()]
    for title, rows in tables(report):
        parts += [f"<h2>{escape(title)}</h2>", _table(rows)]
    rows = papers_table(report)
    if rows:
        parts += ["<h2>The papers’ figures</h2>", _table(rows)]
    parts.append("<h2>What is measured</h2>\n<ul>")
    for way, measures in report["measures"].items():
        version = report["versions"][way] or "(not installed)"
        parts.append(f"<li><b>{escape(way)}</b> {escape(version)}: {escape(measures)}</li>")
    body = "\n".join([*parts, "</ul>"])
    head = f'<meta charset="utf-8"/>\n<title>deltalog: benchmarks</title>\n<style>{STYLE}</style>'
    root = '<html xmlns="http://www.w3.org/1999/xhtml" lang="en">'
    return f"<!DOCTYPE html>\n{root}\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n"


def _table(rows: list[list[str]]) -> str:
    header, *body = rows
    lines = ["<table>", f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in header)}</tr>"]
    lines += [_row(row) for row in body]
    return "\n".join(['<div class="wide">', *lines, "</table>", "</div>"])


def _row(row: list[str]) -> str:
    kind = ' class="wrong"' if "**wrong**" in row[-1] else ""
    if len(row) > 3 and not any(row[3:]):
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row[:2])
        return f'<tr class="none">{cells}<td colspan="{len(row) - 2}">{escape(row[2])}</td></tr>'
    return f"<tr{kind}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
