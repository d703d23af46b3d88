"""The report of a pipeline run as one HTML page, without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from deltalog.apps.pipelines.lineage_svg import draw_lineage
from deltalog.apps.pipelines.report import PipelineReport, Transfer

STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #223 }
h2 { margin-top: 1.6em; font-size: 1.2em }
table { border-collapse: collapse }
th, td { text-align: left; padding: .15em 1.2em .15em 0; border-bottom: 1px solid #dde }
td.number { text-align: right; font-variant-numeric: tabular-nums }
figure { margin: 0; overflow-x: auto }
"""


def as_html(report: PipelineReport) -> str:
    """The page."""
    total = sum(report.facts.values())
    about = f"{total:,} facts, {total - report.facts_in:,} of them derived, in {report.rounds:,} rounds"
    engine = report.engine + (f" ({report.engine_reason})" if report.engine_reason else "")
    body = [
        f"<h1>{escape(report.pipeline)}</h1>",
        f"<p>{about}; engine {escape(engine)}</p>",
        _part("Lineage", f"<figure>{draw_lineage(report.lineage)}</figure>"),
        _part("Sources", _transfers(report.sources)),
        _part("Sinks", _transfers(report.sinks)),
        _part("Constraints", _violations(report)) if report.violations else "",
        _part("Changes", _changes(report)) if report.changes else "",
        _part("Stages", _stages(report)),
        _part("Facts", _table(("predicate", "facts"), report.facts.items())),
        _part("Rules", _table(("rule",), ((rule["rule"],) for rule in report.lineage.get("rules", ())))),
    ]
    title = f"<title>{escape(report.pipeline)}</title>"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{title}<style>{STYLE}</style></head>\n'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _part(title: str, content: str) -> str:
    return f"<h2>{title}</h2>{content}"


def _transfers(transfers: Iterable[Transfer]) -> str:
    rows = ((one.name, one.target, one.rows, one.bytes, one.seconds) for one in transfers)
    return _table(("name", "place", "rows", "bytes", "seconds"), rows)


def _violations(report: PipelineReport) -> str:
    rows = (
        (one.constraint, one.action, one.count, one.limit, "; ".join(", ".join(map(str, row)) for row in one.sample))
        for one in sorted(report.violations, key=lambda one: not one.exceeded)
    )
    return _table(("constraint", "action", "violations", "allowed", "sample"), rows)


def _changes(report: PipelineReport) -> str:
    rows = ((name, one.get("added", 0), one.get("removed", 0)) for name, one in report.changes.items())
    return _table(("predicate", "added", "removed"), rows)


def _stages(report: PipelineReport) -> str:
    what = ("jobs", "stages", "tasks", "shuffles", "shuffle_bytes")
    spark = {stage: [report.spark.get(stage, {}).get(one, 0) for one in what] for stage in report.seconds}
    rows = ((stage, taken, *spark[stage]) for stage, taken in report.seconds.items())
    return _table(("stage", "seconds", *what), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, int | float):
        return f'<td class="number">{value:{",.2f" if isinstance(value, float) else ","}}</td>'
    return f"<td>{escape(str(value))}</td>"
