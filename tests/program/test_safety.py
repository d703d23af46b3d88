"""Which variables have values, and which rules are refused for it."""

from __future__ import annotations

import pytest

from deltalog.core.errors import UnsafeRule
from deltalog.core.rules import Aggregate, Bind, Filter, Variable
from deltalog.languages.deltalog.parser import parse, parse_goal
from deltalog.program import analyse
from deltalog.program.binding import bound, directed

SAFE = [
    "p(a).",
    "p.",
    "p(X) :- q(X).",
    "p(a) :- q(X).",
    "p() :- NOT q(a).",
    "p(Y) :- q(X), BIND(X + 1 AS Y).",
    "p(Y) :- BIND(X + 1 AS Y), q(X).",
    "p(Z) :- BIND(Y + 1 AS Z), Y = X * 2, q(X).",
    "p(Z) :- Y * 2 = Z, X = Y, q(X).",
    "p(X) :- X = 3.",
    "p(X) :- 3 = X.",
    "p(X) :- BIND(3 AS X).",
    "p(X) :- q(X), NOT r(X, Y).",
    "p(X) :- q(X), NOT r(Y, Y), NOT s(Z).",
    "p(X) :- q(X), NOT r(X, _), NOT s(_).",
    "p(X) :- q(Y), X = Y, NOT r(X).",
    "p(N) :- AGGREGATE(q(X) BIND COUNT(X) AS N).",
    "p(X, N) :- AGGREGATE(q(X, Y), Z = Y + 1 ON X BIND SUM(Z) AS N).",
    "p(X, N) :- r(X), AGGREGATE(q(X, Y), NOT s(Y, W) ON X BIND COUNT(*) AS N).",
    "p(M) :- AGGREGATE(q(X) BIND COUNT(X) AS N), M = N + 1.",
    "p(X, Y) :- q(X), NOT r(Y), s(Y).",
    "p(M) :- AGGREGATE(AGGREGATE(q(X, Y) ON X BIND COUNT(Y) AS N) BIND MAX(N) AS M).",
    "p(X) :- q(X), FILTER(X > 1 && X < 3 || X = 7).",
]

UNSAFE = [
    ("p(X).", "X"),
    ("p(X, Y) :- q(X).", "Y"),
    ("p(X) :- NOT q(X).", "X"),
    ("p(X) :- q(Y), X > Y.", "X"),
    ("p(X) :- q(Y), X != Y.", "X"),
    ("p(Y) :- q(X), Y + 1 = X.", "Y"),
    ("p(Y) :- q(X), FILTER(Y = X || X = 2).", "Y"),
    ("p(Y) :- q(X), NOT Y = X.", "Y"),
    ("p(X) :- q(Z), Z = 3, X = X.", "X"),
    ("p(Z) :- q(X), BIND(Y + 1 AS Z), BIND(Z + 1 AS W), W > 3.", "Y"),
    ("p(X) :- BIND(X AS X).", "X"),
    ("p(X) :- q(X), NOT r(X, Y), NOT s(Y).", "Y"),
    ("p(X) :- q(X), NOT r(X, Y), Y > 3.", "Y"),
    ("p(X) :- q(X), NOT r(X, Y), BIND(Y AS Z).", "Y"),
    ("p(X, _) :- q(X).", "_"),
    ("p(_).", "_"),
    ("p(N) :- AGGREGATE(q(X) ON Y BIND COUNT(X) AS N).", "Y"),
    ("p(N) :- AGGREGATE(q(X) BIND SUM(Y) AS N).", "Y"),
    ("p(N, X) :- AGGREGATE(q(X) BIND SUM(X) AS N).", "X"),
    ("p(N) :- r(Y), AGGREGATE(q(X), X > Y BIND SUM(X) AS N).", "Y"),
    ("p(N) :- AGGREGATE(NOT q(X) BIND COUNT(X) AS N).", "X"),
    ("p(X) :- AGGREGATE(q(X) BIND COUNT(X) AS X).", "X"),
    ("p(N) :- AGGREGATE(q(X) BIND COUNT(X) AS N BIND SUM(X) AS N).", "N"),
]


@pytest.mark.parametrize("text", SAFE)
def test_safe(text: str) -> None:
    analyse(parse(text))


@pytest.mark.parametrize(("text", "variable"), UNSAFE)
def test_unsafe(text: str, variable: str) -> None:
    with pytest.raises(UnsafeRule) as caught:
        analyse(parse(text))
    for diagnostic in caught.value.diagnostics:
        span = diagnostic.span
        assert span is not None and text[span.start : span.end] == variable


def test_each_variable_is_reported_once_in_the_order_of_the_text() -> None:
    text = "p(A, B) :- q(C), D > A, NOT r(B, E), NOT s(E).\nr(F)."
    with pytest.raises(UnsafeRule) as caught:
        analyse(parse(text))
    spans = [diagnostic.span for diagnostic in caught.value.diagnostics]
    assert [text[span.start : span.end] for span in spans if span] == ["A", "B", "D", "E", "F"]


def test_bound() -> None:
    names = {v.name for v in bound(parse_goal("q(X), Y = X, Z > Y, NOT r(W), BIND(Z AS V)"))}
    assert names == {"X", "Y"}


def test_equalities_that_give_values_become_binds() -> None:
    body = directed(parse_goal("q(X), Z = Y + 1, X * 2 = Y, Z = X, 1 = 1"))
    assert [type(literal) for literal in body[1:]] == [Filter, Bind, Bind, Filter] or [
        type(literal) for literal in body[1:]
    ] == [Bind, Bind, Filter, Filter]
    assert {literal.variable.name for literal in body if isinstance(literal, Bind)} == {"Y", "Z"}


def test_an_equality_does_not_bind_what_a_bind_does() -> None:
    body = directed(parse_goal("X = 1.0, BIND(1 AS X)"))
    assert isinstance(body[0], Filter) and isinstance(body[1], Bind)


def test_equalities_inside_of_aggregates() -> None:
    (aggregate,) = directed(parse_goal("AGGREGATE(q(X), Y = X + 1 BIND SUM(Y) AS N)"))
    assert isinstance(aggregate, Aggregate)
    bind = aggregate.body[1]
    assert isinstance(bind, Bind) and bind.variable == Variable("Y")


def test_the_program_keeps_rules_as_written() -> None:
    rules = parse("p(X) :- X = 3.")
    program = analyse(rules)
    assert program.rules == tuple(rules)
    assert isinstance(program.hyper_nodes[0].rules[0].body[0], Bind)
