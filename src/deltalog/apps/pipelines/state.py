"""A knowledge base that is kept between runs: versions of Parquet at any URI that Hadoop knows.

    LOCK                 the run that writes the state now (see `state_lock`)
    CURRENT              the number of the version that counts, written last
    PENDING              the number of the last version that was begun, written before its sinks
    versions/N.json      the manifest of a version (see `manifest`)
    data/N/facts         rows that version N wrote (see `state_tables`)
    data/N/terms         terms of their ids

A version has a base, which has everything, and deltas: rows that were added and removed. When there are many deltas,
the next version is a base again (compaction). What comes after CURRENT was written by a run that did not finish; the
next run discards it and writes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from deltalog.apps.pipelines.hadoop import Hadoop
from deltalog.apps.pipelines.manifest import (
    GIVEN,
    DataFolder,
    Manifest,
    StoredRelation,
)
from deltalog.apps.pipelines.state_lock import StateLock
from deltalog.apps.pipelines.state_tables import PredTables, StateTables, StoredRows, state_tables
from deltalog.core.errors import DataError, UsageError
from deltalog.core.rules import Pred
from deltalog.engines.spark.settings import SALT, salt
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.change import Change
from deltalog.evaluation.maintenance.snapshot import (
    Delta,
    explicit_delta,
    relations_delta,
    stored_relations,
)
from deltalog.evaluation.maintenance.update_state import Update
from deltalog.evaluation.state import ChangeRequest
from deltalog.extensions.versions import DERIVED, EXPLICIT, RelationEntry, VersionContents
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase
from deltalog.knowledge_base.stores import restore
from deltalog.languages.stored_rules import KeptPrograms
from deltalog.program.rule_set import RuleSet

CURRENT, PENDING, VERSIONS, DATA = "CURRENT", "PENDING", "versions", "data"


class Given(NamedTuple):
    """The facts of rules and ontologies, as tables of a backend."""

    backend: Any
    tables: PredTables

    def on(self, kb: KnowledgeBase) -> PredTables:
        """The tables on the backend of a knowledge base, which may have moved to another one."""
        if self.backend is session_of(kb).backend:
            return self.tables
        moved: PredTables = required(self.backend.capabilities.residence).move(self.tables).tables
        return moved


@dataclass(slots=True)
class PipelineState:
    """The state of a pipeline. One run at a time may write it: the one that has its lock."""

    spark: Any
    uri: str
    hadoop: Hadoop
    lock: StateLock | None = None
    manifest: Manifest | None = None  # of the current version
    _kept: dict[int, Manifest] = field(default_factory=dict)  # the last versions
    _pinned: frozenset[int] = frozenset()  # data that the knowledge base may still read
    _restored: bool = False  # whether the knowledge base has the relations of the current version
    _given: Given | None = None  # the facts of rules and ontologies of the current version

    @classmethod
    def open(cls, spark: Any, uri: str, lock: StateLock | None = None) -> PipelineState:
        """The state at a URI, which may not exist yet. What a run that did not finish has left is discarded."""
        hadoop = Hadoop(spark)
        state = cls(spark, hadoop.qualified(uri).rstrip("/"), hadoop, lock)
        version = state._current()
        for status in hadoop.children(f"{state.uri}/{VERSIONS}"):
            number = _number(status.name.removesuffix(".json"))
            if number is None or number > version:
                hadoop.delete(status.uri)
            else:
                state._kept[number] = Manifest.parse(hadoop.read_text(status.uri), status.uri)
        if version and version not in state._kept:
            raise DataError(f"{state.uri}/{VERSIONS}/{version}.json is missing; restore it, or start with a new state")
        state.manifest = state._kept.get(version)
        used = state._used_data()
        for status in hadoop.children(f"{state.uri}/{DATA}"):
            if _number(status.name) not in used:
                hadoop.delete(status.uri)
        return state

    @property
    def version(self) -> int:
        """The number of the current version; 0 if there is none."""
        return 0 if self.manifest is None else self.manifest.version

    @property
    def pending(self) -> int:
        """The last version that was begun; 0 if there is none."""
        return self._read_number(PENDING)

    def announce(self, version: int) -> None:
        """Says that a version is begun, before anything outside of the state is written for it."""
        self._check_writer()
        self.hadoop.write_text(f"{self.uri}/{PENDING}", str(version))

    def _current(self) -> int:
        return self._read_number(CURRENT)

    def _read_number(self, name: str) -> int:
        uri = f"{self.uri}/{name}"
        if not self.hadoop.exists(uri):
            return 0
        number = _number(self.hadoop.read_text(uri).strip())
        if number is None:
            raise DataError(f"{uri} has no number of a version; restore it, or start with a new state")
        return number

    def _used_data(self) -> set[int]:
        return {folder.version for manifest in self._kept.values() for folder in manifest.data}

    # Reading.

    def load(self, kb: KnowledgeBase) -> PredTables:
        """Gives a knowledge base the rules, facts and materialisation of the current version. Returns the facts that
        were given with rules and ontologies."""
        manifest = self.manifest
        assert manifest is not None, "there is no version to load"
        if manifest.salt != salt(self.spark):
            raise UsageError(f"{self.uri} was written with {SALT}={manifest.salt}; set it to that, or use a new state")
        tables = self._tables(kb)
        folders = [self._folder(folder.version) for folder in manifest.data]
        found = tables.read(folders, manifest.relations)
        kinds = {kind: {r.pred: found[r.number] for r in manifest.relations if r.kind == kind} for kind in _KINDS}
        rules = manifest.rules.rule_set(KeptPrograms())
        facts = kinds[EXPLICIT], kinds[DERIVED]
        self._restored = restore(session_of(kb), rules, *facts, manifest, tables.list_schemes)
        if tables.list_schemes:
            self._pinned = frozenset(folder.version for folder in manifest.data)
        self._given = Given(session_of(kb).backend, kinds[GIVEN])
        return kinds[GIVEN]

    def given(self, kb: KnowledgeBase) -> PredTables:
        """The facts of rules and ontologies of the current version, on the backend of a knowledge base."""
        if self._given is None:
            return {}
        self._given = Given(session_of(kb).backend, self._given.on(kb))
        return self._given.tables

    def _tables(self, kb: KnowledgeBase) -> StateTables:
        return state_tables(session_of(kb).backend, self.spark)

    def _folder(self, version: int) -> str:
        return f"{self.uri}/{DATA}/{version}"

    # Writing.

    def commit(
        self,
        kb: KnowledgeBase,
        update: Update[Any] | None,
        *,
        given: Given | None = None,
        sources: Mapping[str, Any] | None = None,
        streams: Mapping[str, Any] | None = None,
        sinks: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Writes the next version, and makes it the current one. `update` is what led from the current version to the
        materialisation of the knowledge base (None: it was made from scratch); `given` are the facts of rules and
        ontologies, if they have changed."""
        self._check_writer()
        if session_of(kb).state.depends_on_order:
            raise UsageError(
                "the state of a pipeline cannot have existential rules, or Soufflé programs with choice-domain, "
                "subsumption or the like; run it without a state"
            )
        KeptPrograms().check_storable(session_of(kb).state.rule_set.numbers)
        state = session_of(kb).materialised()
        old, tables, version = self.manifest, self._tables(kb), self.version + 1
        deltas = old is not None and update is not None and self._restored and not self._is_due(old, kb)
        if old is not None and update is not None and deltas:
            draft, known = _Draft(session_of(kb).backend, old.next_relation, is_delta=True), old.of_kind(DERIVED)
            draft.change(EXPLICIT, old.of_kind(EXPLICIT), state.explicit, explicit_delta(state, update))
            now = stored_relations(state, tables.list_schemes)
            draft.change(DERIVED, known, now, relations_delta(state, update, tables.list_schemes, known))
            if given is None:
                draft.keep(old.of_kind(GIVEN).values())
        else:
            draft = _Draft(session_of(kb).backend)
            draft.whole(EXPLICIT, state.explicit)
            draft.whole(DERIVED, stored_relations(state, tables.list_schemes))
            given = given or self._given
        if given is not None:
            draft.whole(GIVEN, given.on(kb))
            self._given = given
        folders = self._write(version, draft, tables, old.data if old is not None and deltas else ())
        manifest = Manifest(
            **vars(VersionContents.of(session_of(kb).state.rule_set, kb.prefixes, {}, state)),
            version=version,
            parent=None if old is None else old.version,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            salt=salt(self.spark),
            relations=tuple(draft.relations),
            next_relation=draft.next_number,
            data=folders,
            sources=_kept(sources, old.sources if old else {}),
            streams=_kept(streams, old.streams if old else {}),
            sinks=_kept(sinks, old.sinks if old else {}),
        )
        self._publish(manifest, session_of(kb).backend.tuning.state_kept_versions)
        return manifest

    def _check_writer(self) -> None:
        if self.lock is not None:
            self.lock.check()
        current = self._current()
        if current != self.version:
            raise DataError(
                f"{self.uri}: another run has written version {current} since this one read version {self.version}; "
                "let one run at a time use a state, and start this one again"
            )

    def _is_due(self, manifest: Manifest, kb: KnowledgeBase) -> bool:
        """Whether the next version is to be a base."""
        tuning, base_rows = session_of(kb).backend.tuning, max(manifest.data[0].rows, 1)
        return bool(manifest.growth.due(base_rows, tuning.state_max_deltas, tuning.compact_delta_share))

    def _write(
        self, version: int, draft: _Draft, tables: StateTables, before: Sequence[DataFolder]
    ) -> tuple[DataFolder, ...]:
        folder = self._folder(version)
        self.hadoop.delete(folder)
        if not draft.rows and before:
            return tuple(before)
        terms = tables.write(folder, draft.rows)
        return (*before, DataFolder(version, draft.size, terms))

    def _publish(self, manifest: Manifest, keep: int) -> None:
        self.hadoop.write_text(f"{self.uri}/{VERSIONS}/{manifest.version}.json", manifest.text())
        self.hadoop.write_text(f"{self.uri}/{CURRENT}", str(manifest.version))
        self.manifest, self._restored = manifest, True
        self._kept[manifest.version] = manifest
        before = self._used_data()
        for version in [version for version in self._kept if version <= manifest.version - keep]:
            self.hadoop.delete(f"{self.uri}/{VERSIONS}/{version}.json")
            del self._kept[version]
        for version in before - self._used_data() - self._pinned:
            self.hadoop.delete(self._folder(version))


