"""From answers to facts, and from a value to its neighbours: what the page draws and explains."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from deltalog.apps.server import documents
from deltalog.apps.server.documents import JsonDocument
from deltalog.apps.server.endpoints import Endpoint, HandlerWork, ReadingHandler, Request, RouteCall
from deltalog.apps.server.errors import wrong
from deltalog.apps.server.fields import Field
from deltalog.apps.server.sparql import base_of
from deltalog.core.rules import Atom, Constant, Pred, Variable
from deltalog.core.terms import Value
from deltalog.evaluation.goals.goal_evaluator import answer
from deltalog.formats.json_values import json_value
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase
from deltalog.languages.deltalog.parser import parse_goal
from deltalog.languages.sparql.algebra import Select
from deltalog.languages.sparql.parse import parse
from deltalog.languages.sparql.request_base import request_base
from deltalog.languages.sparql.support import SupportingValues, support_of_answer, support_of_solution

NEIGHBOURS, MOST_NEIGHBOURS, MOST_ROWS = 20, 1_000, 200
NEIGHBOURS_OF = (
    Field("value", "value", "the value whose facts are asked for", required=True),
    Field("limit", "count", f"the facts of a predicate that are listed, at most {MOST_NEIGHBOURS:,}", NEIGHBOURS),
)
SUPPORT_OF = (
    Field("goal", "text", "the goal that was asked"),
    Field("sparql", "text", "or the query"),
    Field("rows", "bindings", f"answers, each with the values of its variables; at most {MOST_ROWS}", required=True),
)

# Neighbours.


def neighbours(reading: ReadingHandler, request: Request) -> JsonDocument:
    """The facts that a value occurs in, by predicate and place."""
    found = _facts_about(reading.kb, request["value"], min(request["limit"], MOST_NEIGHBOURS))
    return {"value": json_value(request["value"]), "groups": list(found)}


def _facts_about(kb: KnowledgeBase, value: Value, most: int) -> Iterator[JsonDocument]:
    facts, contents = session_of(kb).completed().facts, session_of(kb).contents()
    for name, pred in session_of(kb).names().by_name.items():
        if not session_of(kb).backend.size(contents.table(pred)):
            continue
        for place in range(pred.arity):
            found = answer([_atom_with(pred, place, value)], facts)
            if total := len(found):
                rows = [(*row[:place], value, *row[place:]) for row in found.page(0, most)]
                label = documents.label(name, kb.prefixes)
                where = {"predicate": name, "label": label, "position": place, "total": total}
                yield {**where, "rows": documents.rows(rows)}


def _atom_with(pred: Pred, place: int, value: Value) -> Atom:
    return Atom(pred.name, tuple(Constant(value) if i == place else Variable(f"v{i}") for i in range(pred.arity)))


# Support.


def support(reading: ReadingHandler, request: Request) -> JsonDocument:
    """The facts that each of some answers rests on."""
    if (request["goal"] is None) == (request["sparql"] is None):
        raise wrong("say what was asked: `goal` or `sparql`")
    if len(request["rows"]) > MOST_ROWS:
        raise wrong(f"rows: there are {len(request['rows'])}, and at most {MOST_ROWS} are taken")
    kb = reading.kb
    of_row = (
        _of_goal(request["goal"], kb)
        if request["goal"] is not None
        else _of_query(request["sparql"], kb, base_of(request))
    )
    names = {pred: name for name, pred in session_of(kb).names().by_name.items()}
    return {"facts": [[_fact(atom, names) for atom in of_row(row) if _holds(atom, kb)] for row in request["rows"]]}


def _of_goal(goal: str, kb: KnowledgeBase) -> Any:
    literals = parse_goal(goal, "<goal>", kb.prefixes)
    session_of(kb).contents().check_goal(literals)
    return partial(support_of_answer, literals, facts=session_of(kb).completed().facts)


def _of_query(text: str, kb: KnowledgeBase, base: str) -> Any:
    parsed = parse(text, kb.prefixes, base=request_base(base, text, lambda: session_of(kb).contents().preds))
    return partial(support_of_solution, parsed.select, solve=partial(_solution, kb))


def _solution(kb: KnowledgeBase, select: Select) -> SupportingValues | None:
    """One solution, without the variables that have no value."""
    found = session_of(kb).queries.solve_select(session_of(kb).contents(), select)
    for row in found:
        return {name: value for name, value in zip(found.columns, row, strict=True) if value is not None}
    return None


def _holds(atom: Atom, kb: KnowledgeBase) -> bool:
    contents = session_of(kb).contents()
    return contents.view(atom.pred, contents.table(atom.pred)).__contains__(_values(atom))


def _values(atom: Atom) -> tuple[Value, ...]:
    return tuple(term.value for term in atom.terms if isinstance(term, Constant))


def _fact(atom: Atom, names: dict[Pred, str]) -> JsonDocument:
    return {"predicate": names.get(atom.pred, atom.name), "values": [json_value(value) for value in _values(atom)]}


ENDPOINTS = (
    Endpoint(
        "POST",
        "/neighbours",
        "The facts that a value occurs in.",
        RouteCall(HandlerWork.READ, neighbours),
        body=NEIGHBOURS_OF,
    ),
    Endpoint(
        "POST", "/support", "The facts that answers rest on.", RouteCall(HandlerWork.READ, support), body=SUPPORT_OF
    ),
)
