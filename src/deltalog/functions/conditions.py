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
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from deltalog.core.terms import Kind, Value, key, kind, number
from deltalog.functions import nemo_functions as nemo
from deltalog.functions import souffle_functors as souffle
from deltalog.functions import sparql_operators as sparql
from deltalog.functions.function import (
    ANY_NUMBER,
    ANYTHING,
    CHOSEN,
    LITERAL,
    NEMO,
    RDFOX,
    RIF,
    SPARQL_PREFIX,
    SWRL,
    TRUTH,
    ExpressionFails,
    Function,
    Names,
    Sort,
    of_nemo,
)
from deltalog.functions.numbers import is_nan
from deltalog.functions.order import precedes

SIGNS = {
    **{"=": operator.eq, "!=": operator.ne, "<": operator.lt},
    **{"<=": operator.le, ">": operator.gt, ">=": operator.ge},
}


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
    return a == b or (is_nan(a) and is_nan(b))


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
    sign: str, takes: Sort, call: Callable[..., bool], in_sparql: Callable[..., bool], op: str, names: Names
) -> Iterator[Function]:
    """A comparison of rules, and that of SPARQL: of finite numbers, they are the same."""
    compute = SIGNS[sign]
    sql = None if sign in ("=", "!=") else lambda _, a, b: compute(a, b)
    column, kernel, forms = ("compare", op.lower().replace("un", "not_")), f"x y {op}", {RDFOX: f"({{0}} {sign} {{1}})"}
    yield Function(sign, 2, call, takes, TRUTH, names, forms, column=column, kernel=kernel, sql=sql)
    yield Function(SPARQL_PREFIX + sign, 2, in_sparql, takes, TRUTH, column=column, kernel=kernel)


def _order(sign: str, op: str, names: Names) -> Iterator[Function]:
    return _comparison(sign, LITERAL, _ordered(SIGNS[sign]), sparql.ordered(SIGNS[sign]), op, names)


def _unequal(left: Value, right: Value) -> bool:
    return not _equal(left, right)


FUNCTIONS = (
    *_comparison("=", ANYTHING, _equal, sparql.equal, "EQUAL", {RIF: "pred:equal", SWRL: "equal", NEMO: "EQUALITY"}),
    *_comparison(
        "!=",
        ANYTHING,
        _unequal,
        sparql.unequal,
        "UNEQUAL",
        {RIF: "pred:not-equal", SWRL: "notEqual", NEMO: "UNEQUALITY"},
    ),
    *_order(">", "GREATER", {RIF: "pred:greater-than", SWRL: "greaterThan", NEMO: "NUMGREATER"}),
    *_order(
        ">=",
        "GREATER_EQUAL",
        {RIF: "pred:greater-than-or-equal", SWRL: "greaterThanOrEqual", NEMO: "NUMGREATEREQ"},
    ),
    *_order("<", "LESS", {RIF: "pred:less-than", SWRL: "lessThan", NEMO: "NUMLESS"}),
    *_order("<=", "LESS_EQUAL", {RIF: "pred:less-than-or-equal", SWRL: "lessThanOrEqual", NEMO: "NUMLESSEQ"}),
    Function(
        "sameterm",
        2,
        lambda left, right: key(left) == key(right),
        ANYTHING,
        TRUTH,
        written={NEMO: "EQUALITY", RDFOX: "SAMETERM"},
    ),
    Function(
        "&&",
        2,
        _decided_by(False),
        TRUTH,
        TRUTH,
        written={RDFOX: "({0} && {1})"},
        lazy=True,
        column=("connect", "logical_and"),
        kernel="x y AND",
        sql=lambda _, a, b: a & b,
    ),
    Function(
        "||",
        2,
        _decided_by(True),
        TRUTH,
        TRUTH,
        written={RDFOX: "({0} || {1})"},
        lazy=True,
        column=("connect", "logical_or"),
        kernel="x y OR",
        sql=lambda _, a, b: a | b,
    ),
    Function(
        "!",
        1,
        lambda value: not truth(value),
        TRUTH,
        TRUTH,
        {RIF: "func:not", SWRL: "booleanNot"},
        {RDFOX: "(!{0})"},
        column=("connect", "logical_not"),
        kernel="x NOT",
        sql=lambda _, a: ~a,
    ),
    Function("if", 3, _if, (TRUTH, ANYTHING), CHOSEN, written={RDFOX: "IF"}, lazy=True),
    Function("coalesce", (1, ANY_NUMBER), _coalesce, ANYTHING, CHOSEN, written={RDFOX: "COALESCE"}, lazy=True),
    Function("sparql:boolean", 1, sparql.effective_boolean_value, ANYTHING, TRUTH),
    Function("sparql:precedes", (1, ANY_NUMBER), precedes, ANYTHING, TRUTH),
    of_nemo("and", (1, ANY_NUMBER), nemo.of_many(lambda *values: all([nemo.boolean(value) for value in values]))),
    of_nemo("or", (1, ANY_NUMBER), nemo.of_many(lambda *values: any([nemo.boolean(value) for value in values]))),
    of_nemo("not", 1, lambda value: not nemo.boolean(value)),
    *souffle.typed("&&", 2, lambda a, b: int(bool(a) and bool(b))),
    *souffle.typed("||", 2, lambda a, b: int(bool(a) or bool(b))),
    *souffle.typed("^^", 2, lambda a, b: int(bool(a) != bool(b))),
    *souffle.typed("!", 1, lambda a: int(not a), word="lnot"),
)
