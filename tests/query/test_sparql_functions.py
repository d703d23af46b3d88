"""Functions with a new value for each solution, exact decimals, regular expressions, and aggregates of SPARQL 1.1."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from deltalog import IRI, BlankNode, KnowledgeBase, Literal
from deltalog.core.terms import XSD, Value
from deltalog.functions.regular_expressions import WrongPattern, compiled, replaced
from deltalog.languages.sparql.solutions import SolutionRow, Solutions

WAYS = (("local", "auto"), ("local", "magic"), ("local", "qsqr"), ("local", "materialised"), ("naive", "auto"))
E = "http://e/"


def solved(query: str, way: tuple[str, str] = WAYS[0]) -> list[SolutionRow]:
    kb = KnowledgeBase(f"@prefix : <{E}> .", engine=way[0])
    kb.add(E + "p", [(IRI(f"{E}{name}"), number) for name in "abc" for number in (1, 2)])
    found = kb.sparql(query, way[1])
    assert isinstance(found, Solutions)
    return list(found)


def value(expression: str) -> Value | None:
    ((found,),) = solved(f"SELECT ({expression} AS ?v) {{}}")
    return found


def column(query: str, way: tuple[str, str]) -> list[Value | None]:
    return [row[0] for row in solved(query, way)]


# Functions with a new value each time.


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", ["RAND()", "UUID()", "STRUUID()", "BNODE()"])
def test_there_is_a_new_value_for_each_solution_call_and_execution(function: str, way: tuple[str, str]) -> None:
    query = f"SELECT ({function} AS ?v) ({function} AS ?w) {{ ?x :p ?y }}"
    values = [v for _ in range(2) for row in solved(query, way) for v in row]
    assert len(set(map(str, values))) == 24


@pytest.mark.parametrize("way", WAYS)
def test_a_value_stays_the_same_within_a_solution(way: tuple[str, str]) -> None:
    query = "SELECT ?v ?w { ?x :p 1 BIND(RAND() AS ?v) BIND(?v AS ?w) { ?x :p 2 } } ORDER BY ?v"
    rows = solved(query, way)
    assert len(rows) == 3 and all(v == w for v, w in rows)
    assert rows == sorted(rows)


@pytest.mark.parametrize("way", WAYS)
def test_bnode_of_a_label_is_the_same_in_a_solution_and_another_in_the_next(way: tuple[str, str]) -> None:
    query = "SELECT (BNODE('l') AS ?a) (BNODE('l') AS ?b) (BNODE('m') AS ?c) { ?x :p 1 BIND(BNODE('l') AS ?d) }"
    rows = solved(query, way)
    assert len(rows) == 3 and all(a == b != c for a, b, c in rows)
    assert len({a for a, _, _ in rows}) == 3
    assert all(isinstance(a, BlankNode) for a, _, _ in rows)


@pytest.mark.parametrize("way", WAYS)
def test_now_is_one_time_for_the_query(way: tuple[str, str]) -> None:
    times = column("SELECT ?t { ?x :p ?y BIND(NOW() AS ?t) FILTER(NOW() = ?t) }", way)
    assert len(times) == 6 and len(set(times)) == 1
    (time,) = set(times)
    assert isinstance(time, datetime) and abs((datetime.now(UTC) - time).total_seconds()) < 60


def test_random_numbers_are_spread_and_filter() -> None:
    numbers = [
        float(str(v)) for v in column("SELECT ?r { ?x :p ?y . ?a :p ?b . ?c :p ?d BIND(RAND() AS ?r) }", WAYS[0])
    ]
    assert len(numbers) == 216 and all(0 <= n < 1 for n in numbers)
    assert 0.35 < sum(numbers) / 216 < 0.65
    assert 40 < len(solved("SELECT * { ?x :p ?y . ?a :p ?b . ?c :p ?d FILTER(RAND() < 0.5) }")) < 180


def test_uuids_are_of_version_4() -> None:
    uuid, text = value("UUID()"), value("STRUUID()")
    assert isinstance(uuid, IRI) and uuid.startswith("urn:uuid:") and uuid[23] == "4"
    assert isinstance(text, str) and len(text) == 36 and text[14] == "4"


def test_a_word_in_a_text_or_a_name_is_no_call() -> None:
    assert value("'RAND()'") == "RAND()"
    assert solved("SELECT ?now { VALUES ?now { 1 } }") == [(1,)]


# Numbers.


def decimal(text: str) -> Decimal:
    return Decimal(text)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0.1 + 0.2", decimal("0.3")),
        (
            "123456789012345678901234567890.1 + 0.00000000000000000001",
            decimal("123456789012345678901234567890.10000000000000000001"),
        ),
        ("1.0 * 3", decimal("3")),
        ("1 / 8", decimal("0.125")),
        ("1 / 0", None),
        ("1e0 / 0", float("inf")),
        ("-(99999999999999999999999999999999.5)", decimal("-99999999999999999999999999999999.5")),
        ("ROUND(12345678901234567890123456789012.5)", decimal("12345678901234567890123456789013")),
        ("ABS(-0.10000000000000000000000000000000001)", decimal("0.10000000000000000000000000000000001")),
        ("0.1 + 1", decimal("1.1")),
        ("0.1 + 1e0", 1.1),
        ("'0.1'^^xsd:float + 1", Literal("1.1", XSD + "float")),
    ],
)
def test_numbers(expression: str, expected: Value | None) -> None:
    assert value(expression) == expected


def test_sums_of_decimals_are_exact() -> None:
    assert value("?s") is None
    ((total, mean),) = solved("SELECT (SUM(?d) AS ?s) (AVG(?d) AS ?a) { VALUES ?d { 0.1 0.2 0.3 } }")
    assert (total, mean) == (decimal("0.6"), decimal("0.2"))


# Texts and dates.


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ENCODE_FOR_URI('a b/é~-_.')", "a%20b%2F%C3%A9~-_."),
        ("ENCODE_FOR_URI('x'@en)", "x"),
        ("ENCODE_FOR_URI(1)", None),
        ("MD5('abc')", "900150983cd24fb0d6963f7d28e17f72"),
        ("SHA1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("SHA256('')", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("STRLEN(SHA384('é'))", 96),
        ("STRLEN(SHA512('é'))", 128),
        ("MD5('abc'@en)", None),
        ("MD5(1)", None),
        ("SECONDS('2011-01-10T14:45:13.815-05:00'^^xsd:dateTime)", decimal("13.815")),
        ("SECONDS('2011-01-10'^^xsd:date)", None),
        ("TZ('2011-01-10T14:45:13.815-05:00'^^xsd:dateTime)", "-05:00"),
        ("TZ('2011-01-10T14:45:13Z'^^xsd:dateTime)", "Z"),
        ("TZ('2011-01-10T14:45:13+00:00'^^xsd:dateTime)", "+00:00"),
        ("TZ('2011-01-10T14:45:13'^^xsd:dateTime)", ""),
        ("TZ('x')", None),
        ("TIMEZONE('2011-01-10T14:45:13-05:30'^^xsd:dateTime)", Literal("-PT5H30M", XSD + "dayTimeDuration")),
        ("TIMEZONE('2011-01-10T14:45:13Z'^^xsd:dateTime)", Literal("PT0S", XSD + "dayTimeDuration")),
        ("TIMEZONE('2011-01-10T14:45:13'^^xsd:dateTime)", None),
        ("REPLACE('abcd', 'b', 'Z')", "aZcd"),
        ("REPLACE('abab', 'B', 'Z', 'i')", "aZaZ"),
        ("REPLACE('abab', '(a)(b)', '$2$1')", "baba"),
        ("REPLACE('ab'@en, 'a', '\\\\$')", Literal("$b", language="en")),
        ("REPLACE('ab', 'x*', 'y')", None),
        ("REPLACE('ab', 'a', '$')", None),
        ("REGEX('a\\nb', 'a.b')", False),
        ("REGEX('a\\nb', 'a.b', 's')", True),
        ("REGEX('a\\n', 'a$')", False),
        ("REGEX('a+b', 'a+b', 'q')", True),
        ("REGEX('ab', '(?i)AB')", None),
    ],
)
def test_texts_and_times(expression: str, expected: Value | None) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("pattern", "flags", "matching", "others"),
    [
        (r"^\p{Lu}\p{Ll}+$", "", "Éclair", "éclair"),
        (r"^\P{L}+$", "", "123", "12a"),
        (r"^[a-z-[aeiou]]+$", "", "xyz", "xaz"),
        (r"^[^a-z-[0-9]]+$", "", "ABC", "AB1"),
        (r"^\i\c*$", "", "a-1", "1a"),
        (r"^[\i-[:]][\c-[:]]*$", "", "a-1", "a:1"),
        (r"^\I$", "", "1", "a"),
        (r"^[\S]+$", "", "a_b", "a b"),
        (r"^[\D]$", "", "a", "1"),
        (r"^a  b$", "x", "ab", "a  b"),
        (r"^[ ]$", "x", " ", "x"),
        (r"^(a)\1$", "", "aa", "ab"),
        (r"^b$", "m", "a\nb", "a b"),
        (r"^a{2,3}?$", "", "aaa", "a"),
        (r"^\^\$\.\-$", "", "^$.-", "x"),
        (r"^[\]\[a-]+$", "", "[]-a", "b"),
        (r"^[+--]+$", "", "+,-", "a"),
        (r"^(?:ab)+$", "", "abab", "aba"),
    ],
)
def test_patterns_of_xpath(pattern: str, flags: str, matching: str, others: str) -> None:
    assert compiled(pattern, flags).is_in(matching)
    assert not compiled(pattern, flags).is_in(others)


@pytest.mark.parametrize(
    "pattern",
    (
        *(
            r"(?=a)",
            r"(?P<n>a)",
            r"\b",
            r"\Aa",
            "a*+",
            "a**",
            "*a",
            "a{,2}",
            "{",
            "a]",
            "}",
            "[a",
            "[]",
            "(a",
            r"\p{Xx}",
        ),
        *(r"\p", "[a-[b]c]", "[[a]", "a\\", "[z-a]", r"\2(a)", "a{2", "|*"),
    ),
)
def test_what_is_no_pattern_of_xpath(pattern: str) -> None:
    with pytest.raises(WrongPattern):
        compiled(pattern)


def test_replacements() -> None:
    assert replaced("abc", "(b)", "[$0$1$12]") == "a[bbb2]c"
    assert replaced("abc", "(x)|b", "<$1>") == "a<>c"
    assert replaced("a.c", ".", r"$1\\", "q") == r"a$1\\c"
    for wrong in ("$", "\\a", "$x", "a\\"):
        with pytest.raises(WrongPattern):
            replaced("abc", "b", wrong)


# Aggregates.


@pytest.mark.parametrize("way", WAYS)
def test_group_concat(way: tuple[str, str]) -> None:
    def one(aggregate: str, pattern: str = "{ ?x :p ?y }") -> Value | None:
        return column(f"SELECT ({aggregate} AS ?v) {pattern}", way)[0]

    assert one("GROUP_CONCAT(?y)") == "1 1 1 2 2 2"
    assert one("GROUP_CONCAT(DISTINCT ?y; SEPARATOR = ', ')") == "1, 2"
    assert one("GROUP_CONCAT(DISTINCT ?x; separator='')") == f"{E}a{E}b{E}c"
    assert one("CONCAT('<', GROUP_CONCAT(?y; SEPARATOR=''), '>')") == "<111222>"
    assert one("GROUP_CONCAT(?y)", "{ ?x :none ?y }") == ""
    assert one("GROUP_CONCAT(?z)") is None  # an error for each solution
    query = "SELECT ?x (GROUP_CONCAT(?y) AS ?v) { ?x :p ?y } GROUP BY ?x HAVING (GROUP_CONCAT(?y) = '1 2') ORDER BY ?x"
    assert solved(query, way) == [(IRI(E + name), "1 2") for name in "abc"]


@pytest.mark.parametrize("way", WAYS)
def test_count_of_distinct_solutions(way: tuple[str, str]) -> None:
    assert solved("SELECT (COUNT(DISTINCT *) AS ?n) (COUNT(*) AS ?m) { { ?x :p ?y } UNION { ?x :p ?y } }", way) == [
        (6, 12)
    ]
    query = "SELECT ?y (COUNT(DISTINCT *) AS ?n) { ?x :p ?y OPTIONAL { ?x :q ?z } } GROUP BY ?y ORDER BY ?y"
    assert solved(query, way) == [(1, 3), (2, 3)]
    assert solved("SELECT (COUNT(DISTINCT *) AS ?n) {}", way) == [(1,)]
    assert solved("SELECT (COUNT(DISTINCT *) AS ?n) { :a :none 1 }", way) == [(0,)]
