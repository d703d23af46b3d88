"""Numbers: arithmetic, and the bits of integers.

In rules, a number is an `int`, a `float`, a `Decimal`, or a Literal of another numeric datatype, which counts as the
number that `terms.number` says. Booleans are no numbers. Results are plain `int`, `float` or `Decimal`.

  - `+ - *` of two integers is an integer; beyond 64 bits it fails, it never wraps. An integer and a float give a float.
  - A decimal and an integer give a decimal, exactly; beyond 4,000 digits it fails. A decimal and a float give a float.
  - `/` is a float: both sides become floats, then they are divided. With a decimal and no float it is a decimal of 28
    significant digits, as in SPARQL. A zero divisor fails.
  - `%` has the sign of the divisor, as in Python; a zero divisor fails.
  - A float result that is NaN or infinite fails, unless an operand was so already. A zero that is computed is
    never negative; -0.0 that was given stays as it is, and equals 0.0.
  - `abs ceil floor round` keep the type of their argument. `round` takes halves away from zero.
  - `min max` of numbers give one of them (1 rather than 1.0; NaN is above every number).
  - `pow` of an integer and a non-negative integer is an integer, of a decimal and a whole number that is not negative a
    decimal; otherwise a float. `sqrt` is a float, and fails for negative numbers.
  - `div` and `rem` take two integers: the quotient is cut off at the point, and the remainder has the sign of the first
    one (so `a = div(a, b) * b + rem(a, b)`, as in C); a zero divisor fails.
  - `band bor bxor bnot` work on the bits of integers of 64 bits, in two's complement. `bshl(a, n)` is a * 2^n and fails
    beyond 64 bits; `bshr` keeps the sign, `bshru` fills with zeros; n is from 0 to 63, anything else fails.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from functools import reduce
from typing import Any

from deltalog.core.terms import Value, number
from deltalog.functions import fresh_values
from deltalog.functions import nemo_functions as nemo
from deltalog.functions import souffle_functors as souffle
from deltalog.functions import sparql_operators as sparql
from deltalog.functions.function import (
    NEMO,
    RDFOX,
    SOUFFLE,
    SPARQL_PREFIX,
    ExpressionFails,
    Function,
    function,
    of_nemo,
    of_sparql,
)
from deltalog.functions.sparql_operators import EXACT, TOO_LONG, Rank, checked_decimal, divided

PlainNumber = int | float | Decimal


def number_of(value: Value) -> PlainNumber:
    n = number(value)
    if n is None:
        raise ExpressionFails(f"{value!r} is no number")
    return n


def _finite(n: PlainNumber) -> bool:
    return not isinstance(n, float) or math.isfinite(n)


def checked_number(result: PlainNumber, operands: Iterable[PlainNumber]) -> PlainNumber:
    """The result, if it is one: an integer of 64 bits, a decimal that is not too long, or a float that is finite if the
    operands are."""
    if isinstance(result, int):
        if not -(2**63) <= result < 2**63:
            raise ExpressionFails("the result does not fit 64 bits")
        return result
    if isinstance(result, Decimal):
        return checked_decimal(result)
    if not math.isfinite(result) and all(map(_finite, operands)):
        raise ExpressionFails("the result is no finite number")
    return result + 0.0


def _arithmetic(compute: Callable[..., PlainNumber]) -> Callable[..., PlainNumber]:
    """A function of numbers of one type as a function of values."""

    def function(*values: Value) -> PlainNumber:
        operands = [number_of(value) for value in values]
        if any(isinstance(n, Decimal) for n in operands):
            with localcontext(EXACT):
                return checked_number(compute(*_of_one_type(operands)), operands)
        return checked_number(compute(*operands), operands)

    return function


def _of_one_type(numbers: Sequence[PlainNumber]) -> Iterable[PlainNumber]:
    """Numbers with a decimal among them: as floats if there is a float, else as decimals."""
    return map(float if any(isinstance(n, float) for n in numbers) else Decimal, numbers)


def _chosen(choose: Callable[..., PlainNumber]) -> Callable[..., PlainNumber]:
    """A function that gives one of its numbers, as it is."""
    return lambda *values: checked_number(n := choose(*map(number_of, values)), (n,))


def _minus(a: Any, *b: Any) -> PlainNumber:
    result: PlainNumber = a - b[0] if b else -a
    return result


def _divide(a: PlainNumber, b: PlainNumber) -> PlainNumber:
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return divided(a, b)
    return float(a) / float(b)


def _modulo(a: Any, b: Any) -> PlainNumber:
    """The remainder with the sign of the divisor, which Python's has for integers and floats."""
    rest = a % b
    result: PlainNumber = rest + b if isinstance(b, Decimal) and rest and (rest < 0) != (b < 0) else rest
    return result


