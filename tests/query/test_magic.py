"""Magic sets: the rewriting of Joshi et al., and that a goal does not derive what it does not need."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase, UsageError
from deltalog.core.rules import TRIPLES, TYPES, Atom, Constant, Rule, Variable
from deltalog.core.tuning import Tuning
from deltalog.evaluation.goals.adornment import AdornedName, adorn, adorned, magic
from deltalog.evaluation.goals.goal import as_goal
from deltalog.evaluation.goals.goal_evaluator import GoalEvaluator, rewrite
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.deltalog.parser import parse_goal

X, Y, Z = Variable("X"), Variable("Y"), Variable("Z")


def rewritten(kb: KnowledgeBase, goal: str) -> set[Rule]:
    return set(
        rewrite(parse_goal(goal, "<goal>"), kb.rules, session_of(kb).state.explicit, session_of(kb).backend)[1].rules
    )


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
    assert session_of(kb).state.materialised is None


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


WILDCARDS = """
@prefix : <http://example.org/> .
rdf:type[?x, ?d] :- rdfs:subClassOf[?c, ?d], rdf:type[?x, ?c] .
rdf:type[?x, ?c] :- rdfs:domain[?p, ?c], [?x, ?p, ?y] .
[?x, ?q, ?y] :- rdfs:subPropertyOf[?p, ?q], [?x, ?p, ?y] .
rdfs:subClassOf[?c, ?e] :- rdfs:subClassOf[?c, ?d], rdfs:subClassOf[?d, ?e] .
same(?x, ?y) :- rdf:type[?x, ?c], rdf:type[?y, ?c] .
alone(?x) :- :Person[?x], NOT :knows[?x, _] .
near(?x, ?y) :- :knows[?x, ?y] .
near(?x, ?z) :- :knows[?x, ?y], near(?y, ?z) .
rdfs:subClassOf[:Student, :Person] . rdfs:domain[:teaches, :Teacher] . rdfs:subClassOf[:Teacher, :Person] .
rdfs:subPropertyOf[:teaches, :knows] . :teaches[:t, :s] . :Student[:s] . :Student[:u] .
"""


NO_WORK = Tuning(materialisation_min_rows=0, materialisation_rows_per_fact=0, running_cost_rows=0)
MUCH_WORK = Tuning(materialisation_min_rows=10**9)


@pytest.mark.parametrize(("tuning", "in_full"), [(NO_WORK, True), (MUCH_WORK, False)])
@pytest.mark.parametrize("goal", ["[?s, ?p, ?o]", "same(?x, ?y)", "alone(?x)", "<http://example.org/Person>(?x)"])
def test_adorned_rules_over_triples_give_way_to_the_plain_ones(goal: str, tuning: Tuning, in_full: bool) -> None:
    """Where adorned copies are more work than a materialisation is expected to be, nothing that TRIPLE and rdf:type
    need is copied by adornment; the answers are the same."""
    kb = KnowledgeBase(WILDCARDS, tuning=tuning)
    goals = GoalEvaluator(kb.rules, session_of(kb).state.explicit, session_of(kb).backend)
    asked = as_goal(parse_goal(goal, "<goal>", kb.prefixes))
    answers = sorted(map(str, goals.by_magic(asked)))
    assert answers == sorted(map(str, KnowledgeBase(WILDCARDS, engine="naive").query(goal))) != []
    assert any(all_triples for _, all_triples in goals._rewritings) == in_full
    rules = goals.rewriting(asked, in_full).rewriting.rules
    adorned_names = {head.name.base for rule in rules if isinstance((head := rule.heads[0]).name, AdornedName)}
    assert (TRIPLES.name in adorned_names or TYPES.name in adorned_names) != in_full


def test_a_goal_of_little_work_over_triples_stays_adorned() -> None:
    kb = KnowledgeBase("isA(?x, ?c) :- rdf:type[?x, ?c] . <http://x/C>[1] . <http://x/D>[1] . <http://x/C>[2] .")
    goals = GoalEvaluator(kb.rules, session_of(kb).state.explicit, session_of(kb).backend)
    assert len(list(goals.by_magic(as_goal(parse_goal("isA(1, ?c)", "<goal>"))))) == 2
    assert [all_triples for _, all_triples in goals._rewritings] == [False]
