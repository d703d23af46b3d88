"""Goals with alternatives, negated bodies and groups that may be empty: a goal is the body of a rule."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase
from deltalog.core.errors import UnsafeRule

PROGRAM = """
path(X, Y) :- edge(X, Y) .
path(X, Z) :- path(X, Y), edge(Y, Z) .
edge(a, b) . edge(b, c) . edge(c, d) . node(a) . node(b) . node(c) . node(d) . node(e) .
red(b) . weight(a, 3) . weight(a, 5) . weight(b, 1) .
"""
GOALS = {
    "path(a, ?x) ; red(?x)": {"b", "c", "d"},
    "path(a, ?x), ?x != d ; weight(?x, ?w)": {"a", "b", "c"},
    "node(?x), (red(?x) ; path(?x, d), NOT edge(?x, d))": {"a", "b"},
    "node(?x), NOT (path(?x, ?y), red(?y))": {"b", "c", "d", "e"},
    "node(?x), NOT (edge(?x, ?y) ; red(?x))": {"d", "e"},
    "node(?x), AGGREGATE(weight(?x, ?w) PER ?x BIND COUNT(?w) AS ?n), FILTER(?n = 0)": {"c", "d", "e"},
}


@pytest.mark.parametrize("method", ["materialised", "magic", "qsqr", "auto"])
@pytest.mark.parametrize("goal", GOALS)
def test_answers(goal: str, method: str) -> None:
    kb = KnowledgeBase(PROGRAM)
    answers = kb.query(goal, method=method)
    assert {row[0] for row in answers} == GOALS[goal]
    assert len(answers) == len(GOALS[goal])


@pytest.mark.parametrize("goal", GOALS)
def test_the_body_of_a_rule_has_the_same_facts(goal: str) -> None:
    kb = KnowledgeBase(f"{PROGRAM} answer(?x) :- {goal} .")
    assert set(kb.facts("answer")) == {(name,) for name in GOALS[goal]}


def test_columns_are_the_variables_of_all_alternatives() -> None:
    kb = KnowledgeBase(PROGRAM)
    assert kb.query("red(?x) ; edge(?x, ?y)").columns == ("x",)
    assert kb.query("edge(?x, ?y), (red(?x) ; red(?y), node(?z))").columns == ("x", "y")
    assert len(kb.query("edge(a, d) ; red(b)")) == 1


def test_other_uses() -> None:
    kb = KnowledgeBase(PROGRAM)
    assert "answers" in kb.plan_goal("path(a, ?x) ; red(?x)")
    kb.update(add={"red": [("e",)]})
    assert {row[0] for row in kb.query("path(a, ?x) ; red(?x)")} == {"b", "c", "d", "e"}
    with pytest.raises(UnsafeRule):
        KnowledgeBase(PROGRAM).query("red(?x) ; ?x != a", method="magic")
