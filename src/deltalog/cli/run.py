"""`deltalog run`: load, materialise, write, report; with progress on standard error."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from deltalog.engine.report import Report, Round
from deltalog.kb import KnowledgeBase
from deltalog.model.errors import DataError
from deltalog.model.limits import available_memory

LIMIT_HIT = 3
ROWS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What `deltalog run` was asked for."""

    programs: list[Path]
    data: list[Path]
    out: Path | None
    format: str
    only: list[str]
    derived: bool
    engine: str
    master: str | None
    schemes: str
    memory: int | None
    timeout: float | None
    max_facts: int | None
    cyclic: str
    json: bool
    quiet: bool
    reading: dict[str, Any] = field(default_factory=dict)  # options of `KnowledgeBase.load`


def run_program(options: RunOptions) -> int:
    """Runs it; the exit code."""
    if options.out is not None:
        from deltalog.io.write import check_output

        check_output(options.out)
    progress = Progress(options.quiet)
    with messages(progress.say):
        kb = _loaded(options, progress)
        work = [kb.metrics()]
        report = kb.materialise(partial=True)
        report.engine_reason = "; ".join(filter(None, [chosen_engine(options)[1], report.engine_reason]))
        work.append(kb.metrics())
        progress.end()
        if options.out is not None:
            kb.write(options.out, options.format, only=options.only, derived=options.derived)
            progress.say(f"wrote {options.out} in {report.seconds['write']:.2f} s")
        report.spark = by_phase([*work, kb.metrics()])
    _show(report, options)
    if report.complete:
        return 0
    where = f"; {options.out} has what there was until then" if options.out is not None else ""
    print(f"INCOMPLETE: {report.why_incomplete}, so facts are missing from this answer{where}", file=sys.stderr)
    return LIMIT_HIT


def _loaded(options: RunOptions, progress: Progress) -> KnowledgeBase:
    """The rules and the facts, and a first look at what shall be written."""
    engine, reason = chosen_engine(options)
    if engine in ("spark", "auto"):
        from deltalog.backends.spark.startup.session import own_process

        if missing := [path for path in options.data if not path.exists()]:  # before a JVM takes its seconds
            raise DataError(f"{missing[0]}: there is no such file or folder")
        progress.say(f"starting Spark ({reason})")
        own_process()
    kb = KnowledgeBase(
        options.programs,
        engine=engine,
        master=options.master,
        schemes=options.schemes,
        memory=options.memory,
        timeout=options.timeout,
        max_facts=options.max_facts,
        cyclic=options.cyclic,
        observe=progress.round,
    )
    if options.data:
        progress.say(f"reading {', '.join(str(path) for path in options.data)}")
        kb.load(*options.data, **options.reading)
        progress.say(f"read {kb.explicit_facts:,} facts in {kb.report.seconds['load']:.2f} s")
    if kb.names_are_known:
        for name in options.only:
            kb.arity(name)
    return kb


def by_phase(work: Sequence[dict[str, int]]) -> dict[str, dict[str, int]]:
    """What Spark did in each phase, from its counts at the end of each."""
    if not work[-1]:
        return {}
    before = [dict.fromkeys(work[0], 0), *work]
    phases = zip(("load", "evaluate", "write"), pairwise(before), strict=True)
    return {phase: {what: new[what] - old[what] for what in new} for phase, (old, new) in phases}


SPARK_FROM = 8 * 2**30  # bytes of input from which on Spark reads and writes
NO_SPARK = (
    f"Spark was not started: the input is below {SPARK_FROM >> 30} GB and no master is named; "
    "--master 'local[*]' has Spark read and write, --engine spark reason as well"
)
EXPANSION = {".gz": 60, ".bz2": 80, ".zst": 60, "": 6}  # bytes in memory for a byte of a file, with what is derived


def chosen_engine(options: RunOptions) -> tuple[str, str]:
    """The engine, and why. Small data on one machine need no Spark; with a master, or for much data, it reads and
    writes, and the driver reasons as long as that should fit the memory."""
    if options.engine != "auto":
        unused = options.master and options.engine != "spark"
        return options.engine, "as asked" + ("; --master is for Spark, and was not used" if unused else "")
    memory = options.memory or available_memory()
    files = [file for path in options.data for file in ([path] if path.is_file() else path.rglob("*"))]
    need = sum(map(_in_memory, files))
    if memory and need > memory:
        return "spark", f"about {need / 1e9:.2f} GB are needed, more than the {memory / 1e9:.2f} GB that are there"
    fits = f"about {need / 1e9:.2f} GB are needed, and {memory / 1e9:.2f} GB are there"
    wanted = _spark_wanted(options, need)
    return ("auto", f"{wanted}; {fits}") if wanted else ("local", f"{fits}; {NO_SPARK}")


