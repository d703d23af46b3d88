"""The meaning of expressions: `deltalog.functions.scalar` is the reference that every engine follows."""

from __future__ import annotations

import hashlib
import itertools
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltalog.core.rules import Call, Constant, Variable
from deltalog.core.terms import IRI, XSD, BlankNode, Literal, Value, key, literal
from deltalog.functions.order import order
from deltalog.functions.scalar import ExpressionFails, aggregate, compiled, evaluate, holds

FAILS = "fails"
MOST, LEAST = 2**63 - 1, -(2**63)
BROKEN = Call("/", (Constant(1), Constant(0)))
DECIMAL = Decimal("2.5")
LONG = Decimal("1" + "0" * 3999)
XSD_INT = Literal("7", XSD + "int")
ENGLISH = Literal("Hello", language="en")
NOON = datetime(2024, 5, 1, 12, 0)
NOON_UTC = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
NAN, INF = math.nan, math.inf
Example = tuple[str, tuple[Value | Call, ...], Value]


def call(function: str, *arguments: Value | Call) -> Call:
    return Call(function, tuple(a if isinstance(a, Call) else Constant(a) for a in arguments))


def outcome(function: str, *arguments: Value | Call) -> object:
    try:
        return key(evaluate(call(function, *arguments), {}))
    except ExpressionFails:
        return FAILS


def expected(value: Value) -> object:
    return FAILS if isinstance(value, str) and value is FAILS else key(value)


