"""The SPARQL 1.1 Graph Store Protocol: https://www.w3.org/TR/sparql11-http-rdf-update/

A graph is named by `?graph=IRI`, the default graph by `?default`. Reading the default graph gives what queries see in
it, derived facts included; what is put, posted or deleted there is the unnamed graph, as in SPARQL Update. A body goes
through a file of its own in a private folder: the readers of files are then those of all others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from deltalog.apps.server import documents
from deltalog.apps.server.endpoints import (
    JSON,
    Endpoint,
    HandlerWork,
    ReadingHandler,
    Request,
    Response,
    RouteCall,
    Service,
)
from deltalog.apps.server.errors import HTTPError, wrong
from deltalog.apps.server.fields import Field
from deltalog.apps.server.sparql import ABSOLUTE, SHOWN_ROWS, TRIPLES, answered
from deltalog.core.errors import DataError
from deltalog.core.terms import IRI
from deltalog.evaluation.change import Change
from deltalog.formats.documents import Reading
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase
from deltalog.knowledge_base.graphs import carry_out
from deltalog.languages.sparql.update_operations import Clear, Load, UpdateOperation

SUFFIXES = {
    "text/turtle": ".ttl",
    "application/x-turtle": ".ttl",
    "application/n-triples": ".nt",
    "application/rdf+xml": ".rdf",
}
FIELDS = (
    Field("graph", "text", "the IRI of a graph"),
    Field("default", "flag", "the default graph, instead of one with a name"),
)
NOT_THERE = {404: "There is no such graph."}
CREATED = {201: "There was no such graph."}


def graph_of(request: Request) -> IRI | None:
    """The graph that a request is about; None for the default graph."""
    name, is_default = request["graph"], bool(request["default"])
    if (name is not None) == is_default:
        raise wrong("say which graph: ?default or ?graph=IRI")
    if name is not None and not ABSOLUTE.fullmatch(name):
        raise wrong(f"graph: {name!r:.80} is not an absolute IRI")
    return None if name is None else IRI(name)


def read(reading: ReadingHandler, request: Request) -> Response:
    graph = graph_of(request)
    _check_there(reading.kb, graph)
    pattern = "?s ?p ?o" if graph is None else f"GRAPH <{graph}> {{ ?s ?p ?o }}"
    solutions = reading.kb.solve(f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ {pattern} }}")
    return answered(solutions, request, reading.settings.rows, TRIPLES)


def put(service: Service, request: Request) -> Response:
    """The body takes the place of a graph."""
    return _loaded(service, request, [Clear(graph_of(request) or "DEFAULT", silent=True)])


def post(service: Service, request: Request) -> Response:
    """The body is added to a graph."""
    return _loaded(service, request, [])


def delete(service: Service, request: Request) -> Response:
    graph = graph_of(request)
    _check_there(service.versions.present.kb, graph)
    return _changed(service, lambda kb: _carried_out(kb, [Clear(graph or "DEFAULT")], (), Reading()), 200)


def _loaded(service: Service, request: Request, before: list[UpdateOperation]) -> Response:
    graph = graph_of(request)
    is_new = graph is not None and not _is_there(service.versions.present.kb, graph)
    base = request.origin + "/graph" if graph is None else str(graph)

    def load(kb: KnowledgeBase) -> Change:
        with TemporaryDirectory(prefix="deltalog-") as folder:
            path = Path(folder).resolve() / f"body{SUFFIXES.get(request.media_type, '.nt')}"
            path.write_bytes(request.body)
            operations = [*before, Load(IRI(path.as_uri()), graph)]
            try:
                return _carried_out(kb, operations, [folder], Reading(base))
            except DataError as problem:  # the file is nobody's business
                raise DataError(str(problem).replace(str(path), "the body")) from None

    return _changed(service, load, 201 if is_new else 200)


def _carried_out(
    kb: KnowledgeBase, operations: list[UpdateOperation], folders: Sequence[str], reading: Reading
) -> Change:
    session = session_of(kb)
    with session.lock.held:
        return session.run("sparql_update", lambda: carry_out(session, operations, folders, reading))


def _changed(service: Service, make: Callable[[KnowledgeBase], Change], status: int) -> Response:
    versions = service.versions
    made = versions.change(make)
    return Response(json.dumps(documents.change(made, versions.present.kb, False, SHOWN_ROWS)), JSON, status)


def _is_there(kb: KnowledgeBase, graph: IRI) -> bool:
    return len(kb.graph(graph)) > 0


def _check_there(kb: KnowledgeBase, graph: IRI | None) -> None:
    if graph is not None and not _is_there(kb, graph):
        raise HTTPError(404, "not_found", f"there is no graph <{graph}>")


MEDIA_TYPES = tuple(SUFFIXES)
ENDPOINTS = (
    Endpoint(
        "GET",
        "/graph",
        "A graph.",
        RouteCall(HandlerWork.READ, read),
        FIELDS,
        answers=tuple(TRIPLES),
        statuses=NOT_THERE,
    ),
    Endpoint(
        "PUT",
        "/graph",
        "Replaces a graph by the body.",
        RouteCall(HandlerWork.WRITE, put),
        FIELDS,
        media_types=MEDIA_TYPES,
        statuses=CREATED,
    ),
    Endpoint(
        "POST",
        "/graph",
        "Adds the body to a graph.",
        RouteCall(HandlerWork.WRITE, post),
        FIELDS,
        media_types=MEDIA_TYPES,
        statuses=CREATED,
    ),
    Endpoint("DELETE", "/graph", "Removes a graph.", RouteCall(HandlerWork.WRITE, delete), FIELDS, statuses=NOT_THERE),
)
