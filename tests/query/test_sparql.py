"""SPARQL: every feature against Oxigraph, where it differs from the standard against the standard; what is refused; and
the forms in which solutions come."""

from __future__ import annotations

from decimal import Decimal
from math import inf
from typing import Any

import pytest
from sparql_oracle import PREFIX, Twins

from deltalog import KnowledgeBase, UsageError
from deltalog.core.terms import IRI, Literal, Value
from deltalog.core.tuning import Tuning
from deltalog.evaluation.goals.selector import Model
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.sparql.query import translate
from deltalog.languages.sparql.solutions import Solutions

GRAPH = """
:a :p :b . :b :p :c . :c :p :a . :d :p :d . _:z :p :a .
:a :q 1, 2, "x", "y"@en . :b :q 2 . :c :q 3.5 . :e :r "1"^^:t .
:a a :C . :b a :C, :D . :a :label "aa" . :b :label "bb"@en .
"""

QUERIES = {
    "basic": """
        SELECT * {?x :p ?y}
        SELECT ?x {?x :q ?y}
        SELECT * {?x ?p ?y}
        SELECT * {?x a ?c}
        SELECT ?x {?x a :C; :p ?y}
        SELECT * {:a ?p ?y}
        SELECT * {?x :p ?x}
        SELECT * {?x ?y ?x}
        SELECT * {?x :p ?y . ?y ?q ?x}
        SELECT ?x {?x :p _:b . _:b :q ?v}
        SELECT ?x {?x :p [ :q ?v ]}
        SELECT ?nope ?x {?x :p ?y}
        SELECT * {?x :nope ?y}
        SELECT * {}
        ASK {:a :p :b}
        ASK {:a :p :zz}
        ASK {}
        ASK {?x :q ?y FILTER(?y > 3)}""",
    "filter": """
        SELECT * {?x :q ?v FILTER(?v > 1)}
        SELECT * {?x :q ?v FILTER(?v != 1)}
        SELECT * {?x :q ?v FILTER(!(?v > 1))}
        SELECT * {VALUES ?v {0 1 0.0 "" "x" true false :a UNDEF} FILTER(?v)}
        SELECT * {?x :q ?v FILTER(?v IN (1, "x"))}
        SELECT * {?x :q ?v FILTER(?v NOT IN (1, "x"))}
        SELECT * {?x :q ?v FILTER(?v = "y"@en || ?v = 2)}
        SELECT * {?x :q ?v FILTER(?v > 1 || ?v = "x")}
        SELECT * {?x :q ?v FILTER(?v > 1 && ?nope)}
        SELECT * {?x :q ?v FILTER(LANG(?v) = "en")}
        SELECT * {?x :q ?v FILTER(?v-1 = 1)}
        SELECT * {?x :q ?v FILTER(BOUND(?v) && !BOUND(?w))}
        SELECT * {?x :label ?l FILTER(REGEX(?l,"^A","i"))}
        SELECT * {?x :r ?v FILTER(?v = "2"^^:t)}
        SELECT * {?x :r ?v FILTER(!(?v = "2"^^:t))}
        SELECT * {?x :r ?v FILTER(?v = "1"^^:t)}
        SELECT * {{?x :q ?v FILTER(?y = ?y)} ?x :p ?y}
        SELECT * {?x :p ?y {FILTER(?x = ?y)}}
        SELECT * {?x :p ?y FILTER(?x = ?y)}""",
    "optional": """
        SELECT * {?x :p ?y OPTIONAL {?y :q ?v}}
        SELECT * {?x :p ?y OPTIONAL {?y :q ?v FILTER(?v > 1)}}
        SELECT * {?x :p ?y OPTIONAL {?y :q ?v FILTER(?x = :a)}}
        SELECT * {?x :p ?y OPTIONAL {?y :q ?v} OPTIONAL {?x :label ?v}}
        SELECT * {?x :p ?y OPTIONAL {?y :q ?v} ?z :q ?v}
        SELECT * {?x :p ?y OPTIONAL {?x :q ?v OPTIONAL {?y :q ?v}}}
        SELECT * {OPTIONAL {?x :nope ?y} ?x :q ?v}
        SELECT * {OPTIONAL {?x :q ?y} ?x :q ?v}
        SELECT * {?x :p ?y OPTIONAL {:a :q ?v}}
        SELECT * {?x :p ?y OPTIONAL {:a :nope ?v}}
        SELECT * {?x :p ?y OPTIONAL {?y :q ?v FILTER NOT EXISTS {?y :label ?l}}}""",
    "union": """
        SELECT * {{?x :p ?y} UNION {?y :p ?x}}
        SELECT * {{?x :p ?y} UNION {?x :p ?y}}
        SELECT ?x {{?x :p ?y} UNION {?x :q ?z}}
        SELECT * {{?x :p ?y} UNION {?x :q ?z} ?w :q ?z}""",
    "minus": """
        SELECT * {?x :p ?y MINUS {?x :q ?v}}
        SELECT * {?x :p ?y MINUS {?a :q ?v}}
        SELECT * {?x :p ?y OPTIONAL {?x :q ?v} MINUS {?y :q ?v}}
        SELECT * {?x :p ?y OPTIONAL {?x :q ?v} MINUS {?z :q ?v}}
        SELECT * {{?x :p ?y} UNION {?x :q ?v} MINUS {{?x :label ?y} UNION {?z :q ?v}}}""",
    "bind and values": """
        SELECT * {?x :q ?v BIND(?v + 1 AS ?w)}
        SELECT * {?x :q ?v BIND(?v / 2 AS ?w) FILTER(?w < 1.5)}
        SELECT * {BIND(1 AS ?x)}
        SELECT (1+2 AS ?x) {}
        SELECT (CONCAT(?l,"!") AS ?m) {?x :label ?l}
        SELECT * {VALUES (?x ?y) {(:a UNDEF) (UNDEF :b) (:a :b) (:a :b)} ?x :p ?y}
        SELECT * {VALUES ?x {:a :b} OPTIONAL {?x :q ?v}}
        SELECT * {?x :q ?v} VALUES ?v {1 2}""",
    "paths": """
        SELECT * {?x :p+ ?y}
        SELECT * {?x :p* ?y}
        SELECT * {?x :p? ?y}
        SELECT * {:a :p* ?y}
        SELECT * {?x :p* :a}
        SELECT * {:a :p+ ?y}
        SELECT * {?x :p+ :a}
        SELECT * {?x :p+ ?x}
        SELECT * {?x :p* ?x}
        SELECT * {:zz :p* :a}
        SELECT * {:a :p* :a}
        SELECT * {?x :p/:q ?y}
        SELECT DISTINCT * {?x (:p|:q) ?y}
        SELECT * {?x ^:p ?y}
        SELECT DISTINCT * {?x (^:p/:q)|:label ?y}
        SELECT * {?x (:p/:p)+ ?y}
        SELECT * {?x (:p|^:p)* ?y}
        SELECT * {?x !:p ?y}
        SELECT * {?x !(:p|:q) ?y}
        SELECT * {?x !(^:p) ?y}
        SELECT * {?x !^:q ?y}
        SELECT DISTINCT * {?x !(:p|^:q) ?y}
        SELECT * {?x (!(^:p|^:q))+ ?y}
        SELECT * {?x a :C . ?x :p* ?y}
        SELECT * {?y a :C . ?x :p* ?y}
        SELECT * {?x a/:p* ?y}
        SELECT * {?x :p*/:q ?y}
        SELECT (COUNT(?x) AS ?n) {?x :p* ?y}""",
    "aggregates": """
        SELECT (COUNT(*) AS ?n) {?x :p ?y}
        SELECT ?x (COUNT(*) AS ?n) {?x :q ?y} GROUP BY ?x
        SELECT ?x (SUM(?y) AS ?n) {?x :q ?y} GROUP BY ?x
        SELECT ?x (SUM(?y) AS ?n) (AVG(?y) AS ?m) {?x :q ?y FILTER(isNumeric(?y))} GROUP BY ?x
        SELECT ?x (MIN(?y) AS ?k) (MAX(?y) AS ?l) {?x :q ?y FILTER(isNumeric(?y))} GROUP BY ?x
        SELECT (SUM(?y) AS ?n) (AVG(?y) AS ?m) (MIN(?y) AS ?k) (COUNT(?y) AS ?l) {?x :nope ?y}
        SELECT ?x (COUNT(?y) AS ?l) {?x :nope ?y} GROUP BY ?x
        SELECT ?x (COUNT(?v) AS ?l) (COUNT(DISTINCT ?v) AS ?m) {?x :p ?y OPTIONAL {?x :q ?v}} GROUP BY ?x
        SELECT ?x (COUNT(?v) AS ?l) {?x :p ?y OPTIONAL {?x :q ?v}} GROUP BY ?x HAVING (COUNT(?v) > 0)
        SELECT (COUNT(?x) AS ?c) ?v {?x :q ?v} GROUP BY ?v
        SELECT (STR(?x) AS ?s) (COUNT(*) AS ?c) {?x :q ?v} GROUP BY ?x
        SELECT ?s (COUNT(*) AS ?c) {?x :q ?v} GROUP BY (STR(?x) AS ?s)
        SELECT (COUNT(*) AS ?c) {?x :q ?v} GROUP BY (STR(?x))
        SELECT ?x (COUNT(*)+1 AS ?c) {?x :q ?v} GROUP BY ?x ORDER BY DESC(COUNT(*))
        SELECT (SUM(?v * 2) AS ?s) {?x :q ?v FILTER(?v < 3)}
        SELECT (SAMPLE(?v) AS ?z) {?x :r ?v}""",
    "exists": """
        SELECT ?x {?x :p ?y FILTER EXISTS {?x :q ?v}}
        SELECT ?x {?x :p ?y FILTER NOT EXISTS {?x :q ?v}}
        SELECT ?x {?x :p ?y FILTER NOT EXISTS {?y :q ?v FILTER(?v = ?x)}}
        SELECT ?x {?x :p ?y FILTER NOT EXISTS {?y :p ?v FILTER(?v != ?x)}}
        SELECT ?x {?x :p ?y FILTER (EXISTS {?x :q ?v} || ?y = :a)}
        SELECT ?x ?e {?x :p ?y BIND(EXISTS {?x :q ?v} AS ?e)}
        SELECT ?x {?x :p ?y FILTER EXISTS {?y :p ?z FILTER NOT EXISTS {?z :label ?l}}}
        SELECT ?e (COUNT(*) AS ?n) {?x :q ?v} GROUP BY (EXISTS {?x :label ?z} AS ?e)
        SELECT (COUNT(*) AS ?n) {?x :q ?v} GROUP BY (EXISTS {?x :label ?z})""",
    "the outside of exists": """
        SELECT ?x {?x :p ?y FILTER EXISTS {OPTIONAL {?x :q ?v} FILTER(!BOUND(?v))}}
        SELECT * {?x :p ?y FILTER NOT EXISTS {OPTIONAL {?x :q ?v} FILTER(!BOUND(?v))}}
        SELECT * {?x a :C . ?z a :C FILTER EXISTS {?x :q ?y MINUS {?z :q ?y}}}
        SELECT * {?x a :C . ?z a :C FILTER NOT EXISTS {?x :q ?y MINUS {?z :q ?y}}}
        SELECT * {?x a :C . ?z a :C FILTER EXISTS {?x :q ?y OPTIONAL {?z :q ?y . ?z :p ?k} FILTER(!BOUND(?k))}}
        SELECT * {?x :p ?y FILTER EXISTS {{?x :label ?l} UNION {?y :label ?l FILTER(?x = :a)}}}
        SELECT * {?x :p ?y FILTER EXISTS {{BIND(?x AS ?b)} FILTER(?b = :a)}}
        SELECT * {?x :p ?y FILTER EXISTS {{?y :q ?v FILTER(?x = :a)}}}
        SELECT * {?x :p ?y FILTER EXISTS {{FILTER(BOUND(?x))}}}
        SELECT * {?x :p ?y OPTIONAL {?x :label ?l} FILTER EXISTS {?y :p ?z OPTIONAL {?z :label ?l} FILTER(BOUND(?l))}}
        SELECT * {?x :p ?y OPTIONAL {?x :label ?l} FILTER NOT EXISTS {{?y :label ?l} UNION {?y :q 3.5}}}
        SELECT * {?x :p ?y FILTER EXISTS {{SELECT ?x {?z :p ?w OPTIONAL {?x :q ?v} FILTER(!BOUND(?v))}}}}
        SELECT * {?x :p ?y FILTER EXISTS {{SELECT ?v {?x :q ?v}}}}
        SELECT * {?x :p ?y FILTER EXISTS {{SELECT ?x (COUNT(*) AS ?n) {?x :q ?v} GROUP BY ?x} FILTER(?n > 1)}}
        SELECT * {?x :p ?y FILTER EXISTS {{SELECT (COUNT(*) AS ?n) {?x :q ?v}} FILTER(?n = 6)}}
        SELECT * {?x :p ?y FILTER EXISTS {{SELECT ?v {?z :q ?v} LIMIT 3} FILTER(?x = :a)}}
        SELECT * {?x :p ?y FILTER EXISTS {VALUES ?x {:a :b UNDEF} OPTIONAL {?x :label ?l} FILTER(BOUND(?l))}}
        SELECT * {?x :p ?y FILTER EXISTS {?x :p* ?z FILTER(?z = ?y)}}
        SELECT * {?x :p ?y FILTER EXISTS {?y :p ?z OPTIONAL {?z :q ?v FILTER EXISTS {{?x :q ?v}}} FILTER(!BOUND(?v))}}
        SELECT ?x ?e {?x :p ?y BIND(EXISTS {OPTIONAL {?x :q ?v} FILTER(!BOUND(?v))} AS ?e)}
        SELECT * {?x :p ?y OPTIONAL {?y :q ?v FILTER NOT EXISTS {?x :p ?z MINUS {?y :label ?l . ?x :p ?z}}}}""",
    "subqueries": """
        SELECT ?x ?n {?x :p ?y {SELECT ?x (COUNT(*) AS ?n) {?x :q ?v} GROUP BY ?x}}
        SELECT * {?x :p ?y {SELECT ?x {?x :q ?v}}}
        SELECT * {?x :p ?y {SELECT DISTINCT ?x {?x :q ?v}}}
        SELECT * {?x :p ?v {SELECT ?x {?x :q ?v}}}
        SELECT * {?x :p ?y {SELECT * {?x :q ?v MINUS {?x :label ?m}}}}
        SELECT * {?x :p ?y {SELECT ?x ?v {?x :q ?v FILTER(?v > 0)} ORDER BY DESC(?v) LIMIT 1}}
        SELECT * {:a :p :b {SELECT ?nope {:a :p ?x}}}""",
    "sequences": """
        SELECT DISTINCT ?x {?x :q ?y}
        SELECT REDUCED ?x {?x :label ?y}
        SELECT ?v {?x :q ?v FILTER(?v > 0)} ORDER BY ?v ?x LIMIT 2
        SELECT ?v {?x :q ?v FILTER(?v > 0)} ORDER BY DESC(?v) LIMIT 1 OFFSET 1
        SELECT DISTINCT ?x {?x :q ?v} ORDER BY DESC(?v)
        SELECT ?y {?x :p ?y} OFFSET 100""",
}
CASES = [(kind, query.strip()) for kind, text in QUERIES.items() for query in text.strip().splitlines()]


