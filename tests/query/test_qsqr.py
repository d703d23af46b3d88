"""QSQ-R: what it asks, that it stops, and that it is right where order matters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import goal_evaluator

from deltalog import KnowledgeBase, LimitReached, UsageError
from deltalog.evaluation.goals.goal import as_goal
from deltalog.evaluation.goals.qsqr import Qsqr
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.deltalog.parser import parse_goal

CHAIN = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z)."


def evaluated(kb: KnowledgeBase, text: str) -> Qsqr:
    """A goal's evaluation, for a look at its tables."""
    goals, goal = goal_evaluator(kb), as_goal(parse_goal(text))
    evaluation = Qsqr(goals.rulebase(goal.reads), goals.stored, session_of(kb).backend, goal.rules)
    key = tuple(session_of(kb).backend.dictionary.intern(value) for value in goal.constants)
    evaluation.ask(goal.head.pred, goal.adornment, key)
    return evaluation


def tables(evaluation: Qsqr) -> set[str]:
    return {f"{pred.name}^{''.join('fb'[bound] for bound in adornment)}" for pred, adornment in evaluation.tables}


def same(kb: KnowledgeBase, goal: str) -> bool:
    return set(kb.query(goal, "qsqr")) == set(kb.query(goal, "materialised"))


def test_a_bound_goal_asks_only_what_it_needs() -> None:
    kb = KnowledgeBase(CHAIN)
    kb.add("edge", [(i, i + 1) for i in range(1_000)])
    assert sorted(kb.query("path(990, ?x)", "qsqr")) == [(i,) for i in range(991, 1_001)]
    assert evaluated(kb, "path(990, ?x)").subqueries == 12  # of #goal, and of path from 990 to 1000


def test_tables_are_made_when_they_are_needed() -> None:
    """Example 1 of Joshi et al.: without an s-fact for a, p^fb is never asked."""
    program = "q(X, Z) :- p(X, Y), p(Z, Y). p(X, Y) :- s(Y, X). s(u, a). s(u, c). s(v, b)."
    asked = evaluated(KnowledgeBase(program), "q(a, ?y)")
    assert tables(asked) == {"#goal^bf", "q^bf", "p^bf", "p^fb"}
    assert asked.subqueries == 4
    assert evaluated(KnowledgeBase(program), "q(z, ?y)").subqueries == 3
    assert sorted(KnowledgeBase(program).query("q(a, ?y)", "qsqr")) == [("a",), ("c",)]


def test_answers_found_late_reach_the_rows_that_wait() -> None:
    kb = KnowledgeBase(
        "p1(Y, W) :- c(Y, W), c(X, Z). p0(W, X) :- c(W, Y), c(Y, Z), p0(Z, X). p0(Z, X) :- d(Z, X, 7), c(Y, W)."
        "p0(X, Y) :- p0(X, Z), p1(Z, W), p1(W, Y). c(5, 3). c(3, 1). c(3, 0). c(2, 3). c(0, 5). d(0, 0, 7)."
    )
    assert all(same(kb, goal) for goal in ("p0(2, 1)", "p0(?x, 1)", "p0(3, ?y)", "p0(?x, ?y)", "p0(?x, ?x)"))


def test_deep_recursion_is_no_python_recursion() -> None:
    kb = KnowledgeBase(CHAIN)
    kb.add("edge", [(i, i + 1) for i in range(5_000)])
    assert list(kb.query("path(0, 5000)", "qsqr")) == [()]
    assert not kb.query("path(5000, 0)", "qsqr")


@pytest.mark.parametrize("program", [CHAIN, CHAIN.replace("edge(X, Y), path(Y, Z)", "path(X, Y), path(Y, Z)")])
def test_cycles_end(program: str) -> None:
    kb = KnowledgeBase(program)
    kb.add("edge", [(i, (i + 1) % 30) for i in range(30)])
    assert len(kb.query("path(3, ?x)", "qsqr")) == 30
    assert len(kb.query("path(?x, ?x)", "qsqr")) == 30


