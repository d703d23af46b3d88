"""Every capability of a backend is optional: without it there is another way to the same facts and answers."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product
from random import Random
from typing import Any

import pytest
from conftest import as_sets

from deltalog import KnowledgeBase, UsageError
from deltalog.core.tuning import Tuning
from deltalog.engines.local import LocalBackend
from deltalog.evaluation.capabilities import Capabilities

PROGRAM = """
path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).
node(X) :- edge(X, Y).  node(Y) :- edge(X, Y).
far(X, Y) :- node(X), node(Y), not path(X, Y).
triangle(X, Y, Z) :- edge(X, Y), edge(Y, Z), edge(Z, X).
out(X, N) :- AGGREGATE(edge(X, Y) ON X BIND count(Y) AS N).
named(E) :- edge(X, Y), X < Y, BIND(SKOLEM("e", X) AS E).
count(0).  count(N) :- count(M), M < 40, BIND(M + 1 AS N).
"""
NAMES = [field.name for field in fields(Capabilities)]
GOALS = ("path(1, ?x)", "far(?x, 2)", "out(?x, ?n)", "named(?e)", "triangle(?x, ?y, ?z)")


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Local backends that are created from now on do not have some capabilities."""
    every = LocalBackend._capabilities
    none: dict[str, Any] = {name: False if name == "multiway_joins" else None for name in names}
    monkeypatch.setattr(LocalBackend, "_capabilities", lambda backend: replace(every(backend), **none))


def everything(kb: KnowledgeBase) -> object:
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


def filled(edges: set[tuple[int, int]], **options: Any) -> KnowledgeBase:
    kb = KnowledgeBase(PROGRAM, **options)
    kb.add("edge", sorted(edges))
    return kb


@pytest.mark.parametrize("missing", [(name,) for name in NAMES] + [tuple(NAMES)], ids="+".join)
def test_without_a_capability_facts_and_answers_are_the_same(
    missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(7)
    edges = {(random.randrange(9), random.randrange(9)) for _ in range(14)}
    expected = filled(edges, engine="naive")
    without(monkeypatch, *missing)
    maintained = Tuning(
        recompute_all_min_changed_share=10.0
    )  # otherwise so large a share of so few facts is recomputed
    for maintenance, tuning in product(("auto", "counting"), (Tuning(), maintained)):
        kb = filled(edges, maintenance=maintenance, tuning=tuning)
        answers = {goal: set(kb.query(goal)) for goal in GOALS}
        assert answers == {goal: set(expected.query(goal)) for goal in GOALS}
        assert everything(kb) == everything(expected)
        now = set(edges)
        for _ in range(3):
            add, remove = {(random.randrange(9), 3)}, set(random.sample(sorted(now), 2))
            now = (now - remove) | add
            kb.update(add={"edge": sorted(add)}, remove={"edge": sorted(remove)})
            assert everything(kb) == everything(filled(now, engine="naive"))


def test_without_point_lookups_there_is_no_qsqr(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "point_lookup")
    kb = filled({(1, 2), (2, 3)})
    assert kb.query("path(1, ?x)").method == "magic"
    for call in (lambda: kb.query("path(1, ?x)", "qsqr"), lambda: kb.training.estimate("path(1, ?x)")):
        with pytest.raises(UsageError, match='engine="local"'):
            call()


def test_a_backend_without_virtual_relations_has_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert filled({(1, 2)}).program.scheme_of
    without(monkeypatch, "virtual_relations")
    assert not filled({(1, 2)}).program.scheme_of
