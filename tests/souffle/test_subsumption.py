"""Subsumption on random facts: a set at a time (local, Spark) and tuple by tuple (naive) give the same facts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltalog import KnowledgeBase

DECLARED = """
.decl edge(x : number, y : number, w : number)
.decl blocked(x : number)
.decl dist(x : number, d : number)
.decl route(x : number, cost : number, stops : number)
.decl via(x : number, y : number, d : number)
"""
PROGRAMS = {
    "shortest": """
        dist(0, 0).
        dist(y, d + w) :- dist(x, d), edge(x, y, w), d < 50.
        dist(x, a) <= dist(x, b) :- b < a.
    """,
    "both costs": """
        route(0, 0, 0).
        route(y, c + w, s + 1) :- route(x, c, s), edge(x, y, w), s < 6, !blocked(y).
        route(x, c, s) <= route(x, d, t) :- d <= c, t <= s.
    """,
    "two relations": """
        dist(y, w) :- edge(0, y, w).
        via(x, y, d + w) :- dist(x, d), edge(x, y, w), d < 50.
        dist(y, d) :- via(_, y, d).
        dist(x, a) <= dist(x, b) :- b < a.
        via(x, y, a) <= via(x, y, b) :- b < a.
    """,
    "mutual, and two conditions": """
        route(x, w, y) :- edge(x, y, w).
        route(x, a, _) <= route(x, b, _) :- a <= b, !blocked(x).
        route(_, a, s) <= route(_, a, t) :- blocked(a), s < t.
    """,
    "several rules at once": """
        via(x, y, w) :- edge(x, y, w), !blocked(y).
        dist(0, 0). dist(4, 0).
        dist(x, w) :- edge(x, _, w).
        dist(y, w) :- via(_, y, w).
        dist(y, a + 1) :- dist(x, a), edge(x, y, _), a < 5.
        dist(_, a) <= dist(_, b) :- a >= b.
    """,
    "aggregates in conditions": """
        dist(x, w) :- edge(x, _, w).
        dist(y, d + 1) :- dist(x, d), edge(x, y, _), d < 8.
        dist(x, a) <= dist(x, b) :- b < a, count : { edge(x, _, _) } > 1, b < max w : { edge(_, _, w) }.
        route(x, n, m) :- edge(x, n, m), dist(x, _).
        route(x, n, _) <= route(y, _, m) :- m = sum w : { edge(x, _, w) }, n < count : { edge(y, _, _), blocked(_) }.
    """,
    "given facts": "edge(x, y, a) <= edge(x, y, b) :- b < a.",
}
numbers = st.integers(0, 5)
graphs = st.fixed_dictionaries({"edge": st.lists(st.tuples(numbers, numbers, numbers)), "blocked": st.lists(numbers)})


def facts_of(program: str, graph: dict[str, list[Any]], **how: Any) -> dict[str, set[tuple[Any, ...]]]:
    kb = KnowledgeBase(DECLARED + PROGRAMS[program], language="souffle", **how)
    kb.add("edge", graph["edge"])
    kb.add("blocked", [(x,) for x in graph["blocked"]])
    return {name: set(kb.facts(name)) for name in ("edge", "dist", "route", "via")}


@pytest.mark.parametrize("program", PROGRAMS)
@settings(max_examples=25, deadline=None)
@given(graph=graphs)
def test_ways_agree(program: str, graph: dict[str, list[Any]]) -> None:
    assert facts_of(program, graph) == facts_of(program, graph, engine="naive")


@pytest.mark.parametrize("program", ["both costs", "several rules at once", "given facts"])
def test_spark_agrees(program: str, spark: Any) -> None:
    graph = {"edge": [(0, 1, 3), (0, 1, 1), (1, 2, 1), (0, 2, 5), (2, 0, 1), (2, 3, 1), (0, 3, 9)], "blocked": [5]}
    assert facts_of(program, graph, engine="spark", spark=spark) == facts_of(program, graph, engine="naive")


def test_facts_that_dominate_each_other_both_go() -> None:
    found = facts_of("mutual, and two conditions", {"edge": [(1, 2, 3), (1, 4, 3), (2, 2, 1)], "blocked": []})
    assert found["route"] == {(2, 1, 2)}


def test_shortest_paths_are_right() -> None:
    graph = {"edge": [(0, 1, 4), (0, 2, 1), (2, 1, 1), (1, 3, 5)], "blocked": []}
    assert facts_of("shortest", graph)["dist"] == {(0, 0), (2, 1), (1, 2), (3, 7)}
