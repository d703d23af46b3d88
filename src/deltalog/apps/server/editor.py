"""Help for an editor: errors and warnings of a text, and names to complete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deltalog.apps.server.documents import JsonDocument, label
from deltalog.apps.server.endpoints import Endpoint, HandlerWork, ReadingHandler, Request, RouteCall
from deltalog.apps.server.errors import diagnostic, placed_message
from deltalog.apps.server.fields import Field
from deltalog.core.errors import DeltalogError, ProgramError
from deltalog.functions.signatures import AGGREGATES, FUNCTIONS
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.changes import check_addable
from deltalog.knowledge_base.facade import KnowledgeBase
from deltalog.languages.deltalog.parser import parse_goal
from deltalog.languages.load_program import read_documents
from deltalog.languages.sparql.parse import WELL_KNOWN, is_sparql, parse
from deltalog.program import analyse

KEYWORDS = ("AGGREGATE", "AND", "AS", "BIND", "FILTER", "NOT", "ON", "PREFIX")
TEXT_KINDS = ("auto", "rules", "goal", "sparql")
NAMES = 50
CHECKED = (
    Field("text", "text", "rules, a goal or SPARQL", required=True),
    Field("kind", "text", "which of them it is", "auto", choices=TEXT_KINDS),
)
COMPLETED = (
    Field("prefix", "text", "how names or labels begin, or what they contain", ""),
    Field("limit", "count", "how many predicates are listed", NAMES),
)


def check(reading: ReadingHandler, request: Request) -> JsonDocument:
    text = request["text"]
    kind = kind_of(text) if request["kind"] == "auto" else request["kind"]
    checks = {"rules": _check_rules, "goal": _check_goal, "sparql": _check_sparql}
    return {"kind": kind, "diagnostics": list(checks[kind](text, reading.kb))}


def kind_of(text: str) -> str:
    """What a text most likely is: goals have neither a rule's arrow nor a full stop, and are one line."""
    if is_sparql(text):
        return "sparql"
    stripped = text.strip()
    is_goal = stripped.startswith("?-") or (":-" not in stripped and not stripped.endswith("."))
    return "goal" if is_goal else "rules"


def _check_rules(text: str, kb: KnowledgeBase) -> Iterator[JsonDocument]:
    """Of the rules themselves, and together with those that are there: a cycle through a negation. What names files
    cannot be added."""
    try:
        given = read_documents([text], includes=False)
        own = analyse(given.rules)
        yield from (diagnostic(each, text) for each in (*given.warnings, *own.warnings))
        check_addable(given)
        analyse([*kb.rules, *given.rules], session_of(kb).state.explicit)
    except ProgramError as error:
        yield from (diagnostic(each, text) for each in error.diagnostics)
    except DeltalogError as error:
        yield _unplaced(error)


def _check_goal(text: str, kb: KnowledgeBase) -> Iterator[JsonDocument]:
    try:
        literals = parse_goal(text, "<goal>", kb.prefixes)
        session_of(kb).contents().check_goal(literals)
    except ProgramError as error:
        yield from map(diagnostic, error.diagnostics)
    except DeltalogError as error:
        yield _unplaced(error)


def _check_sparql(text: str, kb: KnowledgeBase) -> Iterator[JsonDocument]:
    try:
        parse(text, kb.prefixes)
    except DeltalogError as error:
        yield from placed_message(str(error)) or [_unplaced(error)]


def _unplaced(error: DeltalogError) -> JsonDocument:
    place: dict[str, Any] = dict.fromkeys(("hint", "line", "column", "end_line", "end_column"))
    return {"severity": "error", "message": str(error), **place}


def complete(reading: ReadingHandler, request: Request) -> JsonDocument:
    kb, wanted = reading.kb, request["prefix"].lower()
    known = [(name, label(name, kb.prefixes), pred) for name, pred in session_of(kb).names().by_name.items()]
    found = sorted(
        (not (name.lower().startswith(wanted) or short.lower().startswith(wanted)), short, name, pred.arity)
        for name, short, pred in known
        if wanted in name.lower() or wanted in short.lower()
    )
    listed = [{"name": name, "label": short, "arity": arity} for _, short, name, arity in found]
    names = {"functions": sorted(FUNCTIONS), "aggregates": list(AGGREGATES), "keywords": list(KEYWORDS)}
    return {"predicates": listed[: request["limit"]], "prefixes": {**WELL_KNOWN, **kb.prefixes}, **names}


ENDPOINTS = (
    Endpoint("POST", "/check", "Errors and warnings of a text.", RouteCall(HandlerWork.READ, check), body=CHECKED),
    Endpoint("GET", "/complete", "Names, for an editor.", RouteCall(HandlerWork.READ, complete), COMPLETED),
)