def _whole(to_whole: Callable[[Any], int]) -> Callable[[PlainNumber], PlainNumber]:
    def function(a: PlainNumber) -> PlainNumber:
        return a if isinstance(a, int) or not math.isfinite(a) else type(a)(to_whole(a))

    return function


def _half_away(a: Any) -> int:
    whole: int = math.trunc(a)
    return whole if abs(a - whole) < 0.5 else whole + (1 if a > 0 else -1)


def _power(a: PlainNumber, b: PlainNumber) -> PlainNumber:
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        if abs(a) > 1 and (a.bit_length() - 1) * b > 63:
            raise OverflowError("the result does not fit 64 bits")
        return int(a**b)
    if isinstance(a, Decimal) and isinstance(b, Decimal) and b >= 0 and b == int(b):
        return _decimal_power(a, int(b))
    return math.pow(a, b)


def _decimal_power(a: Decimal, b: int) -> Decimal:
    if a not in (-1, 0, 1) and b * len(a.as_tuple().digits) > EXACT.prec:
        raise OverflowError(TOO_LONG)
    return Decimal(a**b)


_RANKS = {int: 0, Decimal: 1, float: 2}


def rank(n: PlainNumber) -> tuple[bool, PlainNumber, int]:
    """The order of numbers: by value, NaN above all, an integer before the decimal and the float that equal it."""
    return (sparql.is_nan(n), 0 if sparql.is_nan(n) else n, _RANKS[type(n)])


def _least(*numbers: PlainNumber) -> PlainNumber:
    return min(numbers, key=rank)


def _greatest(*numbers: PlainNumber) -> PlainNumber:
    top = max(rank(n)[:2] for n in numbers)
    return min((n for n in numbers if rank(n)[:2] == top), key=rank)


def _of_integers(compute: Callable[..., int]) -> Callable[..., int]:
    """A function of integers of 64 bits, with a result of 64 bits."""

    def function(*values: Value) -> int:
        operands = [integer(value) for value in values]
        for n in (*operands, result := compute(*operands)):
            if not -(2**63) <= n < 2**63:
                raise ExpressionFails("the number does not fit 64 bits")
        return result

    return function


def _shift(compute: Callable[[int, int], int]) -> Callable[..., int]:
    def function(a: int, n: int) -> int:
        if not 0 <= n < 64:
            raise ExpressionFails(f"{n} bits are no shift")
        return compute(a, n)

    return _of_integers(function)


def _shift_unsigned(a: int, n: int) -> int:
    return (a % 2**64) >> n if n else a


def integer(value: Value) -> int:
    n = number_of(value)
    if not isinstance(n, int):
        raise ExpressionFails(f"{value!r} is no integer")
    return n


