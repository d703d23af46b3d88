"""The semantics of SPARQL's operators, functions and aggregates, one value at a time.

SPARQL's semantics differ from those of rules (`deltalog.functions.scalar`): integers divide to decimals, comparisons
of incomparable values are errors, any value may be a condition, strings keep their language. So its operators are
functions of their own, under names that no rule can write (`sparql:+`), and expressions that use them are ordinary
expressions: every engine evaluates them as it evaluates all others.

An error is `ExpressionFails`. UNBOUND stands in a row for a variable without a value; it never reaches a user.

Numbers are integers, decimals, floats (of 32 bits) and doubles; an operation or a comparison has the type of the widest
of its operands. Dates and times are those of `deltalog.core.datetimes`. Equality of literals is decided where both
datatypes are known or one of them has a language, and is an error otherwise, unless they are one term; a literal that
is not valid for its datatype is one of an unknown datatype.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Context, Decimal, localcontext
from enum import IntEnum
from typing import Any

from deltalog.core.datetimes import Moment, moment
from deltalog.core.limits import check_running
from deltalog.core.terms import (
    IRI,
    NUMERIC,
    XSD,
    BlankNode,
    Literal,
    Value,
    canonical,
    is_decimal,
    key,
    lexical,
    literal,
    number,
)
from deltalog.functions.function import ExpressionFails

MOST_CHARACTERS = 1 << 24  # of a text that an expression makes
MOST_BITS = 1 << 16  # of an integer that an expression computes
LONG = 1 << 16  # characters of a text that takes so long that limits are checked
UNBOUND = Literal("", "#unbound")
LIST = "#list"  # the datatype of the texts of a group, as JSON, on their way to GROUP_CONCAT's result
DIGITS = Context(prec=28)  # of a quotient
EXACT = Context(prec=16_100)  # for sums and products, which are exact: a decimal has at most 4,000 and 4,000 digits
TOO_LONG = "a decimal of more than 4,000 digits before or after the point"
TOO_LARGE = f"an integer of more than {MOST_BITS:,} bits"


def is_unbound(value: Value) -> bool:
    return isinstance(value, Literal) and value.datatype == UNBOUND.datatype


# Numbers


class Rank(IntEnum):
    """The numeric types, from the narrowest to the widest."""

    INTEGER = 0
    DECIMAL = 1
    FLOAT = 2
    DOUBLE = 3


Number = int | Decimal | float
Ranked = tuple[Rank, Number]


def ranked(value: Value) -> Ranked | None:
    """The type and the number of a value; None if it is no number."""
    n = number(value)
    if n is None:
        return None
    if isinstance(n, Decimal):
        return (Rank.DECIMAL, n)
    if not isinstance(value, Literal):
        return (Rank.INTEGER if isinstance(n, int) else Rank.DOUBLE, n)
    return (Rank.FLOAT, _single(n)) if value.datatype == XSD + "float" else (Rank.INTEGER, n)


def _single(n: float) -> float:
    """The nearest float of 32 bits."""
    try:
        return float(struct.unpack("f", struct.pack("f", n))[0])
    except OverflowError:
        return math.copysign(math.inf, n)


def single_text(n: float) -> str:
    """The shortest text of a float of 32 bits."""
    texts = (lexical(float(f"{n:.{digits}g}")) for digits in range(1, 10))
    return next((text for text in texts if math.isfinite(n) and _single(float(text)) == n), lexical(n))


def numeric(value: Value) -> Ranked:
    found = ranked(value)
    if found is None:
        raise ExpressionFails(f"{value!r} is no number")
    return found


def _as(rank: Rank, n: Number) -> Any:
    if isinstance(n, int) and rank < Rank.FLOAT:
        checked_integer(n)
    if rank is Rank.INTEGER:
        return n
    if rank is Rank.DECIMAL:
        return Decimal(n)
    return _single(as_float(n)) if rank is Rank.FLOAT else as_float(n)


def as_float(n: Number) -> float:
    try:
        return float(n)
    except OverflowError:
        return math.inf if n > 0 else -math.inf


def value_of(rank: Rank, n: Number) -> Value:
    """A number as a value."""
    match rank:
        case Rank.INTEGER:
            return checked_integer(int(n))
        case Rank.DECIMAL:
            return checked_decimal(Decimal(n))
        case Rank.FLOAT:
            return Literal(single_text(_single(float(n)) + 0.0), XSD + "float")
        case _:
            return float(n) + 0.0


def checked_integer(n: int) -> int:
    """An integer that is not too large; a few squares in a row would take for ever otherwise."""
    if n.bit_length() > MOST_BITS:
        raise ExpressionFails(TOO_LARGE)
    return n


def checked_decimal(n: Decimal) -> Decimal:
    """A decimal as a value; ExpressionFails if it has too many digits."""
    if not is_decimal(n):
        raise ExpressionFails(TOO_LONG)
    return canonical(n)


def divided(a: Decimal, b: Decimal) -> Decimal:
    """The quotient of decimals, of 28 significant digits."""
    if not b:
        raise ZeroDivisionError
    return DIGITS.divide(a, b)


def arithmetic(compute: Callable[[Any, Any], Number], least: Rank = Rank.INTEGER) -> Callable[[Value, Value], Value]:
    """An operator on two numbers of one type, which is at least `least`."""

    def function(left: Value, right: Value) -> Value:
        (a_rank, a), (b_rank, b) = numeric(left), numeric(right)
        rank = max(a_rank, b_rank, least)
        try:
            with localcontext(EXACT):
                return value_of(rank, compute(_as(rank, a), _as(rank, b)))
        except (ArithmeticError, ValueError) as error:
            raise ExpressionFails(str(error)) from None

    return function


def divide(a: Decimal | float, b: Decimal | float) -> Number:
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return divided(a, b)
    if b != 0:
        return float(a) / float(b)
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def unary(compute: Callable[[Any], Number]) -> Callable[[Value], Value]:
    def function(value: Value) -> Value:
        rank, n = numeric(value)
        with localcontext(EXACT):
            return value_of(rank, compute(n))

    return function


def to_whole(compute: Callable[[Any], Number]) -> Callable[[Value], Value]:
    """A function to whole numbers; NaN and the infinities stay as they are."""
    return unary(lambda n: n if isinstance(n, float) and not math.isfinite(n) else compute(n))


def half_up(n: Number) -> int:
    """XPath's round: halves go up."""
    if isinstance(n, Decimal):
        return math.floor(n + Decimal("0.5"))
    return n if isinstance(n, int) else math.floor(n + 0.5)


