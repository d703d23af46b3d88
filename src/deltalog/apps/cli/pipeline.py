"""`deltalog pipeline`: runs and checks pipelines on Spark; with progress on standard error."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.apps.cli.options import ERROR, USAGE, command_parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.apps.pipelines.report import PipelineReport
    from deltalog.apps.pipelines.spec import PipelineProblem

EXIT_CODES = (
    "Exit codes: 0 done; 1 an error in the data, or a violated constraint; 2 a mistake in the pipeline file, or wrong "
    "usage."
)


def parser() -> ArgumentParser:
    what = "Run a pipeline on Spark, or check it: sources, rules and sinks in one TOML file (docs/pipelines.md)."
    made = command_parser("pipeline", what, EXIT_CODES)
    add = made.add_argument
    add("action", choices=("run", "check"), help="run it; or report every mistake that can be found before a job runs")
    add("file", metavar="FILE", type=Path, help="the pipeline, a TOML file")
    add("--master", metavar="URL", help="the Spark master, such as local[4] or spark://host:7077")
    override = "set a key of the file, such as sources.edge.path=in/edges; may be repeated"
    add("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides", help=override)
    add("--json", action="store_true", help="print the report, or the problems, as one JSON object on standard output")
    add("-q", "--quiet", action="store_true", help="no progress and no summary")
    return made


def run(options: Namespace) -> int:
    """Runs or checks a pipeline; the exit code."""
    from deltalog.apps.pipelines.spec import PipelineError

    try:
        return _check(options) if options.action == "check" else _run(options)
    except PipelineError as error:
        _show_problems(error.problems, options)
        return USAGE


def _check(options: Namespace) -> int:
    from deltalog.apps.pipelines.run import Pipeline
    from deltalog.engines.spark.startup.session import own_process

    own_process()
    pipeline = Pipeline.from_file(options.file, options.overrides)
    problems = pipeline.check(master=options.master)
    _show_problems(problems, options)
    errors = sum(problem.severity == "error" for problem in problems)
    if not options.json and not options.quiet and not errors:
        spec = pipeline.spec
        counts = [(len(spec.sources), "source"), (len(spec.sinks), "sink"), (len(spec.constraints), "constraint")]
        parts = ", ".join(f"{n:,} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
        print(f"{options.file}: {parts}: no errors, {_counted(len(problems), 'warning')}")
    return USAGE if errors else 0


def _run(options: Namespace) -> int:
    from deltalog.apps.cli.progress import Progress, log_messages
    from deltalog.apps.pipelines.run import ConstraintViolated, Pipeline
    from deltalog.engines.spark.startup.session import own_process

    pipeline = Pipeline.from_file(options.file, options.overrides)
    progress = Progress(lines=not options.quiet, bar=not options.quiet)
    own_process()
    with progress, log_messages(progress.say):
        try:
            report = pipeline.run(master=options.master, observe=progress.round)
        except ConstraintViolated as error:
            progress.end()
            _show_report(error.report, options)
            print(f"error: {error}", file=sys.stderr)
            return ERROR
    _show_report(report, options)
    return 0


def _show_problems(problems: Sequence[PipelineProblem], options: Namespace) -> None:
    if options.json:
        found: list[dict[str, Any]] = [
            {"place": one.place, "message": one.message, "severity": one.severity} for one in problems
        ]
        print(json.dumps({"file": str(options.file), "problems": found}))
    else:
        for problem in problems:
            print(problem, file=sys.stderr)


def _show_report(report: PipelineReport, options: Namespace) -> None:
    if options.json:
        print(json.dumps(report.as_json()))
    elif not options.quiet:
        print(summary(report), file=sys.stderr)


def summary(report: PipelineReport) -> str:
    """The table at the end of a run: sources, sinks, totals."""
    rows = [("source", one) for one in report.sources] + [("sink", one) for one in report.sinks]
    width = max([len(one.name) for _, one in rows], default=4)
    lines = [
        f"{what:<6} {one.name:<{width}} {one.rows or 0:>15,} rows  {one.seconds:>8.2f} s  {one.target}"
        for what, one in rows
    ]
    jobs, shuffles = (sum(stage.get(what, 0) for stage in report.spark.values()) for what in ("jobs", "shuffles"))
    total = sum(report.facts.values())
    seconds = ", ".join(f"{stage} {taken:.2f} s" for stage, taken in report.seconds.items())
    lines.append(f"{total:,} facts ({total - report.facts_in:,} derived) in {report.rounds:,} rounds; {seconds}")
    lines.append(f"engine: {report.engine}, {jobs:,} jobs with {shuffles:,} shuffles ({report.engine_reason})")
    return "\n".join(lines)


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
