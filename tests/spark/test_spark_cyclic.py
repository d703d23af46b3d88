"""Cyclic rules by hypertree decompositions on Spark, in DataFrames alone: the same facts and changes as locally."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase
from deltalog.knowledge_base.calls import session_of

RULES = """
pc(X, Y) :- cw(X, Z1), ca(X, Z2), pc(Z1, Y), pc(Z2, Y).
six(A, D) :- e(A, B), e(B, C), e(C, D), e(D, E), e(E, F), e(F, A), A != D.
"""


def short_repr(engine: str) -> list[object]:
    kb = KnowledgeBase(RULES, engine=engine, cyclic="hypertree")
    grid = [(i, i * 30 + j, j) for i in range(3) for j in range(30)]
    kb.add("cw", [(f"a{i}", f"b{m}") for i, m, _ in grid] + [("a3", "a2")])
    kb.add("ca", [(f"a{i}", f"c{m}") for i, m, _ in grid] + [("a3", "a1")])
    kb.add("pc", [(f"{kind}{m}", f"d{j}") for kind in "bc" for _, m, j in grid])
    kb.add("e", [(i, (i + step) % 12) for i in range(12) for step in (1, 2, 3)])
    kb.materialise()
    assert session_of(kb).state.materialised is not None and session_of(kb).state.materialised.trees.relations
    story: list[object] = [set(kb.facts("pc")), set(kb.facts("six"))]
    change = kb.update({"e": [(0, 6)]}, {"ca": [("a3", "a1")], "e": [(0, 1), (5, 7)]})
    story += [{name: set(facts) for name, facts in side.items()} for side in (change.added, change.removed)]
    return story


@pytest.mark.usefixtures("in_frames")
def test_trees_give_the_same_on_spark() -> None:
    assert short_repr("spark") == short_repr("local")
