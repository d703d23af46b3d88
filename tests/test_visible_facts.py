"""What users see: no relation that deltalog made for itself, and every triple once, under its own predicate."""

from __future__ import annotations

from typing import Any

import pytest

from deltalog import IRI, KnowledgeBase, UsageError
from deltalog.core.rules import HiddenName, Pred
from deltalog.core.terms import RDF_TYPE
from deltalog.evaluation.change import Difference
from deltalog.evaluation.goals.adornment import AdornedName
from deltalog.evaluation.report import Round
from deltalog.knowledge_base.calls import session_of

P = "PREFIX : <http://e/>\n"
SUBCLASSES = "[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], [?c, rdfs:subClassOf, ?d] .\n"
RDFS = (
    SUBCLASSES
    + """
[?x, ?q, ?y] :- [?x, ?p, ?y], [?p, rdfs:subPropertyOf, ?q] .
[?x, rdf:type, ?c] :- [?x, ?p, ?y], [?p, rdfs:domain, ?c] .
"""
)
DATA = (
    P
    + """
:Dog(:rex). :Dog(:fido). :hasDog(:tom, :rex).
rdfs:subClassOf(:Dog, :Animal). rdfs:subClassOf(:Animal, :Thing).
rdfs:subPropertyOf(:hasDog, :has). rdfs:domain(:has, :Owner).
"""
)


def e(name: str) -> IRI:
    return IRI(f"http://e/{name}")


def shown(difference: Difference) -> dict[str, list[tuple[Any, ...]]]:
    return {name: sorted(facts) for name, facts in difference.items()}


# Hidden relations.


def test_a_hidden_name_equals_no_name_of_a_user() -> None:
    hidden = HiddenName("#backbone p")
    assert hidden != "#backbone p"
    assert not any(text == hidden for text in ("#backbone p",))
    assert Pred(hidden, 2) not in {Pred("#backbone p", 2): 0}
    assert Pred(hidden, 2) == Pred(HiddenName("#backbone p"), 2)
    assert sorted([Pred(hidden, 2), Pred("#backbone p", 2), Pred("a", 1)])[-1].name == "a"


def test_a_magic_predicate_is_not_the_adorned_one_of_another() -> None:
    assert AdornedName("p", (True,), magic=True) != AdornedName("mgc p", (True,))


@pytest.mark.parametrize("schemes", ["auto", "scheme", "module", "standard"])
def test_no_pattern_matches_a_hidden_relation(schemes: str, engine: str) -> None:
    program = P + ":p[:a, :b]. :p[:b, :c]. :p[?x, ?z] :- :p[?x, ?y], :p[?y, ?z] ."
    kb = KnowledgeBase(program, schemes=schemes, engine=engine)
    kb.materialise()
    assert {row[1] for row in kb.query("[?x, ?p, ?y]")} == {e("p")}
    assert len(kb.sparql("SELECT * { ?s ?p ?o }")) == 3  # type: ignore[arg-type]
    assert kb.predicates == ["http://e/p"]
    assert not any(pred.hidden for pred, _ in session_of(kb).state.materialised.facts.parts)  # type: ignore[union-attr]


def test_a_user_may_take_the_text_of_a_hidden_name(engine: str) -> None:
    kb = KnowledgeBase("<#goal>(X, Y) :- p(X, Y). p(X, Z) :- p(X, Y), p(Y, Z).", engine=engine)
    kb.add("p", [(1, 2), (2, 3)])
    kb.add("#backbone p", [(7, 8)])
    assert sorted(kb.query("<#goal>(?x, ?y)")) == [(1, 2), (1, 3), (2, 3)]
    assert sorted(kb.facts("p")) == [(1, 2), (1, 3), (2, 3)]
    assert sorted(kb.facts("#backbone p")) == [(7, 8)]


# Changes.


def test_the_first_explicit_fact_of_a_derived_class() -> None:
    kb = KnowledgeBase(SUBCLASSES + DATA)
    assert len(kb.facts("http://e/Dog")) == 2
    change = kb.update(add={"http://e/Animal": [(e("tom"),)]})
    assert shown(change.added) == {"http://e/Animal": [(e("tom"),)], "http://e/Thing": [(e("tom"),)]}
    assert not change.removed
    change = kb.update(remove={"http://e/Animal": [(e("tom"),)]})
    assert shown(change.removed) == {"http://e/Animal": [(e("tom"),)], "http://e/Thing": [(e("tom"),)]}
    assert not change.added


