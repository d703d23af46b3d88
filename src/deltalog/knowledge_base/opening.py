"""How sessions begin: from programs, or from a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from deltalog.core.errors import DataError
from deltalog.core.limits import Limits, count, memory_bytes
from deltalog.formats.files import local_path
from deltalog.knowledge_base.checked_program import CheckedProgram
from deltalog.knowledge_base.kept_programs import PROGRAMS
from deltalog.knowledge_base.programs import load_imports
from deltalog.knowledge_base.session import Session
from deltalog.knowledge_base.settings import OntologyPaths, Settings

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase

Opened = TypeVar("Opened", bound="KnowledgeBase")


def new_session(
    checked: CheckedProgram,
    engine: str,
    limits: tuple[float | None, int | None, str | int | None],
    settings: Settings,
    spark: tuple[str | None, Any],
    ontology: tuple[OntologyPaths, str | None],
) -> Session:
    """A session of programs, with the files that they name."""
    document = checked.unit
    timeout, max_facts, memory = limits
    known = Limits(timeout, max_facts, None if memory is None else memory_bytes(memory))
    from deltalog.engines.create import create_backend
    from deltalog.evaluation.encode_facts import encode_facts_of

    backend = create_backend(engine, known, settings.thresholds, settings.threads, *spark)
    session = Session(engine, settings, known, backend)
    session.document, session.table_settings = document, checked.table_settings
    session.declared_columns = frozenset(document.columns)
    session.sources.add_programs(checked.sources)
    session.state = replace(
        session.state,
        rule_set=session.state.rule_set.adding(document.rules),
        explicit=encode_facts_of(document.rules, backend),
        ordered=document.stages,
        prefixes=document.prefixes,
        columns=dict(document.columns),
        mentioned=checked.program.preds | session.declared_columns,
        kept={PROGRAMS: document.programs} if document.programs else {},
    )
    session.sources.has_others = bool(session.state.explicit)
    _load_ontology(session, *ontology)
    load_imports(session)
    session.warnings.lints = session.warnings.warn_of_rules(document)
    return session


def _load_ontology(session: Session, given: OntologyPaths, profile: str | None) -> None:
    if isinstance(given, tuple) and not given and profile is None:
        return
    from deltalog.knowledge_base.ontologies import load_ontology, ontology_files

    files = ontology_files(given)
    if files or profile is not None:
        session.run("load_ontology", lambda: load_ontology(session, files, profile))


def open_session(
    cls: type[Opened], folder: str | PathLike[str], readonly: bool, version: int | None, settings: Mapping[str, Any]
) -> Opened:
    """The knowledge base of a store, or of one of its versions."""
    from deltalog.core.tuning import Tuning
    from deltalog.extensions.store.store import Store
    from deltalog.knowledge_base import stores

    stores.check_opening(settings)
    tuning = settings.get("tuning") or getattr(settings.get("settings"), "tuning", None) or Tuning()
    path = local_path(folder)
    version = None if version is None else count(version, "versions", least=1)
    store = Store.open(path, tuning, readonly or version is not None)
    try:
        stored = store.load(version)
        kb = cls(**stores.stored_settings(stored, settings))
        stores.link(kb._session, store, stored, version is not None)
    except OSError as problem:
        store.close()
        raise DataError(f"{problem.filename or path} cannot be read ({problem.strerror}); check the rights") from None
    except BaseException:
        store.close()
        raise
    return kb
