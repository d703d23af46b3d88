"""A run of a pipeline: check, read sources, derive, check constraints, write sinks, report.

from deltalog.apps.pipelines import Pipeline

report = Pipeline.from_file("pipeline.toml").run(spark)
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.apps.pipelines.check import Checked, check, check_rules
from deltalog.apps.pipelines.check_state import check_state
from deltalog.apps.pipelines.hadoop import Hadoop, escaped
from deltalog.apps.pipelines.lineage import lineage
from deltalog.apps.pipelines.report import PipelineReport, Transfer, Violation
from deltalog.apps.pipelines.report_html import as_html
from deltalog.apps.pipelines.sinks import write_changes, write_frame
from deltalog.apps.pipelines.sources import Loader, arguments, load_rdf, naming, rdf_files, source_frame
from deltalog.apps.pipelines.spec import (
    ConstraintSpec,
    PipelineError,
    PipelineProblem,
    SinkSpec,
    SourceSpec,
    Spec,
    read_spec,
)
from deltalog.core.errors import DataError
from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.report import Round
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase
from deltalog.program.column_names import ColumnNames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltalog.evaluation.change import Change
    from deltalog.evaluation.facts import Facts

log = logging.getLogger(__name__)
NULL_HINT = '; set nulls = "drop", or to a value that replaces them'


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

    def check(self, spark: SparkSession | None = None, *, master: str | None = None) -> list[PipelineProblem]:
        """All mistakes and warnings that can be found before a job runs."""
        return [*check_state(self.spec), *check(self.spec, spark_session(self.spec, spark, master)).problems]

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        master: str | None = None,
        observe: Callable[[Round], None] | None = None,
    ) -> PipelineReport:
        """Runs the pipeline in a session: the one given, or the active one, or a new one with the file's settings.

        PipelineError has all mistakes that the check finds, ConstraintViolated the violations of a constraint; in both
        cases nothing was written.
        """
        refuse_misuse_of_state(self.spec)
        refuse(check_rules_alone(self.spec))  # before the seconds that a JVM takes
        spark = spark_session(self.spec, spark, master)
        checked = check(self.spec, spark)
        refuse(checked)
        for problem in checked.problems:
            log.warning("%s", problem)
        run = PipelineRun.start(self.spec, spark, checked, observe)
        if self.spec.state is None:
            return run.batch()
        from deltalog.apps.pipelines.incremental import StatefulRun
        from deltalog.apps.pipelines.state_lock import StateLock
        from deltalog.apps.pipelines.stream import run_streams

        with naming(f"{self.spec.file}: state"):
            lock = StateLock(spark, self.spec.state)
        with lock:
            stateful = StatefulRun.open(run, lock)
            return run_streams(stateful) if self.spec.streams else stateful.batch()


def spark_session(spec: Spec, spark: Any = None, master: str | None = None) -> SparkSession:
    """The session of a pipeline: the one given, or the active one, or a new one with the settings of the file."""
    from deltalog.engines.spark.startup.session import session

    found: SparkSession = session(master, spark, {"spark.app.name": f"deltalog: {spec.name}", **spec.spark})
    return found


def refuse_misuse_of_state(spec: Spec) -> None:
    """PipelineError for mistakes about state and streams."""
    wrong = list(check_state(spec))
    if wrong:
        raise PipelineError(wrong)


def check_rules_alone(spec: Spec) -> Checked:
    found = Checked(spec)
    check_rules(found)
    return found


def refuse(checked: Checked) -> None:
    if checked.errors:
        raise PipelineError(checked.errors)


@dataclass
class PipelineRun:
    """A run on its way: the knowledge base, the names of columns, and the report so far.

    The steps are methods, for batches, updates and streams alike.
    """

    spec: Spec
    spark: Any
    kb: KnowledgeBase
    report: PipelineReport
    checked: Checked  # its frames are those of the sources
    source_columns: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by predicate
    source_preds: dict[str, list[Pred]] = field(default_factory=dict)  # by source
    rules: tuple[Rule, ...] = ()  # in the order of the file, which gives columns their names
    types: dict[str, list[str] | None] = field(default_factory=dict)  # of columns of sinks of changes, by place

    @classmethod
    def start(
        cls, spec: Spec, spark: Any, checked: Checked | None = None, observe: Callable[[Round], None] | None = None
    ) -> PipelineRun:
        """A run with the rules of the pipeline and no facts yet."""
        kb = KnowledgeBase(spec.programs, engine=spec.engine, spark=spark, observe=observe)
        return cls(spec, spark, kb, PipelineReport(spec.name), checked or Checked(spec), rules=kb.rules)

    def batch(self) -> PipelineReport:
        """All steps, from nothing."""
        with self.stage("read"):
            self.read_sources()
        with self.stage("evaluate"):
            self.kb.materialise()
        with self.stage("constraints"):
            self.check_constraints()
        with self.stage("write"):
            self.write_sinks()
        return self.finish()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measures a stage: its seconds, and what Spark did in it."""
        with self.report.stage(name, self.kb):
            yield
        log.info("%s: %.2f s", name, self.report.seconds[name])

    def jobs(self, name: str) -> AbstractContextManager[None]:
        """A block of code whose jobs are counted, and have a name in the Spark UI."""
        return required(session_of(self.kb).backend.capabilities.metrics).scope(name)

    # Sources.

    def read_sources(self) -> None:
        """Adds the facts of ontologies and of all sources."""
        if self.spec.ontologies:
            self.read(SourceSpec("ontologies", "", "rdf", self.spec.ontologies), "ontologies")
        for source in self.spec.sources:
            self.read(source, source.place)

    def read(self, source: SourceSpec, place: str) -> None:
        """Adds the facts of a source."""
        started, known = time.perf_counter(), self.kb.explicit_facts
        transfer = Transfer(source.name, _target(source), [])
        with naming(f"{self.spec.file}: {place}", NULL_HINT):
            if source.is_rdf:
                with self.jobs(f"read {source.name}"):
                    load_rdf(Loader(self.kb), source, self.spark)
                tables = {pred for preds in self.source_preds.values() for pred in preds}
                preds = sorted(self.kb.program.data - tables)
            else:
                frame = self.frame(source)
                self.kb.add(source.predicate, frame)
                preds = [Pred(source.predicate, len(frame.columns))]
            transfer.rows = self.kb.explicit_facts - known
            transfer.bytes = _source_bytes(source, self.spark)
        self.source_preds[source.name] = preds
        transfer.predicates = [pred.name for pred in preds]
        transfer.seconds = time.perf_counter() - started
        self.report.sources.append(transfer)
        log.info("read %s: %s facts in %.2f s", place, f"{transfer.rows:,}", transfer.seconds)

    def frame(self, source: SourceSpec) -> DataFrame:
        """The rows of a source as arguments of its predicate; notes the names of its columns."""
        frame = self.checked.frames.get(source.name)
        if frame is None:
            frame = arguments(source, self.loaded(source))
        self.source_columns.setdefault(source.predicate, tuple(frame.columns))
        return frame

    def loaded(self, source: SourceSpec) -> DataFrame:
        """The rows of a source as Spark reads them. Its schema is inferred once in a run."""
        if source.name not in self.checked.loaded:
            self.checked.loaded[source.name] = source_frame(source, self.spark)
        return self.checked.loaded[source.name]

    def columns(self, predicate: str) -> tuple[str, ...]:
        """The names of the columns of a predicate."""
        return ColumnNames.of_sources(self.rules, self.source_columns).of(session_of(self.kb).predicate(predicate))

    # Constraints.

    def check_constraints(self) -> None:
        """Counts and samples violations, and writes those of a quarantine; ConstraintViolated if one is to fail."""
        self.check_predicates()
        self.report.violations = [self.violations(constraint) for constraint in self.spec.constraints]
        exceeded = [(c, v) for c, v in zip(self.spec.constraints, self.report.violations, strict=True) if v.exceeded]
        failed = [f"{self.spec.file}: {c.place}: {v}" for c, v in exceeded if c.action == "fail"]
        if failed:
            self.finish()
            raise ConstraintViolated("\n".join([*failed, "nothing was written"]), self.report)
        for constraint, violation in exceeded:
            log.warning("%s: %s: %s", self.spec.file, constraint.place, violation)

    def check_predicates(self) -> None:
        """UsageError for a predicate of a sink that neither rules nor data have: in RDF they are known only now."""
        for sink in self.spec.all_sinks:
            with naming(f"{self.spec.file}: {sink.place}.predicate"):
                session_of(self.kb).predicate(sink.predicate)

    def violations(self, constraint: ConstraintSpec) -> Violation:
        facts, columns = self.facts(constraint.predicate, constraint.place), self.columns(constraint.predicate)
        rows: tuple[tuple[Any, ...], ...] = ()
        if facts and columns and constraint.sample:
            with self.jobs(f"sample {constraint.name}"):
                rows = tuple(tuple(row) for row in facts.named(columns).to_spark().limit(constraint.sample).collect())
        about = constraint.name, constraint.predicate, len(facts), constraint.limit, constraint.action
        return Violation(*about, columns, rows)

    # Sinks.

    def write_sinks(self, change: Change | None = None, version: int = 0) -> None:
        """Writes all sinks: the facts, or for sinks of changes the change that led to a version."""
        for sink in self.spec.all_sinks:
            self.write(sink, change, version)

    def write(self, sink: SinkSpec, change: Change | None = None, version: int = 0) -> None:
        started, place = time.perf_counter(), f"{self.spec.file}: {sink.place}"
        columns = sink.columns or self.columns(sink.predicate)
        if sink.changes and change is not None:
            sides = [side[sink.predicate].named(columns) for side in (change.added, change.removed)]
            rows = sum(map(len, sides))
            with naming(place), self.jobs(f"write {sink.name}"):
                added, removed = (self.changed(sink, facts) if facts else None for facts in sides)
                write_changes(sink, added, removed, version)
        else:
            facts = self.facts(sink.predicate, sink.place, sink.only == "derived")
            rows = len(facts)
            with naming(place), self.jobs(f"write {sink.name}"):
                write_frame(sink, facts.named(columns).to_spark(self.spark))
        size = None if sink.path is None else _size(Hadoop(self.spark), [escaped(sink.path)])
        seconds = time.perf_counter() - started
        self.report.sinks.append(Transfer(sink.name, _target(sink), [sink.predicate], rows, size, seconds))
        log.info("wrote %s: %s rows in %.2f s", sink.place, f"{rows:,}", seconds)

    def changed(self, sink: SinkSpec, facts: Facts[Any]) -> DataFrame:
        """Facts for a sink of changes. A value is written in the same way in all versions: columns of numbers, booleans
        and dates have these types, and all others cells. DataError for a value that a column cannot have."""
        known = self.types.get(sink.place)
        cells = frozenset(place for place, type_ in enumerate(known or ()) if type_ == "string")
        frames = required(facts._backend.capabilities.data_frames)
        frame: DataFrame = frames.to_spark(facts.table, facts.columns, cells)
        types = [field.dataType.simpleString() for field in frame.schema.fields]
        if known is not None and types != known:
            raise DataError(
                f"the columns of the changes before had the types {', '.join(known)}, and have {', '.join(types)} now; "
                "make the values of each column of one type by rules, or use a new sink"
            )
        self.types[sink.place] = types
        return frame

    def facts(self, predicate: str, place: str, derived: bool = False) -> Facts[Any]:
        with naming(f"{self.spec.file}: {place}"):
            return self.kb.derived(predicate) if derived else self.kb.facts(predicate)

    # The report.

    def finish(self) -> PipelineReport:
        """Completes the report, and writes it where the file says."""
        found, report = self.kb.report, self.report
        report.engine, report.engine_reason = found.engine, found.engine_reason
        report.facts, report.facts_in, report.rounds = dict(found.per_predicate), found.facts_in, found.round_count
        sinks = [(sink, session_of(self.kb).predicate(sink.predicate)) for sink in self.spec.all_sinks]
        report.lineage = lineage(self.source_preds, self.kb.rules, self.kb.program.bridges, sinks)
        if self.spec.report is not None:
            with naming(f"{self.spec.file}: report"):
                self.write_report(self.spec.report.rstrip("/"))
        return report

    def write_report(self, folder: str) -> None:
        hadoop = Hadoop(self.spark)
        hadoop.make_folder(folder)
        hadoop.write_text(f"{folder}/report.json", json.dumps(self.report.as_json(), indent=2) + "\n")
        hadoop.write_text(f"{folder}/report.html", as_html(self.report))


def _target(one: SourceSpec | SinkSpec) -> str:
    paths = one.paths if isinstance(one, SourceSpec) else (one.path,)
    return one.table or ", ".join(path for path in paths if path) or str(one.format)


def _source_bytes(source: SourceSpec, spark: Any) -> int | None:
    if source.is_rdf:
        return sum(file.size for files in rdf_files(source, spark).values() for file in files)
    return _size(Hadoop(spark), source.paths) if source.paths else None


def _size(hadoop: Hadoop, paths: Iterable[str]) -> int:
    return sum(file.size for path in paths for file in hadoop.files(path))