def _spark_wanted(options: RunOptions, need: int) -> str | None:
    """Why Spark shall read and write, if it shall."""
    from deltalog.backends.spark.startup.submit_conf import requested

    if options.master:
        return f"the master is {options.master}"
    return requested() or (f"the input is above {SPARK_FROM >> 30} GB" if need > SPARK_FROM * EXPANSION[""] else None)


def _in_memory(file: Path) -> int:
    return file.stat().st_size * EXPANSION.get(file.suffix.lower(), EXPANSION[""]) if file.is_file() else 0


@contextmanager
def messages(say: Callable[[str], None]) -> Iterator[None]:
    """What the library tells through its logger is said here, too."""
    handler, logger = logging.Handler(logging.INFO), logging.getLogger("deltalog")
    handler.emit = lambda record: say(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _show(report: Report, options: RunOptions) -> None:
    if options.json:
        print(json.dumps(as_json(report)))
    elif not options.quiet:
        print(summary(report), file=sys.stderr)


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
        "pipeline": report.pipeline,
        "spark": report.spark,
        "complete": report.complete,
        "failed_expressions": report.failed_expressions,
        "cyclic_rules": [asdict(rule) for rule in report.cyclic_rules],
    }


def summary(report: Report) -> str:
    """The table at the end: the largest predicates, and the sums."""
    counts = sorted(report.per_predicate.items(), key=lambda item: (-item[1], item[0]))
    width = max([len(name) for name, _ in counts[:ROWS_SHOWN]] + [len("predicate")])
    lines = [f"{'predicate':<{width}} {'facts':>15}"]
    lines += [f"{name:<{width}} {count:>15,}" for name, count in counts[:ROWS_SHOWN]]
    if len(counts) > ROWS_SHOWN:
        lines.append(f"... and {len(counts) - ROWS_SHOWN} more predicates")
    seconds = ", ".join(f"{phase} {taken:.2f} s" for phase, taken in report.seconds.items())
    lines.append(
        f"{report.facts_total:,} facts, of which {report.facts_derived:,} derived in {report.round_count} rounds; "
        f"{seconds}; {report.peak_memory_bytes / 1e6:,.0f} MB at the most"
    )
    lines.append(who_did_it(report))
    trees = sum(rule.way == "hypertree" for rule in report.cyclic_rules)
    if trees:
        count = len(report.cyclic_rules)
        lines.append(f"{trees} of {count} cyclic rule{'s' if count > 1 else ''} evaluated by hypertree decompositions")
    if report.failed_expressions:
        lines.append(f"{report.failed_expressions:,} rule instances did not apply because an expression failed")
    return "\n".join(lines)


def who_did_it(report: Report) -> str:
    """What read, reasoned and wrote, and why."""
    if report.pipeline != "spark":
        return f"read, reasoned and written in this process ({report.engine_reason})"
    who = "read, reasoned and written by Spark"
    if report.engine != "spark":
        who = "read and written by Spark, reasoned in its driver"
    jobs, shuffles = (sum(phase[what] for phase in report.spark.values()) for what in ("jobs", "shuffles"))
    return f"{who} in {jobs:,} jobs with {shuffles:,} shuffles ({report.engine_reason})"


@dataclass(slots=True)
class Progress:
    """A line that is rewritten on a terminal, or a line every few seconds elsewhere."""

    quiet: bool
    started: float = field(default_factory=time.monotonic)
    last: float = 0.0
    open_line: bool = False

    def say(self, text: str) -> None:
        if not self.quiet:
            self.end()
            print(text, file=sys.stderr, flush=True)

    def round(self, round_: Round) -> None:
        """Tells of a round: hyper-node, round, new facts, facts per second."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if self.quiet or now - self.last < (0.1 if terminal else 5.0):
            return
        self.last = now
        rate = round_.new / round_.seconds if round_.seconds else 0.0
        text = (
            f"hyper-node {round_.hyper_node + 1}/{round_.hyper_nodes}, round {round_.number}: "
            f"{round_.new:,} new facts ({rate:,.0f}/s), {round_.total:,} in all"
        )
        if terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            self.open_line = True
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Ends a rewritten line."""
        if self.open_line:
            print(file=sys.stderr)
            self.open_line = False