_KINDS = (EXPLICIT, DERIVED, GIVEN)


class WantedChange(NamedTuple):
    """A change of a knowledge base."""

    rules: RuleSet
    add: PredTables
    remove: PredTables
    prefixes: Mapping[str, str] | None = None


def change(
    kb: KnowledgeBase,
    find: Callable[[], WantedChange | None],
    stage: Callable[[str], AbstractContextManager[None]] = nullcontext,  # type: ignore[assignment]
) -> tuple[Change, Update[Any]] | None:
    """Changes facts and rules of a knowledge base in one update, if there is anything to change. The tables of the
    change are found with the backend of the knowledge base: again, if it moves to another one. `stage` measures."""
    session = session_of(kb)

    def made() -> tuple[Change, Update[Any]] | None:
        wanted = find()
        if wanted is None:
            return None
        with stage("update"), session.lock.held:
            prefixes = wanted.prefixes or {}
            return session.make(ChangeRequest(wanted.rules, wanted.add, wanted.remove, prefixes=prefixes))

    return session.within_budget(made)


class _Draft:
    """The relations of a version, and the rows to write for it."""

    def __init__(self, backend: Any, next_number: int = 0, is_delta: bool = False) -> None:
        self._backend, self.next_number, self._is_delta = backend, next_number, is_delta
        self.relations: list[StoredRelation] = []
        self.rows: list[StoredRows] = []

    @property
    def size(self) -> int:
        return sum(self._backend.size(one.table) for one in self.rows)

    def keep(self, relations: Iterable[StoredRelation]) -> None:
        """Relations that have not changed."""
        self.relations += relations

    def whole(self, kind: str, tables: PredTables) -> None:
        """Relations as a whole, with new numbers."""
        for pred, table in tables.items():
            size = self._backend.size(table)
            entry = vars(RelationEntry.of(kind, pred, size))
            self.relations.append(StoredRelation(**entry, number=self.next_number, added=size * self._is_delta))
            if size:
                self.rows.append(StoredRows(self.next_number, pred.arity, table))
            self.next_number += 1

    def change(self, kind: str, known: Mapping[Pred, StoredRelation], now: PredTables, delta: Delta[Any]) -> None:
        """Relations of a kind after a change; those that are not there any more are dropped."""
        for pred, table in now.items():
            if pred in delta.whole or pred not in known:
                self.whole(kind, {pred: table})
                continue
            sizes = [0, 0]
            for removed, tables in enumerate((delta.added, delta.removed)):
                if pred in tables:
                    sizes[removed] = self._backend.size(tables[pred])
                    self.rows.append(StoredRows(known[pred].number, pred.arity, tables[pred], bool(removed)))
            self.relations.append(_grown(known[pred], *sizes))


def _grown(relation: StoredRelation, added: int, removed: int) -> StoredRelation:
    rows = relation.rows + added - removed
    return replace(relation, rows=rows, added=relation.added + added, removed=relation.removed + removed)


def _kept(new: Mapping[str, Any] | None, old: Mapping[str, Any]) -> dict[str, Any]:
    return dict(old if new is None else new)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