ARITHMETIC: list[Example] = [
    ("+", (2, 3), 5),
    ("+", (2, 3.0), 5.0),
    ("+", (2, DECIMAL), Decimal("4.5")),
    ("+", (2.0, DECIMAL), 4.5),
    ("+", (Decimal("0.1"), Decimal("0.2")), Decimal("0.3")),
    ("+", (Literal("2.50", XSD + "decimal"), MOST), Decimal("9223372036854775809.5")),
    ("-", (DECIMAL,), Decimal("-2.5")),
    ("-", (DECIMAL, Decimal("0.50")), Decimal(2)),
    ("*", (DECIMAL, DECIMAL), Decimal("6.25")),
    ("*", (DECIMAL, LONG), Decimal("2.5e3999")),
    ("*", (LONG, LONG), FAILS),
    ("/", (Decimal(1), Decimal(3)), Decimal("0." + "3" * 28)),
    ("/", (DECIMAL, 2), Decimal("1.25")),
    ("/", (1, DECIMAL), Decimal("0.4")),
    ("/", (DECIMAL, 2.0), 1.25),
    ("/", (DECIMAL, 0), FAILS),
    ("/", (Decimal(0), Decimal(0)), FAILS),
    ("%", (Decimal("-2.5"), 2), Decimal("1.5")),
    ("%", (DECIMAL, Decimal(-2)), Decimal("-1.5")),
    ("%", (DECIMAL, Decimal(0)), FAILS),
    ("abs", (Decimal("-2.5"),), DECIMAL),
    ("ceil", (DECIMAL,), Decimal(3)),
    ("floor", (Decimal("-2.5"),), Decimal(-3)),
    ("round", (Decimal("-2.5"),), Decimal(-3)),
    ("round", (Decimal("2.4999999999999999999999"),), Decimal(2)),
    ("min", (DECIMAL, 2.5, 3), DECIMAL),
    ("max", (DECIMAL, 2, 2.5), DECIMAL),
    ("min", (Decimal(2), 2), 2),
    ("pow", (DECIMAL, 2), Decimal("6.25")),
    ("pow", (DECIMAL, -1), 0.4),
    ("pow", (LONG, 5), FAILS),
    ("sqrt", (Decimal("6.25"),), 2.5),
    ("div", (DECIMAL, 2), FAILS),
    ("strlen", (DECIMAL,), FAILS),
    ("str", (Decimal("1e2"),), "100"),
    ("date_add", (date(2024, 2, 28), 2), date(2024, 3, 1)),
    ("date_add", (NOON_UTC, -1), NOON_UTC - timedelta(1)),
    ("date_add", (Literal("-0001-12-31+02:00", XSD + "date"), 1), Literal("0000-01-01+02:00", XSD + "date")),
    ("date_add", (date(2024, 2, 28), 2.0), FAILS),
    ("date_add", ("2024-02-28", 2), FAILS),
    ("date_diff", (date(2024, 3, 1), date(2024, 2, 28)), 2),
    ("date_diff", (NOON, date(2024, 1, 1)), (NOON.date() - date(2024, 1, 1)).days),
    ("time_diff", (NOON, NOON - timedelta(days=1, microseconds=500_000)), Decimal("86400.5")),
    ("time_diff", (NOON, NOON_UTC), FAILS),
    ("concat", (Decimal("1.50"), "x"), "1.5x"),
    ("datatype", (DECIMAL,), IRI(XSD + "decimal")),
    ("+", (2, XSD_INT), 9),
    ("+", (MOST, 1), FAILS),
    ("+", (MOST, 1.0), 2.0**63),
    ("+", (2**64, -(2**64)), 0),
    ("+", ("1", 2), FAILS),
    ("+", (True, 1), FAILS),
    ("+", (IRI("1"), 1), FAILS),
    ("+", (1e308, 1e308), FAILS),
    ("+", (INF, 1), INF),
    ("+", (INF, -INF), NAN),
    ("+", (10**400, 1.0), FAILS),
    ("-", (2, 3), -1),
    ("-", (LEAST, 1), FAILS),
    ("-", (3,), -3),
    ("-", (LEAST,), FAILS),
    ("-", (0.0,), 0.0),
    ("*", (6, 7), 42),
    ("*", (2**32, 2**31), FAILS),
    ("*", (-(2**32), 2**31), LEAST),
    ("*", (6, 0.5), 3.0),
    ("*", (INF, 0), NAN),
    ("/", (6, 3), 2.0),
    ("/", (1, 4), 0.25),
    ("/", (1, 0), FAILS),
    ("/", (1, 0.0), FAILS),
    ("/", (2**53 + 1, 1), 2.0**53),
    ("%", (7, 3), 1),
    ("%", (-7, 3), 2),
    ("%", (7, -3), -2),
    ("%", (7.5, 2), 1.5),
    ("%", (7, 0), FAILS),
    ("abs", (-3,), 3),
    ("abs", (-3.5,), 3.5),
    ("abs", (LEAST,), FAILS),
    ("ceil", (1.2,), 2.0),
    ("ceil", (-1.2,), -1.0),
    ("ceil", (3,), 3),
    ("floor", (1.8,), 1.0),
    ("floor", (-1.2,), -2.0),
    ("floor", (INF,), INF),
    ("round", (2.5,), 3.0),
    ("round", (-2.5,), -3.0),
    ("round", (3.5,), 4.0),
    ("round", (0.49999999999999994,), 0.0),
    ("round", (-0.2,), 0.0),
    ("round", (DECIMAL,), Decimal(3)),
    ("round", (7,), 7),
    ("round", ("7",), FAILS),
    ("min", (3, 1, 2), 1),
    ("min", (1.0, 1), 1),
    ("min", (1, "a"), FAILS),
    ("max", (3, 1, 2), 3),
    ("max", (1.0, 1), 1),
    ("max", (1, 2.5), 2.5),
    ("max", (1, NAN), NAN),
    ("pow", (2, 10), 1024),
    ("pow", (2, 63), FAILS),
    ("pow", (-2, 63), LEAST),
    ("pow", (1, 10**18), 1),
    ("pow", (2, 10**18), FAILS),
    ("pow", (2, -1), 0.5),
    ("pow", (2.0, 3), 8.0),
    ("pow", (0, -1), FAILS),
    ("pow", (-8, 0.5), FAILS),
    ("sqrt", (16,), 4.0),
    ("sqrt", (-1,), FAILS),
]

COMPARISONS: list[Example] = [
    ("=", (1, 1.0), True),
    ("=", (1, True), False),
    ("=", ("a", IRI("a")), False),
    ("=", ("1", 1), False),
    ("=", (XSD_INT, 7), True),
    ("=", (DECIMAL, 2.5), True),
    ("=", (Decimal("0.1"), 0.1), True),
    ("<", (Decimal("0.1"), 0.1), False),
    ("=", (Decimal("0.1"), Decimal("0.10")), True),
    ("=", (Decimal(2**53 + 1), 2**53), False),
    (">", (Decimal("1e-3999"), 0), True),
    ("sameterm", (Decimal("1.0"), Decimal(1)), True),
    ("sameterm", (Decimal(1), 1), False),
    ("=", (DECIMAL, NAN), False),
    ("=", (NAN, NAN), True),
    ("=", (2**53 + 1, 2.0**53), False),
    ("=", (ENGLISH, "Hello"), False),
    ("=", (0.0, -0.0), True),
    ("!=", (1, 1.0), False),
    ("!=", (BlankNode("a"), "a"), True),
    ("<", (1, 1.5), True),
    ("<", (XSD_INT, 8), True),
    ("<", ("a", "b"), True),
    ("<", ("Z", "a"), True),
    ("<", (1, "b"), FAILS),
    ("<", (IRI("a"), IRI("b")), FAILS),
    ("<", (BlankNode("a"), BlankNode("b")), FAILS),
    ("<", (ENGLISH, ENGLISH), FAILS),
    ("<", (False, True), True),
    ("<", (True, 2), FAILS),
    ("<", (NAN, 1), False),
    ("<=", (NAN, NAN), False),
    ("<=", (2, 2.0), True),
    ("<=", (date(2024, 1, 1), date(2024, 1, 2)), True),
    ("<=", (date(2024, 1, 1), NOON), FAILS),
    (">", (NOON, datetime(2024, 1, 1)), True),
    (">", (NOON, NOON_UTC), FAILS),
    (">=", (NOON_UTC, NOON_UTC), True),
    (">=", (2**63, LEAST), True),
]

