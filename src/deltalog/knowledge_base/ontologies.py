"""Ontology files come to a knowledge base, and go."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from deltalog.core.arguments import short_repr
from deltalog.core.errors import UsageError
from deltalog.core.user_warnings import warn
from deltalog.evaluation.change import Change
from deltalog.evaluation.state import ChangeRequest
from deltalog.extensions.ontology.extension import NAME, ontology_of
from deltalog.extensions.ontology.imports import with_imports
from deltalog.extensions.ontology.load import read_document, read_ontology
from deltalog.extensions.ontology.profile_names import check_profile
from deltalog.extensions.ontology.state import Ontology
from deltalog.formats.documents import Reading
from deltalog.formats.files import local_path
from deltalog.knowledge_base.session import Session
from deltalog.knowledge_base.settings import OntologyPaths


def ontology_files(given: OntologyPaths) -> list[str | PathLike[str]]:
    """One file or several, as a list."""
    if isinstance(given, str | PathLike):
        return [given]
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"expected the paths of ontology files, such as ['univ.owl'], and not {short_repr(given)}")
    return list(given)


def load_ontology(
    session: Session, paths: Iterable[str | PathLike[str]], profile: str | None, base: str | None = None
) -> Change | None:
    """Adds the axioms of files, and of those that they import. Returns the change, if there is a materialisation."""
    reading, ontology = Reading(base), _of_profile(session, profile)
    given = [file for path in paths for file in read_ontology(local_path(path), reading)]
    files = with_imports(given, ontology.files, lambda path: read_document(path, reading))
    change = _change(session, ontology.with_files(files))
    _warn_of_missing(session, {file.path for file in files})
    return change


def remove_ontology(session: Session, paths: Iterable[str | PathLike[str]]) -> Change | None:
    """Removes the axioms and facts of files that were loaded. Returns the change, if there is a materialisation."""
    ontology = _of_profile(session, None)
    gone = [file for path in paths for file in ontology.loaded_from(local_path(path))]
    _check_loaded(gone, ontology)
    return _change(session, ontology.without_files(gone))


def _of_profile(session: Session, profile: str | None) -> Ontology:
    """The present ontology, or an empty one of a profile."""
    known = ontology_of(session.state)
    if known is None:
        return Ontology(check_profile("owl2rl" if profile is None else profile))
    if profile is not None and check_profile(profile) != known.profile:
        raise UsageError(f"the ontology has the profile {known.profile}; use another knowledge base for {profile}")
    return known


def _change(session: Session, ontology: Ontology) -> Change | None:
    session.check_writable()
    prefixes = {**ontology.prefixes, **session.prefixes}
    request: ChangeRequest[Any] = ChangeRequest(session.state.rule_set, prefixes=prefixes, kept={NAME: ontology})
    if session.state.materialised is None and session.link is None:
        session.replace_facts(request)
        return None
    return session.make(request)[0]


def _warn_of_missing(session: Session, loaded: Collection[Path]) -> None:
    ontology = ontology_of(session.state)
    assert ontology is not None
    for each in ontology.missing_imports:
        if each.by in loaded:
            warn(str(each))


def _check_loaded(paths: Iterable[Path], ontology: Ontology) -> None:
    loaded = [file.path.resolve() for file in ontology.files]
    for path in paths:
        if path.resolve() not in loaded:
            known = ", ".join(str(file.path) for file in ontology.files) or "there is none"
            raise UsageError(f"{path}: no such ontology was loaded; loaded: {known}")
