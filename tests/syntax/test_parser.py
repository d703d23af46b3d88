"""Text to rules: every construct, in every spelling."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from deltalog.core.errors import SyntaxProblem
from deltalog.core.rules import (
    TRIPLE,
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    Call,
    Constant,
    Filter,
    Negation,
    Rule,
    Term,
    Variable,
)
from deltalog.core.terms import IRI, RDF, RDF_TYPE, XSD, BlankNode, Literal, Value
from deltalog.languages.deltalog.parser import parse, parse_document, parse_goal

X, Y, Z = Variable("X"), Variable("Y"), Variable("Z")
x, y, z = Variable("x"), Variable("y"), Variable("z")


def atom(name: str, *terms: Term | Value) -> Atom:
    return Atom(name, tuple(t if isinstance(t, Variable | Constant) else Constant(t) for t in terms))


def one(text: str) -> Rule:
    (rule,) = parse(text)
    return rule


def body(text: str) -> tuple[object, ...]:
    return one(f"h(a) :- {text} .").body


def call(function: str, *arguments: Term | Call | Value) -> Call:
    known = (Variable, Constant, Call)
    return Call(function, tuple(a if isinstance(a, known) else Constant(a) for a in arguments))


EDGE = (atom("edge", X, Y),)


@pytest.mark.parametrize(
    "text",
    [
        "path(X, Y) :- edge(X, Y).",
        "path(?X, ?Y) :- edge(?X, ?Y) .",
        "path[?X,?Y]:-edge[?X,?Y].",
        "<path>(X, Y) :- <edge>(X, Y) .",
        "path(X, Y) <- edge(X, Y).",
        "path(X, Y) :- edge(X, Y)",
        "[X, path, Y] :- [X, edge, Y] .",
        "[?X, <path>, ?Y] :- [?X, <edge>, ?Y] .",
        "PREFIX : <pa> :th(X, Y) :- edge(X, Y).",
        "path (X, Y)\n  :-\n  edge (X, Y)\n.",
        "path(X, Y) :- # why\n edge(X, % what\n Y). // done",
    ],
)
def test_spellings_of_one_rule(text: str) -> None:
    assert one(text) == Rule((atom("path", X, Y),), EDGE)


@pytest.mark.parametrize("conjunction", [", ", " and ", " AND ", " & ", ",", " And\n"])
def test_conjunctions(conjunction: str) -> None:
    text = f"p(X){conjunction}q(X) :- r(X){conjunction}s(X){conjunction}X > 3 ."
    assert one(text) == Rule((atom("p", X), atom("q", X)), (atom("r", X), atom("s", X), Filter(call(">", X, 3))))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", "a"),
        ("aBc_1", "aBc_1"),
        ("äb", "äb"),
        ("<http://x.org/a#b%20c>", IRI("http://x.org/a#b%20c")),
        ("<p11>", IRI("p11")),
        ("<a\\u0020b>", IRI("a b")),
        ("rdf:type", RDF_TYPE),
        ("xsd:integer", IRI(XSD + "integer")),
        ("rdfs:subClassOf", IRI("http://www.w3.org/2000/01/rdf-schema#subClassOf")),
        ("owl:Thing", IRI("http://www.w3.org/2002/07/owl#Thing")),
        ("rdf:", IRI(RDF)),
        ("rdf:a.b-c", IRI(RDF + "a.b-c")),
        ('"text"', "text"),
        ("'text'", "text"),
        ('""', ""),
        ('"it\'s \\"so\\" \\n\\t\\\\ \\u00e4\\U0001F600"', 'it\'s "so" \n\t\\ ä😀'),
        ('"# % // no comment"', "# % // no comment"),
        ('"text"@en-GB', Literal("text", language="en-gb")),
        ('"1"^^xsd:integer', 1),
        ('"1"^^<http://www.w3.org/2001/XMLSchema#integer>', 1),
        ('"x"^^xsd:integer', Literal("x", XSD + "integer")),
        ('"1.5"^^xsd:decimal', Decimal("1.5")),
        ('"a"^^xsd:string', "a"),
        ('"2024-02-29"^^xsd:date', date(2024, 2, 29)),
        ("12", 12),
        ("-3", -3),
        ("- 3", -3),
        ("007", 7),
        ("1.5", 1.5),
        ("-1.5e-3", -0.0015),
        ("1e3", 1000.0),
        ("true", True),
        ("false", False),
        ("TRUE", True),
        ("_:b1", BlankNode("b1")),
        ("_:a.b-c", BlankNode("a.b-c")),
        ("on", "on"),
        ("not", "not"),
        ("and", "and"),
        ("distinct", "distinct"),
        ("count", "count"),
    ],
)
def test_constants(text: str, value: Value) -> None:
    assert one(f"p({text}).") == Rule((atom("p", value),))
    assert one(f"p[ {text} ,1]") == Rule((atom("p", value, 1),))


def test_values_of_different_types_differ() -> None:
    facts = parse('p(1). p(1.0). p("1"). p(<1>). p(true). p(_:1).')
    assert len(set(facts)) == 6


def test_variables() -> None:
    rule = one("p(?x, X, _x) :- q(?x, X, _x, _, _, ?_).")
    assert rule.heads == (atom("p", x, X, Variable("_x")),)
    fresh = [t for t in rule.body[0].terms if isinstance(t, Variable) and t.anonymous]  # type: ignore[union-attr]
    assert len(set(fresh)) == 3
    assert one("p(?X) :- q(X).").body == (atom("q", Variable("X")),)


def test_arity_zero() -> None:
    assert one("p() :- q[], r, <s>, NOT t.") == Rule(
        (atom("p"),), (atom("q"), atom("r"), atom("s"), Negation(atom("t")))
    )
    assert one("p.") == Rule((atom("p"),))


@pytest.mark.parametrize(
    "name", ["count", "min", "on", "as", "with", "distinct", "prefix", "base", "filter", "bind", "comp", "aggregate"]
)
def test_keywords_as_names_of_predicates(name: str) -> None:
    assert one(f"{name}(a, b).") == Rule((atom(name, "a", "b"),))
    if name not in ("filter", "bind", "aggregate"):
        assert body(f"q(X), {name}(X, b)") == (atom("q", X), atom(name, X, "b"))
    assert body(f"q({name}, X)") == (atom("q", name, X),)


def test_capital_names_of_predicates() -> None:
    assert one("RP0(A) :- TE(A, rdf:type, <C>)") == Rule(
        (atom("RP0", Variable("A")),), (atom("TE", Variable("A"), RDF_TYPE, IRI("C")),)
    )


def test_triples() -> None:
    assert body("[?x, rdf:type, <C>]") == (atom("C", x),)
    assert body("rdf:type[?x, <C>]") == (atom("C", x),)
    assert body("rdf:type(?x, ?y)") == (atom(str(RDF_TYPE), x, y),)
    assert body("[?x, ?y, ?z]") == (Atom(TRIPLE, (x, y, z)),)
    assert body('[?x, rdf:type, "C"]') == (atom(str(RDF_TYPE), x, "C"),)
    assert one("[<a>, <p>, 3].") == Rule((atom("p", IRI("a"), 3),))


@pytest.mark.parametrize(
    "declaration",
    [
        "PREFIX a: <http://a#>",
        "prefix a: <http://a#>\n",
        "@prefix a: <http://a#> .",
        "@PREFIX a: <http://a#>.",
        "PREFIX a: <http://a#> .",
        "Prefix a:<http://a#>",
    ],
)
def test_prefixes(declaration: str) -> None:
    document = parse_document(f"{declaration} a:p(a:x) :- a:q .")
    assert document.rules == (Rule((atom("http://a#p", IRI("http://a#x")),), (atom("http://a#q"),)),)
    assert document.prefixes["a"] == "http://a#"


def test_prefixes_hold_from_their_place_on_and_can_be_given() -> None:
    first, second = parse("PREFIX a: <http://1#> p(a:x). PREFIX a: <http://2#> p(a:x).")
    assert (first, second) == (Rule((atom("p", IRI("http://1#x")),)), Rule((atom("p", IRI("http://2#x")),)))
    assert parse_document("p(e:x).", prefixes={"e": "http://e#"}).rules == (Rule((atom("p", IRI("http://e#x")),)),)


def test_base() -> None:
    assert one("@base <http://b.org/x/> . p(<y>, <http://c/>).").heads == (
        atom("p", IRI("http://b.org/x/y"), IRI("http://c/")),
    )
    assert one("BASE <http://b.org/> p(<y>).").heads == (atom("p", IRI("http://b.org/y")),)


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_comparisons(operator: str) -> None:
    wanted = (Filter(call(operator, X, Y)),)
    for text in (
        f"X {operator} Y",
        f"X{operator}Y",
        f"FILTER(X {operator} Y)",
        f"COMP(X, {operator}, Y)",
        f"comp(X,{operator},Y)",
        f"(X {operator} Y)",
    ):
        assert body(text) == wanted, text


def test_less_than_is_not_an_iri() -> None:
    assert body("X<Y,Z>3") == (Filter(call("<", X, Y)), Filter(call(">", Z, 3)))
    assert body("FILTER(?x<?y&&?z>3)") == (Filter(call("&&", call("<", x, y), call(">", z, 3))),)
    assert body("X<-3") == (Filter(call("<", X, -3)),)
    assert body("X < <a>") == (Filter(call("<", X, IRI("a"))),)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("?x -3", call("-", x, 3)),
        ("?x - -3", call("-", x, -3)),
        ("-?x", call("-", x)),
        ("-(3)", call("-", 3)),
        ("1 + 2 * 3", call("+", 1, call("*", 2, 3))),
        ("(1 + 2) * 3", call("*", call("+", 1, 2), 3)),
        ("1 - 2 - 3", call("-", call("-", 1, 2), 3)),
        ("?x % 2", call("%", x, 2)),
        ("?x%2", call("%", x, 2)),
        ("(?x + 1) % ?y", call("%", call("+", x, 1), y)),
        ("strlen(?x) % 2", call("%", call("strlen", x), 2)),
        ("7 % abs(?x)", call("%", 7, call("abs", x))),
        ("?x / ?y * 2", call("*", call("/", x, y), 2)),
        ("?x > 1 && ?y < 2 || !?z", call("||", call("&&", call(">", x, 1), call("<", y, 2)), call("!", z))),
        ("!(?x > 1)", call("!", call(">", x, 1))),
        ("-?x * 2", call("*", call("-", x), 2)),
        ("IF(?x, 1, coalesce(?y, 2))", call("if", x, 1, call("coalesce", y, 2))),
        ("SKOLEM(\"Eval\", ?x)", call("skolem", "Eval", x)),
        ("concat(a, B, 'c')", call("concat", "a", Variable("B"), "c")),
        ("min(?x, max(1, 2), 3)", call("min", x, call("max", 1, 2), 3)),
    ],
)  # fmt: skip
def test_expressions(text: str, wanted: Call) -> None:
    assert body(f"BIND({text} AS ?v)") == (Bind(wanted, Variable("v")),)
    assert body(f"bind({text} as V)") == (Bind(wanted, Variable("V")),)
    assert body(f"?v = ({text})") == (Filter(call("=", Variable("v"), wanted)),)
    assert body(f"FILTER({text})") == (Filter(wanted),)


@pytest.mark.parametrize(
    "text", ["NOT p(?x, ?y)", "not p(?x, ?y)", "!p(?x, ?y)", "! p[?x, ?y]", "NOT (p(?x, ?y))", "NOT [?x, p, ?y]"]
)
def test_negations(text: str) -> None:
    assert body(f"q(?x), {text}") == (atom("q", x), Negation(atom("p", x, y)))


def test_negated_conditions() -> None:
    wanted = (Filter(call("!", call("=", x, y))),)
    assert body("NOT ?x = ?y") == body("!(?x = ?y)") == body("NOT (?x = ?y)") == wanted


@pytest.mark.parametrize(
    "text",
    [
        "AGGREGATE(r(?x, ?z), v(?z, ?t) ON ?x BIND AVG(?t) AS ?a)",
        "aggregate(r(?x, ?z) and v(?z, ?t)) on ?x with avg(?t) as ?a",
        "AGGREGATE(\n  [?x, r, ?z],\n  [?z, v, ?t]\n  ON ?x\n  BIND AVG(?t) AS ?a)",
        "aggregate ( r(?x,?z) & v(?z,?t) ON ?x WITH Avg(?t) As ?a )",
    ],
)
def test_aggregates(text: str) -> None:
    wanted = Aggregate(
        (atom("r", x, z), atom("v", z, Variable("t"))),
        (x,),
        (AggregateCall("avg", Variable("t"), Variable("a")),),
    )
    assert body(text) == (wanted,)
    assert body(f"p(?x), {text}, ?a > 3") == (atom("p", x), wanted, Filter(call(">", Variable("a"), 3)))


def test_aggregates_of_every_shape() -> None:
    n, m = Variable("n"), Variable("m")
    count_x = AggregateCall("count", x, n)
    assert body("AGGREGATE(p(?x) BIND COUNT(?x) AS ?n)") == (Aggregate((atom("p", x),), (), (count_x,)),)
    assert body("aggregate(p(?x)) with count(?x) as ?n") == (Aggregate((atom("p", x),), (), (count_x,)),)
    two = (AggregateCall("count", None, n), AggregateCall("count", x, m, distinct=True))
    for text in (
        "AGGREGATE(p(?x, ?y, ?z) ON ?y ?z BIND COUNT(*) AS ?n BIND COUNT(DISTINCT ?x) AS ?m)",
        "AGGREGATE(p(?x, ?y, ?z) ON ?y, ?z BIND COUNT(*) AS ?n, BIND count(distinct ?x) AS ?m)",
        "aggregate(p(?x, ?y, ?z)) on ?y, ?z with COUNT(*) as ?n with COUNT(DISTINCT ?x) as ?m",
    ):
        assert body(text) == (Aggregate((atom("p", x, y, z),), (y, z), two),), text
    total = AggregateCall("sum", call("*", x, call("+", y, 1)), n)
    wanted = Aggregate((atom("p", x, y), Filter(call(">", x, 2)), Negation(atom("q", x))), (), (total,))
    assert body("AGGREGATE(p(?x, ?y), ?x > 2, NOT q(?x) BIND SUM(?x * (?y + 1)) AS ?n)") == (wanted,)


def test_percent_starts_a_comment_where_no_value_stands_before_it() -> None:
    text = """% at the start
    p(a). % 2 after a dot
    p(X) :- % 3 after the arrow
        q(X), % X after a comma
        r(X) % after an atom, (and so on)
        , X % 2 = 0, FILTER(X != Y) % 3 = 3
        , AGGREGATE(s(X, Z) ON X BIND COUNT(Z) AS N % 5
        ) % 4 > 3
        .
    edge(a, b) % no dot
    """
    rules = parse(text)
    assert [len(rule.body) for rule in rules] == [0, 5, 0]
    assert rules[1].body[2] == Filter(call("=", call("%", X, 2), 0))


@pytest.mark.parametrize(
    "right", ['"3"^^xsd:decimal', "'3'^^xsd:int", '-"3"^^xsd:decimal', 'xsd:integer("3")', "Y", "(3)"]
)
def test_percent_after_a_value_is_modulo(right: str) -> None:
    (filter_,) = body(f"N = ?x % {right}")
    assert str(filter_).count("%") == 1


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- q(X, Y), X != Y % different\n.",
        "p(X) :- q(X, Y), X != Y %\n 3 .",
        'p(X) :- q(X, Y), X != Y % "3" .',
        "p(X) :- q(X), normal(X) % 2 = 0 .",
        "p(X) :- q(X), normal(X) % 2\n = 0 .",
        "p(X) :- q(X), normal(X) % twice\n = 0 .",
        "p(a % 3\n, b) .",
        "p(X) :- q(X), even % 2 = 0 .",
        "p(X) :- q(X), X < 3 %% 2 .",
    ],
)
def test_ambiguous_percent_is_refused(text: str) -> None:
    with pytest.raises(SyntaxProblem, match="may be a modulo or start a comment"):
        parse(text)


def test_lines_end_rules_where_there_are_no_dots() -> None:
    text = """RP0(A) :- TE(A,rdf:type,<C>)
