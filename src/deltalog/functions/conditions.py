"""Comparisons and conditions.

In rules, `=` and `!=` never fail: numbers by value across types (exactly: 2**53 + 1 is not 2.0**53; but a decimal and a
float as floats, so that 0.1 is 0.1), other values by being one value (`terms.key`). NaN is one value, so it equals
itself. `< <= > >=` compare two numbers (false with a NaN), two strings by code points, two booleans, two dates, or two
datetimes of which both or none have a time zone; anything else fails.

`&&` is false when a side is false, even if the other fails; `||` is true when a side is true, even if the other fails;
else a failing side fails them. What is not a boolean fails as a condition. `if` evaluates only the branch it takes;
`coalesce` gives the first argument that does not fail.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from deltalog.core.terms import Kind, Value, key, kind, number
from deltalog.functions import nemo_functions as nemo
from deltalog.functions import souffle_functors as souffle
from deltalog.functions import sparql_operators as sparql
from deltalog.functions.function import SPARQL_PREFIX, ExpressionFails, Function, function, of_nemo
from deltalog.functions.order import precedes


def truth(value: Value) -> bool:
    """The truth of a condition's value."""
    if not isinstance(value, bool):
        raise ExpressionFails(f"{value!r} is neither true nor false")
    return value


Thunk = Callable[[], Value]  # evaluates an argument


def _decided_by(decisive: bool) -> Callable[..., bool]:
    """`&&` (decided by a false side) or `||` (decided by a true one)."""

    def connective(*sides: Thunk) -> bool:
        failure: ExpressionFails | None = None
        for side in sides:
            try:
                if truth(side()) is decisive:
                    return decisive
            except ExpressionFails as fails:
                failure = fails
        if failure is not None:
            raise failure
        return not decisive

    return connective


def _if(condition: Thunk, then: Thunk, otherwise: Thunk) -> Value:
    return then() if truth(condition()) else otherwise()


def _coalesce(*arguments: Thunk) -> Value:
    for argument in arguments:
        try:
            return argument()
        except ExpressionFails:
            continue
    raise ExpressionFails("every argument of coalesce fails")


# Comparisons

_SIMPLE = (int, str)  # that compare as Python does


def _equal(left: Value, right: Value) -> bool:
    if type(left) is type(right) and type(left) in _SIMPLE:
        return left == right
    a, b = number(left), number(right)
    if a is None or b is None:
        return key(left) == key(right)
    a, b = _comparable_numbers(a, b)
    return a == b or (sparql.is_nan(a) and sparql.is_nan(b))


def _comparable_numbers(a: Any, b: Any) -> tuple[Any, Any]:
    """Two numbers as Python compares them: exactly, but a decimal and a float as floats."""
    if isinstance(a, float) and isinstance(b, Decimal):
        return a, float(b)
    return (float(a), b) if isinstance(a, Decimal) and isinstance(b, float) else (a, b)


def _comparable(value: Value) -> tuple[str, Any]:
    """What order comparisons look at: a class of values that compare with each other, and the thing to compare."""
    n = number(value)
    if n is not None:
        return ("number", n)
    match kind(value):
        case Kind.DATETIME:
            assert isinstance(value, datetime)
            return ("datetime" if value.utcoffset() is None else "instant", value)
        case Kind.STRING | Kind.BOOLEAN | Kind.DATE as same:
            return (same.name, value)
    raise ExpressionFails(f"{value!r} has no order")


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    def comparison(left: Value, right: Value) -> bool:
        if type(left) is type(right) and type(left) in _SIMPLE:
            return compare(left, right)
        (left_class, a), (right_class, b) = _comparable(left), _comparable(right)
        if left_class != right_class:
            raise ExpressionFails(f"{left!r} and {right!r} do not compare")
        return compare(*_comparable_numbers(a, b))

    return comparison


