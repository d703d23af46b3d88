"""The methods of a knowledge base that keep it in a store: a base class of `KnowledgeBase`.

save, open           begin to use a store
_journal             writes a change to the log, before it is made in memory
refresh              follows another writer
compact, close       snapshots
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, cast

from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.concurrency.locks import CallLock, exclusive
from deltalog.core.errors import DataError, DeltalogError, UsageError
from deltalog.core.limits import Limits, count, limited
from deltalog.core.rules import Pred
from deltalog.core.user_warnings import warn
from deltalog.formats.files import local_path
from deltalog.program.column_names import names_as_json

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend
    from deltalog.evaluation.goals.selector import Model
    from deltalog.evaluation.maintenance.materialisation import Materialisation
    from deltalog.evaluation.maintenance.update_state import Update
    from deltalog.extensions.ontology.state import Ontology
    from deltalog.extensions.store.log_entry import LogEntry
    from deltalog.extensions.store.store import Dropped, Image, Store
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.program.rule_set import RuleSet

SETTINGS = ("maintenance", "cyclic", "schemes", "default_graph", "equality")


class StoreMethods:
    """A knowledge base as far as its store is concerned."""

    engine: str
    limits: Limits
    prefixes: Mapping[str, str]
    _backend: Backend[Any]
    _lock: CallLock
    _rule_set: RuleSet
    _explicit: dict[Pred, Any]
    _state: Materialisation[Any] | None
    _ontology: Ontology | None
    _store: Store | None = None
    _version: int | None = None
    _pinned: bool = False  # to a version other than the newest
    _frozen: bool = False  # a state of another knowledge base
    _stored_settings: Mapping[str, Any]  # as the store has them

    if TYPE_CHECKING:

        def __init__(self, **settings: Any) -> None: ...

    @property
    def _whole(self) -> KnowledgeBase:
        """The knowledge base that this is."""
        return cast("KnowledgeBase", self)

    # Begin.

    @exclusive
    @limited
    def save(self, folder: str | PathLike[str]) -> None:
        """Creates a store in a folder that is new or empty. From here on every change is durable when it returns."""
        from deltalog.extensions.store import files
        from deltalog.extensions.store.catalog import VersionRow, now
        from deltalog.extensions.store.store import Store
        from deltalog.formats.write import whole

        path, image, tuning = local_path(folder), self._image(), self._backend.tuning
        facts = self._whole.explicit_facts
        first = VersionRow(1, now(), facts, 0, len(self._rule_set.ids), 0)
        changed = files.changed_by(path)
        whole(path, lambda unfinished: Store.create(unfinished, image, first, tuning, self.limits.check))
        try:
            for each in changed:
                files.sync_folder(each)
        except OSError as problem:
            raise DataError(f"{path} may not be on disk ({problem.strerror}); save to another folder") from None
        store = Store.open(path, tuning)
        self.close()
        vars(self).update(_store=store, _version=1, _pinned=False, _stored_settings=self._settings(self._ontology))

    @classmethod
    @shielded
    def open(
        cls, folder: str | PathLike[str], *, readonly: bool = False, version: int | None = None, **settings: Any
    ) -> Self:
        """The knowledge base of a store. `settings` are those of `KnowledgeBase`; others are as they were saved.

        readonly: changes nothing, and does not keep others from changing the store; see `refresh`.
        version: a version before the newest one; it is open for reading.
        """
        from deltalog.core.tuning import Tuning
        from deltalog.extensions.store.store import Store
        from deltalog.knowledge_base.restore import restore

        if given := settings.keys() & {"program", "ontology", "profile"}:
            raise UsageError(f"a store has its own rules: open it without {min(given)}, and use kb.add_rules")
        path, tuning = local_path(folder), settings.get("tuning") or Tuning()
        version = None if version is None else count(version, "versions", least=1)
        store = Store.open(path, tuning, readonly or version is not None)
        try:
            stored = store.load(version)
            saved = stored.snapshot.contents.settings
            _check_default_graph(settings.get("default_graph"), saved.get("default_graph", "union"))
            kb = cls(**{**{name: saved[name] for name in SETTINGS if name in saved}, **settings})
            restore(kb._whole, stored)
        except OSError as problem:
            store.close()
            raise DataError(
                f"{problem.filename or path} cannot be read ({problem.strerror}); check the rights"
            ) from None
        except BaseException:
            store.close()
            raise
        vars(kb).update(_store=store, _pinned=version is not None, _stored_settings=kb._settings(kb._ontology))
        return kb

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def version(self) -> int | None:
        """The number of the version of the store that this is; None without a store."""
        return self._version

    # Changes.

    def _check_writable(self) -> None:
        """UsageError if there is a store that cannot be changed. A change that was interrupted after it was written is
        made here."""
        if self._frozen:
            raise UsageError("this is a frozen state, for reading; change the knowledge base that it was made from")
        store = self._store
        if store is None or self._version is None:
            return
        store.check_writable()
        if store.settled() < self._version:
            raise DataError(f"{store.folder} has been replaced by an earlier version; close it and open it again")
        if store.version > self._version:
            self._follow(store)

    def _journal(
        self,
        update: Update[Any],
        state: Materialisation[Any],
        rules: RuleSet,
        prefixes: Mapping[str, str],
        ontology: Ontology | None,
        become: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Writes a change to the store, if there is one, and then makes it: `become` takes attributes that change with
        it. The knowledge base is what the store has, even if a failure or an interrupt comes in between."""
        store = self._store
        if store is None:
            become({})
            return
        entry, rows, settings = self._entry(update, state, rules, prefixes, ontology)
        try:
            if not entry.is_empty:
                store.append(entry, *rows)
            become({"_version": store.version, "_stored_settings": settings})
        except BaseException:
            if store.settled() != self._version:
                become({"_version": store.version, "_stored_settings": settings})
            raise

    def _entry(
        self,
        update: Update[Any],
        state: Materialisation[Any],
        rules: RuleSet,
        prefixes: Mapping[str, str],
        ontology: Ontology | None,
    ) -> tuple[LogEntry, list[int], dict[str, Any]]:
        """A change for the log, the numbers of explicit facts that come and go, and the settings after it."""
        from deltalog.evaluation.maintenance.snapshot import explicit_delta
        from deltalog.evaluation.maintenance.update_state import count_visible
        from deltalog.extensions.store.log_entry import LogEntry, RuleChange, packed

        delta, backend, settings = explicit_delta(state, update), self._backend, self._settings(ontology)
        changed = {name: value for name, value in settings.items() if self._stored_settings.get(name) != value}
        entry = LogEntry(
            RuleChange.between(self._rule_set, rules),
            {} if prefixes.items() <= self.prefixes.items() else {**self.prefixes, **prefixes},
            changed,
            packed(delta.added, backend),
            packed(delta.removed, backend),
            bool(self._whole._kept.texts),
        )
        rows = [count_visible(tables, backend) for tables in (delta.added, delta.removed)]
        return entry, rows, settings

    def _settings(self, ontology: Ontology | None) -> dict[str, Any]:
        """What is stored beside facts, rules and prefixes."""
        mine: dict[str, Any] = {name: getattr(self, f"_{name}") for name in SETTINGS}
        if ontology is not None:
            mine["ontology"] = ontology.as_json
        mine |= self._whole._kept.as_settings
        if self._whole._column_names:
            mine["columns"] = names_as_json(self._whole._column_names)
        session = vars(self).get("_session")
        model: Model | None = None if session is None else session.own_model
        if model is not None:
            mine["selector"] = asdict(model)
        elif "selector" in (stored := vars(self).get("_stored_settings", {})):
            mine["selector"] = stored["selector"]
        return mine

    # Follow another writer.

    @exclusive
    @limited
    def refresh(self) -> int | None:
        """Takes a knowledge base that is open for reading to the newest version; its number."""
        store = self._store
        if store is not None and store.readonly and not self._pinned:
            self._follow(store)
        return self._version

    def _follow(self, store: Store) -> None:
        """Becomes the newest version of the store."""
        from deltalog.knowledge_base.restore import applied, restore

        changes = store.changes_since(self._version or 0)
        if changes is None:
            before = dict(vars(self))
            try:
                restore(self._whole, store.load())
                self._forget_queries()
            except BaseException:
                vars(self).update(before)
                raise
        elif changes:
            applied(self._whole, changes, store.version)

    def _forget_queries(self) -> None:
        raise NotImplementedError

    # Snapshots.

    @exclusive
    @limited
    def compact(self, keep: int = 1) -> Dropped:
        """Writes a snapshot, which makes opening fast, and drops all but the last `keep` snapshots with the changes
        before them; what was dropped."""
        self._check_writable()
        store = self._store
        if store is None:
            raise UsageError("this knowledge base has no store; kb.save(folder) creates one")
        keep = count(keep, "snapshots", least=1)
        _, dropped = store.take_snapshot(self._image(), self.limits.check, keep)
        store.catalog.shrink()
        return dropped

    def _snapshot_if_due(self) -> None:
        """Takes a snapshot if opening would take long without it. The change is made, so a failure is a warning."""
        store = self._store
        if store is None or not store.is_writable or not self._is_local:
            return
        try:
            if store.is_due(sum(map(self._backend.size, self._explicit.values()))):
                store.take_snapshot(self._image(), self.limits.check)
        except (DeltalogError, OSError, MemoryError) as problem:
            store.postpone_snapshot()
            warn(f"no snapshot was taken, and the next opening takes longer: {problem}")

    @property
    def _is_local(self) -> bool:
        from deltalog.engines.local import LocalBackend

        return isinstance(self._backend, LocalBackend)

    def _image(self) -> Image:
        """The knowledge base as a snapshot has it."""
        from deltalog.knowledge_base.restore import image

        return image(self._whole)

    @exclusive
    def close(self) -> None:
        """Closes the store. The knowledge base can still be read, but not be changed any more."""
        if self._store is not None and not self._store.is_closed:
            try:
                self._snapshot_if_due()
            finally:
                self._store.close()


def _check_default_graph(given: str | None, saved: str) -> None:
    """UsageError if a store is to be opened with another default graph: its facts are those of the one it has."""
    if given not in (None, saved):
        raise UsageError(
            f"the default graph of this store is {saved!r}, and stays so; open it without default_graph={given!r}"
        )