# Comparisons


def _known(value: Value) -> tuple[str, Any] | None:
    """A class of literals that compare with each other, and the thing to compare; None if there is none."""
    n = ranked(value)
    if n is not None:
        return ("number", n)
    at = moment_of(value)
    if at is not None:
        return ("date" if at.is_date else "time", at)
    if isinstance(value, Literal) and value.language is not None:
        return ("language " + value.language, value.text)
    if isinstance(value, bool) or (isinstance(value, str) and not isinstance(value, IRI | BlankNode)):
        return (type(value).__name__, value)
    return None


def moment_of(value: Value) -> Moment | None:
    """The moment of a date or a time, in whatever form it was written."""
    if isinstance(value, Literal) and value.datatype in (XSD + "date", XSD + "dateTime"):
        return moment(value.text, value.datatype == XSD + "date")
    return moment(lexical(value), not isinstance(value, datetime)) if isinstance(value, date) else None


def _sides(class_: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Two things of one class as Python compares them: numbers of the wider type, moments by their difference."""
    if class_ == "number":
        rank = max(a[0], b[0])
        return _as(rank, a[1]), _as(rank, b[1])
    if class_ in ("date", "time"):
        difference = a.compare(b)
        if difference is None:
            raise ExpressionFails("one has a time zone, the other none, and they are less than 14 hours apart")
        return difference, 0
    return a, b


def equal(left: Value, right: Value) -> bool:
    """SPARQL's =."""
    if key(left) == key(right):
        n = ranked(left)
        return n is None or not is_nan(n[1])
    if isinstance(left, IRI | BlankNode) or isinstance(right, IRI | BlankNode):
        return False
    if language_of(left) is not None or language_of(right) is not None:
        return False
    a, b = _known(left), _known(right)
    if a is None or b is None:
        raise ExpressionFails(f"{left!r} and {right!r} may be equal or not")
    return a[0] == b[0] and operator.eq(*_sides(a[0], a[1], b[1]))


def is_nan(n: Number) -> bool:
    return isinstance(n, float) and math.isnan(n)


def ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    def comparison(left: Value, right: Value) -> bool:
        a, b = _known(left), _known(right)
        if a is None or b is None or a[0] != b[0]:
            raise ExpressionFails(f"{left!r} and {right!r} do not compare")
        return compare(*_sides(a[0], a[1], b[1]))

    return comparison


def effective_boolean_value(value: Value) -> bool:
    """Any value as a condition."""
    if isinstance(value, bool):
        return value
    n = ranked(value)
    if n is not None:
        return n[1] != 0 and not is_nan(n[1])
    if isinstance(value, Literal) and (value.datatype in NUMERIC or value.datatype in _NUMBERS_OR_BOOLEAN):
        return False  # a number or a boolean that is written wrongly
    return bool(text_of(value))


_NUMBERS_OR_BOOLEAN = frozenset((XSD + "integer", XSD + "double", XSD + "boolean"))

# Strings


def text_of(value: Value) -> str:
    """The text of a string, with a language or without."""
    if isinstance(value, str) and not isinstance(value, IRI | BlankNode):
        if len(value) > LONG:
            check_running()
        return value
    if isinstance(value, Literal) and value.language is not None:
        return value.text
    raise ExpressionFails(f"{value!r} is no string")


def language_of(value: Value) -> str | None:
    return value.language if isinstance(value, Literal) else None


def like(text: str, model: Value) -> Value:
    """A text with the language of another string."""
    return literal(text, language=language_of(model))


def simple(value: Value) -> str:
    """A string without a language."""
    if language_of(value) is not None:
        raise ExpressionFails(f"{value!r} has a language")
    return text_of(value)


def str_of(value: Value) -> str:
    if isinstance(value, BlankNode):
        raise ExpressionFails("a blank node has no text")
    return lexical(value)


def pair(left: Value, right: Value) -> tuple[str, str]:
    """Two strings that are compatible: the second has no language, or that of the first."""
    texts = text_of(left), text_of(right)
    if language_of(right) is not None and language_of(left) != language_of(right):
        raise ExpressionFails("two strings of different languages")
    return texts


def of_pair(compute: Callable[[str, str], bool]) -> Callable[[Value, Value], bool]:
    return lambda left, right: compute(*pair(left, right))


def whole(value: Value) -> int:
    rank, n = numeric(value)
    if rank is not Rank.INTEGER:
        raise ExpressionFails(f"{value!r} is no integer")
    return int(n)


def check_length(characters: int) -> None:
    """ExpressionFails if a text would be too long: a few doublings in a row would fill the memory otherwise. Limits are
    checked where it would be long."""
    if characters > MOST_CHARACTERS:
        raise ExpressionFails(f"a text of more than {MOST_CHARACTERS:,} characters")
    if characters > LONG:
        check_running()


def check_texts(values: Sequence[Value]) -> None:
    """ExpressionFails if the texts of values would be too long together."""
    total = 0
    for value in values:
        total += len(str_of(value))
        if total > MOST_CHARACTERS:
            check_length(total)


def concatenated(texts: Sequence[str], separator: str = "") -> str:
    check_length(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)
