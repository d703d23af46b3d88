"""Streams: sources of Structured Streaming, each micro-batch of which is one update and one version of the state.

Every stream has a query of its own with `foreachBatch`; versions are made one at a time. Spark plans a micro-batch
before it runs, and after a crash it runs the same one with the same number again. The manifest of a version has the
number of the last batch of each stream, so a batch that is already in the state is skipped: each is applied exactly
once. Spark's checkpoints are in the folder `streams` of the state, and belong to it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from deltalog.apps.pipelines.failures import failed_in_spark, first_line
from deltalog.apps.pipelines.incremental import StatefulRun
from deltalog.apps.pipelines.offsets import operations
from deltalog.apps.pipelines.report import PipelineReport, Transfer
from deltalog.apps.pipelines.run import NULL_HINT, _target
from deltalog.apps.pipelines.sources import arguments, naming, stream_frame
from deltalog.apps.pipelines.spec import SourceSpec
from deltalog.core.errors import DataError, DeltalogError
from deltalog.core.rules import Pred
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.changes import encoded

log = logging.getLogger(__name__)
STREAMS = "streams"
QUERY_ID = "sql.streaming.queryId"  # the local property of a micro-batch that has the id of its query
POLL_SECONDS = 0.2


def run_streams(stateful: StatefulRun) -> PipelineReport:
    """Runs a pipeline with streams: first its other sources, then the streams, until they are read or stopped."""
    stateful.start()
    Streams(stateful).run()
    return stateful.run.finish()


class Streams:
    """The queries of a pipeline."""

    def __init__(self, stateful: StatefulRun) -> None:
        self._stateful, self._lock = stateful, threading.Lock()
        self._failure: DeltalogError | None = None

    def run(self) -> None:
        """Until all queries end: with the trigger `availableNow` when everything is read, otherwise never."""
        queries: list[Any] = []
        py4j = logging.getLogger("py4j.clientserver")  # prints what a batch raises, which is reported here
        py4j.addFilter(self._is_news)
        try:
            for source in self._stateful.spec.streams:
                with naming(f"{self._stateful.spec.file}: {source.place}"):
                    queries.append(self._started(source))
            self._await(queries)
        finally:
            for query in queries:
                query.stop()
            py4j.removeFilter(self._is_news)

    def _is_news(self, _: logging.LogRecord) -> bool:
        return self._failure is None

    def _await(self, queries: list[Any]) -> None:
        try:
            while any(query.isActive for query in queries):
                for query in queries:
                    query.awaitTermination(POLL_SECONDS)
            for query in queries:
                query.awaitTermination()  # raises what it failed of
        except Exception as problem:
            if self._failure is not None:
                raise self._failure from None
            if failed_in_spark(problem):
                raise DataError(f"{self._stateful.spec.file}: {_reason(problem)}") from None
            raise

    def _started(self, source: SourceSpec) -> Any:
        spec, spark = self._stateful.spec, self._stateful.run.spark
        frame = stream_frame(source, spark)
        self._check_schema(source, frame)
        trigger = {"availableNow": True} if spec.trigger == "availableNow" else {"processingTime": spec.trigger}
        writer = frame.writeStream.queryName(f"{spec.name}: {source.name}").trigger(**trigger)
        writer = writer.option("checkpointLocation", f"{self._stateful.state.uri}/{STREAMS}/{source.name}")
        return writer.foreachBatch(self._batch(source, frame.schema.simpleString())).start()

    def _check_schema(self, source: SourceSpec, frame: DataFrame) -> None:
        known, now = self._known(source).get("schema"), frame.schema.simpleString()
        if known not in (None, now):
            raise DataError(
                f"the schema of the stream was {known}, and is {now} now; set schema to the old one, or use a new "
                "name for the source, or a new state"
            )

    def _known(self, source: SourceSpec) -> dict[str, Any]:
        manifest = self._stateful.state.manifest
        return dict(manifest.streams.get(source.name, {})) if manifest is not None else {}

    def _batch(self, source: SourceSpec, schema: str) -> Callable[[DataFrame, int], None]:
        """The function of a stream's micro-batches."""

        def apply(rows: DataFrame, number: int) -> None:
            with self._lock:
                if self._failure is not None:
                    raise self._failure
                try:
                    self._apply(source, rows, number, schema)
                except DeltalogError as problem:
                    self._failure = problem
                    raise

        return apply

    def _apply(self, source: SourceSpec, rows: DataFrame, number: int, schema: str) -> None:
        stateful, place = self._stateful, f"{self._stateful.spec.file}: {source.place}"
        query, known = rows.sparkSession.sparkContext.getLocalProperty(QUERY_ID), self._known(source)
        if known.get("query", query) != query:
            raise DataError(
                f"{place}: the checkpoint {STREAMS}/{source.name} is not the one that the state was written with; "
                "restore it, or use a new name for the source, or a new state"
            )
        if known.get("batch", -1) >= number:
            log.info("%s: batch %d is in version %d already", place, number, stateful.state.version)
            return
        manifest = stateful.state.manifest
        before = manifest.streams if manifest is not None else {}
        last = {"query": query, "batch": number, "schema": schema}
        rows = rows.persist()
        try:
            stateful.apply(lambda: self._tables(source, rows), {**before, source.name: last})
        finally:
            rows.unpersist()

    def _tables(self, source: SourceSpec, rows: DataFrame) -> tuple[dict[Pred, Any], dict[Pred, Any]]:
        """The facts that a micro-batch adds, and those that it removes."""
        kb = self._stateful.run.kb
        with naming(f"{self._stateful.spec.file}: {source.place}", NULL_HINT):
            inserted, deleted = operations(source, rows) if source.changes.operation else (rows, None)
            added = encoded(session_of(kb), {source.predicate: arguments(source, inserted)})
            removed = (
                {}
                if deleted is None
                else encoded(session_of(kb), {source.predicate: arguments(source, deleted)}, adding=False)
            )
        self._note(source, sum(map(session_of(kb).backend.size, (*added.values(), *removed.values()))))
        return added, removed

    def _note(self, source: SourceSpec, rows: int) -> None:
        report = self._stateful.run.report
        known = next((one for one in report.sources if one.name == source.name), None)
        if known is None:
            known = Transfer(source.name, _target(source), [source.predicate], 0)
            report.sources.append(known)
        known.rows = (known.rows or 0) + rows


def _reason(problem: Exception) -> str:
    """What a query failed of: Spark's message names the query and then the cause."""
    cause = getattr(problem, "_cause", None)
    return first_line(cause if cause is not None else problem)
