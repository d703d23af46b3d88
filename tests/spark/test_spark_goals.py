"""Goals on Spark, by magic sets, in DataFrames alone: the answers of the local engine's materialisation."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase
from deltalog.core.errors import DeltalogError

PROGRAM = """
path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).
out(X, N) :- AGGREGATE(edge(X, Y) ON X BIND COUNT(Y) AS N).
end(X) :- path(_, X), NOT edge(X, _).
near(X, Y, N) :- edge(X, Y), out(Y, N), N < 3.
same(X, Y) :- edge(Z, X), edge(Z, Y).  same(X, Y) :- edge(A, X), same(A, B), edge(B, Y).
"""
EDGES = [(1, 2), (2, 3), (3, 4), (4, 2), (4, 5), (6, 7), (1, 6), (7, 7)]
GOALS = [
    "path(4, ?x)",
    "path(?x, 5)",
    "path(?x, ?x)",
    "path(1, 5)",
    "end(?x), path(1, ?x)",
    "near(?x, ?y, 1)",
    "same(3, ?x)",
]


def filled(engine: str) -> KnowledgeBase:
    kb = KnowledgeBase(PROGRAM, engine=engine)
    kb.add("edge", EDGES)
    return kb


@pytest.mark.parametrize("goal", GOALS)
def test_magic_sets_in_frames(goal: str, in_frames: None) -> None:
    local = filled("local")
    local.materialise()
    asked = filled("spark").query(goal, method="magic")
    assert set(asked) == set(local.query(goal, method="materialised"))


@pytest.mark.usefixtures("spark")
def test_by_default_and_after_a_materialisation() -> None:
    kb, local = filled("spark"), filled("local")
    for goal in GOALS[:3]:
        assert set(kb.query(goal)) == set(local.query(goal))
    kb.materialise()
    local.update(add={"edge": [(5, 6)]})
    kb.update(add={"edge": [(5, 6)]})
    for goal in GOALS[:3]:
        assert set(kb.query(goal, method="materialised")) == set(local.query(goal))


@pytest.mark.usefixtures("spark")
def test_qsqr_is_local_and_says_so() -> None:
    with pytest.raises(DeltalogError, match="local"):
        filled("spark").query("path(4, ?x)", method="qsqr")
