"""Casts to the datatypes of XML Schema, which rules and SPARQL share, and the conversions of Nemo and Soufflé."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from deltalog.core.datetimes import moment
from deltalog.core.terms import DECIMAL, XSD, Value, lexical, literal
from deltalog.functions import nemo_functions as nemo
from deltalog.functions import souffle_functors as souffle
from deltalog.functions import sparql_operators as sparql
from deltalog.functions.function import ExpressionFails, Function, function, of_nemo, of_souffle, with_sparql
from deltalog.functions.sparql_operators import Rank


def _to_integer(value: Value) -> int:
    if isinstance(value, bool):
        return int(value)
    n = sparql.ranked(value)
    if n is None:
        parsed = literal(sparql.simple(value), XSD + "integer")
        n = sparql.ranked(parsed)
    if n is None or (isinstance(n[1], float) and not math.isfinite(n[1])):
        raise ExpressionFails(f"{value!r} is no integer")
    return int(n[1])


def _to_decimal(value: Value) -> Value:
    if isinstance(value, bool):
        return sparql.value_of(Rank.DECIMAL, int(value))
    n = sparql.ranked(value) or sparql.ranked(literal(sparql.simple(value), DECIMAL))
    if n is None or (isinstance(n[1], float) and not math.isfinite(n[1])):
        raise ExpressionFails(f"{value!r} is no decimal")
    return sparql.value_of(Rank.DECIMAL, Decimal(n[1]))


def _to_string(value: Value) -> str:
    """The canonical text of a number, a date or a time, and the text of all others."""
    n, at = sparql.ranked(value), sparql.moment_of(value)
    if n is not None:
        return lexical(sparql.value_of(*n)) if n[0] < Rank.FLOAT else _canonical(*n)
    return sparql.str_of(value) if at is None else str(at)


def _canonical(rank: Rank, n: sparql.Number) -> str:
    """A float or a double: with an exponent if it is very small or very large."""
    assert isinstance(n, float)
    if not math.isfinite(n) or n == 0:
        return lexical(n) if n else "0"
    shortest = Decimal(sparql.single_text(n) if rank is Rank.FLOAT else repr(n)).normalize()
    if 1e-6 <= abs(n) < 1e6:
        return format(shortest, "f")
    sign, digits, exponent = shortest.as_tuple()
    assert isinstance(exponent, int)
    first, rest = digits[0], "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{exponent + len(digits) - 1}"


def _to_float(rank: Rank, name: str) -> Callable[[Value], Value]:
    def cast(value: Value) -> Value:
        n = (rank, int(value)) if isinstance(value, bool) else sparql.ranked(value)
        if n is None:
            n = sparql.ranked(literal(sparql.simple(value), XSD + name))
        if n is None:
            raise ExpressionFails(f"{value!r} is no {name}")
        return sparql.value_of(rank, sparql.as_float(n[1]))

    return cast


def _to_boolean(value: Value) -> bool:
    if isinstance(value, bool) or sparql.ranked(value) is not None:
        return sparql.effective_boolean_value(value)
    found = literal(sparql.simple(value), XSD + "boolean")
    if not isinstance(found, bool):
        raise ExpressionFails(f"{value!r} is no boolean")
    return found


def _to_moment(name: str) -> Callable[[Value], Value]:
    is_date = name == "date"

    def cast(value: Value) -> Value:
        at = sparql.moment_of(value) or moment(sparql.simple(value), is_date)
        if at is None:
            raise ExpressionFails(f"{value!r} is no {name}")
        return literal(str(at.as_date() if is_date else at.as_time()), XSD + name)

    return cast


def _cast(
    type_: str, gives: str, call: Callable[[Value], Value], alias: tuple[str, ...], *elsewhere: str
) -> tuple[Function, Function]:
    """A cast. `alias`: its shorter name, after our values: a float is an xsd:double."""
    cast = function(XSD + type_, f"anything -> {gives}", call, ordinary=True)
    return with_sparql(cast.named(rules=alias, elsewhere=elsewhere))


def _text_of_integer(value: Value) -> str:
    return str(souffle.integer(value))


def _float_of_integer(value: Value) -> float:
    return souffle.single(float(souffle.integer(value)))


def _wrapped_integer(wrap: Callable[[int], int]) -> Callable[[Value], int]:
    return lambda value: wrap(souffle.integer(value))


FUNCTIONS = (
    *_cast("string", "text", _to_string, ("string",)),
    *_cast("integer", "number", _to_integer, ("int",), "integer", "toint", "to_int"),
    *_cast("decimal", "number", _to_decimal, ("decimal",), "numeric"),
    *_cast(
        "double", "number", _to_float(Rank.DOUBLE, "double"), ("float",), "tonumber", "to_number", "to_float", "double"
    ),
    *_cast("float", "number", _to_float(Rank.FLOAT, "float"), ()),
    *_cast("boolean", "truth", _to_boolean, ("boolean",), "bool"),
    *_cast("date", "literal", _to_moment("date"), ("date",), "to_date"),
    *_cast("dateTime", "literal", _to_moment("dateTime"), ("datetime",), "timestamp", "to_datetime"),
    of_nemo("int", 1, nemo.to_integer),
    of_nemo("double", 1, nemo.to_double),
    of_nemo("float", 1, lambda value: nemo.float32(nemo.to_double(value))),
    of_souffle("s>i", 1, lambda value: souffle.number_in(souffle.string(value), souffle.signed), core=XSD + "integer"),
    of_souffle("s>u", 1, lambda value: souffle.number_in(souffle.string(value), souffle.unsigned)),
    of_souffle("s>f", 1, lambda value: souffle.float_in(souffle.string(value)), core=XSD + "double"),
    of_souffle("i>s", 1, _text_of_integer, core="str"),
    of_souffle("u>s", 1, _text_of_integer, core="str"),
    of_souffle("f>s", 1, lambda value: f"{souffle.float_of(value):.6f}"),
    of_souffle("i>u", 1, _wrapped_integer(souffle.unsigned)).named(souffle="itou").fast(kernel="x UNSIGNED"),
    of_souffle("u>i", 1, _wrapped_integer(souffle.signed)).named(souffle="utoi").fast(kernel="x SIGNED"),
    of_souffle("i>f", 1, _float_of_integer, core=XSD + "double").named(souffle="itof"),
    of_souffle("u>f", 1, _float_of_integer, core=XSD + "double").named(souffle="utof"),
    of_souffle("f>i", 1, lambda value: souffle.signed(souffle.truncated_float(value))).named(souffle="ftoi"),
    of_souffle("f>u", 1, lambda value: souffle.unsigned(souffle.truncated_float(value))).named(souffle="ftou"),
    *(of_souffle(f"{a}={b}", 1, souffle.same_bits(a, b)) for a, b in ("if", "uf", "fi", "fu")),
)
