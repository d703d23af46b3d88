"""The named graphs of a knowledge base, and SPARQL Update."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from deltalog.core.rules import QUADS, Pred
from deltalog.core.terms import BlankNode
from deltalog.evaluation.change import Change
from deltalog.evaluation.facts import Facts
from deltalog.evaluation.state import State
from deltalog.extensions.graphs.membership import TripleTables
from deltalog.formats.documents import Reading
from deltalog.knowledge_base.changes import GraphName, graph_name
from deltalog.knowledge_base.session import Session
from deltalog.languages.registry import require

if TYPE_CHECKING:
    from deltalog.languages.sparql.graphs import Dataset
    from deltalog.languages.sparql.update_operations import UpdateOperation


def graphs(session: Session) -> dict[GraphName, int]:
    """The named graphs, and how many triples each has. A graph without triples does not exist."""
    sizes = TripleTables(session.backend).graphs(_quads(session))
    names = sorted(sizes, key=lambda name: (isinstance(name, BlankNode), str(name)))
    return cast("dict[GraphName, int]", {name: sizes[name] for name in names})


def graph(session: Session, name: GraphName) -> Facts[Any]:
    """The triples that were given for a named graph."""
    table = TripleTables(session.backend).of_graph(_quads(session), graph_name(name))
    return Facts(("subject", "predicate", "object"), table, session.backend)


def _quads(session: Session) -> Any:
    return TripleTables(session.backend).of(session.state.explicit, QUADS)


def sparql_update(
    session: Session,
    request: str,
    load_from: Iterable[str | PathLike[str]],
    dry_run: bool,
    dataset: Dataset | None,
    base: str | None,
) -> Change:
    """Carries out a SPARQL Update request, as one change."""
    require("sparql")
    from deltalog.languages.sparql.parse_update import parse_update
    from deltalog.languages.sparql.request_base import request_base
    from deltalog.languages.sparql.update_operations import using

    resolving = request_base(base, request, lambda: session.contents().preds)
    operations = using(parse_update(request, session.prefixes, resolving), dataset)
    return carry_out(session, operations, load_from, Reading(), dry_run)


def carry_out(
    session: Session,
    operations: Sequence[UpdateOperation],
    load_from: Iterable[str | PathLike[str]],
    reading: Reading,
    dry_run: bool = False,
) -> Change:
    """Carries out operations as one change; `reading` is how LOAD reads files."""
    from deltalog.extensions.graphs.allowed_files import AllowedFiles
    from deltalog.knowledge_base.update_draft import Draft
    from deltalog.knowledge_base.update_requests import UpdateRequest

    if not dry_run:
        session.check_writable()
    carried_out = UpdateRequest(Draft(session), AllowedFiles(load_from), reading)
    carried_out.run(operations)
    request = carried_out.draft.request()
    change, after = session.preview(request)[:2] if dry_run else (session.make(request)[0], session.state)
    still_there = _still_there(session, carried_out.deleted, after)
    return replace(change, notes=(*carried_out.notes, *change.notes, *still_there))


def _still_there(session: Session, deleted: Mapping[Pred, Any], after: State[Any]) -> Iterator[str]:
    """What is to be said of facts that are deleted, and derived all the same."""
    backend, triples, made = session.backend, TripleTables(session.backend), after.materialised
    assert made is not None
    for pred, table in deleted.items():
        kept = triples.intersection(table, made.facts.get(pred))
        derived = backend.size(backend.minus(kept, triples.of(made.explicit, pred)))
        if derived:
            facts = "fact" if derived == 1 else "facts"
            yield f"{derived:,} {facts} of {pred.name} to delete still follow{'s' * (derived == 1)} from rules"