def _comparison(
    sign: str, sides: str, call: Callable[..., bool], in_sparql: Callable[..., bool], op: str, **names: str
) -> tuple[Function, Function]:
    """A comparison of rules, and that of SPARQL: of finite numbers, they are the same."""
    signature = f"{sides}, {sides} -> truth"
    fast = {"column": ("compare", op.lower().replace("un", "not_")), "kernel": f"x y {op}"}
    rules = function(sign, signature, call).named(**names).written_as(rdfox=f"({{0}} {sign} {{1}})")
    return rules.fast(**fast), function(SPARQL_PREFIX + sign, signature, in_sparql).fast(**fast)


def _order(sign: str, compute: Callable[[Any, Any], Any], op: str, **names: str) -> tuple[Function, Function]:
    rules, other = _comparison(sign, "literal", _ordered(compute), sparql.ordered(compute), op, **names)
    return rules.fast(sql=lambda _, a, b: compute(a, b)), other


def _negation(call: Callable[..., bool]) -> Callable[..., bool]:
    return lambda left, right: not call(left, right)


UNEQUAL = _negation(_equal), _negation(sparql.equal)
FUNCTIONS = (
    *_comparison("=", "anything", _equal, sparql.equal, "EQUAL", rif="pred:equal", swrl="equal", nemo="EQUALITY"),
    *_comparison("!=", "anything", *UNEQUAL, "UNEQUAL", rif="pred:not-equal", swrl="notEqual", nemo="UNEQUALITY"),
    *_order(">", operator.gt, "GREATER", rif="pred:greater-than", swrl="greaterThan", nemo="NUMGREATER"),
    *_order(
        ">=",
        operator.ge,
        "GREATER_EQUAL",
        rif="pred:greater-than-or-equal",
        swrl="greaterThanOrEqual",
        nemo="NUMGREATEREQ",
    ),
    *_order("<", operator.lt, "LESS", rif="pred:less-than", swrl="lessThan", nemo="NUMLESS"),
    *_order("<=", operator.le, "LESS_EQUAL", rif="pred:less-than-or-equal", swrl="lessThanOrEqual", nemo="NUMLESSEQ"),
    function("sameterm", "anything, anything -> truth", lambda left, right: key(left) == key(right)).written_as(
        nemo="EQUALITY", rdfox="SAMETERM"
    ),
    function("&&", "truth, truth -> truth", _decided_by(False), lazy=True)
    .written_as(rdfox="({0} && {1})")
    .fast(column=("connect", "logical_and"), kernel="x y AND", sql=lambda _, a, b: a & b),
    function("||", "truth, truth -> truth", _decided_by(True), lazy=True)
    .written_as(rdfox="({0} || {1})")
    .fast(column=("connect", "logical_or"), kernel="x y OR", sql=lambda _, a, b: a | b),
    function("!", "truth -> truth", lambda value: not truth(value))
    .named(rif="func:not", swrl="booleanNot")
    .written_as(rdfox="(!{0})")
    .fast(column=("connect", "logical_not"), kernel="x NOT", sql=lambda _, a: ~a),
    function("if", "truth, anything, anything -> chosen", _if, lazy=True).written_as(rdfox="IF"),
    function("coalesce", "anything... -> chosen", _coalesce, lazy=True).written_as(rdfox="COALESCE"),
    function("sparql:boolean", "anything -> truth", sparql.effective_boolean_value),
    function("sparql:precedes", "anything... -> truth", precedes),
    of_nemo("and", "anything...", nemo.of_many(lambda *values: all([nemo.boolean(value) for value in values]))),
    of_nemo("or", "anything...", nemo.of_many(lambda *values: any([nemo.boolean(value) for value in values]))),
    of_nemo("not", 1, lambda value: not nemo.boolean(value)),
    *souffle.typed("&&", "n, n", lambda a, b: int(bool(a) and bool(b))),
    *souffle.typed("||", "n, n", lambda a, b: int(bool(a) or bool(b))),
    *souffle.typed("^^", "n, n", lambda a, b: int(bool(a) != bool(b))),
    *souffle.typed("!", "n", lambda a: int(not a), word="lnot"),
)