@pytest.fixture(scope="module", params=["naive", "magic", "qsqr", "materialised"])
def twins(request: pytest.FixtureRequest) -> tuple[Twins, str]:
    engine, method = ("naive", "auto") if request.param == "naive" else ("local", request.param)
    return Twins(GRAPH, engine), method


@pytest.mark.parametrize(("kind", "query"), CASES)
def test_as_oxigraph_says(twins: tuple[Twins, str], kind: str, query: str) -> None:
    graph, method = twins
    graph.check(query, method)


def kb(program: str = "") -> KnowledgeBase:
    knowledge = KnowledgeBase(PREFIX + program + ":p[:a, :b] . :p[:b, :c] . :q[:a, :b] . :v[:a, 1] . :v[:b, 2] .")
    return knowledge


def select(query: str, knowledge: KnowledgeBase | None = None, method: str = "auto") -> list[tuple[Value | None, ...]]:
    solutions = (knowledge or kb()).sparql(PREFIX + query, method)
    assert isinstance(solutions, Solutions)
    return list(solutions)


A, B, C = (IRI(f"http://e/{name}") for name in "abc")


def test_where_oxigraph_is_not_the_standard() -> None:
    assert select("SELECT * {:zz :p* ?y}") == [(IRI("http://e/zz"),)]
    assert kb().sparql(PREFIX + "ASK {:zz :p* :zz}") is True
    assert sorted(select("SELECT * {?x (:p|:q) ?y}")) == [(A, B), (A, B), (B, C)]
    assert sorted(select("SELECT * {?x !(:q|:v|^:q|^:v) ?y}")) == [(A, B), (B, A), (B, C), (C, B)]
    assert len(select("SELECT * {?x !() ?y}")) == 5
    assert select('SELECT * {VALUES ?x {"a"@en ""@en} FILTER(?x)}') == [(Literal("a", language="en"),)]


