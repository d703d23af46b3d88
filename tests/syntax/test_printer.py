"""Rules to text and back; and what no text may do to the parser."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deltalog.core.errors import ProgramError
from deltalog.core.operators import COMPARISONS
from deltalog.core.rule_text import print_body, print_rule
from deltalog.core.rules import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Negation,
    Rule,
    Variable,
    triple,
)
from deltalog.core.terms import IRI, RDF_TYPE, XSD, BlankNode, literal
from deltalog.functions.signatures import AGGREGATES, ALIASES, ANY_NUMBER, FUNCTIONS
from deltalog.languages.deltalog.parser import parse, parse_goal
from deltalog.program import analyse

EXAMPLE = """
PREFIX a1: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>
prefix : <http://example.org/>
edge(a, b).
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
a1:degreeFrom[?X, ?Y] :- a1:hasAlumnus[?Y, ?X] .
a1:Person[?x] :- [?x, a1:advisor, ?y] .
[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], [?c, rdfs:subClassOf, ?d] .
[?x, ?q, ?y] :- [?x, ?p, ?y], [?p, rdfs:subPropertyOf, ?q] .
<p11>(X, Y) :- <p11>(X, Z) and <p11>(Z, Y) and COMP(X, !=, Y) .
:q(?x), :r(?x, ?y) :- :s(?x, ?y), ?x != ?y, FILTER(?y > 3) .
lonely(?x) :- person(?x), NOT knows(?x, ?y) .
:value[?e, ?v], :eval[?s, ?e] :- :lhs[?s, ?a], :rhs[?s, ?b], BIND(?a - ?b AS ?v), BIND(SKOLEM("Eval", ?s) AS ?e) .
headcount(?d, ?n) :- AGGREGATE(worksFor(?p, ?d) ON ?d BIND COUNT(?p) AS ?n) .
<near>(X, AT) :- aggregate(<road>(X, Z) and <volume>(Z, T)) on X with AVG(T) as AT .
"""

names = st.sampled_from(["p", "edge", "RP0", "not", "on", "count", "http://x.org/a#b", "a b", "", "-x", "?x", "ä", "<"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["a", "and", "true", "A", "1"])
literals = st.builds(
    literal,
    texts,
    st.sampled_from([XSD + name for name in ("integer", "decimal", "double", "boolean", "date")] + ["http://x/ y>"]),
) | st.builds(literal, texts, language=st.sampled_from(["en", "de-AT"]))
values = (
    st.integers()
    | st.floats()
    | st.booleans()
    | texts
    | st.builds(IRI, texts)
    | st.sampled_from([BlankNode("b"), BlankNode("x1.y-z"), IRI("http://x.org/a#b"), RDF_TYPE])
    | st.dates(min_value=date(1900, 1, 1))
    | st.datetimes(min_value=datetime(1900, 1, 1))
    | st.just(datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC))
    | literals
)
constants = st.builds(Constant, values)
variables = st.builds(Variable, st.sampled_from(["x", "X", "_x", "v1", "y", "é"]))
terms = variables | constants


def calls(arguments: st.SearchStrategy[Expression]) -> st.SearchStrategy[Call]:
    def function(name: str) -> st.SearchStrategy[Call]:
        least, most = FUNCTIONS[name].least, FUNCTIONS[name].most
        some = st.lists(arguments, min_size=least, max_size=4 if most == ANY_NUMBER else most)
        return st.builds(Call, st.just(name), some.map(tuple))

    operators = st.sampled_from([*sorted(COMPARISONS), "+", "-", "*", "/", "%", "&&", "||"])
    return (
        st.builds(Call, operators, st.tuples(arguments, arguments))
        | st.builds(Call, st.sampled_from(["-", "!"]), st.tuples(arguments))
        | st.sampled_from(sorted(FUNCTIONS.keys() - ALIASES)).flatmap(function)
    )


expressions: st.SearchStrategy[Expression] = st.recursive(terms, calls, max_leaves=8)
conditions = calls(expressions)


def atom_of(name: str, some: list[Variable | Constant]) -> Atom:
    if len(some) == 2 and name == str(RDF_TYPE):
        return triple(some[0], Constant(RDF_TYPE), some[1])
    return Atom(name, tuple(some))


atoms = (
    st.builds(atom_of, names | st.just(str(RDF_TYPE)), st.lists(terms, max_size=4))
    | st.builds(triple, terms, variables, terms)
    | st.builds(triple, terms, st.just(Constant(RDF_TYPE)), terms)
)
simple: st.SearchStrategy[BodyLiteral] = (
    atoms
    | st.builds(Negation, atoms)
    | st.builds(Filter, conditions)
    | st.builds(Bind, expressions, variables)
    | st.builds(Filter, variables | st.builds(Constant, texts | st.booleans()))
)


@st.composite
def aggregate_calls(draw: st.DrawFn) -> AggregateCall:
    function = draw(st.sampled_from(AGGREGATES))
    argument = draw(st.none() | expressions if function == "count" else expressions)
    return AggregateCall(function, argument, draw(variables), draw(st.booleans()))


aggregates = st.builds(
    Aggregate,
    st.lists(simple, min_size=1, max_size=3).map(tuple),
    st.lists(variables, max_size=3, unique=True).map(tuple),
    st.lists(aggregate_calls(), min_size=1, max_size=2).map(tuple),
)
bodies = st.lists(simple | aggregates, max_size=4).map(tuple)
rules = st.builds(Rule, st.lists(atoms, min_size=1, max_size=3).map(tuple), bodies)


@settings(max_examples=200)
@given(rules)
@example(Rule((Atom("p", ()),), (Filter(Constant("p")), Filter(Call("-", (Constant(-3),))))))
@example(Rule((Atom("p", ()),), (Filter(Call("=", (Constant("<"), Call("-", (Constant(0),))))),)))
def test_a_printed_rule_reads_as_the_same_rule(rule: Rule) -> None:
    assert parse(print_rule(rule)) == [rule]
    assert str(rule) == print_rule(rule)
    if rule.body:
        assert parse_goal(print_body(rule.body)) == rule.body


@settings(max_examples=30)
@given(st.lists(rules, max_size=5))
def test_printed_programs_read_as_the_same_programs(many: list[Rule]) -> None:
    assert parse("\n".join(map(print_rule, many))) == many


def test_every_construct_survives_printing() -> None:
    many = parse(EXAMPLE)
    assert len(many) == 12
    assert parse("\n".join(map(print_rule, many))) == many


def test_printed_text_is_readable() -> None:
    (rule,) = parse(
        'p(?x, "a b", A, _), <http://x/>(-3) :- q(a, 1.0, <i>), !r(?x), ?y = (1 + ?x) * 2, FILTER(!(?x > 1)) .'
    )
    assert str(rule) == (
        'p(?x, "a b", ?A, _), <http://x/>(-3) :- q(a, 1.0, <i>), NOT r(?x), ?y = (1 + ?x) * 2, FILTER(!(?x > 1)) .'
    )


def checked(text: str) -> str:
    rules = parse(text)
    assert parse("\n".join(map(print_rule, rules))) == rules
    program = analyse(rules)
    return "\n".join(map(str, program.warnings))


def reads_or_refuses(text: str) -> None:
    """A text is a program (or a goal), or there is a message for its author; nothing else may happen."""
    for read in (checked, parse_goal):
        try:
            read(text)
        except ProgramError as problem:
            assert str(problem)


@settings(max_examples=150)
@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    reads_or_refuses(data.decode("utf-8", "replace"))


@settings(max_examples=150)
@given(st.text(st.sampled_from("pqX?_<>()[]:-.,=!&|%#/\"'\\+*019eE@^ \n\tandot"), max_size=60))
def test_random_signs_are_read_or_refused(text: str) -> None:
    reads_or_refuses(text)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, len(EXAMPLE)), st.integers(0, 8), st.text(max_size=3)), max_size=5))
def test_damaged_programs_are_read_or_refused(damages: list[tuple[int, int, str]]) -> None:
    text = EXAMPLE
    for at, size, inserted in damages:
        text = text[:at] + inserted + text[at + size :]
    reads_or_refuses(text)


@pytest.mark.parametrize(
    "text", ["p" * 10**6, "(" * 10**5, "p(a) " * 10**4, '"' * 10**5, "%" * 10**5, "p(X) :- " + "q(X), " * 10**4]
)
def test_long_texts_end_soon(text: str) -> None:
    reads_or_refuses(text)
