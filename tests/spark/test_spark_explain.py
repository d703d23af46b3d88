"""Explanations on Spark: the proofs of the independent checker, and only the cone of a fact comes to the driver."""

from __future__ import annotations

from typing import Any

import pytest

from deltalog import KnowledgeBase, LimitReached
from deltalog.core.tuning import Tuning
from deltalog.knowledge_base.calls import session_of
from tests.explain.proof_checker import World, key_of

PROGRAM = """
PREFIX : <http://e.x/>
path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), path(Y, Z).
out(X, N) :- AGGREGATE(edge(X, Y) ON X BIND COUNT(Y) AS N).
end(X) :- path(_, X), NOT edge(X, _).
name(X, S) :- end(X), BIND(SKOLEM("end", X) AS S).
more(X, M) :- out(X, N), M = N + 1, M > 2.
[X, rdf:type, :Node] :- edge(X, _).
kind(X, C) :- [X, rdf:type, C].
"""
EDGES = [(1, 2), (2, 3), (3, 4), (4, 2), (4, 5), (6, 7), (1, 6), (7, 7)]


def filled(engine: str, tuning: Tuning | None = None) -> KnowledgeBase:
    kb = KnowledgeBase(PROGRAM, engine=engine, tuning=tuning)
    kb.add("edge", EDGES)
    kb.materialise()
    return kb


def checked(kb: KnowledgeBase) -> None:
    """A fact of each predicate is explained, and one that does not hold."""
    facts = {name: sorted(kb.facts(name), key=repr) for name in kb.predicates}
    every = {key_of(name, row) for name, rows in facts.items() for row in rows}
    world = World(kb.rule_ids, {key_of("edge", row) for row in EDGES}, every)
    for name, rows in facts.items():
        world.check(kb.explain(name, rows[-1]))
    world.check(kb.explain("path(1, 5)"))
    world.check(kb.explain("path(5, 1)"))
    world.check(kb.explain("more(6, 2)"))


def test_in_frames(in_frames: None) -> None:
    checked(filled("spark"))


def test_in_the_driver(spark: Any) -> None:
    checked(filled("auto"))


def test_only_the_cone_is_collected(in_frames: None, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase("next(X, Y) :- e(X, Y). two(X, Z) :- next(X, Y), next(Y, Z).", engine="spark")
    kb.add("e", [(i, i + 1) for i in range(30_000)])
    kb.materialise()
    fetched = []
    rows = type(session_of(kb).backend).rows

    def counted(self: Any, table: Any) -> Any:
        found = rows(self, table)
        fetched.append(len(found[0]) if found else 0)
        return found

    monkeypatch.setattr(type(session_of(kb).backend), "rows", counted)
    assert kb.explain("two(5, 7)").height == 2
    assert sum(fetched) < 50


def test_a_cone_that_is_too_large(in_frames: None) -> None:
    kb = KnowledgeBase(
        "some(X) :- e(X, Y), f(Y). f(Y) :- e(_, Y).", engine="spark", tuning=Tuning(explain_max_instances=10)
    )
    kb.add("e", [(1, i) for i in range(50)])
    with pytest.raises(LimitReached, match="more than 10 rule instances"):
        kb.explain("some(1)")