def test_the_outside_of_exists_where_oxigraph_is_not_the_standard() -> None:
    assert sorted(select("SELECT ?x {?x :p ?y FILTER EXISTS {:a :v ?w MINUS {?x :q ?z}}}")) == [(A,), (B,)]
    assert select("SELECT ?x {?x :p ?y FILTER EXISTS {BIND(:a AS ?x)}}") == [(A,)]
    assert select("SELECT ?x {VALUES ?x {:zz} FILTER EXISTS {?x :p* ?y}}") == [(IRI("http://e/zz"),)]
    assert select("SELECT ?x {?x :p ?y FILTER EXISTS {?y :p ?z MINUS {:a :p ?w}}}") == [(A,)]


def test_a_path_inside_of_a_path_has_variables_of_its_own() -> None:
    """?x of the query is no end of the path that is repeated."""
    assert sorted(select("SELECT ?a ?b {:a :q ?x . ?a (:q?/:p)+ ?b}")) == [(A, B), (A, C), (B, C)]
    assert sorted(select("SELECT ?a ?b {?x :q :b . ?a (:q?/:p)+ ?b}")) == [(A, B), (A, C), (B, C)]


NINES = "9" * 5_000


@pytest.mark.parametrize(
    ("modifiers", "rows"),
    [
        ("LIMIT 9223372036854775807 OFFSET 1", 1),
        ("LIMIT 9223372036854775807 OFFSET 9223372036854775807", 0),
        (f"OFFSET {NINES[:30]}", 0),
        (f"LIMIT {NINES}", 2),
        (f"LIMIT {'0' * 5_000}1", 1),
    ],
)
def test_limits_and_offsets_of_any_size(modifiers: str, rows: int) -> None:
    assert len(select(f"SELECT * {{?x :p ?y}} {modifiers}")) == rows
    assert len(select(f"SELECT * {{ {{SELECT * {{?x :p ?y}} {modifiers}}} }}")) == rows


