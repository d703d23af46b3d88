"""Values: equality, literals, texts."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import pytest

from deltalog.core.terms import IRI, XSD, BlankNode, Kind, Literal, datatype, key, kind, lexical, literal, number


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("5", "integer", 5),
        ("-05", "integer", -5),
        ("+7", "integer", 7),
        (" 7 ", "integer", 7),
        ("1.5", "double", 1.5),
        ("INF", "double", math.inf),
        ("-INF", "double", -math.inf),
        ("true", "boolean", True),
        ("0", "boolean", False),
        ("2024-05-01", "date", date(2024, 5, 1)),
        ("2024-05-01T10:00:00", "dateTime", datetime(2024, 5, 1, 10)),
        ("2024-05-01T10:00:00Z", "dateTime", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("x", "string", "x"),
    ],
)
def test_literals_with_a_type_of_pythons(text: str, name: str, value: object) -> None:
    assert key(literal(text, XSD + name)) == key(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("five", "integer"),
        ("+-5", "integer"),
        ("--5", "integer"),
        ("", "integer"),
        ("1_000", "integer"),
        ("٣", "integer"),
        ("1e", "double"),
        ("nan", "double"),
        ("yes", "boolean"),
        ("2024-5-1", "date"),
        ("2024-02-30", "date"),
        ("20240501", "date"),
        ("now", "dateTime"),
        ("9" * 5000, "integer"),
    ],
)
def test_invalid_texts_stay_literals(text: str, name: str) -> None:
    value = literal(text, XSD + name)
    assert value == Literal(text, XSD + name)
    assert kind(value) is Kind.TYPED


def test_numbers_of_numeric_literals() -> None:
    assert number(literal("1.50", XSD + "decimal")) == 1.5
    assert number(literal("7", XSD + "int")) == 7
    assert number(literal("1_000", XSD + "int")) is None
    assert number(literal("seven", XSD + "int")) is None
    assert number(literal("٣", XSD + "int")) is None
    assert kind(literal("seven", XSD + "int")) is Kind.TYPED
    assert kind(literal("7", XSD + "int")) is Kind.NUMBER
    assert number(True) is None and number("7") is None


def test_an_iri_a_blank_node_and_a_string_are_never_equal() -> None:
    assert len({IRI("a"), BlankNode("a"), "a"}) == 3
    assert IRI("a") == IRI("a") and IRI("a") != "a"


def test_key_tells_ones_apart() -> None:
    assert len({key(1), key(1.0), key(True), key("1"), key(IRI("1"))}) == 5
    assert key(math.nan) == key(-math.nan)
    assert key(0.0) != key(-0.0)


def test_languages_are_lower_case() -> None:
    assert literal("a", language="EN") == literal("a", language="en")
    assert literal("a", language="en") != literal("a", language="de")


def test_text_and_datatype() -> None:
    assert (lexical(1.5), datatype(1.5)) == ("1.5", XSD + "double")
    assert (lexical(math.inf), lexical(math.nan)) == ("INF", "NaN")
    assert (lexical(True), datatype(True)) == ("true", XSD + "boolean")
    assert lexical(datetime(2024, 5, 1, tzinfo=UTC)) == "2024-05-01T00:00:00Z"
    assert datatype(IRI("a")) is None
    assert datatype("a") == XSD + "string"


def test_what_is_no_value() -> None:
    with pytest.raises(TypeError, match="there is no value"):
        kind(None)