NEGATION = (
    CHAIN
    + "node(X) :- edge(X, _). reach(X, N) :- AGGREGATE(path(X, Y) ON X BIND COUNT(Y) AS N)."
    + "far(X) :- reach(X, N), N > 1. top(X) :- node(X), NOT far(X). all(N) :- AGGREGATE(path(X, Y) BIND COUNT(*) AS N)."
    + "apart(X, Y) :- node(X), node(Y), NOT path(X, Y), X != Y. loop(X) :- node(X), NOT path(E, E). "
    + "edge(a, b). edge(b, c). edge(c, d)."
)


@pytest.mark.parametrize(
    "goal",
    [
        "top(?x)",
        "top(c)",
        "top(a)",
        "reach(b, ?n)",
        "reach(?x, 2)",
        "reach(?x, ?n)",
        "all(?n)",
        "all(7)",
        "apart(b, ?y)",
        "loop(?x)",
        "node(?x), NOT path(?x, c)",
        "AGGREGATE(reach(?x, ?n) BIND SUM(?n) AS ?s)",
        "reach(?x, ?n), ?n = 2",
    ],
)
def test_negation_and_aggregates_are_complete(goal: str) -> None:
    kb = KnowledgeBase(NEGATION)
    expected = set(kb.query(goal, "materialised"))
    assert set(kb.query(goal, "qsqr")) == expected
    assert set(kb.query(goal, "magic")) == expected


def test_only_the_groups_that_are_wanted() -> None:
    kb = KnowledgeBase(NEGATION)
    (bindings,) = (t for (pred, _), t in evaluated(kb, "reach(c, ?n)").tables.items() if "#bindings" in pred.name)
    assert len(bindings.answers) == 1


@pytest.mark.parametrize("goal", ["[<http://e/a>, ?p, ?y]", "[?x, rdf:type, ?c]", "[?x, ?p, <http://e/b>]", "?x = 1"])
def test_variables_for_predicates_and_classes(goal: str) -> None:
    kb = KnowledgeBase(
        "PREFIX : <http://e/> :q[?x, ?y] :- :p[?x, ?y] . [?x, rdf:type, ?d] :- [?x, rdf:type, ?c], :sub[?c, ?d] ."
        ":p[:a, :b] . :C[:a] . :sub[:C, :D] . :sub[:D, :E] ."
    )
    assert same(kb, goal)
    assert set(kb.query(goal, "magic")) == set(kb.query(goal, "materialised"))


def test_values_that_rules_compute() -> None:
    kb = KnowledgeBase("n(0). n(Y) :- n(X), X < 20, BIND(X + 1 AS Y). s(K, X) :- n(X), BIND(SKOLEM('k', X) AS K).")
    assert len(kb.query("n(?x)", "qsqr")) == 21
    assert list(kb.query("n(7)", "qsqr")) == [()] and not kb.query("n(21)", "qsqr")
    assert same(kb, "s(?k, 3)")


def test_limits() -> None:
    kb = KnowledgeBase("n(0). n(Y) :- n(X), BIND(X + 1 AS Y).", max_facts=500)
    with pytest.raises(LimitReached):
        kb.query("n(?x)", "qsqr")


def test_goals_after_changes() -> None:
    kb = KnowledgeBase(CHAIN + "edge(a, b).")
    assert sorted(kb.query("path(a, ?x)", "qsqr")) == [("b",)]
    kb.add("edge", [("b", "c")])
    assert sorted(kb.query("path(a, ?x)", "qsqr")) == [("b",), ("c",)]
    kb.update(remove={"edge": [("a", "b")]})
    assert not kb.query("path(a, ?x)", "qsqr") and same(kb, "path(?x, ?y)")
    kb.add_rules("path(a, Y) :- edge(_, Y).")
    assert sorted(kb.query("path(a, ?x)", "qsqr")) == [("c",)]


def test_dead_rows_are_not_found() -> None:
    kb = KnowledgeBase(CHAIN)
    kb.add("edge", [(i, i + 1) for i in range(100)])
    kb.update(remove={"edge": [(50, 51)]})
    assert sorted(kb.query("path(48, ?x)", "qsqr")) == [(49,), (50,)]
    assert same(kb, "path(?x, 52)")


def test_spark_refuses_it_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase(CHAIN)
    monkeypatch.setattr(
        session_of(kb).backend, "capabilities", replace(session_of(kb).backend.capabilities, point_lookup=None)
    )
    with pytest.raises(UsageError, match='use method="magic"'):
        kb.query("path(a, ?x)", "qsqr")
