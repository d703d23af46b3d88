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

import hashlib
import json
import math
import operator
import re
import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Context, Decimal, localcontext
from enum import IntEnum
from typing import Any
from urllib.parse import quote

from deltalog.core.datetimes import Moment, moment
from deltalog.core.iri_references import resolved
from deltalog.core.limits import check_running, checked
from deltalog.core.terms import (
    DECIMAL,
    IRI,
    NUMERIC,
    XSD,
    BlankNode,
    Literal,
    Value,
    canonical,
    datatype,
    is_decimal,
    key,
    lexical,
    literal,
    number,
)
from deltalog.functions import fresh_values
from deltalog.functions.regular_expressions import compiled, replaced

PREFIX = "sparql:"
MOST_CHARACTERS = 1 << 24  # of a text that an expression makes
MOST_BITS = 1 << 16  # of an integer that an expression computes
LONG = 1 << 16  # characters of a text that takes so long that limits are checked
UNBOUND = Literal("", "#unbound")
LIST = "#list"  # the datatype of the texts of a group, as JSON, on their way to GROUP_CONCAT's result
DIGITS = Context(prec=28)  # of a quotient
EXACT = Context(prec=16_100)  # for sums and products, which are exact: a decimal has at most 4,000 and 4,000 digits
TOO_LONG = "a decimal of more than 4,000 digits before or after the point"
TOO_LARGE = f"an integer of more than {MOST_BITS:,} bits"


class ExpressionFails(Exception):
    """An expression has no value for a row. Never reaches a user."""


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


def _single_text(n: float) -> str:
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
    return _single(_float(n)) if rank is Rank.FLOAT else _float(n)


def _float(n: Number) -> float:
    try:
        return float(n)
    except OverflowError:
        return math.inf if n > 0 else -math.inf


def _value(rank: Rank, n: Number) -> Value:
    """A number as a value."""
    match rank:
        case Rank.INTEGER:
            return checked_integer(int(n))
        case Rank.DECIMAL:
            return checked_decimal(Decimal(n))
        case Rank.FLOAT:
            return Literal(_single_text(_single(float(n)) + 0.0), XSD + "float")
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


def _arithmetic(compute: Callable[[Any, Any], Number], least: Rank = Rank.INTEGER) -> Callable[[Value, Value], Value]:
    """An operator on two numbers of one type, which is at least `least`."""

    def function(left: Value, right: Value) -> Value:
        (a_rank, a), (b_rank, b) = numeric(left), numeric(right)
        rank = max(a_rank, b_rank, least)
        try:
            with localcontext(EXACT):
                return _value(rank, compute(_as(rank, a), _as(rank, b)))
        except (ArithmeticError, ValueError) as error:
            raise ExpressionFails(str(error)) from None

    return function


def _divide(a: Decimal | float, b: Decimal | float) -> Number:
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return divided(a, b)
    if b != 0:
        return float(a) / float(b)
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _unary(compute: Callable[[Any], Number]) -> Callable[[Value], Value]:
    def function(value: Value) -> Value:
        rank, n = numeric(value)
        with localcontext(EXACT):
            return _value(rank, compute(n))

    return function


def _to_whole(compute: Callable[[Any], Number]) -> Callable[[Value], Value]:
    """A function to whole numbers; NaN and the infinities stay as they are."""
    return _unary(lambda n: n if isinstance(n, float) and not math.isfinite(n) else compute(n))


def _half_up(n: Number) -> int:
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
        return n is None or not _nan(n[1])
    if isinstance(left, IRI | BlankNode) or isinstance(right, IRI | BlankNode):
        return False
    if _language(left) is not None or _language(right) is not None:
        return False
    a, b = _known(left), _known(right)
    if a is None or b is None:
        raise ExpressionFails(f"{left!r} and {right!r} may be equal or not")
    return a[0] == b[0] and operator.eq(*_sides(a[0], a[1], b[1]))


def _nan(n: Number) -> bool:
    return isinstance(n, float) and math.isnan(n)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
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
        return n[1] != 0 and not _nan(n[1])
    if isinstance(value, Literal) and (value.datatype in NUMERIC or value.datatype in _NUMBERS_OR_BOOLEAN):
        return False  # a number or a boolean that is written wrongly
    return bool(_text(value))


_NUMBERS_OR_BOOLEAN = frozenset((XSD + "integer", XSD + "double", XSD + "boolean"))

# Strings


