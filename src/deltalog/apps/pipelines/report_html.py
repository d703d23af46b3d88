"""The report of a pipeline run as one HTML page, without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from deltalog.apps.pipelines.lineage_svg import draw_lineage
from deltalog.apps.pipelines.report import PipelineReport, Transfer
from deltalog.core.render.html import html_page, html_table

STYLE = """
h2 { margin-top: 1.6em; font-size: 1.2em }
table { border-collapse: collapse }
th, td { border-bottom: 1px solid #8888 }
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
    return html_page(report.pipeline, "".join(body), STYLE)


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


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return html_table(header, rows, _text)


def _text(value: object) -> str:
    if isinstance(value, int | float):
        return f"{value:{',.2f' if isinstance(value, float) else ','}}"
    return "" if value is None else str(value)
