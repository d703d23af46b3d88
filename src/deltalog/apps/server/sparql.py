"""The SPARQL 1.1 Protocol: https://www.w3.org/TR/sparql11-protocol/"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from deltalog.apps.server import documents
from deltalog.apps.server.documents import JsonDocument
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
from deltalog.apps.server.fields import TIMEOUT, Field
from deltalog.apps.server.negotiation import negotiated
from deltalog.core.terms import IRI
from deltalog.languages.sparql.graphs import Dataset
from deltalog.languages.sparql.results import MEDIA_TYPES
from deltalog.languages.sparql.solutions import Solutions

QUERY, UPDATE, FORM = "application/sparql-query", "application/sparql-update", "application/x-www-form-urlencoded"
MOST_FIELDS = 1_000
# The names of formats that there are for rows and truth values, and for triples; each may have several media types.
ROWS = {
    MEDIA_TYPES["json"]: "json",
    MEDIA_TYPES["xml"]: "xml",
    MEDIA_TYPES["csv"]: "csv",
    MEDIA_TYPES["tsv"]: "tsv",
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
}
TRIPLES = {
    MEDIA_TYPES["ttl"]: "ttl",
    MEDIA_TYPES["nt"]: "nt",
    "application/x-turtle": "ttl",
    "text/plain": "nt",
}
DATASET = ("default-graph-uri", "named-graph-uri")
USING = ("using-graph-uri", "using-named-graph-uri")
FIELDS = (
    Field("query", "text", "a query"),
    *(Field(name, "text", "a graph of the dataset; may be repeated") for name in DATASET),
    TIMEOUT,
)
DRY_RUN = Field("dry_run", "flag", "describe what an update would change, and change nothing", False)
UPDATE_FIELDS = (
    *(Field(name, "text", "a graph that patterns are matched in; may be repeated") for name in USING),
    DRY_RUN,
)
FAILED = "Deltalog-Failed-Expressions"  # rule instances that solutions may miss, because an expression failed
SHOWN_ROWS = 100  # of each predicate that an update changes
ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^<>\"{}|^`\\\x00-\x20]*")


class ProtocolOperation(NamedTuple):
    """A query or an update as the protocol has it."""

    text: str
    is_update: bool
    dataset: Dataset | None
    dry_run: bool = False


@dataclass(frozen=True)
class _Given:
    """The parameters of a request, of its address and of its body."""

    values: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, request: Request) -> _Given:
        found: dict[str, list[str]] = {}
        for name, value in [*request.parameters, *_form(request)]:
            found.setdefault(name, []).append(value)
        return cls(found)

    def one(self, name: str) -> str | None:
        values = self.values.get(name, ())
        if len(values) > 1:
            raise wrong(f"there are {len(values)} times {name}; one request is one {name}")
        return values[0] if values else None

    def all(self, name: str) -> tuple[str, ...]:
        return tuple(self.values.get(name, ()))


def _form(request: Request) -> list[tuple[str, str]]:
    """The fields of a body that is a form."""
    if request.media_type != FORM:
        return []
    try:
        text = request.body.decode("utf-8")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as problem:
        raise wrong(f"the body is not a form in UTF-8: {problem}") from None


def operation(request: Request, method: str) -> ProtocolOperation:
    """What a request asks for; HTTPError if that is not one query or one update."""
    given = _Given.of(request)
    query, update = given.one("query"), given.one("update")
    if request.media_type in (QUERY, UPDATE):
        if query is not None or update is not None:
            raise wrong("the operation is in the address and in the body; one request is one operation")
        text = _decoded(request.body)
        query, update = (text, None) if request.media_type == QUERY else (None, text)
    if (query is None) == (update is None):
        raise wrong("expected one of `query` and `update`; see https://www.w3.org/TR/sparql11-protocol/")
    if update is not None and method == "GET":
        raise wrong("an update is sent by POST")
    default, named = (tuple(map(_graph, given.all(name))) for name in (DATASET if query is not None else USING))
    dataset = Dataset.of(default, named) if default or named else None
    dry_run = DRY_RUN.read(lambda kind: kind.parse(given.one("dry_run") or "false"))
    return ProtocolOperation(query or update or "", update is not None, dataset, dry_run)


def _graph(name: str) -> IRI:
    if not ABSOLUTE.fullmatch(name):
        raise wrong(f"{name!r:.80}: expected an absolute IRI as the name of a graph")
    return IRI(name)


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise wrong(f"the body is not UTF-8 (byte {problem.start})") from None


def base_of(request: Request) -> str:
    """What relative IRIs of queries and updates are resolved against: the address of this endpoint."""
    return f"{request.origin}/sparql"


def query(reading: ReadingHandler, request: Request) -> Response:
    wanted = operation(request, "POST")
    return answered(
        reading.kb.solve(wanted.text, dataset=wanted.dataset, base=base_of(request)), request, reading.settings.rows
    )


def answered(solutions: Solutions, request: Request, most: int, formats: Mapping[str, str] | None = None) -> Response:
    """Solutions in the format that the client likes best; HTTPError if there are too many."""
    formats = formats or (TRIPLES | ROWS if solutions.form.is_graph else ROWS)
    media_type = negotiated(request.headers.get("accept"), list(formats))
    if not solutions.ask and len(solutions) > most:
        message = f"the query has {len(solutions):,} solutions, more than the server's limit of {most:,}; "
        raise HTTPError(503, "limit", f"{message}ask for parts, with ORDER BY, LIMIT and OFFSET", limit="rows")
    text = solutions.serialize(formats[media_type])
    escaped = "backslashreplace" if formats[media_type] == "json" else "replace"  # a lone surrogate
    failed = sum(each.count for each in solutions.failures)
    headers = {FAILED: str(failed)} if failed else {}
    return Response(text.encode("utf-8", escaped), _with_charset(media_type), headers=headers)


def _with_charset(media_type: str) -> str:
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def update(service: Service, request: Request) -> JsonDocument:
    """An update is one change, and is answered by what it changed."""
    versions, wanted = service.versions, operation(request, "POST")
    folders = [] if versions.settings.load_folder is None else [versions.settings.load_folder]
    options: dict[str, Any] = {"load_from": folders, "dataset": wanted.dataset, "base": base_of(request)}
    made = versions.change(lambda kb: kb.sparql_update(wanted.text, **options))
    return documents.change(made, versions.present.kb, False, SHOWN_ROWS)


def describe(reading: ReadingHandler, request: Request) -> JsonDocument:
    """What an update would change."""
    wanted, folder = operation(request, "POST"), reading.settings.load_folder
    folders = [] if folder is None else [folder]
    options: dict[str, Any] = {"load_from": folders, "dataset": wanted.dataset, "base": base_of(request)}
    made = reading.versions.describe(
        reading.kb, reading.version, lambda kb: kb.sparql_update(wanted.text, dry_run=True, **options)
    )
    return documents.change(made, reading.kb, True, SHOWN_ROWS)


def choose(request: Request) -> RouteCall:
    wanted = operation(request, "POST")
    if not wanted.is_update:
        return RouteCall(HandlerWork.READ, query)
    return RouteCall(HandlerWork.READ, describe) if wanted.dry_run else RouteCall(HandlerWork.WRITE, update)


def choose_get(request: Request) -> RouteCall:
    operation(request, "GET")
    return RouteCall(HandlerWork.READ, query)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/sparql",
        "A query, by the SPARQL 1.1 Protocol.",
        choose_get,
        FIELDS,
        own_body=True,
        answers=(*ROWS, *TRIPLES),
    ),
    Endpoint(
        "POST",
        "/sparql",
        "A query or an update, by the SPARQL 1.1 Protocol.",
        choose,
        (*FIELDS[1:], *UPDATE_FIELDS),
        media_types=(QUERY, UPDATE, FORM),
        own_body=True,
        answers=(*ROWS, *TRIPLES, JSON),
    ),
)