@pytest.mark.parametrize(
    ("query", "truth"),
    [
        ("ASK {?x :p ?y} OFFSET 1", True),
        ("ASK {?x :p ?y} OFFSET 2", False),
        ("ASK {?x :p ?y} LIMIT 0", False),
        ("ASK {?x :p ?y} LIMIT 1", True),
        ("ASK {?x :p ?y} ORDER BY ?x LIMIT 1 OFFSET 1", True),
        ("ASK {{?x :p ?y} UNION {?x :p ?y}} OFFSET 3", True),
        ("ASK {{?x :p ?y} UNION {?x :p ?y}} OFFSET 4", False),
        ("ASK {} OFFSET 1", False),
    ],
)
def test_an_ask_with_modifiers(query: str, truth: bool) -> None:
    assert kb().sparql(PREFIX + query) is truth


@pytest.mark.parametrize("engine", ["naive", "local"])
@pytest.mark.parametrize("method", ["magic", "materialised"])
def test_rules_and_queries_together(engine: str, method: str) -> None:
    reach = ":reach[?x, ?y] :- :p[?x, ?y] . :reach[?x, ?z] :- :reach[?x, ?y], :p[?y, ?z] ."
    end = ":End[?x] :- :p[_, ?x], NOT :p[?x, _] . :p[:a, :b] . :p[:b, :c] ."
    knowledge = KnowledgeBase(PREFIX + reach + end, engine=engine)
    assert sorted(select("SELECT * {:a :reach ?y}", knowledge, method)) == [(B,), (C,)]
    assert select("SELECT * {?x a :End}", knowledge, method) == [(C,)]
    assert sorted(select("SELECT ?c {:c a ?c}", knowledge, method)) == [(IRI("http://e/End"),)]
    assert select("SELECT ?x {?x :reach ?y MINUS {?y a :End}}", knowledge, method) == [(A,)]