CONDITIONS: list[Example] = [
    ("&&", (True, True), True),
    ("&&", (True, False), False),
    ("&&", (False, BROKEN), False),
    ("&&", (BROKEN, False), False),
    ("&&", (True, BROKEN), FAILS),
    ("&&", (True, 1), FAILS),
    ("&&", (1, False), False),
    ("||", (False, False), False),
    ("||", (True, BROKEN), True),
    ("||", (BROKEN, True), True),
    ("||", (BROKEN, False), FAILS),
    ("!", (True,), False),
    ("!", ("true",), FAILS),
    ("if", (True, 1, BROKEN), 1),
    ("if", (False, BROKEN, 2), 2),
    ("if", (BROKEN, 1, 2), FAILS),
    ("if", (0, 1, 2), FAILS),
    ("coalesce", (BROKEN, "x"), "x"),
    ("coalesce", (3, BROKEN), 3),
    ("coalesce", (BROKEN, BROKEN), FAILS),
    ("=", (BROKEN, 1), FAILS),
]

TERMS: list[Example] = [
    ("isiri", (IRI("x:y"),), True),
    ("isiri", ("x:y",), False),
    ("isblank", (BlankNode("b"),), True),
    ("isblank", (IRI("b"),), False),
    ("isliteral", (1,), True),
    ("isliteral", (ENGLISH,), True),
    ("isliteral", (IRI("x:y"),), False),
    ("isliteral", (BlankNode("b"),), False),
    ("datatype", (1,), IRI(XSD + "integer")),
    ("datatype", ("a",), IRI(XSD + "string")),
    ("datatype", (IRI("x:y"),), FAILS),
    ("hasdatatype", (5, IRI(XSD + "byte")), True),
    ("hasdatatype", (500, IRI(XSD + "byte")), False),
    ("hasdatatype", (5, IRI(XSD + "decimal")), True),
    ("hasdatatype", (5, IRI(XSD + "double")), False),
    ("hasdatatype", (5.0, IRI(XSD + "double")), True),
    ("hasdatatype", (literal("5.0", XSD + "decimal"), IRI(XSD + "unsignedLong")), True),
    ("hasdatatype", (literal("five", XSD + "int"), IRI(XSD + "int")), False),
    ("hasdatatype", (literal("1.5", XSD + "float"), IRI(XSD + "float")), True),
    ("hasdatatype", ("a  b", IRI(XSD + "token")), False),
    ("hasdatatype", ("en-US", IRI(XSD + "language")), True),
    ("hasdatatype", (True, IRI(XSD + "boolean")), True),
    ("hasdatatype", (literal("2026-01-01T00:00:00", XSD + "dateTime"), IRI(XSD + "dateTimeStamp")), False),
    ("hasdatatype", (ENGLISH, IRI("http://www.w3.org/2000/01/rdf-schema#Literal")), True),
    ("hasdatatype", (IRI("x:y"), IRI(XSD + "anyURI")), False),
    ("hasdatatype", (5, IRI("x:unknown")), FAILS),
    ("hasdatatype", (5, "integer"), FAILS),
]

