"""SPARQL on the Spark engine: the rules of a query are rules like any other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "query"))  # for what the tests of SPARQL share
from sparql_oracle import Twins

GRAPH = ':a :p :b . :b :p :c . :c :p :a . :a :q 1, 2, "x" . :b :q 2.5 . :a a :C'
QUERIES = (
    "SELECT * {?x :p ?y OPTIONAL {?y :q ?v FILTER(?v > 1)}}",
    "SELECT ?x {{?x :p ?y} UNION {?x :q ?z} MINUS {?x a :C}}",
    "SELECT ?x (COUNT(*) AS ?n) (SUM(?v) AS ?s) {?x :q ?v} GROUP BY ?x",
    "SELECT (SUM(?v) AS ?s) (MIN(?v) AS ?m) (COUNT(?v) AS ?n) {?x :nope ?v}",
    "SELECT * {:a :p+ ?y BIND(STR(?y) AS ?s)}",
    "SELECT * {:a ?p ?y} ORDER BY ?y",
    "SELECT * {VALUES (?x ?y) {(:a UNDEF) (UNDEF :b)} ?x :p* ?y}",
    "ASK {?x :q ?v FILTER(?v / 2 > 1)}",
    "CONSTRUCT {?y :r ?x . _:b :s ?v} {?x :p ?y OPTIONAL {?x :q ?v}}",
    "DESCRIBE ?x {?x a :C}",
    "SELECT ?x (COUNT(DISTINCT *) AS ?n) (SHA1(GROUP_CONCAT(DISTINCT STR(?t))) AS ?g) {?x a ?t} GROUP BY ?x",
)


@pytest.mark.parametrize(("method", "queries"), [("magic", QUERIES[4:6]), ("materialised", QUERIES)])
def test_as_oxigraph_says(spark: Any, method: str, queries: tuple[str, ...]) -> None:
    twins = Twins(GRAPH, "spark")
    for query in queries:
        twins.check(query, method)


def test_in_frames(everything_far: None) -> None:
    twins = Twins(GRAPH, "spark")
    for query in QUERIES[1:3]:
        twins.check(query, "materialised")


def test_sequences_and_frames(spark: Any) -> None:
    kb = Twins(GRAPH, "spark").kb
    solutions = kb.sparql("PREFIX : <http://e/> SELECT ?v {:a :q ?v FILTER(isNumeric(?v))} ORDER BY DESC(?v) LIMIT 1")
    assert not isinstance(solutions, bool)
    assert solutions.to_spark(spark).collect() == [(2,)]


def test_new_values_for_each_solution(everything_far: None) -> None:
    kb = Twins(GRAPH, "spark").kb
    rows = kb.solve("PREFIX : <http://e/> SELECT (BNODE('l') AS ?a) (BNODE('l') AS ?b) (RAND() AS ?r) {?x :p ?y}").rows
    assert len({r for _, _, r in rows}) == len({a for a, _, _ in rows}) == 3
    assert all(a == b for a, b, _ in rows)
