"""Magic sets: the rewriting of Joshi et al., and that a goal does not derive what it does not need."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase, UsageError
from deltalog.query.adornment import AdornedName, adorn, adorned, magic
from deltalog.query.goal_evaluator import rewrite
from deltalog.syntax.ast import Atom, Constant, Rule, Variable
from deltalog.syntax.parser import parse_goal

X, Y, Z = Variable("X"), Variable("Y"), Variable("Z")


def rewritten(kb: KnowledgeBase, goal: str) -> set[Rule]:
    return set(rewrite(parse_goal(goal, "<goal>"), kb.rules, kb._explicit, kb._backend)[1].rules)


def atom(name: str, adornment: str, *terms: Variable, asks: bool = False) -> Atom:
    return Atom(AdornedName(name, tuple(letter == "b" for letter in adornment), asks), terms)


def test_example_1_of_paper_001() -> None:
    kb = KnowledgeBase("q(X, Z) :- p(X, Y), p(Z, Y). p(X, Y) :- s(Y, X). s(u, a). s(v, b).")
    s = Atom("s", (Y, X))
    rules_3_to_7 = {
        Rule((atom("q", "bf", X, Z),), (atom("q", "bf", X, asks=True), atom("p", "bf", X, Y), atom("p", "fb", Z, Y))),
        Rule((atom("p", "bf", X, asks=True),), (atom("q", "bf", X, asks=True),)),
        Rule((atom("p", "fb", Y, asks=True),), (atom("q", "bf", X, asks=True), atom("p", "bf", X, Y))),
        Rule((atom("p", "bf", X, Y),), (atom("p", "bf", X, asks=True), s)),
        Rule((atom("p", "fb", X, Y),), (atom("p", "fb", Y, asks=True), s)),
    }
    assert rules_3_to_7 <= rewritten(kb, "q(a, ?y)")


def test_example_1_as_it_is_shown() -> None:
    kb = KnowledgeBase("q(X, Z) :- p(X, Y), p(Z, Y). p(X, Y) :- s(Y, X). s(u, a). s(v, b).")
    assert kb.plan_goal("q(a, ?y)").splitlines() == [
        "mgc_goal^bf(a) .",
        "mgc_q^bf(?c0) :- mgc_goal^bf(?c0) .",
        "goal^bf(?c0, ?y) :- mgc_goal^bf(?c0), q^bf(?c0, ?y) .",
        "mgc_p^bf(?X) :- mgc_q^bf(?X) .",
        "mgc_p^fb(?Y) :- mgc_q^bf(?X), p^bf(?X, ?Y) .",
        "q^bf(?X, ?Z) :- mgc_q^bf(?X), p^bf(?X, ?Y), p^fb(?Z, ?Y) .",
        "p^bf(?X, ?Y) :- mgc_p^bf(?X), s(?Y, ?X) .",
        "p^fb(?X, ?Y) :- mgc_p^fb(?Y), s(?Y, ?X) .",
    ]


def test_adornments() -> None:
    question = Atom("p", (Constant(1), X, Y))
    assert adorn(question, {Y}) == (True, False, True)
    assert str(adorned(question, (True, False, True)).name) == "p^bfb"
    assert magic(question, (True, False, True)).terms == (Constant(1), Y)


CHAIN = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z)."


def test_a_bound_goal_derives_only_what_it_needs() -> None:
    kb = KnowledgeBase(CHAIN, max_facts=3_000)  # the whole closure has 499,500 facts
    kb.add("edge", [(i, i + 1) for i in range(1_000)])
    assert sorted(kb.query("path(990, ?x)")) == [(i,) for i in range(991, 1_001)]


def test_nothing_is_materialised_by_a_query() -> None:
    kb = KnowledgeBase(CHAIN + "edge(a, b).")
    assert list(kb.query("path(?x, b)")) == [("a",)]
    assert kb._state is None


def test_explicit_facts_of_a_derived_predicate_are_answers() -> None:
    kb = KnowledgeBase(CHAIN + "edge(a, b). path(b, q). path(z, z).")
    assert sorted(kb.query("path(a, ?x)", method="magic")) == [("b",), ("q",)]


@pytest.mark.parametrize("goal", ["top(?x)", "top(c)", "top(?x), node(?x)"])
def test_negation_and_aggregates_are_complete(goal: str) -> None:
    kb = KnowledgeBase(
        CHAIN
        + "node(X) :- edge(X, _). reach(X, N) :- AGGREGATE(path(X, Y) ON X BIND COUNT(Y) AS N)."
        + "far(X) :- reach(X, N), N > 1. top(X) :- node(X), NOT far(X). edge(a, b). edge(b, c). edge(c, d)."
    )
    assert sorted(kb.query(goal, method="magic")) == sorted(kb.query(goal, method="materialised"))


def test_triples_with_a_variable_predicate() -> None:
    kb = KnowledgeBase("PREFIX : <http://e/> :q[?x, ?y] :- :p[?x, ?y] . :p[:a, :b] .")
    goal = "[<http://e/a>, ?p, ?y]"
    assert sorted(kb.query(goal, method="magic")) == sorted(kb.query(goal, method="materialised"))


def test_unknown_method() -> None:
    with pytest.raises(UsageError, match="there is no method 'guess'"):
        KnowledgeBase(CHAIN).query("path(a, ?x)", method="guess")