STRINGS: list[Example] = [
    ("concat", ("a", 1, True, IRI("x:y"), 1.5), "a1truex:y1.5"),
    ("concat", (), ""),
    ("concat", (-0.0,), "-0.0"),
    ("concat", (ENGLISH, "!"), "Hello!"),
    ("strlen", ("häß𝄞",), 4),
    ("strlen", (ENGLISH,), 5),
    ("strlen", (12,), FAILS),
    ("strlen", (IRI("a"),), FAILS),
    ("substr", ("hello", 2), "ello"),
    ("substr", ("hello", 2, 3), "ell"),
    ("substr", ("hello", 0, 2), "h"),
    ("substr", ("hello", -2), "hello"),
    ("substr", ("hello", -2, 2), ""),
    ("substr", ("hello", 9), ""),
    ("substr", ("hello", 2, -1), ""),
    ("substr", ("hello", 1.0), FAILS),
    ("str", (12,), "12"),
    ("str", (1e100,), "1e+100"),
    ("str", (IRI("x:y"),), "x:y"),
    ("str", (date(2024, 1, 2),), "2024-01-02"),
    ("ucase", ("häß",), "HÄSS"),
    ("lcase", ("ABC",), "abc"),
    ("lcase", (1,), FAILS),
    ("contains", ("hello", "ell"), True),
    ("contains", ("hello", ""), True),
    ("contains", ("hello", 1), FAILS),
    ("strstarts", ("hello", "he"), True),
    ("strends", ("hello", "he"), False),
    ("replace", ("banana", "an", "."), "b..a"),
    ("replace", ("a.b", ".", "-"), "a-b"),
    ("replace", ("abc", "", "-"), "abc"),
]

AGGREGATES: list[tuple[str, list[Value], Value]] = [
    ("count", [], 0),
    ("count", ["a", "a", 1], 3),
    ("sum", [], 0),
    ("sum", [1, 2, 3], 6),
    ("sum", [MOST, 1, -1], MOST),
    ("sum", [MOST, 1], FAILS),
    ("sum", [1, 0.5], 1.5),
    ("sum", [0.1] * 10, 1.0),
    ("sum", [1e308, 1e308, -1e308], 1e308),
    ("sum", [1e308, 1e308], FAILS),
    ("sum", [INF, 1], INF),
    ("sum", [1, "a"], FAILS),
    ("sum", [XSD_INT, 1], 8),
    ("avg", [1, 2], 1.5),
    ("avg", [2, 2], 2.0),
    ("avg", [], FAILS),
    ("avg", [1, True], FAILS),
    ("med", [3, 1, 2], 2),
    ("med", [4, 1, 2, 3], 2.5),
    ("med", [2, 2], 2.0),
    ("med", [DECIMAL], DECIMAL),
    ("med", [DECIMAL, 3], Decimal("2.75")),
    ("med", [DECIMAL, 3.5], 3.0),
    ("sum", [Decimal("0.1")] * 10, Decimal(1)),
    ("sum", [Decimal("0.1"), MOST, 1], Decimal("9223372036854775808.1")),
    ("sum", [Decimal("0.1"), 0.5], 0.6),
    ("avg", [Decimal("0.1"), 1], Decimal("0.55")),
    ("avg", [Decimal(1), 0, 0], Decimal("0." + "3" * 28)),
    ("avg", [DECIMAL, 2.5], 2.5),
    ("min", [Decimal("1.5"), 1.5, 2], 1.5),
    ("max", [Decimal("2.0"), 2], 2),
    ("med", [], FAILS),
    ("med", ["a"], FAILS),
    ("min", [3, 1.0, 1], 1),
    ("min", ["b", "a"], "a"),
    ("min", ["a", 1, IRI("z"), BlankNode("z"), True], BlankNode("z")),
    ("min", [], FAILS),
    ("max", [3, 3.0], 3),
    ("max", [1, NAN, 2], NAN),
    ("max", ["a", 1, IRI("z"), date(2024, 1, 1)], "a"),
    ("max", [NOON, NOON_UTC], NOON_UTC),
    ("max", [ENGLISH, "Zebra"], ENGLISH),
]


@pytest.mark.parametrize(("function", "arguments", "result"), ARITHMETIC + COMPARISONS + CONDITIONS + TERMS + STRINGS)
def test_function(function: str, arguments: tuple[Value, ...], result: Value) -> None:
    assert outcome(function, *arguments) == expected(result)


@pytest.mark.parametrize(("function", "arguments", "result"), ARITHMETIC + COMPARISONS + CONDITIONS + TERMS + STRINGS)
def test_compiled_function(function: str, arguments: tuple[Value | Call, ...], result: Value) -> None:
    given = [(Variable(f"x{i}"), a) for i, a in enumerate(arguments) if not isinstance(a, Call)]
    places = {variable: place for place, (variable, _) in enumerate(given)}
    terms = iter(places)
    expression = Call(function, tuple(a if isinstance(a, Call) else next(terms) for a in arguments))
    try:
        found = key(compiled(expression, places)([value for _, value in given]))  # type: ignore[misc]
    except ExpressionFails:
        assert expected(result) is FAILS
    else:
        assert found == expected(result)


