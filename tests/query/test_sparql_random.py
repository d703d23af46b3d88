"""Random queries over random graphs have the solutions that Oxigraph finds, as bags, by every method."""

from __future__ import annotations

from random import Random

import pytest
from sparql_oracle import PREFIX, TYPED, RandomQuery, Twins, random_expression, random_graph, random_values

CASES, AT_ONCE = 400, 20
METHODS = ("magic", "qsqr", "materialised")


@pytest.mark.parametrize("start", range(0, CASES, AT_ONCE))
def test_random_queries(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        random = Random(seed)
        twins = Twins(random_graph(random))
        query = RandomQuery(random).text()
        for method in METHODS:
            twins.check(query, method)


@pytest.mark.parametrize("start", range(0, CASES // 4, AT_ONCE))
def test_random_queries_over_values_of_all_datatypes(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        random = Random(seed)
        twins = Twins(random_graph(random, TYPED))
        query = RandomQuery(random, typed=True).text()
        for method in METHODS:
            twins.check(query, method)


@pytest.mark.parametrize("engine", ["naive", "local"])
def test_random_values_compare_and_cast_as_oxigraph_says(engine: str) -> None:
    for seed in range(40):
        random = Random(seed)
        graph, query = random_values(random)
        Twins(graph, engine).check(query, random.choice(METHODS) if engine == "local" else "auto")


@pytest.mark.parametrize("start", range(0, CASES // 4, AT_ONCE))
def test_random_queries_over_what_rules_derive(start: int) -> None:
    """In any order of the methods, and before and after a materialisation."""
    for seed in range(start, start + AT_ONCE):
        random = Random(seed)
        typed = random.random() < 0.5
        twins = Twins(random_graph(random, TYPED) if typed else random_graph(random), rules=True)
        query = RandomQuery(random, typed, rules=True).text()
        for method in random.sample(METHODS, 3):
            twins.check(query, method)
        twins.check(query)


@pytest.mark.parametrize("start", range(0, CASES // 4, AT_ONCE))
def test_random_triples(start: int) -> None:
    """CONSTRUCT and DESCRIBE."""
    for seed in range(start, start + AT_ONCE):
        random = Random(seed)
        twins = Twins(random_graph(random), engine="naive" if seed % 5 == 0 else "local")
        twins.check(RandomQuery(random).about_triples(), "auto" if seed % 5 == 0 else random.choice(METHODS))


def test_random_expressions_of_all_functions() -> None:
    twins = {engine: Twins(":a :p :b", engine) for engine in ("naive", "local")}
    for seed in range(150):
        random = Random(seed)
        expressions = [random_expression(random, 2 + seed % 2) for _ in range(8)]
        selected = " ".join(f"({expression} AS ?v{i})" for i, expression in enumerate(expressions))
        twins["naive" if seed % 3 else "local"].check(f"SELECT {selected} {{}}")


@pytest.mark.parametrize("start", range(0, CASES // 2, AT_ONCE))
def test_random_groups_of_exists(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        random = Random(seed)
        twins = Twins(random_graph(random), engine="naive" if seed % 4 == 0 else "local")
        twins.check(RandomQuery(random).about_exists(), "auto" if seed % 4 == 0 else random.choice(METHODS))


def test_random_queries_naively() -> None:
    for seed in range(CASES, CASES + 40):
        random = Random(seed)
        typed = seed % 2 == 0
        twins = Twins(random_graph(random, TYPED) if typed else random_graph(random), engine="naive")
        twins.check(RandomQuery(random, typed).text())


def test_random_subqueries_with_a_limit_in_exists() -> None:
    """They are as if they were asked for each value of the outside."""
    for seed in range(60):
        random = Random(seed)
        graph, (subquery, after) = random_graph(random), RandomQuery(random).limited()
        kb = Twins(graph, "naive" if seed % 4 == 0 else "local").kb
        query = f"SELECT DISTINCT ?x {{ ?x ?a ?b FILTER EXISTS {{ {{ {subquery % ''} }} {after} }} }}"
        found = kb.solve(PREFIX + query, "auto" if seed % 4 == 0 else random.choice(METHODS))
        given = [x for (x,) in kb.solve(PREFIX + "SELECT DISTINCT ?x { ?x ?a ?b }")]
        asks = {x: f"ASK {{ {{ {subquery % f'VALUES ?x {{ <{x}> }}'} }} {after} }}" for x in given}
        assert {x for (x,) in found} == {x for x, ask in asks.items() if kb.sparql(PREFIX + ask)}, query
