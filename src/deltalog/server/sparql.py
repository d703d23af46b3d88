"""The SPARQL 1.1 Protocol: https://www.w3.org/TR/sparql11-protocol/"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl

from deltalog.query.sparql.results import MEDIA_TYPES
from deltalog.query.sparql.solutions import Solutions
from deltalog.server.endpoints import Answered, Asked, Call, Endpoint, Reading, Service, Work
from deltalog.server.errors import Refused, wrong
from deltalog.server.fields import TIMEOUT, Field
from deltalog.server.negotiation import negotiated

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


class Operation(NamedTuple):
    """A query or an update as the protocol has it."""

    text: str
    is_update: bool
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]


@dataclass(frozen=True)
class _Given:
    """The parameters of a request, of its address and of its body."""

    values: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, asked: Asked) -> _Given:
        found: dict[str, list[str]] = {}
        for name, value in [*asked.parameters, *_form(asked)]:
            found.setdefault(name, []).append(value)
        return cls(found)

    def one(self, name: str) -> str | None:
        values = self.values.get(name, ())
        if len(values) > 1:
            raise wrong(f"there are {len(values)} times {name}; one request is one {name}")
        return values[0] if values else None

    def all(self, name: str) -> tuple[str, ...]:
        return tuple(self.values.get(name, ()))


def _form(asked: Asked) -> list[tuple[str, str]]:
    """The fields of a body that is a form."""
    if asked.media_type != FORM:
        return []
    try:
        text = asked.body.decode("utf-8")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as problem:
        raise wrong(f"the body is no form in UTF-8: {problem}") from None


def operation(asked: Asked, method: str) -> Operation:
    """What a request asks for; Refused if that is not one query or one update."""
    given = _Given.of(asked)
    query, update = given.one("query"), given.one("update")
    if asked.media_type in (QUERY, UPDATE):
        if query is not None or update is not None:
            raise wrong("the operation is in the address and in the body; one request is one operation")
        text = _decoded(asked.body)
        query, update = (text, None) if asked.media_type == QUERY else (None, text)
    if (query is None) == (update is None):
        raise wrong("expected one of `query` and `update`; see https://www.w3.org/TR/sparql11-protocol/")
    if update is not None and method == "GET":
        raise wrong("an update is sent by POST")
    default, named = DATASET if query is not None else USING
    return Operation(query or update or "", update is not None, given.all(default), given.all(named))


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise wrong(f"the body is not UTF-8 (byte {problem.start})") from None


def query(reading: Reading, asked: Asked) -> Answered:
    wanted = operation(asked, "POST")
    if wanted.default_graphs or wanted.named_graphs:
        raise Refused(501, "not_supported", "graphs of a dataset are named in the query, by FROM and FROM NAMED")
    return answered(reading.kb.solve(wanted.text), asked, reading.settings.rows)


def answered(solutions: Solutions, asked: Asked, most: int) -> Answered:
    """Solutions in the format that the client likes best; Refused if there are too many."""
    formats = TRIPLES | ROWS if solutions.form.is_graph else ROWS
    media_type = negotiated(asked.headers.get("accept"), list(formats))
    if not solutions.ask and len(solutions) > most:
        message = f"the query has {len(solutions):,} solutions, more than the server's limit of {most:,}; "
        raise Refused(503, "limit", f"{message}ask for parts, with ORDER BY, LIMIT and OFFSET", limit="rows")
    text = solutions.serialize(formats[media_type])
    escaped = "backslashreplace" if formats[media_type] == "json" else "replace"  # a lone surrogate
    return Answered(text.encode("utf-8", escaped), _with_charset(media_type))


def _with_charset(media_type: str) -> str:
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def update(service: Service, asked: Asked) -> Answered:
    raise Refused(501, "not_supported", "SPARQL Update is not there yet; POST /update changes facts and rules")


def choose(asked: Asked) -> Call:
    return Call(Work.WRITE, update) if operation(asked, "POST").is_update else Call(Work.READ, query)


def choose_get(asked: Asked) -> Call:
    operation(asked, "GET")
    return Call(Work.READ, query)


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
        FIELDS[1:],
        media_types=(QUERY, UPDATE, FORM),
        own_body=True,
        answers=(*ROWS, *TRIPLES),
    ),
)