def test_nothing_is_materialised_without_need() -> None:
    knowledge = kb()
    select("SELECT * {?x :p+ ?y}", knowledge)
    assert session_of(knowledge).state.materialised is None


def test_rules_that_derive_any_predicate_are_not_forgotten() -> None:
    rules = "[?x, ?q, ?y] :- :sub[?p, ?q], [?x, ?p, ?y] . :sub[:p, :r] ."
    assert select("SELECT * {:a :r ?y}", kb(rules), "magic") == [(B,)]


def test_a_query_needs_only_some_rules() -> None:
    from deltalog.languages.sparql.answer import needed

    rules = kb(":r[?x, ?y] :- :p[?x, ?y] . :s[?x, ?y] :- :r[?x, ?y] . :t[?x, ?y] :- :s[?x, ?y] .").rules
    asking = translate(PREFIX + "SELECT * {?x :s ?y}", {}).rules
    assert set(needed(asking, rules)) == {*rules[:2], *asking}
    anything = translate(PREFIX + "SELECT * {?x ?p ?y}", {}).rules
    assert set(needed(anything, rules)) == {*rules, *anything}


def test_a_path_from_a_constant_derives_only_what_it_needs() -> None:
    knowledge = KnowledgeBase(max_facts=6_000)  # the whole closure has 2,001,000 facts
    knowledge.add("http://e/p", [(IRI(f"http://e/{i}"), IRI(f"http://e/{i + 1}")) for i in range(2_000)])
    knowledge.materialise()
    assert len(select("SELECT * {:1990 :p+ ?y}", knowledge)) == 10
    assert len(select("SELECT * {?x :p* :10}", knowledge)) == 11


