"""Knowledge bases kept in stores: a store has versions of a state, and a session is linked to it.

save, opened         begin to use a store
StoreLink.commit     writes a change to the log, before it is made in memory
refresh              follows another writer
compact, close       snapshots
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, DeltalogError, UsageError
from deltalog.core.limits import count
from deltalog.core.rules import Pred
from deltalog.core.terms import Kind
from deltalog.core.user_warnings import warn
from deltalog.engines.local import LocalBackend
from deltalog.engines.local.workers import Workers
from deltalog.evaluation.backend import Backend, united, without
from deltalog.evaluation.goals.selector import Model
from deltalog.evaluation.maintenance.snapshot import explicit_delta, restored, shape, stored_relations
from deltalog.evaluation.maintenance.update_state import count_visible
from deltalog.evaluation.report import Report
from deltalog.evaluation.state import ChangeRequest, State, StateChange, apply
from deltalog.extensions.ontology.extension import NAME as ONTOLOGY
from deltalog.extensions.ontology.extension import ontology_of
from deltalog.extensions.ontology.rewrite_request import axioms_among
from deltalog.extensions.store import files
from deltalog.extensions.store.catalog import VersionRow, now
from deltalog.extensions.store.log_entry import LogEntry, RuleChange, packed, unpacked
from deltalog.extensions.store.snapshot_files import StoredTables
from deltalog.extensions.store.store import Dropped, Image, Store, StoredVersion
from deltalog.extensions.versions import VersionContents
from deltalog.formats.files import local_path
from deltalog.knowledge_base.kept_programs import KEPT, check_storable, kept_programs
from deltalog.knowledge_base.session import Session
from deltalog.languages.stored_rules import KeptPrograms
from deltalog.program import analyse
from deltalog.program.column_names import names_as_json, names_from_json
from deltalog.program.rule_set import RuleSet

if TYPE_CHECKING:
    from deltalog.evaluation.maintenance.snapshot import StoredProgram

_NO_STORE = "this knowledge base has no store; kb.save(folder) creates one"


@dataclass
class StoreLink:
    """The store that keeps a session's state: `version` is what the session has of it, `settings` what it has beside
    facts and rules. `pinned`: to a version other than the newest."""

    store: Store
    version: int
    settings: Mapping[str, Any]
    pinned: bool = False

    def check_writable(self, session: Session) -> None:
        """UsageError if the store cannot be changed. A change that was interrupted after it was written is made."""
        self.store.check_writable()
        if self.store.settled() < self.version:
            raise DataError(f"{self.store.folder} has been replaced by an earlier version; close it and open it again")
        if self.store.version > self.version:
            self.follow(session)

    def commit(self, session: Session, after: State[Any], delta: StateChange[Any]) -> None:
        """Writes a change to the log, and then makes it in memory. The knowledge base is what the store has, even if a
        failure or an interrupt comes in between."""
        settings = settings_of(session, after)
        entry, rows = self._entry(session.state, after, delta, settings, session.backend)
        try:
            if not entry.is_empty:
                self.store.append(entry, *rows)
            self._become(session, after, settings)
        except BaseException:
            if self.store.settled() != self.version:
                self._become(session, after, settings)
            raise
        self.snapshot_if_due(session)

    def _become(self, session: Session, after: State[Any], settings: Mapping[str, Any]) -> None:
        session.state, self.version, self.settings = after, self.store.version, settings

    def _entry(
        self,
        before: State[Any],
        after: State[Any],
        delta: StateChange[Any],
        settings: Mapping[str, Any],
        backend: Backend[Any],
    ) -> tuple[LogEntry, list[int]]:
        """A change for the log, and the numbers of explicit facts that come and go."""
        assert after.materialised is not None and delta.update is not None
        facts = explicit_delta(after.materialised, delta.update)
        entry = LogEntry(
            RuleChange.between(before.rule_set, after.rule_set),
            {} if after.prefixes == before.prefixes else dict(after.prefixes),
            {name: value for name, value in settings.items() if self.settings.get(name) != value},
            packed(facts.added, backend),
            packed(facts.removed, backend),
            bool(kept_programs(after).texts),
        )
        return entry, [count_visible(tables, backend) for tables in (facts.added, facts.removed)]

    def follow(self, session: Session) -> None:
        """Takes the session to the newest version of the store."""
        changes = self.store.changes_since(self.version)
        if changes is None:
            stored = self.store.load()
            session.backend, session.state = _restored(session, stored)
            session.forget_queries()
            _take_selector(session, (stored.snapshot.contents.settings, *_settings_in(stored.changes)))
        elif changes:
            session.completed()
            session.state = _applied(session, session.state, changes)
            _take_selector(session, _settings_in(changes))
        self.version = self.store.version

    # Snapshots.

    def snapshot_if_due(self, session: Session) -> None:
        """Takes a snapshot if opening would take long without it. The change is made, so a failure is a warning."""
        store = self.store
        if not store.is_writable or not isinstance(session.backend, LocalBackend):
            return
        try:
            if store.is_due(sum(map(session.backend.size, session.state.explicit.values()))):
                store.take_snapshot(_image(session), session.limits.check)
        except (DeltalogError, OSError, MemoryError) as problem:
            store.postpone_snapshot()
            warn(f"no snapshot was taken, and the next opening takes longer: {problem}")


# Begin.


def save(session: Session, folder: str | PathLike[str]) -> None:
    """Creates a store in a folder, and links a session to it."""
    from deltalog.formats.write import whole

    check_storable(session)
    path, image, tuning = local_path(folder), _image(session), session.backend.tuning
    first = VersionRow(1, now(), session.explicit_facts, 0, len(session.state.rule_set.ids), 0)
    changed = files.changed_by(path)
    whole(path, lambda unfinished: Store.create(unfinished, image, first, tuning, session.limits.check))
    try:
        for each in changed:
            files.sync_folder(each)
    except OSError as problem:
        raise DataError(f"{path} may not be on disk ({problem.strerror}); save to another folder") from None
    store = Store.open(path, tuning)
    close(session)
    session.link = StoreLink(store, 1, settings_of(session, session.state))


def check_opening(settings: Mapping[str, Any]) -> None:
    """UsageError if a store is to be opened with a program."""
    if given := settings.keys() & {"program", "ontology", "profile"}:
        raise UsageError(f"a store has its own rules: open it without {min(given)}, and use kb.add_rules")


def stored_settings(stored: StoredVersion, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a knowledge base that is opened: those that are given, and those of the store. A `Settings` that
    is given has all of them."""
    from deltalog.knowledge_base.settings import STORED

    saved, whole = stored.snapshot.contents.settings, given.get("settings")
    default_graph = saved.get("default_graph", "union")
    wanted = given.get("default_graph", getattr(whole, "default_graph", None))
    if wanted not in (None, default_graph):
        raise UsageError(
            f"the default graph of this store is {default_graph!r}, and stays so; open it without "
            f"default_graph={wanted!r}"
        )
    kept = {name: saved[name] for name in STORED if name in saved} if whole is None else {}
    return {**kept, **given}


