"""A run of a pipeline: check, read sources, derive, check constraints, write sinks, report.

from deltalog.spark import Pipeline

report = Pipeline.from_file("pipeline.toml").run(spark)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.engine.report import Round
from deltalog.kb import KnowledgeBase
from deltalog.model.errors import DataError, UsageError
from deltalog.spark.columns import ColumnNames
from deltalog.spark.report import PipelineReport, Transfer
from deltalog.spark.sinks import write_changes, write_frame
from deltalog.spark.sources import arguments, naming, source_frame
from deltalog.spark.spec import Sink, Source, Spec, read_spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltalog.model.change import Change

log = logging.getLogger(__name__)


class ConstraintViolated(DataError):
    """Facts violate a constraint with the action `fail`; nothing was written. `report` has the violations."""

    def __init__(self, message: str, report: PipelineReport) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True)
class Pipeline:
    """A pipeline file that can be checked and run."""

    spec: Spec

    @classmethod
    def from_file(cls, path: str | Path, overrides: Iterable[str] = ()) -> Pipeline:
        """Reads a pipeline file, with overrides such as `sources.edge.path=other`; PipelineError has its mistakes."""
        return cls(read_spec(path, overrides))

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        master: str | None = None,
        observe: Callable[[Round], None] | None = None,
    ) -> PipelineReport:
        """Runs the pipeline in a session: the one given, or the active one, or a new one with the file's settings."""
        refuse_what_is_missing(self.spec)
        return Run.start(self.spec, session_of(self.spec, spark, master), observe).batch()


def session_of(spec: Spec, spark: Any = None, master: str | None = None) -> SparkSession:
    """The session of a pipeline: the one given, or the active one, or a new one with the settings of the file."""
    from deltalog.backends.spark.startup.session import session

    found: SparkSession = session(master, spark, {"spark.app.name": f"deltalog: {spec.name}", **spec.spark})
    return found


def refuse_what_is_missing(spec: Spec) -> None:
    if spec.state is not None:
        raise UsageError(f"{spec.file}: state: keeping a knowledge base between runs is not in this version yet")
    for source in spec.streams:
        raise UsageError(f"{spec.file}: {source.place}.stream: streams are not in this version yet")


@dataclass
class Run:
    """A run on its way: the knowledge base, the names of columns, and the report so far.

    The steps are methods, for batches, updates and streams alike.
    """

    spec: Spec
    spark: Any
    kb: KnowledgeBase
    report: PipelineReport
    source_columns: dict[str, tuple[str, ...]]

    @classmethod
    def start(cls, spec: Spec, spark: Any, observe: Callable[[Round], None] | None = None) -> Run:
        """A run with the rules of the pipeline and no facts yet."""
        kb = KnowledgeBase(spec.programs, engine=spec.engine, spark=spark, observe=observe)
        return cls(spec, spark, kb, PipelineReport(spec.name), {})

    def batch(self) -> PipelineReport:
        """All steps, from nothing."""
        with self.report.stage("read", self.kb):
            for source in self.spec.sources:
                self.read(source)
        with self.report.stage("evaluate", self.kb):
            self.kb.materialise()
        with self.report.stage("constraints", self.kb):
            self.check_constraints()
        with self.report.stage("write", self.kb):
            self.write_sinks()
        return self.finish()

    # Steps.

    def read(self, source: Source) -> None:
        """Adds the facts of a source."""
        started = time.perf_counter()
        transfer = Transfer(source.name, _target(source), [source.predicate])
        with naming(f"{self.spec.file}: {source.place}"):
            known = self.kb.explicit_facts
            self.kb.add(source.predicate, self.frame(source))
            transfer.rows = self.kb.explicit_facts - known
        transfer.seconds = time.perf_counter() - started
        self.report.sources.append(transfer)

    def frame(self, source: Source) -> DataFrame:
        """The rows of a source as arguments of its predicate; notes the names of its columns."""
        frame = arguments(source, source_frame(source, self.spark))
        self.source_columns.setdefault(source.predicate, tuple(frame.columns))
        return frame

    def columns(self, predicate: str) -> tuple[str, ...]:
        """The names of the columns of a predicate."""
        return ColumnNames(self.kb.rules, self.source_columns).of(self.kb.predicate(predicate))

    def check_constraints(self) -> None:
        pass

    def write_sinks(self, change: Change | None = None, version: int = 0) -> None:
        """Writes all sinks: the facts, or for sinks of changes the change that led to a version."""
        for sink in self.spec.sinks:
            self.write(sink, change, version)

    def write(self, sink: Sink, change: Change | None = None, version: int = 0) -> None:
        started = time.perf_counter()
        columns = sink.columns or self.columns(sink.predicate)
        if sink.changes and change is not None:
            added, removed = (side[sink.predicate].named(columns) for side in (change.added, change.removed))
            rows = len(added) + len(removed)
            write_changes(sink, added.to_spark(), removed.to_spark(), version)
        else:
            facts = self.kb.derived(sink.predicate) if sink.only == "derived" else self.kb.facts(sink.predicate)
            rows = len(facts)
            write_frame(sink, facts.named(columns).to_spark())
        seconds = time.perf_counter() - started
        self.report.sinks.append(Transfer(sink.name, _target(sink), [sink.predicate], rows, None, seconds))

    def finish(self) -> PipelineReport:
        """The report with everything that the knowledge base knows."""
        found, report = self.kb.report, self.report
        report.engine, report.engine_reason = found.engine, found.engine_reason
        report.facts, report.facts_in, report.rounds = dict(found.per_predicate), found.facts_in, found.round_count
        return report


def _target(one: Source | Sink) -> str:
    paths = one.paths if isinstance(one, Source) else (one.path,)
    return one.table or ", ".join(path for path in paths if path) or str(one.format)
