"""Runs of a pipeline with state: each takes the knowledge base from one version to the next.

    open       the state, under its lock, and the knowledge base of its current version
    changes    of rules, of the facts in rules and ontologies, of sources (or a micro-batch of a stream)
    update     the materialisation; the first version is evaluated from scratch
    check      constraints; if one fails, nothing is written
    write      PENDING, then sinks, then the state, whose CURRENT comes last

After a crash, CURRENT is the last version that is complete. If PENDING is beyond it, sinks may have been written for a
version that does not count: what they have of it is discarded, and all of them are written again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from deltalog.apps.pipelines.check_state import check_vanished
from deltalog.apps.pipelines.offsets import (
    SourceChange,
    TableReader,
    full_preds,
    include,
    known_columns,
    read_change,
)
from deltalog.apps.pipelines.report import PipelineReport, Transfer
from deltalog.apps.pipelines.run import NULL_HINT, PipelineRun, _target
from deltalog.apps.pipelines.sink_records import TYPES, Record, check_new, discard, record, same
from deltalog.apps.pipelines.sources import Loader, load_rdf, naming
from deltalog.apps.pipelines.spec import PipelineError, SinkSpec, SourceSpec, Spec
from deltalog.apps.pipelines.state import Given, PipelineState, WantedChange, change
from deltalog.apps.pipelines.state_lock import StateLock
from deltalog.apps.pipelines.state_tables import PredTables
from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import UsageError
from deltalog.core.rules import Pred
from deltalog.evaluation.change import Change
from deltalog.evaluation.encode_facts import encode_facts_of
from deltalog.evaluation.facts import Facts
from deltalog.evaluation.maintenance.update_state import Update, difference, total
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.load_program import read_documents
from deltalog.languages.protocol import ProgramUnit

log = logging.getLogger(__name__)


@dataclass
class StatefulRun:
    """A run with state. Its knowledge base is that of the current version, from `start` on."""

    run: PipelineRun
    state: PipelineState
    recovers: bool = False  # whether sinks may have something of a version that does not count
    is_new: bool = True  # whether there is no version yet
    _sinks: list[Record] = field(default_factory=list)  # those that have the current version

    @classmethod
    def open(cls, run: PipelineRun, lock: StateLock) -> StatefulRun:
        """Opens the state of a pipeline, whose lock the run has."""
        assert run.spec.state is not None
        with naming(f"{run.spec.file}: state"):
            state = PipelineState.open(run.spark, run.spec.state, lock)
        found = cls(run, state, state.pending > state.version, state.manifest is None)
        if state.manifest is not None:
            wrong = list(check_vanished(run.spec, state.manifest.sources, state.manifest.streams))
            if wrong:
                raise PipelineError(wrong)
            known = state.manifest.sinks.values()
            found._sinks = [one for one in known if one.get("changes") or not found.recovers]
        for sink in run.spec.all_sinks:
            if sink.changes:
                with naming(f"{run.spec.file}: {sink.place}"):
                    discard(sink, state.version, run.spark)
        return found

    @property
    def spec(self) -> Spec:
        return self.run.spec

    @cached_property
    def document(self) -> ProgramUnit:
        """The rules of the pipeline file, with the facts among them."""
        return read_documents(self.spec.programs)

    # From sources.

    def batch(self) -> PipelineReport:
        """One run over all sources that are no streams."""
        self.start()
        return self.run.finish()

    def start(self) -> None:
        """The version after the changes of rules, ontologies and sources since the last one, if there are any."""
        if self.is_new:
            self._first()
        else:
            self._next()

    def _first(self) -> None:
        kb, found, given = self.run.kb, dict[str, SourceChange](), list[Given]()

        def read(backend: Any) -> PredTables:
            found.update(self._changes({}))
            given[:] = [Given(backend, self._given())]
            tables = dict(given[0].tables)
            for one in found.values():
                include(tables, one.added, backend)
            return tables

        with self.run.stage("read"):
            Loader(kb).load_tables(read)
        with self.run.stage("evaluate"):
            kb.materialise()
        self._publish(None, None, given=given[0], sources={name: one.offset for name, one in found.items()})

    def _next(self) -> None:
        kb, before = self.run.kb, self.state.manifest
        assert before is not None
        found, given = dict[str, SourceChange](), list[Given]()  # given: if it has changed

        def find() -> WantedChange | None:
            with self.run.stage("open"):
                given_before = self.state.load(kb)
            with self.run.stage("read"):
                found.update(self._changes(before.sources))
                given_now = self._given()
                add, remove = self._net(given_now, given_before, found, full_preds(before.sources.values()))
            rules = session_of(kb).state.rule_set.becoming(self.document.rules)
            pairs = (given_now, given_before), (given_before, given_now)
            changed = any(difference(one, other, session_of(kb).backend) for one, other in pairs)
            given[:] = [Given(session_of(kb).backend, given_now)] if changed else []
            same_sources = all(before.sources.get(name) == one.offset for name, one in found.items())
            if rules is session_of(kb).state.rule_set and same_sources and not (add or remove or self._due_sinks(None)):
                return None
            return WantedChange(rules, add, remove, self.document.prefixes)

        made = change(kb, find, self.run.stage)
        if made is None:
            with self.run.stage("constraints"):
                self.run.check_constraints()
            log.info("nothing has changed since version %d", before.version)
            self.run.report.version = before.version
            return
        offsets = {name: one.offset for name, one in found.items()}
        self._publish(*made, given=given[0] if given else None, sources=offsets)

    def _given(self) -> PredTables:
        """The facts of rules and ontologies."""
        reader = TableReader(self.run.kb, encode_facts_of(self.document.rules, session_of(self.run.kb).backend))
        if self.spec.ontologies:
            with naming(f"{self.spec.file}: ontologies"):
                load_rdf(reader, SourceSpec("ontologies", "", "rdf", self.spec.ontologies), self.run.spark)  # type: ignore[arg-type]
        return reader.tables

    def _changes(self, offsets: Mapping[str, Any]) -> Iterator[tuple[str, SourceChange]]:
        for source in self.spec.sources:
            if not source.stream:
                yield source.name, self._change(source, offsets.get(source.name))

    def _change(self, source: SourceSpec, offset: Any) -> SourceChange:
        started, run = time.perf_counter(), self.run
        with naming(f"{self.spec.file}: {source.place}", NULL_HINT):
            names = known_columns(source, offset)
            if names is not None:
                run.source_columns.setdefault(source.predicate, names)
            frame = None if source.is_rdf else run.frame(source)
            found = read_change(source, offset, run.kb, run.spark, None if source.is_rdf else run.loaded(source))
            rows = total(found.added, session_of(run.kb).backend) + total(found.removed, session_of(run.kb).backend)
        preds = (
            sorted({*found.added, *found.removed})
            if source.is_rdf or frame is None
            else [Pred(source.predicate, len(frame.columns))]
        )
        run.source_preds[source.name] = preds
        seconds = time.perf_counter() - started
        run.report.sources.append(
            Transfer(source.name, _target(source), [pred.name for pred in preds], rows, None, seconds)
        )
        return found

    def _net(
        self, given: PredTables, given_before: PredTables, found: Mapping[str, SourceChange], full_before: set[Pred]
    ) -> tuple[PredTables, PredTables]:
        """Explicit facts to add and to remove; those that are there, or not there, already are left out."""
        backend, explicit = session_of(self.run.kb).backend, session_of(self.run.kb).state.explicit
        add, remove, whole = dict(given), difference(given_before, given, backend), dict[Pred, Any]()
        for one in found.values():
            include(add, one.added, backend)
            include(remove, one.removed, backend)
            if one.is_full:
                include(whole, one.added, backend)
        for pred in (full_before | whole.keys()) & explicit.keys():
            include(remove, {pred: explicit[pred]}, backend)
        remove = difference(remove, add, backend)
        removed = {p: backend.minus(t, backend.minus(t, explicit[p])) for p, t in remove.items() if p in explicit}
        return difference(add, explicit, backend), {p: t for p, t in removed.items() if backend.size(t)}

    # From streams.

    def apply(self, read: Callable[[], tuple[PredTables, PredTables]], streams: Mapping[str, Any]) -> None:
        """The version after facts of a micro-batch were added and removed, if there are any. Facts of rules and
        ontologies stay."""
        kb = self.run.kb

        def find() -> WantedChange | None:
            with self.run.stage("read"):
                add, remove = read()
                remove = difference(remove, self.state.given(kb), session_of(kb).backend)
            return WantedChange(session_of(kb).state.rule_set, add, remove) if add or remove else None

        made = change(kb, find, self.run.stage)
        if made is not None:
            self._publish(*made, streams=streams)

    # Constraints, sinks, state.

    def _publish(
        self,
        made: Change | None,
        update: Update[Any] | None,
        *,
        given: Given | None = None,
        sources: Mapping[str, Any] | None = None,
        streams: Mapping[str, Any] | None = None,
    ) -> None:
        run, version = self.run, self.state.version + 1
        with run.stage("constraints"):
            run.check_constraints()
        with run.stage("write"):
            due = self._due_sinks(made)
            self._check_new_sinks(due)
            self.state.announce(version)
            for sink in due:
                known = self._known(sink)
                if known is not None and sink.changes:
                    run.types[sink.place] = known[TYPES]
                run.write(sink, made if made is not None and known is not None else everything(run.kb, sink), version)
            sinks = {sink.place: self._record(sink) for sink in self.spec.all_sinks}
        with run.stage("state"):
            self.state.commit(run.kb, update, given=given, sources=sources, streams=streams, sinks=sinks)
        self._sinks, run.report.version = list(sinks.values()), version
        if made is not None:
            self._count(made)
        log.info("version %d", version)

    def _due_sinks(self, made: Change | None) -> list[SinkSpec]:
        """The sinks that do not have the next version yet; all if it is not known what changes."""
        known = [sink for sink in self.spec.all_sinks if self._known(sink) is not None]
        new = [sink for sink in self.spec.all_sinks if sink not in known]
        if made is None:
            return new
        return new + [sink for sink in known if sink.changes or any(side[sink.predicate] for side in _sides(made))]

    def _known(self, sink: SinkSpec) -> Record | None:
        """The record of a sink that has the current version."""
        try:
            return same(self._record(sink), self._sinks, self.run.spark)
        except UsageError:  # its predicate is not known: that is reported when all facts are
            return None

    def _record(self, sink: SinkSpec) -> Record:
        types = {TYPES: self.run.types.get(sink.place)} if sink.changes else {}
        return record(sink, sink.columns or self.run.columns(sink.predicate), self.spec) | types

    def _check_new_sinks(self, due: Iterable[SinkSpec]) -> None:
        for sink in due:
            if sink.changes and self._known(sink) is None:
                with naming(f"{self.spec.file}: {sink.place}"):
                    check_new(sink, self._record(sink), self._sinks, self.run.spark)

    def _count(self, made: Change) -> None:
        counts = self.run.report.changes
        for what, side in zip(("added", "removed"), _sides(made), strict=True):
            for name in side:
                known = counts.setdefault(name, {"added": 0, "removed": 0})
                known[what] += len(side[name])


def _sides(made: Change) -> tuple[Mapping[str, Facts[Any]], Mapping[str, Facts[Any]]]:
    return made.added, made.removed


def everything(kb: Any, sink: SinkSpec) -> Any:
    """All facts of the predicate of a sink, as a change that adds them."""
    facts = kb.facts(sink.predicate)
    none = Facts(facts.columns, session_of(kb).backend.empty(len(facts.columns)), session_of(kb).backend)
    return Change({sink.predicate: facts}, {sink.predicate: none}, None)  # type: ignore[arg-type]