def _text(value: Value) -> str:
    """The text of a string, with a language or without."""
    if isinstance(value, str) and not isinstance(value, IRI | BlankNode):
        if len(value) > LONG:
            check_running()
        return value
    if isinstance(value, Literal) and value.language is not None:
        return value.text
    raise ExpressionFails(f"{value!r} is no string")


def _language(value: Value) -> str | None:
    return value.language if isinstance(value, Literal) else None


def _like(text: str, model: Value) -> Value:
    """A text with the language of another string."""
    return literal(text, language=_language(model))


def _simple(value: Value) -> str:
    """A string without a language."""
    if _language(value) is not None:
        raise ExpressionFails(f"{value!r} has a language")
    return _text(value)


def _str(value: Value) -> str:
    if isinstance(value, BlankNode):
        raise ExpressionFails("a blank node has no text")
    return lexical(value)


def _pair(left: Value, right: Value) -> tuple[str, str]:
    """Two strings that are compatible: the second has no language, or that of the first."""
    texts = _text(left), _text(right)
    if _language(right) is not None and _language(left) != _language(right):
        raise ExpressionFails("two strings of different languages")
    return texts


def _of_pair(compute: Callable[[str, str], bool]) -> Callable[[Value, Value], bool]:
    return lambda left, right: compute(*_pair(left, right))


def _substr(value: Value, start: Value, *length: Value) -> Value:
    text, begin = _text(value), _whole(start)
    end = begin + _whole(length[0]) if length else len(text) + 1
    return _like(text[max(begin, 1) - 1 : max(end, 1) - 1], value)


def _whole(value: Value) -> int:
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
        total += len(_str(value))
        if total > MOST_CHARACTERS:
            check_length(total)