def _sql_modulo(F: Any, a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor; NULL for a divisor of 0."""
    rest = a % F.nullif(b, F.lit(0).cast("long"))
    return F.when((rest != 0) & ((rest < 0) != (b < 0)), rest + b).otherwise(rest)


def _operator(
    sign: str, compute: Callable[..., Any], ufunc: str, prefix: Mapping[str, tuple[str, ...]], **names: str
) -> tuple[Function, Function]:
    """An operator of rules, and that of SPARQL: of integers and floats, they are the same. `prefix`: how languages
    write it before one number."""
    forms = {each: (f"({{0}} {sign} {{1}})", *prefix.get(each, ())) for each in (NEMO, SOUFFLE, RDFOX)}
    rules = function(sign, "number, number -> same", _arithmetic(compute)).named(**names).written_as(**forms)
    other = function(SPARQL_PREFIX + sign, "number, number -> number", sparql.arithmetic(compute))
    fast = {"column": ("calculate", ufunc), "kernel": f"x y {ufunc.upper()}"}
    return rules.fast(sql=lambda F, a, b: getattr(F, f"try_{ufunc}")(a, b), **fast), other.fast(**fast)


_SIGNS = {NEMO: ("(0 - {0})",), SOUFFLE: ("(-{0})",), RDFOX: ("(-{0})",)}
OPERATORS = (
    *_operator("+", operator.add, "add", {}, rif="func:numeric-add", swrl="add"),
    *_operator("-", _minus, "subtract", _SIGNS, rif="func:numeric-subtract", swrl="subtract", nemo="SUBTRACTION"),
    *_operator("*", operator.mul, "multiply", {}, rif="func:numeric-multiply", swrl="multiply"),
    function("/", "number, number -> number", _arithmetic(_divide))
    .named(rif="func:numeric-divide", swrl="divide")
    .written_as(nemo="(({0} * 1.0) / {1})", rdfox="({0} / {1})")
    .fast(column=("divide",), kernel="x y DIVIDE"),
    function("%", "number, number -> same", _arithmetic(_modulo))
    .named(swrl="mod")
    .written_as(nemo="REM(REM({0}, {1}) + {1}, {1})", souffle="((({0} % {1}) + {1}) % {1})")
    .fast(column=("modulo",), kernel="x y MODULO", sql=_sql_modulo),
    function("div", "integer, integer -> integer", _of_integers(souffle.truncated))
    .named(rif="func:numeric-integer-divide", elsewhere="quotient")
    .written_as(souffle="({0} / {1})")
    .fast(column=("quotient",), kernel="x y QUOTIENT"),
    function("rem", "integer, integer -> integer", _of_integers(souffle.remainder))
    .named(rif="func:numeric-integer-mod", elsewhere="mod")
    .written_as(souffle="({0} % {1})")
    .fast(column=("remainder",), kernel="x y REMAINDER"),
    function("sparql:/", 2, sparql.arithmetic(sparql.divide, Rank.DECIMAL)),
    function("sparql:negative", 1, sparql.unary(operator.neg)),
    function("sparql:positive", 1, sparql.unary(operator.pos)),
    of_nemo("div", "anything, anything -> number", nemo.by_kind(souffle.truncated, operator.truediv))
    .named(nemo=("/", "DIVISION"))
    .written_as(nemo="({0} / {1})")
    .fast(column=("quotient by kind",)),
    of_nemo("rem", 2, nemo.by_kind(souffle.remainder, math.fmod)).fast(column=("remainder",)),
    *souffle.typed("+", "n, n", operator.add, operator.add, ("+", "+"), "add", "x y ADD"),
    *souffle.typed("-", "n, n", operator.sub, operator.sub, ("-", "-"), "subtract", "x y SUBTRACT"),
    *souffle.typed("*", "n, n", operator.mul, operator.mul, ("*", "*"), "multiply", "x y LOW_PRODUCT"),
    *souffle.typed("/", "n, n", souffle.truncated, souffle.quotient, core=("div", "/"), kernel="x y QUOTIENT"),
    *souffle.typed("%", "n, n", souffle.remainder, core=("rem", ""), column="fmod", kernel="x y REMAINDER"),
    *souffle.typed("**", "n, n", souffle.power, souffle.float_power, core=("", "pow")),
    *souffle.typed("neg", "n", operator.neg, operator.neg, kernel="0 x SUBTRACT"),
    *souffle.typed("wrap", "n", lambda a: a, lambda a: a, kernel="x"),
    *souffle.typed("min", "n, n...", min, min, ("min", "min"), "minimum", "x y MINIMUM", "min"),
    *souffle.typed("max", "n, n...", max, max, ("max", "max"), "maximum", "x y MAXIMUM", "max"),
)


def _total(*numbers: Any) -> Any:
    return sum(numbers)


def _product(*numbers: Any) -> Any:
    return math.prod(numbers)


NUMERIC = (
    function("abs", "number -> same", _arithmetic(abs))
    .named(swrl="abs", nemo="ABS")
    .written_as(rdfox="ABS")
    .fast(column=("absolute",), kernel="x ABSOLUTE"),
    function("ceil", "number -> same", _arithmetic(_whole(math.ceil)))
    .named(swrl="ceiling", nemo="CEIL", elsewhere="ceiling")
    .written_as(rdfox="CEIL"),
    function("floor", "number -> same", _arithmetic(_whole(math.floor)))
    .named(swrl="floor", nemo="FLOOR")
    .written_as(rdfox="FLOOR"),
    function("round", "number -> same", _arithmetic(_whole(_half_away))).named(swrl="round").written_as(rdfox="ROUND"),
    function("min", "number... -> same", _chosen(_least)).written_as(rdfox="MIN", souffle="min"),
    function("max", "number... -> same", _chosen(_greatest)).written_as(rdfox="MAX", souffle="max"),
    function("pow", "number, number -> number", _arithmetic(_power))
    .named(swrl="pow", elsewhere="power")
    .written_as(rdfox="POW"),
    function("sqrt", "number -> number", _arithmetic(math.sqrt)).written_as(rdfox="SQRT"),
    of_sparql("abs", 1, sparql.unary(abs)),
    of_sparql("ceil", 1, sparql.to_whole(math.ceil)),
    of_sparql("floor", 1, sparql.to_whole(math.floor)),
    of_sparql("round", 1, sparql.to_whole(sparql.half_up)),
    of_sparql("rand", 0, fresh_values.rand, instead="Add random numbers as facts, and read them from there."),
    of_nemo("sqrt", 1, nemo.by_kind(math.isqrt, math.sqrt)),
    of_nemo("sin", 1, nemo.by_kind(None, math.sin)),
    of_nemo("cos", 1, nemo.by_kind(None, math.cos)),
    of_nemo("tan", 1, nemo.by_kind(None, math.tan)),
    of_nemo("pow", 2, nemo.by_kind(nemo.power, math.pow)),
    of_nemo("log", 2, nemo.by_kind(nemo.logarithm, nemo.float_logarithm)),
    of_nemo("round", 1, nemo.by_kind(lambda a: a, nemo.half_up)),
    of_nemo("sum", "anything...", nemo.of_many(nemo.by_kind(_total, _total))),
    of_nemo(
        "product",
        "anything...",
        nemo.of_many(nemo.by_kind(_product, _product)),
    ),
    of_nemo("min", "anything...", nemo.of_many(nemo.by_kind(min, min))),
    of_nemo("max", "anything...", nemo.of_many(nemo.by_kind(max, max))),
    of_nemo("luka", "anything...", nemo.of_many(nemo.by_kind(None, lambda *a: max(0.0, sum(a) - (len(a) - 1))))),
)


def _bits(name: str, compute: Callable[[int, int], int], elsewhere: str) -> Function:
    """AND, OR or XOR of the bits of several integers."""
    call = _of_integers(lambda *numbers: reduce(compute, numbers))
    found = function(name, "integer, integer... -> integer", call).named(elsewhere=elsewhere)
    return found.written_as(nemo=elsewhere.upper(), souffle=f"({{0}} {name} {{1}})")


BITS = (
    _bits("band", operator.and_, "bitand"),
    _bits("bor", operator.or_, "bitor"),
    _bits("bxor", operator.xor, "bitxor"),
    function("bnot", "integer -> integer", _of_integers(operator.invert))
    .named(elsewhere="bitnot")
    .written_as(souffle="(bnot {0})"),
    function("bshl", "integer, integer -> integer", _shift(operator.lshift))
    .named(elsewhere="shl")
    .written_as(souffle="({0} bshl {1})"),
    function("bshr", "integer, integer -> integer", _shift(operator.rshift))
    .named(elsewhere="shr")
    .written_as(souffle="({0} bshr {1})"),
    function("bshru", "integer, integer -> integer", _shift(_shift_unsigned)),
    of_nemo("bitand", "anything...", nemo.of_many(nemo.bits(operator.and_))),
    of_nemo("bitor", "anything...", nemo.of_many(nemo.bits(operator.or_))),
    of_nemo("bitxor", "anything...", nemo.of_many(nemo.bits(operator.xor))),
    of_nemo("bitshl", 2, nemo.shift(operator.lshift)),
    of_nemo("bitshr", 2, nemo.shift(operator.rshift)),
    of_nemo("bitshru", 2, nemo.shift(lambda a, n: a % 2**64 >> n)),
    *souffle.typed("&", "n, n", operator.and_, core=("band", ""), column="bitwise_and", kernel="x y BIT_AND"),
    *souffle.typed("|", "n, n", operator.or_, core=("bor", ""), column="bitwise_or", kernel="x y BIT_OR"),
    *souffle.typed("^", "n, n", operator.xor, core=("bxor", ""), column="bitwise_xor", kernel="x y BIT_XOR"),
    *souffle.typed("<<", "n, n", souffle.shift_left, core=("bshl", ""), kernel="x y SHIFT_LEFT"),
    *souffle.typed(">>", "n, n", souffle.shift_right, core=("bshr", ""), kernel="x y SHIFT_RIGHT"),
    *souffle.typed(">>>", "n, n", souffle.shift_right_unsigned),
    *souffle.typed("~", "n", operator.invert, word="bnot"),
)
FUNCTIONS = (*OPERATORS, *NUMERIC, *BITS)
