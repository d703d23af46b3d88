"""Rules with a variable for a predicate or a class, next to rules by predicate: both see the same facts."""

from __future__ import annotations

import pytest

from deltalog.core.limits import FactCount, Limits
from deltalog.core.rules import Constant, Pred
from deltalog.core.terms import IRI
from deltalog.evaluation.naive import materialise
from deltalog.languages.deltalog.parser import parse
from deltalog.program import Program, analyse
from deltalog.program.triple_bridges import TRIPLES, TYPES

PREFIX = "PREFIX : <http://e/>\n"


def program(text: str, data: set[Pred] = frozenset()) -> Program:  # type: ignore[assignment]
    return analyse(parse(PREFIX + text), data)


def facts(text: str) -> dict[str, set[tuple[str, ...]]]:
    """What follows, by predicate; IRIs without the prefix."""
    analysed = program(text)
    stated: dict[Pred, list[tuple[object, ...]]] = {}
    for fact in analysed.facts:
        row = tuple(term.value for term in fact.terms if isinstance(term, Constant))
        stated.setdefault(fact.pred, []).append(row)
    result = materialise(analysed, stated, FactCount(Limits()))  # type: ignore[arg-type]

    def short(text: object) -> str:
        return str(text).removeprefix("http://e/")

    return {short(pred.name): {tuple(short(c.value) for c in row) for row in rows} for pred, rows in result.items()}


def test_no_bridges_where_no_rule_needs_them() -> None:
    assert not program(":C[?x] :- :p[?x, ?y], [?x, rdf:type, :D] .", {TYPES}).bridges


def test_bridges_are_not_the_users_rules() -> None:
    analysed = program("[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], sub(?c, ?d) . :C(:a) .")
    assert len(analysed.rules) == 1
    assert analysed.bridges and all(map(analysed.is_bridge, analysed.bridges))
    assert not analysed.is_bridge(analysed.rules[0])
    evaluated = [rule for node in analysed.hyper_nodes for rule in node.rules]
    assert sorted(map(str, evaluated)) == sorted(map(str, analysed.rules + analysed.bridges))


def test_only_the_directions_that_are_needed() -> None:
    reading = program("n(?c) :- [?x, rdf:type, ?c] . :C(:a) .")
    assert {rule.heads[0].pred for rule in reading.bridges} == {TYPES}
    deriving = program("[?x, rdf:type, ?c] :- is(?x, ?c) . d(?x) :- :C(?x) .")
    assert TYPES not in {rule.heads[0].pred for rule in deriving.bridges}
    assert Pred("http://e/C", 1) in {rule.heads[0].pred for rule in deriving.bridges}


def test_data_predicates_take_part() -> None:
    analysed = program("n(?p) :- [?x, ?p, ?y] .", {Pred("http://e/q", 2), Pred("http://e/D", 1), Pred("t", 3)})
    sources = {rule.body[0].name for rule in analysed.bridges}  # type: ignore[union-attr]
    assert sources == {"http://e/q", "http://e/D"}
    assert {rule.heads[0].pred for rule in analysed.bridges} == {TRIPLES}


def test_classes() -> None:
    result = facts(
        """
        [?x, rdf:type, ?d] :- [?x, rdf:type, ?c], [?c, rdfs:subClassOf, ?d] .
        :Student(:ann). :Person(:bob).
        rdfs:subClassOf(:Student, :Person). rdfs:subClassOf(:Person, :Agent). rdfs:subClassOf(:Agent, :Thing).
        named(?x) :- :Agent[?x] .
        :Student[?x] :- late(?x) .
        late(:cid).
        """
    )
    everyone = {("ann",), ("bob",), ("cid",)}
    assert result["named"] == result["Agent"] == result["Person"] == everyone
    assert result["Student"] == {("ann",), ("cid",)}
    types = result["http://www.w3.org/1999/02/22-rdf-syntax-ns#type"]
    assert ("ann", "Thing") in types and ("cid", "Person") in types


def test_properties() -> None:
    result = facts(
        """
        [?x, ?q, ?y] :- [?x, ?p, ?y], [?p, rdfs:subPropertyOf, ?q] .
        rdfs:subPropertyOf(:mother, :parent). rdfs:subPropertyOf(:parent, :relative). rdfs:subPropertyOf(:is, rdf:type).
        :mother(:a, :b). :is(:a, :Human).
        kin(?x, ?y) :- :relative[?x, ?y] .
        human(?x) :- :Human[?x] .
        :mother[?x, ?y] :- adopted(?y, ?x) .
        adopted(:d, :c).
        """
    )
    assert result["kin"] == result["relative"] == {("a", "b"), ("c", "d")}
    assert result["human"] == result["Human"] == {("a",)}
    assert ("c", "parent", "d") in result["[]"]


def test_classes_and_properties_together() -> None:
    result = facts(
        """
        [?x, rdf:type, ?c] :- [?x, ?p, ?y], [?p, rdfs:domain, ?c] .
        [?y, rdf:type, ?c] :- [?x, ?p, ?y], [?p, rdfs:range, ?c] .
        [?x, ?q, ?y] :- [?x, ?p, ?y], [?p, rdfs:subPropertyOf, ?q] .
        rdfs:domain(:teaches, :Teacher). rdfs:range(:teaches, :Course). rdfs:subPropertyOf(:lectures, :teaches).
        rdfs:domain(rdf:type, :Typed).
        :lectures(:t, :c).
        busy(?x) :- :Teacher[?x], :teaches[?x, ?y], :Course[?y] .
        """
    )
    assert result["busy"] == {("t",)}
    assert result["teaches"] == {("t", "c")}
    types = result["http://www.w3.org/1999/02/22-rdf-syntax-ns#type"]
    assert {("t", "Teacher"), ("c", "Course"), ("t", "Typed"), ("c", "Typed")} <= types
    assert ("t", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "Typed") in result["[]"]


@pytest.mark.parametrize("rule", ["all(?x, ?p, ?y) :- [?x, ?p, ?y] .", "all(?x, ?p, ?y) :- [?x, ?p, ?y], NOT no(?x) ."])
def test_reading_everything(rule: str) -> None:
    result = facts(rule + ' :C(:a). :p(:a, 1). [:a, rdf:type, "text"] .')
    assert {(x, p.rpartition("#")[2], y) for x, p, y in result["all"]} == {
        ("a", "type", "C"),
        ("a", "p", "1"),
        ("a", "type", "text"),
    }


def test_a_triple_of_an_unknown_predicate_stays_a_triple() -> None:
    result = facts("[?x, ?p, ?y] :- t(?x, ?p, ?y) . t(:a, :q, :b).")
    assert result["[]"] == {("a", "q", "b")} and "q" not in result
    assert IRI("http://e/q") != "http://e/q"