def concatenated(texts: Sequence[str], separator: str = "") -> str:
    check_length(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _concat(*values: Value) -> Value:
    text = concatenated([_text(value) for value in values])
    languages = {_language(value) for value in values}
    return literal(text, language=languages.pop() if len(languages) == 1 else None)


def _before(value: Value, mark: Value) -> Value:
    text, part = _pair(value, mark)
    before, found, _ = text.partition(part) if part else ("", "found", "")
    return _like(before, value) if found else ""


def _after(value: Value, mark: Value) -> Value:
    text, part = _pair(value, mark)
    _, found, after = text.partition(part) if part else ("", "found", text)
    return _like(after, value) if found else ""


def _regex(value: Value, pattern: Value, *flags: Value) -> bool:
    return compiled(_simple(pattern), *map(_simple, flags)).is_in(_text(value))


def _replace(value: Value, pattern: Value, replacement: Value, *flags: Value) -> Value:
    given, new = _text(value), _simple(replacement)
    written = _simple(flags[0]) if flags else ""
    text = replaced(given, _simple(pattern), new, written, check_length)
    return _like(text, value)


def _joined(values: Value, separator: Value) -> str:
    """The texts of a list (see `LIST`), joined."""
    assert isinstance(values, Literal)
    if values.datatype != LIST:
        raise ExpressionFails("there is no list")
    return concatenated(json.loads(values.text), str(separator))


def _hashed(name: str) -> Callable[[Value], str]:
    """The digest of a string in UTF-8, as hexadecimal digits."""
    return lambda value: hashlib.new(name, _simple(value).encode(), usedforsecurity=False).hexdigest()


def _lang_matches(tag: Value, wanted: Value) -> bool:
    text, pattern = _simple(tag).lower(), _simple(wanted).lower()
    return bool(text) if pattern == "*" else text == pattern or text.startswith(pattern + "-")


# Terms


def _labelled_bnode(seed: Value, label: Value, *solution: Value) -> BlankNode:
    """The blank node of a label, in one solution."""
    return fresh_values.bnode(seed, _simple(label), *solution)


def _lang(value: Value) -> str:
    if datatype(value) is None:
        raise ExpressionFails(f"{value!r} is no literal")
    return _language(value) or ""


def _datatype(value: Value) -> IRI:
    found = datatype(value)
    if found is None:
        raise ExpressionFails(f"{value!r} is no literal")
    return IRI(found)


_NOT_IN_IRI = re.compile(r"[<>\"{}|^`\\\x00-\x20]")


def _iri(value: Value, *base: str) -> IRI:
    if isinstance(value, IRI):
        return value
    text = resolved(base[0], _simple(value)) if base else _simple(value)
    if _NOT_IN_IRI.search(text):
        raise ExpressionFails(f"{text!r} is no IRI")
    return IRI(text)


def _is_numeric(value: Value) -> bool:
    return ranked(value) is not None


# Casts


def _to_integer(value: Value) -> int:
    if isinstance(value, bool):
        return int(value)
    n = ranked(value)
    if n is None:
        parsed = literal(_simple(value), XSD + "integer")
        n = ranked(parsed)
    if n is None or (isinstance(n[1], float) and not math.isfinite(n[1])):
        raise ExpressionFails(f"{value!r} is no integer")
    return int(n[1])


def _to_decimal(value: Value) -> Value:
    if isinstance(value, bool):
        return _value(Rank.DECIMAL, int(value))
    n = ranked(value) or ranked(literal(_simple(value), DECIMAL))
    if n is None or (isinstance(n[1], float) and not math.isfinite(n[1])):
        raise ExpressionFails(f"{value!r} is no decimal")
    return _value(Rank.DECIMAL, Decimal(n[1]))


def _to_string(value: Value) -> str:
    """The canonical text of a number, a date or a time, and the text of all others."""
    n, at = ranked(value), moment_of(value)
    if n is not None:
        return lexical(_value(*n)) if n[0] < Rank.FLOAT else _canonical(*n)
    return _str(value) if at is None else str(at)


def _canonical(rank: Rank, n: Number) -> str:
    """A float or a double: with an exponent if it is very small or very large."""
    assert isinstance(n, float)
    if not math.isfinite(n) or n == 0:
        return lexical(n) if n else "0"
    shortest = Decimal(_single_text(n) if rank is Rank.FLOAT else repr(n)).normalize()
    if 1e-6 <= abs(n) < 1e6:
        return format(shortest, "f")
    sign, digits, exponent = shortest.as_tuple()
    assert isinstance(exponent, int)
    first, rest = digits[0], "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{exponent + len(digits) - 1}"


def _to_float(rank: Rank, name: str) -> Callable[[Value], Value]:
    def cast(value: Value) -> Value:
        n = (rank, int(value)) if isinstance(value, bool) else ranked(value)
        if n is None:
            n = ranked(literal(_simple(value), XSD + name))
        if n is None:
            raise ExpressionFails(f"{value!r} is no {name}")
        return _value(rank, _float(n[1]))

    return cast


def _to_boolean(value: Value) -> bool:
    if isinstance(value, bool) or ranked(value) is not None:
        return effective_boolean_value(value)
    found = literal(_simple(value), XSD + "boolean")
    if not isinstance(found, bool):
        raise ExpressionFails(f"{value!r} is no boolean")
    return found


def _to_moment(name: str) -> Callable[[Value], Value]:
    is_date = name == "date"

    def cast(value: Value) -> Value:
        at = moment_of(value) or moment(_simple(value), is_date)
        if at is None:
            raise ExpressionFails(f"{value!r} is no {name}")
        return literal(str(at.as_date() if is_date else at.as_time()), XSD + name)

    return cast


def _part_of(what: Callable[[Moment], int], of_dates: bool) -> Callable[[Value], int]:
    def part(value: Value) -> int:
        at = moment_of(value)
        if at is None or (at.is_date and not of_dates):
            raise ExpressionFails(f"{value!r} has no such part")
        return what(at)

    return part


def _seconds(value: Value) -> Decimal:
    """The seconds of a time, with all digits that they have."""
    at = moment_of(value)
    if at is None or at.is_date:
        raise ExpressionFails(f"{value!r} has no such part")
    return canonical(Decimal(at.seconds))


def _zone_text(value: Value) -> str:
    """The time zone as it is written, or nothing."""
    if moment_of(value) is None:
        raise ExpressionFails(f"{value!r} is no date or time")
    found = re.search(r"(?:Z|[+-][0-9]{2}:[0-9]{2})$", lexical(value).strip())
    return "" if found is None else found[0]


def _zone_duration(value: Value) -> Literal:
    """The time zone as a duration of hours and minutes."""
    at = moment_of(value)
    if at is None or at.zone is None:
        raise ExpressionFails(f"{value!r} has no time zone")
    hours, minutes = divmod(abs(at.zone), 60)
    parts = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    return Literal(f"{'-' if at.zone < 0 else ''}PT{parts or '0S'}", XSD + "dayTimeDuration")


def _with_language(value: Value, tag: Value) -> Literal:
    language = _simple(tag)
    if not re.fullmatch(r"[a-zA-Z]+(?:-[a-zA-Z0-9]+)*", language):
        raise ExpressionFails(f"{language!r} is no language")
    return Literal(_simple(value), language=language)


CASTS: dict[str, Callable[[Value], Value]] = {
    XSD + "string": _to_string,
    XSD + "integer": _to_integer,
    XSD + "decimal": _to_decimal,
    XSD + "double": _to_float(Rank.DOUBLE, "double"),
    XSD + "float": _to_float(Rank.FLOAT, "float"),
    XSD + "boolean": _to_boolean,
    XSD + "date": _to_moment("date"),
    XSD + "dateTime": _to_moment("dateTime"),
}

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "=": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "+": _arithmetic(operator.add),
    "-": _arithmetic(operator.sub),
    "*": _arithmetic(operator.mul),
    "/": _arithmetic(_divide, Rank.DECIMAL),
    "negative": _unary(operator.neg),
    "positive": _unary(operator.pos),
    "boolean": effective_boolean_value,
    "abs": _unary(abs),
    "round": _to_whole(_half_up),
    "ceil": _to_whole(math.ceil),
    "floor": _to_whole(math.floor),
    "str": _str,
    "lang": _lang,
    "datatype": _datatype,
    "iri": _iri,
    "uri": _iri,
    "isiri": lambda value: isinstance(value, IRI),
    "isuri": lambda value: isinstance(value, IRI),
    "isblank": lambda value: isinstance(value, BlankNode),
    "isliteral": lambda value: datatype(value) is not None,
    "isnumeric": _is_numeric,
    "strlen": lambda value: len(_text(value)),
    "substr": _substr,
    "ucase": lambda value: _like(_text(value).upper(), value),
    "lcase": lambda value: _like(_text(value).lower(), value),
    "contains": _of_pair(str.__contains__),
    "strstarts": _of_pair(str.startswith),
    "strends": _of_pair(str.endswith),
    "strbefore": _before,
    "strafter": _after,
    "concat": _concat,
    "regex": _regex,
    "replace": _replace,
    "langmatches": _lang_matches,
    "strlang": _with_language,
    "strdt": lambda value, type_: literal(_simple(value), str(_iri(type_))),
    "year": _part_of(lambda at: at.date[0], of_dates=True),
    "month": _part_of(lambda at: at.date[1], of_dates=True),
    "day": _part_of(lambda at: at.date[2], of_dates=True),
    "hours": _part_of(lambda at: at.hour, of_dates=False),
    "minutes": _part_of(lambda at: at.minute, of_dates=False),
    "seconds": _seconds,
    "timezone": _zone_duration,
    "tz": _zone_text,
    "encode_for_uri": lambda value: quote(_text(value), safe=""),
    **{name: _hashed(name) for name in ("md5", "sha1", "sha256", "sha384", "sha512")},
    "rand": fresh_values.rand,
    "uuid": fresh_values.fresh_iri,
    "struuid": fresh_values.struuid,
    "bnode": fresh_values.bnode,
    "bnode of": _labelled_bnode,
    "joined": _joined,
    **CASTS,
}

