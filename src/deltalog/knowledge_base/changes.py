"""Changes as users ask for them: rows, tables, files and rules become a request, and the request a change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from deltalog.core.arguments import short_repr
from deltalog.core.errors import Diagnostic, ProgramError, UsageError
from deltalog.core.limits import LOADING
from deltalog.core.naming import full_name, predicate_name
from deltalog.core.rules import Pred
from deltalog.core.terms import IRI, BlankNode
from deltalog.core.user_warnings import warn
from deltalog.core.watching import watcher
from deltalog.evaluation.backend import united
from deltalog.evaluation.change import Change
from deltalog.evaluation.encode_facts import encode_facts, encode_facts_of, listed_facts
from deltalog.evaluation.state import ChangeRequest
from deltalog.extensions.graphs.membership import TripleTables
from deltalog.formats.documents import Files
from deltalog.knowledge_base.data_columns import columns_with
from deltalog.knowledge_base.kept_programs import programs_with
from deltalog.knowledge_base.session import Session
from deltalog.languages.load_program import Sources, as_sources, read_documents, read_removals
from deltalog.languages.protocol import ProgramUnit

GraphName = IRI | BlankNode
GivenFacts = Mapping[str, Any] | Files | None  # rows and tables by predicate, or files
RequestedChange = tuple[
    GivenFacts, GivenFacts, Sources, Sources, GraphName | None
]  # add, remove, rules to add, to remove, graph


class Listed(NamedTuple):
    """What a change is asked to do, checked and listed."""

    add: dict[str, Any] | Files
    remove: dict[str, Any] | Files
    add_rules: list[str | Path]
    remove_rules: list[str | Path]
    graph: GraphName | None


_ORDER = "rules with choice-domain, subsumption, .limitsize or autoinc() cannot be added to a knowledge base"
_WHOLE = "Make a new KnowledgeBase with the whole program."
_NO_FILES = "rules that are added to a knowledge base name no files"
_LOAD = "Load the facts of files by kb.load, or with --add or --data."


def graph_name(graph: Any) -> GraphName:
    """The name of a graph, checked."""
    if isinstance(graph, IRI | BlankNode):
        return graph
    raise UsageError(
        f"a graph has an IRI or a BlankNode as its name, such as IRI('http://e.org/g'), not {short_repr(graph)}"
    )


# Facts before there is a materialisation.


def add(session: Session, predicate: str, data: Any, graph: GraphName | None = None) -> None:
    """Adds facts of a predicate."""
    facts = listed_facts({predicate_name(predicate): data})
    load_tables(session, lambda: encoded(session, facts, graph), facts)


def remove(session: Session, predicate: str, data: Any, graph: GraphName | None = None) -> None:
    """Removes explicit facts of a predicate."""
    facts = listed_facts({predicate_name(predicate): data})
    session.check_writable()
    _replace_facts(session, ChangeRequest(session.state.rule_set, remove=encoded(session, facts, graph, adding=False)))


def load(session: Session, files: Files, graph: GraphName | None = None) -> None:
    """Adds the facts of files."""
    files = as_read(session, files)
    with session.sources.loading(files):
        load_tables(session, lambda: encoded(session, files, graph), files)


def load_tables(session: Session, read: Callable[[], Mapping[Pred, Any]], named: GivenFacts = None) -> None:
    """Adds the facts that a reader makes tables of, on the backend of the session."""
    limits = session.limits.running(LOADING, timed=session.link is not None)  # of a store, it is a change
    with _timed(session), limits:
        session.within_budget(lambda: _load_tables(session, read, named))


def _load_tables(session: Session, read: Callable[[], Mapping[Pred, Any]], named: GivenFacts) -> None:
    session.check_writable()
    columns = columns_with(session.state.columns, named, session.declared_columns)
    _replace_facts(session, ChangeRequest(session.state.rule_set, add=read(), columns=columns))
    session.sources.has_others = True


def _replace_facts(session: Session, request: ChangeRequest[Any]) -> None:
    for note in session.replace_facts(request):
        warn(note)


@contextmanager
def _timed(session: Session) -> Iterator[None]:
    started = time.perf_counter()
    watcher().phase("load")
    yield
    session.spent("load", started)


# Facts and rules come and go.


def change(session: Session, call: str, wanted: RequestedChange) -> Change:
    """Makes a change, as a call of some name."""
    with session.running(call):
        given = _listed(wanted)
        for attempt in session.attempts():
            with attempt:
                session.check_writable()  # first: it may take over what the store has
                request, document = _requested(session, given)
                lints = session.warnings.warn_of_rules(document)
                with _loading(session, given):
                    made, _ = session.make(replace(request, kept=programs_with(session, document)))
                _note_rules(session, given, lints)
                return made
    raise AssertionError("the last attempt has a result, or it raises")


def _loading(session: Session, wanted: Listed) -> AbstractContextManager[None]:
    given = as_read(session, wanted.add)
    return session.sources.loading(given) if isinstance(given, Files) else nullcontext()


def _note_rules(session: Session, wanted: Listed, lints: tuple[Diagnostic, ...]) -> None:
    """Notes the rules of a change that is made, and compares them with the data."""
    session.sources.add_programs(wanted.add_rules)
    if wanted.add_rules:
        session.warnings.lints = lints
        session.warn_of_data()


def what_if(session: Session, wanted: RequestedChange) -> Change:
    """What a change would add and remove."""
    with session.backend.failures.isolated(), session.running("what_if"):
        given = _listed(wanted)
        return session.within_budget(lambda: session.preview(_requested(session, given)[0])[0])


def _listed(wanted: RequestedChange) -> Listed:
    """What a change is asked to do, such that it can be read more than once: another engine may start over."""
    add, remove, add_rules, remove_rules, graph = wanted
    facts = _facts(add), _facts(remove)
    return Listed(*facts, as_sources(add_rules), as_sources(remove_rules), graph)


def _facts(given: GivenFacts) -> dict[str, Any] | Files:
    return given if isinstance(given, Files) else listed_facts(given)


def _requested(session: Session, wanted: Listed) -> tuple[ChangeRequest[Any], ProgramUnit]:
    """A change that is asked for, and the statements that it adds."""
    state, backend, graph = session.state, session.backend, wanted.graph
    add, remove = as_read(session, wanted.add), as_read(session, wanted.remove)
    columns = columns_with(state.columns, add, session.declared_columns)
    names, unwanted = read_removals(wanted.remove_rules)
    rule_set = state.rule_set.removing(names, unwanted)
    document = read_documents(wanted.add_rules, includes=False)
    check_addable(document)
    added = united(encoded(session, add, graph), encode_facts_of(document.rules, backend), backend)
    gone = encoded(session, remove, graph, adding=False)
    removed = united(gone, encode_facts_of(unwanted, backend), backend)
    rules = rule_set.adding(document.rules)
    return ChangeRequest(rules, added, removed, document.rules, document.prefixes, columns), document


def check_addable(document: ProgramUnit) -> None:
    """ProgramError if rules that are added name files, or depend on the order of derivation: only the programs of a new
    knowledge base may."""
    wrong = [error for file in document.files if (error := file.refused(_NO_FILES, _LOAD)) is not None]
    wrong += [Diagnostic(_ORDER, rule.span, _WHOLE) for stage in document.stages for rule in stage.rules]
    if wrong:
        raise ProgramError(wrong)


# Facts as tables.


def as_read(session: Session, given: GivenFacts) -> Any:
    """Files with the settings of tables and the limits that the knowledge base has; anything else as it is."""
    if not isinstance(given, Files):
        return given
    tables = given.reading.tables
    if tables.predicate is not None:
        tables = replace(tables, predicate=full_name(tables.predicate, session.prefixes))
    reading = replace(given.reading, max_depth=session.backend.tuning.rdf_max_depth, tables=tables)
    return replace(given, reading=reading).over(session.table_settings)


def encoded(
    session: Session, facts: Mapping[str, Any] | Files, graph: GraphName | None = None, adding: bool = True
) -> dict[Pred, Any]:
    """Facts as tables by predicate, or as quads of a graph; checked if they are to be added."""
    name, state, backend = None if graph is None else graph_name(graph), session.state, session.backend
    session.warnings.note_names(facts.named_paths if isinstance(facts, Files) else facts, backend)
    if isinstance(facts, Files):
        checked = facts.checking_subjects(state.prefixes) if adding else facts
        found: dict[Pred, Any] = backend.codec.read(checked.paths, checked.reading)
    else:
        known = (state.mentioned, state.explicit)
        found = encode_facts(facts, backend, known, state.prefixes, adding) if facts else {}
    return found if name is None else TripleTables(backend).quads_of(found, name)
