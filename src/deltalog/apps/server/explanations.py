"""Why facts hold, and how rules and goals are evaluated."""

from __future__ import annotations

from deltalog.apps.server.documents import JsonDocument
from deltalog.apps.server.endpoints import Endpoint, HandlerWork, ReadingHandler, Request, RouteCall
from deltalog.apps.server.errors import wrong
from deltalog.apps.server.fields import Field
from deltalog.apps.server.rules import RuleGraph, work_of
from deltalog.knowledge_base.calls import session_of

STEPS, MOST_PROOFS, MOST_STEPS = 1_000, 20, 20_000
SHOWN = (
    Field("all", "count", f"the proofs that are asked for, at most {MOST_PROOFS}", 1),
    Field("depth", "count", "the levels that are shown"),
    Field("steps", "count", f"about how many facts are shown, at most {MOST_STEPS:,}", STEPS),
)
FACT = Field("fact", "text", "a fact in the rule language, such as path(a, d)")
VALUES = (
    Field("predicate", "text", "the predicate of a fact that is given by its values"),
    Field("values", "row", "its values"),
)


def explain(reading: ReadingHandler, request: Request) -> JsonDocument:
    by_values = request.values.get("predicate"), request.values.get("values")
    given = request["fact"], *by_values
    if [value is None for value in given] not in ([False, True, True], [True, False, False]):
        raise wrong("say which fact: `fact`, or `predicate` and `values`")
    fact = (request["fact"],) if request["fact"] is not None else by_values
    proofs, depth = min(request["all"], MOST_PROOFS), request["depth"]
    explained = reading.kb.explain(*fact, all=proofs, depth=depth)
    return explained.to_dict(steps=min(request["steps"], MOST_STEPS))


def plan(reading: ReadingHandler, request: Request) -> JsonDocument:
    return _plan_of_rules(reading) if request["goal"] is None else _plan_of_goal(reading, request["goal"])


def _plan_of_rules(reading: ReadingHandler) -> JsonDocument:
    kb, text = reading.kb, reading.kb.plan()
    head, *parts = text.split("\n\n")
    done, graph = work_of(reading), RuleGraph(kb)
    unknown = {"new": None, "rounds": None, "seconds": None}
    nodes = [
        {"id": number, "text": part, "facts": graph.facts(number), **done.get(number, unknown)}
        for number, part in enumerate(parts, 1)
    ]
    return {"text": text, "summary": head, "nodes": nodes, "seconds": dict(session_of(kb).state.report.seconds)}


def _plan_of_goal(reading: ReadingHandler, goal: str) -> JsonDocument:
    answers = reading.kb.query(goal)
    how = {"method": answers.method, "reason": answers.reason, "seconds": round(answers.seconds, 6)}
    return {"text": reading.kb.plan_goal(goal), "answers": len(answers), **how}


ENDPOINTS = (
    Endpoint("GET", "/explain", "Why a fact holds, or does not.", RouteCall(HandlerWork.READ, explain), (FACT, *SHOWN)),
    Endpoint(
        "POST",
        "/explain",
        "Why a fact holds, or does not.",
        RouteCall(HandlerWork.READ, explain),
        body=(FACT, *VALUES, *SHOWN),
    ),
    Endpoint(
        "GET",
        "/plan",
        "How rules, or a goal, are evaluated.",
        RouteCall(HandlerWork.READ, plan),
        (Field("goal", "text", "the goal"),),
    ),
)