def test_predicates_with_bare_names() -> None:
    knowledge = KnowledgeBase("edge(a, b). edge(b, c). person(a).")
    assert sorted(select("SELECT * {?x a <person> ; <edge>+ ?y}", knowledge)) == [("a", "b"), ("a", "c")]
    assert len(select("SELECT * {?x <edge>* ?y}", knowledge)) == 6


def test_prefixes_of_the_program() -> None:
    knowledge = kb()
    assert knowledge.sparql("ASK {:a :p :b}") is True
    assert list(knowledge.sparql("PREFIX : <http://f/> SELECT * {:a :p ?y}")) == []  # type: ignore[arg-type]


def test_columns_are_in_the_order_of_the_text() -> None:
    solutions = kb().sparql(PREFIX + "SELECT * {?zeta :p ?alpha . ?alpha :p ?m}")
    assert isinstance(solutions, Solutions)
    assert solutions.columns == ("zeta", "alpha", "m")
    assert repr(solutions) == "<1 solutions of (zeta, alpha, m)>"


def test_order() -> None:
    values = 'VALUES ?x { 10 9.5 "b" "a" :i UNDEF true }'
    rows = [row[0] for row in select(f"SELECT * {{ {values} }} ORDER BY ?x")]
    assert rows == [None, IRI("http://e/i"), True, Decimal("9.5"), 10, "a", "b"]
    assert [row[0] for row in select(f"SELECT * {{ {values} }} ORDER BY DESC(?x)")] == rows[::-1]
    pairs = select("SELECT * {VALUES (?x ?y) {(1 1) (2 1) (1 2)}} ORDER BY DESC(?y) ?x")
    assert pairs == [(1, 2), (1, 1), (2, 1)]