def test_rules_with_a_variable_class_come_and_go() -> None:
    kb = KnowledgeBase(DATA)
    kb.materialise()
    derived = {name: [(e("fido"),), (e("rex"),)] for name in ("http://e/Animal", "http://e/Thing")}
    assert shown(kb.add_rules(SUBCLASSES).added) == derived
    assert shown(kb.remove_rules(SUBCLASSES).removed) == derived
    assert len(kb.facts("http://e/Dog")) == 2


def test_a_rule_that_names_a_class_which_only_variables_derived() -> None:
    kb = KnowledgeBase(SUBCLASSES + DATA)
    kb.materialise()
    rule = P + "lonely(?x) :- :Animal[?x], NOT :hasParent[?x, ?y] ."
    lonely = {"lonely": [(e("fido"),), (e("rex"),)]}
    change = kb.add_rules(rule)
    assert (shown(change.added), shown(change.removed)) == (lonely, {})
    change = kb.remove_rules(rule)
    assert (shown(change.added), shown(change.removed)) == ({}, lonely)


def test_a_name_with_two_arities() -> None:
    kb = KnowledgeBase("p(X) :- e(X, _).  p(X, Y) :- e(X, Y).")
    kb.add("e", [(0, 0)])
    kb.materialise()
    change = kb.update(add={"e": [(1, 2)]}, remove={"e": [(0, 0)]})
    assert shown(change.added) == {"e": [(1, 2)], "p/1": [(1,)], "p/2": [(1, 2)]}
    assert shown(change.removed) == {"e": [(0, 0)], "p/1": [(0,)], "p/2": [(0, 0)]}
    assert list(change.added["p/1"]) == [(1,)] and list(change.added["e/2"]) == [(1, 2)]
    with pytest.raises(Exception, match="'p' has several arities; say which: p/1, p/2"):
        change.added["p"]


@pytest.mark.parametrize("schemes", ["auto", "standard"])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("n(?c) :- [?x, rdf:type, ?c] .", ["http://e/C", "http://e/D"]),
        ("n(?p) :- [?x, ?p, ?y] .", ["http://e/r", str(RDF_TYPE)]),
        ("n(?x) :- th(?x), NOT [?x, rdf:type, ?c] .", ["http://e/z"]),
    ],
)
def test_the_first_class_comes_after_the_rules(rule: str, expected: list[str], schemes: str, engine: str) -> None:
    kb = KnowledgeBase(P + rule + " th(:a). th(:z).", schemes=schemes, engine=engine)
    kb.materialise()
    kb.update(add={"http://e/C": [(e("a"),)]})
    kb.add_rules(P + ":D(:a). :r(:a, :b).")
    assert sorted(kb.facts("n")) == [(IRI(name),) for name in expected]
    for method in ("magic", "qsqr", "materialised"):
        assert sorted(kb.query("n(?c)", method=method)) == [(IRI(name),) for name in expected]


def test_triples_whose_predicate_is_no_absolute_iri_are_no_facts_of_a_predicate(engine: str) -> None:
    program = """
    [?x, ?p, ?y] :- e(?x, ?p, ?y).  c(?x, ?y) :- b(?x, ?y).  none(?x) :- e(?x, _, _), NOT b(?x, _).
    e(<http://a>, b, <http://b>).  e(<http://a>, <http://p>, <http://b>).  e(<http://a>, <b>, 5).
    """
    kb = KnowledgeBase(program, engine=engine)
    for _ in range(2):
        for method in ("magic", "qsqr", "materialised") if engine == "local" else ("materialised",):
            assert len(kb.query("[?x, ?p, ?y]", method=method)) == 3
            assert not kb.query("b(?x, ?y)", method=method)
        kb.materialise()
    assert not kb.facts("c") and not kb.facts("b") and len(kb.facts("none")) == 1
    assert len(kb.facts("[]")) == 2 and len(kb.facts("http://p")) == 1
    assert len(kb.update(remove={"e": [(IRI("http://a"), "b", IRI("http://b"))]}).removed["[]"]) == 1