@pytest.mark.parametrize(("function", "values", "result"), AGGREGATES)
def test_aggregate(function: str, values: list[Value], result: Value) -> None:
    for permuted in itertools.islice(itertools.permutations(values), 30):
        try:
            found: object = key(aggregate(function, permuted))
        except ExpressionFails:
            found = FAILS
        assert found == expected(result)


def test_distinct_counts_values_not_numbers() -> None:
    assert aggregate("count", [1, 1, 1.0, True, "1", 0.0, -0.0], distinct=True) == 6
    assert aggregate("sum", [2, 2, 3], distinct=True) == 5


def test_variables() -> None:
    x = Variable("x")
    assert evaluate(Call("+", (x, Constant(1))), {x: 2}) == 3
    with pytest.raises(ExpressionFails):
        evaluate(x, {})


def test_a_condition_must_be_a_boolean() -> None:
    assert holds(call("<", 1, 2), {}) is True
    with pytest.raises(ExpressionFails):
        holds(Constant(1), {})


def test_skolem_is_the_same_everywhere() -> None:
    """A stored knowledge base has these labels in it: they may never change."""
    node = evaluate(call("skolem", "Eval", 1), {})
    assert isinstance(node, BlankNode)
    encoded = (
        b"39:http://www.w3.org/2001/XMLSchema#string,0:,4:Eval,40:http://www.w3.org/2001/XMLSchema#integer,0:,1:1,"
    )
    assert node == BlankNode("sk" + hashlib.blake2b(encoded, digest_size=16).hexdigest())
    assert str(node) == "skf7f536de0555e29e05400b4eeb774531"


VALUES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.text(max_size=3),
    st.dates(),
    st.datetimes(),
    st.builds(IRI, st.text(max_size=3)),
    st.builds(BlankNode, st.text(max_size=3)),
    st.builds(Literal, st.text(max_size=3), language=st.sampled_from(["en", "de"])),
    st.builds(Literal, st.integers(0, 9).map(str), st.sampled_from([XSD + "int", XSD + "decimal", XSD + "gYear"])),
)


@given(st.lists(VALUES, max_size=3), st.lists(VALUES, max_size=3))
def test_skolem_tells_arguments_apart(one: list[Value], other: list[Value]) -> None:
    same = list(map(key, one)) == list(map(key, other))
    assert (outcome("skolem", *one) == outcome("skolem", *other)) is same


@given(VALUES, VALUES)
def test_order_is_total(one: Value, other: Value) -> None:
    assert (order(one) == order(other)) is (key(one) == key(other))
    assert (order(one) < order(other)) is not (order(one) >= order(other))


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_aggregates_do_not_depend_on_order(values: list[Value]) -> None:
    for function in ("sum", "avg", "med", "min", "max"):
        results = set()
        for permuted in itertools.islice(itertools.permutations(values), 24):
            try:
                results.add(key(aggregate(function, permuted)))
            except ExpressionFails:
                results.add((str, FAILS))
        assert len(results) == 1


@given(VALUES, VALUES)
def test_functions_give_a_value_or_fail(one: Value, other: Value) -> None:
    """Nothing but ExpressionFails comes out, whatever goes in."""
    for function in ("+", "-", "*", "/", "%", "<", "=", "min", "max", "pow", "contains", "concat", "&&"):
        outcome(function, one, other)
    for function in ("-", "abs", "ceil", "floor", "round", "sqrt", "str", "strlen", "ucase", "!"):
        outcome(function, one)


LONG = Constant("a" * (2**23 + 1))
GROWN = [
    Call("concat", (LONG, LONG)),
    Call("replace", (LONG, Constant("a"), Constant("aa"))),
    Call("replace", (LONG, Constant("a"), Constant("b" * 200), Constant("s"))),
    Call("sparql:concat", (LONG, LONG)),
    Call("sparql:replace", (LONG, Constant("a"), Constant("b" * 200))),
]


@pytest.mark.parametrize("grown", GROWN, ids=lambda call: call.function)
def test_texts_do_not_grow_without_end(grown: Call) -> None:
    """A few doublings in a row would fill the memory."""
    with pytest.raises(ExpressionFails, match="16,777,216"):
        evaluate(grown, {})
