"""Goals, facts and predicates."""

from __future__ import annotations

import re
from typing import Any

from deltalog.apps.server import documents
from deltalog.apps.server.documents import JsonDocument
from deltalog.apps.server.endpoints import Endpoint, HandlerWork, ReadingHandler, Request, RouteCall
from deltalog.apps.server.errors import wrong
from deltalog.apps.server.fields import TIMEOUT, Field
from deltalog.apps.server.versions import MARK
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.query_session import METHODS

ROWS, PAGE = 1_000, 100
GOAL = (
    Field("goal", "text", "atoms and conditions, such as path(a, ?x)", required=True),
    Field("method", "text", "how to answer it", "auto", choices=METHODS),
    Field("limit", "count", "the rows that are sent", ROWS),
    Field("offset", "count", "the rows that are left out before them", 0),
    TIMEOUT,
)
PAGES = (
    Field("limit", "count", "the rows of a page", PAGE),
    Field("offset", "count", "the rows before it", 0),
    Field("cursor", "text", "`next` of the page before it"),
    Field("derived", "flag", "only facts that are not explicit", False),
)
_CURSOR = re.compile(rf"({MARK})-([0-9]{{1,15}})")


def query(reading: ReadingHandler, request: Request) -> JsonDocument:
    answers = reading.kb.query(request["goal"], request["method"])
    first, most = request["offset"], min(request["limit"], reading.settings.rows)
    found = answers.page(first, most)
    document = {
        "columns": list(answers.columns),
        "rows": documents.rows(found),
        "total": len(answers),
        "complete": answers.complete and len(found) == len(answers),
        "method": answers.method,
        "reason": answers.reason,
        "seconds": round(answers.seconds, 6),
        "failures": [each.as_json for each in answers.failures],
    }
    rest = len(answers) - first - len(found)
    return document | ({"cut_off": _cut_off(rest, request["limit"], reading.settings.rows)} if rest > 0 else {})


def _cut_off(rest: int, asked: int, most: int) -> str:
    why = f"limit={asked}" if asked <= most else f"the server's limit of {most:,} rows for one answer"
    return f"{rest:,} more rows are left out ({why}); `offset` asks for them"


def facts(reading: ReadingHandler, request: Request) -> JsonDocument:
    if request["cursor"] is None:
        return _page(reading, request, request["offset"])
    found = _CURSOR.fullmatch(request["cursor"])
    if found is None:
        raise wrong("invalid cursor; pass `next` of the previous page unchanged")
    version = reading.versions.at(found[1])
    if version.number == reading.version:
        return _page(reading, request, int(found[2]))
    with reading.versions.readers.reading(version) as kb:
        return _page(ReadingHandler(kb, version.number, reading.versions), request, int(found[2]))


def _page(reading: ReadingHandler, request: Request, first: int) -> JsonDocument:
    kb, name, most = reading.kb, request["predicate"], min(request["limit"], reading.settings.rows)
    pred = session_of(kb).predicate(name)
    found = (kb.derived if request["derived"] else kb.facts)(name)
    rows, total = found.page(first, most), len(found)
    end = first + len(rows)
    return {
        "version": reading.version,
        "predicate": name,
        "label": documents.label(name, kb.prefixes),
        "arity": pred.arity,
        "columns": list(found.columns),
        "rows": documents.rows(rows),
        "total": total,
        "offset": first,
        "next": f"{reading.versions.mark(reading.version)}-{end}" if rows and end < total else None,
    }


def predicates(reading: ReadingHandler, _: Request) -> JsonDocument:
    kb = reading.kb
    contents, names = session_of(kb).contents(), session_of(kb).names().by_name
    size = session_of(kb).backend.size
    listed: list[dict[str, Any]] = []
    for name, pred in names.items():
        facts, explicit = size(contents.table(pred)), size(contents.explicit[pred]) if pred in contents.explicit else 0
        derived = (
            size(contents.table(pred, derived=True)) if session_of(kb).state.depends_on_order else facts - explicit
        )
        numbers = {"facts": facts, "explicit": explicit, "derived": derived}
        listed.append({"name": name, "label": documents.label(name, kb.prefixes), "arity": pred.arity, **numbers})
    return {"prefixes": dict(kb.prefixes), "predicates": listed}


ENDPOINTS = (
    Endpoint("GET", "/query", "The answers of a goal.", RouteCall(HandlerWork.READ, query), GOAL),
    Endpoint("POST", "/query", "The answers of a goal.", RouteCall(HandlerWork.READ, query), body=GOAL),
    Endpoint(
        "GET",
        "/facts/{predicate:path}",
        "The facts of a predicate, in pages.",
        RouteCall(HandlerWork.READ, facts),
        PAGES,
    ),
    Endpoint("GET", "/predicates", "Predicates, with their numbers of facts.", RouteCall(HandlerWork.READ, predicates)),
)