def link(session: Session, store: Store, stored: StoredVersion, pinned: bool) -> None:
    """Takes a version of a store over, and links a session to the store."""
    session.backend, session.state = _restored(session, stored)
    session.forget_queries()
    _take_selector(session, (stored.snapshot.contents.settings, *_settings_in(stored.changes)))
    session.link = StoreLink(store, stored.version, settings_of(session, session.state), pinned)


def _settings_in(changes: Iterable[LogEntry]) -> Iterable[Mapping[str, Any]]:
    return (change.settings for change in changes)


def _take_selector(session: Session, settings: Iterable[Mapping[str, Any]]) -> None:
    """Takes over the last model that was set, if one was."""
    models = [each["selector"] for each in settings if "selector" in each]
    if models:
        session.queries.model = Model(**models[-1])


# Use.


def refresh(session: Session) -> int | None:
    """Takes a session that is open for reading to the newest version; its number."""
    found = session.link
    if found is not None and found.store.readonly and not found.pinned:
        found.follow(session)
    return session.version


def compact(session: Session, keep: int) -> Dropped:
    """Writes a snapshot, and drops all but the last ones; what was dropped."""
    session.check_writable()
    if session.link is None:
        raise UsageError(_NO_STORE)
    keep, store = count(keep, "snapshots", least=1), session.link.store
    _, dropped = store.take_snapshot(_image(session), session.limits.check, keep)
    store.catalog.shrink()
    return dropped


def close(session: Session) -> None:
    """Closes the store. The knowledge base can still be read, but not be changed any more."""
    found = session.link
    if found is not None and not found.store.is_closed:
        try:
            found.snapshot_if_due(session)
        finally:
            found.store.close()


# What is stored beside facts, rules and prefixes.


def settings_of(session: Session, state: State[Any]) -> dict[str, Any]:
    """What is stored beside facts, rules and prefixes."""
    mine: dict[str, Any] = session.settings.stored | {"schemes": session.schemes}
    ontology = ontology_of(state)
    if ontology is not None:
        mine[ONTOLOGY] = ontology.as_json
    mine |= kept_programs(state).as_settings
    if state.columns:
        mine["columns"] = names_as_json(state.columns)
    queries = vars(session).get("queries")
    if queries is not None and queries.own_model is not None:
        mine["selector"] = asdict(queries.own_model)
    elif session.link is not None and "selector" in session.link.settings:
        mine["selector"] = session.link.settings["selector"]
    return mine


# Images for snapshots, versions restored, changes applied.


def _image(session: Session) -> Image:
    """The state of a session, materialised, as a snapshot has it."""
    backend = session.backend
    if not isinstance(backend, LocalBackend):
        raise UsageError("snapshots are written by the local engine; use engine='local', or export from a pipeline")
    made, state = session.completed(), session.state
    contents = VersionContents.of(state.rule_set, state.prefixes, settings_of(session, state), made)
    return Image(contents, StoredTables(made.explicit, stored_relations(made, False)), backend.dictionary.frozen())


