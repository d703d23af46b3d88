"""Limits of queries: whatever loops over rows checks them.

A query over a product of some ten thousand rows is profiled: between two checks, not more calls may happen than a part
of the rows needs. So a loop without a check is found without a query that takes long, and without a clock.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from itertools import count
from types import FrameType
from typing import Any

import pytest

from deltalog import KnowledgeBase, LimitReached
from deltalog.core.limits import checked_sort

SIDE = 100  # of the product, which has 10,000 rows
MOST_CALLS = 9_500  # between two checks: less than one per row
PRODUCT = "?a <link> ?b . ?d <link> ?e"
AGGREGATES = {
    name: f"SELECT ({call} AS ?n) {{ {PRODUCT} BIND({value} AS ?v) }}"
    for name, call, value in (
        ("group_concat", "GROUP_CONCAT(?v)", "CONCAT(STR(?a), STR(?d))"),
        ("group_concat distinct", "GROUP_CONCAT(DISTINCT ?v)", "CONCAT(STR(?a), STR(?d))"),
        ("count distinct", "COUNT(DISTINCT ?v)", "CONCAT(STR(?a), STR(?d))"),
        ("sample", "SAMPLE(?v)", "CONCAT(STR(?a), STR(?d))"),
        ("min", "MIN(?v)", "CONCAT(STR(?a), STR(?d))"),
        ("max", "MAX(?v)", "CONCAT(STR(?a), STR(?d))"),
        ("sum of decimals", "SUM(?v)", "?b + ?e / 7.0"),
        ("avg of doubles", "AVG(?v)", "?b + ?e / 7e0"),
    )
}
EXPRESSIONS = {
    expression: f"SELECT ({expression} AS ?n) {{ {PRODUCT} }}"
    for expression in (
        "CONCAT(STR(?a), STR(?d))",
        "REPLACE(CONCAT(STR(?a), STR(?d)), 'n', 'm')",
        "REGEX(CONCAT(STR(?a), STR(?d)), '(1|2)+$')",
        "SHA256(CONCAT(STR(?a), STR(?d)))",
        "ENCODE_FOR_URI(CONCAT(STR(?a), STR(?d)))",
        "xsd:decimal(?b) * ?e",
        "IF(?b < ?e, STR(?a), STR(?d))",
        "COALESCE(?b / 0, ?b / (?e + 1.5))",
        "IRI(CONCAT(STR(?a), STR(?d)))",
        "STRDT(STR(?b * ?e), xsd:integer)",
    )
}
PATTERNS = {
    "order": f"SELECT * {{ {PRODUCT} }} ORDER BY DESC(?b) ?e",
    "order and limit": f"SELECT * {{ {PRODUCT} }} ORDER BY ?e DESC(?b) LIMIT 3",
    "distinct and order": f"SELECT DISTINCT ?a ?d {{ {PRODUCT} }} ORDER BY ?b ?e",
    "offset": f"SELECT * {{ {PRODUCT} }} OFFSET 9990",
    "union": f"SELECT * {{ {{ {PRODUCT} }} UNION {{ ?a <link> ?e . ?d <link> ?b }} }}",
    "optional": f"SELECT * {{ {PRODUCT} OPTIONAL {{ ?b <link> ?none }} }}",
    "minus": f"SELECT * {{ {PRODUCT} MINUS {{ ?b <link> ?d }} }}",
    "subquery": f"SELECT * {{ {{ SELECT * {{ {PRODUCT} }} ORDER BY ?b LIMIT 9900 }} }}",
    "path": "SELECT * { ?x <next>+ ?y }",
    "path of zero or more": "SELECT * { ?x <next>* ?y FILTER(STRLEN(STR(?x)) > 1) }",
    "groups": f"SELECT ?b (GROUP_CONCAT(STR(?e)) AS ?n) {{ {PRODUCT} }} GROUP BY ?b HAVING(COUNT(*) > 1)",
    "construct": f"CONSTRUCT {{ ?a <pair> ?d }} {{ {PRODUCT} }}",
    "rand": f"SELECT (RAND() AS ?r) {{ {PRODUCT} }}",
}
QUERIES = {**AGGREGATES, **EXPRESSIONS, **PATTERNS}
GOALS = {
    name: f"AGGREGATE(link(?a, ?b), link(?d, ?e), BIND({value} AS ?v) BIND {call}(?v) AS ?n)"
    for name, call, value in (
        ("min", "MIN", "CONCAT(?a, ?d)"),
        ("max", "MAX", "CONCAT(?a, ?d)"),
        ("sum", "SUM", "?b * 1000 + ?e + 0.5"),
        ("avg", "AVG", "?b * 1000 + ?e + 0.5"),
        ("med", "MED", "POW(?b, 2) / (?e + 0.5)"),
    )
}
PREFIX = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"


def product_of_links(**options: Any) -> KnowledgeBase:
    kb = KnowledgeBase(threads=1, **options)
    kb.add("link", [(f"n{i}", i) for i in range(SIDE)])
    kb.add("next", [(i, i + 1) for i in range(SIDE)])
    return kb


class Checks:
    """A clock that counts how often it is read, and the most calls between two readings."""

    def __init__(self) -> None:
        self.readings = self.calls = self.most = 0
        self.where = ""

    def __call__(self) -> float:
        self.readings, self.calls = self.readings + 1, 0
        return 0.0

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "c_call"):
            self.calls += 1
            if self.calls > self.most:
                self.most = self.calls
                if self.calls == MOST_CALLS:
                    self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"


def profiled(kb: KnowledgeBase, work: Any) -> Checks:
    """The checks of some work, which has a limit that is not reached."""
    kb.limits.timeout = None
    work(kb)  # imports and plans
    checks = Checks()
    kb.limits.timeout, kb.limits.clock = 1.0, checks
    with kb.limits.running("query"):
        sys.setprofile(checks.profile)
        try:
            work(kb)
        finally:
            sys.setprofile(None)
    return checks


@pytest.fixture(scope="module")
def links() -> KnowledgeBase:
    return product_of_links()


def answered(query: str, format: str) -> Any:
    return lambda kb: kb.solve(PREFIX + query).serialize(format)


@pytest.mark.parametrize("name", QUERIES)
def test_every_loop_of_a_query_is_checked(name: str, links: KnowledgeBase) -> None:
    checks = profiled(links, answered(QUERIES[name], "ttl" if name == "construct" else "csv"))
    assert checks.most < MOST_CALLS, checks.where


@pytest.mark.parametrize("name", GOALS)
def test_every_loop_of_a_goal_is_checked(name: str, links: KnowledgeBase) -> None:
    checks = profiled(links, lambda kb: list(kb.query(GOALS[name])))
    assert checks.most < MOST_CALLS, checks.where


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv", "jsonl", "table"])
def test_every_loop_of_a_writer_is_checked(format: str, links: KnowledgeBase) -> None:
    checks = profiled(links, answered(f"SELECT * {{ {PRODUCT} }} ORDER BY ?b", format))
    assert checks.most < MOST_CALLS, checks.where


@pytest.mark.parametrize("name", [*QUERIES, *GOALS])
def test_a_query_ends_at_its_limit(name: str, links: KnowledgeBase) -> None:
    """At half of the checks that it makes in all."""
    goal = GOALS.get(name, "")
    work = answered(QUERIES[name], "csv") if name in QUERIES else lambda kb: list(kb.query(goal))
    checks = profiled(links, work)
    numbers = count()
    links.limits.clock, links.limits.timeout = lambda: float(next(numbers)), checks.readings / 2
    with pytest.raises(LimitReached, match="the time limit"), links.limits.running("query"):
        work(links)


def test_memory_is_that_of_the_query() -> None:
    """What the process held before does not count."""
    kb = product_of_links(memory=1_000)
    readings, held = count(), 10**9
    kb.limits.clock = lambda: float(next(readings))
    kb.limits.resident = lambda: held
    work = answered(AGGREGATES["group_concat"], "csv")
    work(kb)
    grown = count(held, 100)
    kb.limits.resident = lambda: next(grown)
    with pytest.raises(LimitReached, match="the memory limit"):
        work(kb)


def test_memory_of_the_process() -> None:
    """Where a program is all that a process does, all of its memory counts."""
    kb = product_of_links(memory=1_000)
    kb.limits.held, kb.limits.resident = 0, lambda: 1_001
    with pytest.raises(LimitReached, match="the memory limit"):
        kb.query("link(?a, ?b), link(?d, ?e)")


def test_sort_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltalog.core.limits.UNCHECKED_SORT", 7)
    rows = [(i * 7919 % 101 % 10, i) for i in range(100)]
    for reverse in (False, True):
        assert checked_sort(rows, lambda row: row[0], reverse) == sorted(rows, key=lambda row: row[0], reverse=reverse)
    assert checked_sort([], str) == []


SQUARES = " ".join(f"BIND(?n{i} * ?n{i} AS ?n{i + 1})" for i in range(64))


def solution(query: str) -> dict[str, Any]:
    """The only solution of a query; variables without a value are missing."""
    found = KnowledgeBase().sparql(query)
    (row,) = found
    return {name: value for name, value in zip(found.columns, row, strict=True) if value is not None}


def test_integers_have_a_greatest_size() -> None:
    """65,536 bits: repeated squares fail instead of holding the interpreter for ever."""
    found = solution(f"SELECT * {{ BIND(2 AS ?n0) {SQUARES} }}")
    assert found == {f"n{i}": 2**2**i for i in range(16)}
    bound = {"?n15 * (?n15 - 1)": True, "?n15 * ?n15": False, "-?n15 * ?n15": False, "?n15 * (?n15 - 1) * 2": False}
    for expression, is_bound in bound.items():
        query = f"SELECT (BOUND(?x) AS ?y) {{ BIND(2 AS ?n0) {SQUARES} BIND({expression} AS ?x) }}"
        assert solution(query) == {"y": is_bound}, expression


@pytest.mark.parametrize("first", ["0.1", "10.0"])
def test_decimals_have_a_greatest_size(first: str) -> None:
    """4,000 digits before and after the point."""
    found = solution(f"SELECT * {{ BIND({first} AS ?n0) {SQUARES} }}")
    assert found == {f"n{i}": Decimal(first) ** 2**i for i in range(12)}


def test_a_change_of_many_predicates_is_checked() -> None:
    kb, readings = KnowledgeBase(timeout=1.0, threads=1), count()
    kb.materialise()
    kb.limits.clock = lambda: 0.0 * next(readings)
    kb.update(add={f"p{i}": [(i,)] for i in range(20_000)})
    assert next(readings) >= 300


def test_hundreds_of_optional_patterns() -> None:
    """The number of possible answers is beyond any float."""
    kb = KnowledgeBase()
    kb.add("next", [(i, i + 1) for i in range(1_000)])
    optional = " ".join(f"OPTIONAL {{ ?x <next> ?y{i} }}" for i in range(110))
    assert len(kb.sparql(f"SELECT * {{ ?x <next> 1 {optional} }}")) == 1