def test_iris_that_end_in_a_number_are_names() -> None:
    kb = KnowledgeBase("<http://e/p/2>(a, b).  <http://e/level/1>(x).  top(X, Y) :- <http://e/p/2>(X, Y).")
    change = kb.update(add={"http://e/p/2": [(IRI("c"), "d")]}, remove={"http://e/level/1": [("x",)]})
    assert shown(change.added) == {"http://e/p/2": [(IRI("c"), "d")], "top": [(IRI("c"), "d")]}
    assert shown(change.removed) == {"http://e/level/1": [("x",)]}
    kb.add("http://e/new/3", [(IRI("x"), "y")])
    assert list(kb.facts("http://e/new/3")) == [(IRI("x"), "y")]


def test_no_name_is_the_name_and_arity_of_another() -> None:
    kb = KnowledgeBase("<http://e/v>(x, y). <http://e/v>(x). <http://e/v/2>(z).")
    assert kb.predicates == ["http://e/v/1", "http://e/v/2", "http://e/v/2/1"]
    assert [len(next(iter(kb.facts(name)))) for name in kb.predicates] == [1, 2, 1]
    kb.update(remove={"http://e/v/2": [("x", "y")]}, add={"http://e/v/2/1": [(IRI("w"),)]})
    assert kb.count("http://e/v/2") == 0 and kb.count("http://e/v/2/1") == 2
    assert kb.report.facts_total == kb.report.facts_in == 3


def test_an_arity_that_is_named_must_be_that_of_the_facts() -> None:
    with pytest.raises(UsageError, match="'p/2' is a predicate of 2 arguments, and the facts have 1"):
        KnowledgeBase().add("p/2", [("z",)])


# Goals.


def test_a_goal_whose_bridges_would_close_a_cycle_through_a_negation_is_answered() -> None:
    program = (
        P
        + """
    :D[?x] :- p(?x), NOT q(?x) .
    q(?x) :- :A[?x] .
    [?x, rdf:type, ?d] :- :A[?x], sub(?x, ?d) .
    :A(:a). :A(:b). p(:a). p(:c). sub(:a, :B). :r(:a, :b).
    """
    )
    for method in ("auto", "magic", "qsqr", "materialised"):
        assert len(KnowledgeBase(program).query("[?x, rdf:type, ?y]", method=method)) == 4
        assert len(KnowledgeBase(program).sparql("SELECT * {?x a ?y}", method)) == 4  # type: ignore[arg-type]
        assert len(KnowledgeBase(program).query(":D[?x]", method=method)) == 1


@pytest.mark.parametrize("method", ["auto", "magic", "qsqr", "materialised"])
@pytest.mark.parametrize(
    ("goal", "count"),
    [
        (":Animal[?x]", 2),
        (":Thing[:rex]", 1),
        (":has[?x, ?y]", 1),
        (":Owner[?x], NOT :Dog[?x]", 1),
        ("[?x, rdf:type, ?c]", 7),
        ("[?x, ?p, ?y]", 13),
        ("[:tom, ?p, ?y]", 3),
        (":Unheard[?x]", 0),
    ],
)
def test_goals_of_predicates_that_only_variables_derive(method: str, goal: str, count: int) -> None:
    kb = KnowledgeBase(RDFS + DATA)
    assert len(kb.query(goal, method=method)) == count
    kb.materialise()
    assert len(kb.query(goal, method=method)) == count


def test_a_goal_of_an_unknown_predicate_is_refused_whether_materialised_or_not() -> None:
    kb = KnowledgeBase(DATA)
    for _ in range(2):
        with pytest.raises(Exception, match="there is no predicate 'http://e/Unheard/1'"):
            kb.query(":Unheard[?x]")
        kb.materialise()


# Reports.


def test_a_triple_counts_once() -> None:
    rounds: list[Round] = []
    kb = KnowledgeBase(RDFS + DATA, observe=rounds.append)
    report = kb.materialise()
    assert report.facts_in == 7 and report.facts_total == 13
    assert rounds[-1].total == 13 and sum(round_.new for round_ in rounds) == 6