def _restored(session: Session, stored: StoredVersion) -> tuple[Backend[Any], State[Any]]:
    """The state of a version, and the backend that has its tables."""
    snapshot, contents = stored.snapshot, stored.snapshot.contents
    backend: Backend[Any] = session.backend
    tuning = backend.tuning
    dictionary = snapshot.dictionary(Workers(None, tuning.parallel_min_rows))
    tables = snapshot.tables(tuning)
    is_local = isinstance(backend, LocalBackend) and backend.capabilities.residence is None
    if isinstance(backend, LocalBackend) and is_local:
        backend = backend.over(dictionary)
    else:
        tables = _transferred(tables, dictionary, backend)
    kept = KeptPrograms.stored(contents.settings)
    before = replace(session.state, kept={KEPT: kept}, ordered=kept.stages)
    before = replace(before, mentioned=before.mentioned | kept.preds)
    at = session.beside(backend=backend, state=before)
    rules = contents.rules.rule_set(kept)
    restore(at, rules, *tables, contents, not isinstance(backend, LocalBackend))
    state = _with_settings(at.state, contents.settings)
    found = contents.settings.get(ONTOLOGY)
    return backend, _applied(at, state, stored.changes, found)


def restore(
    session: Session,
    rules: RuleSet,
    explicit: dict[Pred, Any],
    derived: Mapping[Pred, Any],
    stored: StoredProgram,
    list_schemes: bool,
) -> bool:
    """Takes rules and facts over and, if the program still has the shape that they were stored with, what is derived;
    whether that is so. If not, it is derived when it is needed."""
    numbers = frozenset(map(Kind, stored.numbers))
    program = analyse(rules.rules, explicit, session.schemes, numbers=lambda _: numbers)
    same = shape(program) == stored.shape
    made = restored(program, explicit, derived, session.evaluator(), list_schemes) if same else None
    session.sources.has_others = True
    session.state = replace(
        session.state,
        rule_set=rules,
        explicit=explicit,
        materialised=made,
        report=Report(session.engine, session.engine_reason, session.backend.name),
        mentioned=session.state.mentioned | program.preds | rules.preds,
        prefixes=dict(stored.prefixes),
    )
    return same


def _transferred(tables: StoredTables, dictionary: Dictionary, backend: Backend[Any]) -> StoredTables:
    """Tables of a snapshot on another backend than the local one."""
    from deltalog.engines.spark.io.import_tables import import_tables

    return StoredTables(*(import_tables(each, dictionary, backend) for each in tables))


def _applied(
    session: Session, state: State[Any], changes: Iterable[LogEntry], ontology: Mapping[str, Any] | None = None
) -> State[Any]:
    """A state after changes of the log, applied as one. `ontology`: the one before them, if it is to be taken over."""
    backend, rules, prefixes = session.backend, state.rule_set, dict(state.prefixes)
    added: dict[Pred, Any] = {}
    removed: dict[Pred, Any] = {}
    settings: dict[str, Any] = {}
    kept = kept_programs(state)
    for change in changes:
        plus, minus = unpacked(change.added, backend), unpacked(change.removed, backend)
        added = united(without(added, minus, backend), plus, backend)
        removed = united(without(removed, plus, backend), minus, backend)
        kept = KeptPrograms.stored(change.settings) if KeptPrograms.are_in(change.settings) else kept
        rules = change.rules.applied(rules, kept)
        prefixes.update(change.prefixes)
        settings.update(change.settings)
    state = replace(state, kept={**state.kept, KEPT: kept}, prefixes=prefixes)
    if added or removed or rules is not state.rule_set:
        extensions = frozenset(each.name for each in session.how.extensions)  # the log has what they made of changes
        request = ChangeRequest(rules, added, removed, rewritten_by=extensions)
        state, _ = apply(_derived(session, state), request, session.how)
    state = _with_settings(state, settings)
    ontology = settings.get(ONTOLOGY, ontology)
    return state if ontology is None else _with_ontology(state, ontology, backend)


def _derived(session: Session, state: State[Any]) -> State[Any]:
    """A state with its materialisation."""
    if state.is_complete:
        return state
    at = session.beside(state=state)
    at.completed()
    return at.state


def _with_settings(state: State[Any], settings: Mapping[str, Any]) -> State[Any]:
    if "columns" not in settings:
        return state
    columns = names_from_json(settings["columns"])
    return replace(state, columns=columns, mentioned=state.mentioned | frozenset(columns))


def _with_ontology(state: State[Any], stored: Mapping[str, Any], backend: Backend[Any]) -> State[Any]:
    """A state with the ontology of a store."""
    from deltalog.extensions.ontology.stored import reopened

    axioms = axioms_among(state.explicit, backend)
    ontology = reopened(stored, axioms, state.explicit)
    return replace(state, kept={**state.kept, ONTOLOGY: ontology})