def test_frames() -> None:
    solutions = kb().sparql(PREFIX + "SELECT * {?x :p ?y OPTIONAL {?y :v ?n}} ORDER BY ?x")
    assert isinstance(solutions, Solutions)
    table = solutions.to_arrow()
    assert table.to_pydict() == {"x": [str(A), str(B)], "y": [str(B), str(C)], "n": [2, None]}
    assert table.schema.field("x").metadata == {b"deltalog:kind": b"iri"}
    assert solutions.to_pandas()["x"].tolist() == [str(A), str(B)]
    assert solutions.to_polars().shape == (2, 3)
    assert list(solutions.lines()) == ["<http://e/a>,<http://e/b>,2", "<http://e/b>,<http://e/c>,"]


REFUSED = {
    "SELECT * {GRAPH ?g {{SELECT ?x {?x :p ?y} LIMIT 1}}}": (
        "a subquery with LIMIT or OFFSET inside of GRAPH with a variable"
    ),
    "SELECT * {?x :p{1,2} ?y}": "a path with a number of repetitions, {n,m},",
    "SELECT * {?x (:p|:q){2} ?y}": "a path with a number of repetitions, {n,m},",
    "SELECT * {SERVICE :s {?x :p ?y}}": "SERVICE",
    "SELECT (:f(?x) AS ?c) {?x :p ?y}": "the function <http://e/f>",
    "SELECT (xsd:time(?x) AS ?c) {?x :p ?y}": "the function <http://www.w3.org/2001/XMLSchema#time>",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused_is_named(query: str) -> None:
    with pytest.raises(UsageError) as error:
        kb().sparql(PREFIX + query)
    assert str(error.value).startswith(f"{REFUSED[query]} in SPARQL is not supported; ")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * {?x :p }", "line 1, column 38 of the query: expected a variable, an IRI"),
        ("SELECT * {?x nope:p ?y}", "line 1, column 35 of the query: the prefix `nope:` is not declared"),
    ],
)
def test_wrong_queries(query: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        kb().sparql(PREFIX + query)
    assert str(error.value).startswith(message)


def test_a_query_is_translated_once() -> None:
    assert translate("SELECT * {?x ?p ?y}", {}) is translate("SELECT * {?x ?p ?y}", {})


def test_a_limit_stops_a_query() -> None:
    from deltalog import LimitReached

    knowledge = KnowledgeBase(max_facts=1_000)
    knowledge.add("http://e/p", [(IRI(f"http://e/{i}"), IRI(f"http://e/{i + 1}")) for i in range(500)])
    with pytest.raises(LimitReached):
        knowledge.sparql(PREFIX + "SELECT * {?x :p+ ?y}")


CLOSURE = ":r[?x, ?y] :- :p[?x, ?y] . :r[?x, ?z] :- :p[?x, ?y], :r[?y, ?z] ."


def long_chain(length: int, **thresholds: Any) -> KnowledgeBase:
    knowledge = KnowledgeBase(PREFIX + CLOSURE, tuning=Tuning(**thresholds))
    knowledge.add("http://e/p", [(IRI(f"http://e/n{i}"), IRI(f"http://e/n{i + 1}")) for i in range(length)])
    return knowledge


def test_solutions_say_how_they_came_about() -> None:
    knowledge = long_chain(30)
    solutions = knowledge.solve(PREFIX + "SELECT ?x {:n20 :r ?x}")
    assert solutions.method in ("magic", "qsqr") and "model predicts" in solutions.reason
    assert solutions.features is not None and solutions.seconds > 0 and len(solutions) == 10
    for method in ("magic", "qsqr", "materialised"):
        asked = knowledge.solve(PREFIX + "ASK {:n20 :r :n25}", method)
        assert asked.ask and asked.method == method and asked.reason == "as requested" and len(asked) == 1
    assert knowledge.solve(PREFIX + "SELECT ?x {:n20 :r ?x}").reason == "already materialised"


def test_a_query_goes_by_the_model() -> None:
    knowledge = long_chain(30, magic_patience_factor=inf)  # nothing is materialised instead
    for tree, rows, method in ((1, None, "magic"), (0, None, "qsqr"), (0, 1.0, "magic")):
        knowledge.training.selector = Model("tree", "tree", {"tree": tree}, rows, "", 0, 0.0)
        solutions = knowledge.solve(PREFIX + "SELECT ?x {:n20 :r ?x}")
        assert (solutions.method, len(solutions)) == (method, 10)


def test_many_queries_of_a_kind_materialise() -> None:
    knowledge = long_chain(30, materialisation_min_rows=0, magic_patience_factor=inf)
    many = Tuning().goals_before_materialising
    methods = [knowledge.solve(PREFIX + f"SELECT ?x {{:n{i % 30} :r ?x}}").method for i in range(many + 5)]
    assert "materialised" not in methods[:many] and methods[-1] == "materialised"


def test_what_is_kept_of_a_query_follows_the_facts() -> None:
    knowledge = long_chain(5)
    query = PREFIX + "SELECT ?x {:n3 :r ?x}"
    assert [len(knowledge.solve(query, method)) for method in ("magic", "qsqr")] == [2, 2]
    knowledge.add("http://e/p", [(IRI("http://e/n5"), IRI("http://e/n6"))])
    assert [len(knowledge.solve(query, method)) for method in ("magic", "qsqr", "auto")] == [3, 3, 3]
    knowledge.materialise()
    knowledge.remove_rules("r2")
    assert [len(knowledge.solve(query, method)) for method in ("magic", "qsqr", "auto")] == [1, 1, 1]


def test_methods_that_are_given_up_in_turn_come_to_an_end() -> None:
    """Over everything that was derived, nothing is given up any more."""
    rules = "[?z, ?z, ?y] :- rdf:type[?z, ?y] .  :E[?z] :- rdf:type[?y, ?z] ."
    facts = "[:a, :s, :a] .  :A[:b] .  rdf:type[:E, :a] .  :r[:A, :b] ."
    knowledge = KnowledgeBase(f"PREFIX : <http://e/>\n{rules}\n{facts}", timeout=60)
    found = knowledge.solve("SELECT ?s ?p ?o { ?s ?p ?o }")
    assert len(found) == len(knowledge.solve("SELECT ?s ?p ?o { ?s ?p ?o }", "qsqr")) == 12
