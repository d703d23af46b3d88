"""Between a knowledge base and its store: images for snapshots, versions restored, changes applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import UsageError
from deltalog.core.rules import Pred
from deltalog.engines.local import LocalBackend
from deltalog.engines.local.workers import Workers
from deltalog.evaluation.backend import united, without
from deltalog.evaluation.maintenance.snapshot import stored_relations
from deltalog.extensions.store.log_entry import LogEntry, unpacked
from deltalog.extensions.store.snapshot_files import StoredTables
from deltalog.extensions.store.store import Image, StoredVersion
from deltalog.extensions.versions import VersionContents
from deltalog.languages.stored_rules import SETTING, KeptPrograms
from deltalog.program.column_names import names_from_json

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend
    from deltalog.knowledge_base.facade import KnowledgeBase


def image(kb: KnowledgeBase) -> Image:
    """A knowledge base, materialised, as a snapshot has it."""
    backend = kb._backend
    if not isinstance(backend, LocalBackend):
        raise UsageError("snapshots are written by the local engine; use engine='local', or export from a pipeline")
    state = kb._completed()
    contents = VersionContents.of(kb._rule_set, kb.prefixes, kb._settings(kb._ontology), state)
    return Image(contents, StoredTables(state.explicit, stored_relations(state, False)), backend.dictionary.frozen())


def restore(kb: KnowledgeBase, stored: StoredVersion) -> None:
    """Makes a knowledge base the one of a version."""
    snapshot, contents = stored.snapshot, stored.snapshot.contents
    tuning = kb._backend.tuning
    dictionary = snapshot.dictionary(Workers(None, tuning.parallel_min_rows))
    tables = snapshot.tables(tuning)
    if isinstance(kb._backend, LocalBackend) and kb._backend.capabilities.residence is None:
        kb._assign(_backend=kb._backend.over(dictionary))
    else:
        tables = _transferred(tables, dictionary, kb._backend)
    list_schemes = not isinstance(kb._backend, LocalBackend)
    kept = KeptPrograms.stored(contents.settings)
    kb._assign(_kept=kept, _stages=kept.stages, _mentioned=kb._mentioned | kept.preds)
    kb._restore(contents.rules.rule_set(kept), *tables, contents, list_schemes)
    kb._assign(_version=snapshot.version)
    _take_settings(kb, contents.settings)
    applied(kb, stored.changes, stored.version, contents.settings.get("ontology"))


def _transferred(tables: StoredTables, dictionary: Dictionary, backend: Backend[Any]) -> StoredTables:
    """Tables of a snapshot on another backend than the local one."""
    from deltalog.engines.spark.io.import_tables import import_tables

    return StoredTables(*(import_tables(each, dictionary, backend) for each in tables))


def applied(
    kb: KnowledgeBase, changes: Iterable[LogEntry], version: int, ontology: Mapping[str, Any] | None = None
) -> None:
    """Applies changes as one update, which leads to a version. `ontology` is the one before them, if it is to be taken
    over."""
    backend, rules, prefixes = kb._backend, kb._rule_set, dict(kb.prefixes)
    added: dict[Pred, Any] = {}
    removed: dict[Pred, Any] = {}
    settings: dict[str, Any] = {}
    kept = kb._kept
    for change in changes:
        plus, minus = unpacked(change.added, backend), unpacked(change.removed, backend)
        added = united(without(added, minus, backend), plus, backend)
        removed = united(without(removed, plus, backend), minus, backend)
        kept = KeptPrograms.stored(change.settings) if SETTING in change.settings else kept
        rules = change.rules.applied(rules, kept)
        prefixes.update(change.prefixes)
        settings.update(change.settings)
    kb._assign(_kept=kept)
    if added or removed or rules is not kb._rule_set:
        kb._apply(rules, added, removed, prefixes, version)
    else:
        kb._assign(prefixes=prefixes, _version=version)
    _take_settings(kb, settings)
    ontology = settings.get("ontology", ontology)
    if ontology is not None:
        kb._reopen_ontology(ontology)


def _take_settings(kb: KnowledgeBase, settings: Mapping[str, Any]) -> None:
    if "columns" in settings:
        columns = names_from_json(settings["columns"])
        kb._assign(_column_names=columns, _mentioned=kb._mentioned | frozenset(columns))
    if "selector" in settings:
        from deltalog.evaluation.goals.selector import Model

        kb.selector = Model(**settings["selector"])