TE(A,<p>,B) :- RP0(A),
  TE(A,<q>,B)
<e>(a)
[X, <p>, Y] :- e(X, Y)
PREFIX a: <b>
a:p(1)"""
    assert [len(rule.body) for rule in parse(text)] == [1, 2, 0, 1, 0]


def test_dots_inside_of_numbers_and_names_end_nothing() -> None:
    assert len(parse("p(1.5).p(2).p(rdf:a.b).p(3)")) == 4


def test_bytes_order_mark_and_windows_lines() -> None:
    assert len(parse("\ufeffp(a).\r\np(b)\r\np(c) :-\r\n  p(d).\r\n")) == 3


def test_several_thousand_facts() -> None:
    assert len(parse("".join(f"edge(n{i}, {i}). " for i in range(3000)))) == 3000


def test_goals() -> None:
    wanted = (atom("path", "a", x), atom("edge", x, y))
    for text in ("path(a, ?x), edge(?x, ?y)", "?- path(a, ?x), edge(?x, ?y).", "path(a, ?x) and edge(?x, ?y) ."):
        assert parse_goal(text) == wanted
    assert parse_goal("NOT p(a)") == (Negation(atom("p", "a")),)
    assert parse_goal("[a, ?x, ?y]") == (Atom(TRIPLE, (Constant("a"), x, y)),)
    assert parse_goal("e:p(1)", prefixes={"e": "http://e#"}) == (atom("http://e#p", 1),)


@pytest.mark.parametrize(
    "text", ["", "  # nothing", "p(X) :- q(X)", "p(a). q(b).", "p(a", "3", "?- ", ".", "PREFIX a: <b>"]
)
def test_wrong_goals(text: str) -> None:
    with pytest.raises(SyntaxProblem):
        parse_goal(text)


def test_spans() -> None:
    text = "p(X) :-\n  q(X, Yes),\n  NOT r(X)."
    rule = one(text)
    assert rule.span is not None and text[rule.span.start : rule.span.end] == text[:-1]
    second = rule.body[0].terms[1]  # type: ignore[union-attr]
    assert isinstance(second, Variable) and str(second.span) == "<text>:2:8"
    assert second.span is not None and second.span.excerpt() == "    q(X, Yes),\n         ^^^"
    negation = rule.body[1].span
    assert negation is not None and text[negation.start : negation.end] == "NOT r(X)"


def test_every_error_is_reported_with_its_place() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse("p(a.\nq(b) :- r(b) s(b).\nt(c).\nx:u(d).\n", "file.dl")
    assert [str(d.span) for d in caught.value.diagnostics] == ["file.dl:1:2", "file.dl:2:14", "file.dl:4:1"]


def test_many_errors_are_cut() -> None:
    with pytest.raises(SyntaxProblem, match="more errors"):
        parse("p(. " * 2000)


def test_relative_and_bare_names_are_one_predicate() -> None:
    assert one("<p11>(X) :- p11(X).").heads[0].pred == one("p11(X) :- q(X).").heads[0].pred


def test_deep_expressions_are_refused_not_crashed_on() -> None:
    for text in (
        "(" * 5000 + "1" + ")" * 5000,
        "-" * 5000 + "?x",
        "!" * 5000 + "?x",
        "1" + " + 1" * 5000,
        "abs(" * 5000,
    ):
        with pytest.raises(SyntaxProblem):
            parse(f"p(?x) :- q(?x), FILTER({text} = 1) .")
        with pytest.raises(SyntaxProblem):
            parse_goal(f"{text} = 1")