# Functions that give true or false, or fail.
CONDITIONS = frozenset(
    (
        *("=", "!=", "<", "<=", ">", ">=", "boolean", XSD + "boolean"),
        *("isiri", "isuri", "isblank", "isliteral", "isnumeric"),
        *("contains", "strstarts", "strends", "regex", "langmatches"),
    )
)

# Aggregates: over all values of a group, UNBOUND for those whose expression failed; UNBOUND if there is no result.


def _sum(values: Sequence[Value]) -> Value:
    total: Value = 0
    add = FUNCTIONS["+"]
    for value in values:
        total = add(total, value)
    return total


def _average(values: Sequence[Value]) -> Value:
    return FUNCTIONS["/"](_sum(values), len(values)) if values else 0


def or_unbound(compute: Callable[[Sequence[Value]], Value]) -> Callable[[Sequence[Value]], Value]:
    """An aggregate that has no result where a value is missing, or where it fails."""

    def function(values: Sequence[Value]) -> Value:
        try:
            return UNBOUND if any(map(is_unbound, values)) else compute(values)
        except (ExpressionFails, ValueError):
            return UNBOUND

    return function


def count(values: Sequence[Value]) -> int:
    return sum(not is_unbound(value) for value in values)


def listed(values: Sequence[Value]) -> Literal:
    """The texts of values, for `joined`."""
    return Literal(json.dumps([_str(value) for value in checked(values)]), LIST)


AGGREGATES: dict[str, Callable[[Sequence[Value]], Value]] = {
    "count": count,
    "sum": or_unbound(_sum),
    "avg": or_unbound(_average),
}
