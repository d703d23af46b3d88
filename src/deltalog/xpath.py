"""What SPARQL's operators, functions and aggregates mean, one value at a time.

SPARQL calculates otherwise than the rules do (`deltalog.expressions`): integers divide to decimals, comparisons of what
does not compare are errors, any value may be a condition, strings keep their language. So its operators are functions
of their own, under names that no rule can write (`sparql:+`), and expressions that use them are ordinary expressions:
every engine evaluates them as it evaluates all others.

An error is `ExpressionFails`. UNBOUND stands in a row for a variable without a value; it never reaches a user.

Numbers are integers, decimals, floats and doubles; an operation has the type of the widest of its operands. Equality of
literals is decided where both datatypes are known, and is an error otherwise, unless they are one term.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Context, Decimal, DecimalException
from enum import IntEnum
from typing import Any

from deltalog.terms import IRI, NUMERIC, XSD, BlankNode, Literal, Value, datatype, key, lexical, literal, number

PREFIX = "sparql:"
UNBOUND = Literal("", "#unbound")
DIGITS = Context(prec=28)


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
    if not isinstance(value, Literal):
        return (Rank.INTEGER if isinstance(n, int) else Rank.DOUBLE, n)
    if value.datatype == XSD + "decimal":
        return (Rank.DECIMAL, Decimal(value.text.strip())) if math.isfinite(n) else None
    return (Rank.FLOAT if value.datatype == XSD + "float" else Rank.INTEGER, n)


def numeric(value: Value) -> Ranked:
    found = ranked(value)
    if found is None:
        raise ExpressionFails(f"{value!r} is no number")
    return found


def _as(rank: Rank, n: Number) -> Any:
    if rank is Rank.INTEGER:
        return n
    return Decimal(n) if rank is Rank.DECIMAL else float(n)


def _value(rank: Rank, n: Number) -> Value:
    """A number as a value."""
    match rank:
        case Rank.INTEGER:
            return int(n)
        case Rank.DECIMAL:
            text = format(Decimal(n).normalize(DIGITS), "f")
            return Literal(text if text != "-0" else "0", XSD + "decimal")
        case Rank.FLOAT:
            return Literal(lexical(float(n)), XSD + "float")
        case _:
            return float(n) + 0.0


def _arithmetic(compute: Callable[[Any, Any], Number], least: Rank = Rank.INTEGER) -> Callable[[Value, Value], Value]:
    """An operator on two numbers of one type, which is at least `least`."""

    def function(left: Value, right: Value) -> Value:
        (a_rank, a), (b_rank, b) = numeric(left), numeric(right)
        rank = max(a_rank, b_rank, least)
        try:
            return _value(rank, compute(_as(rank, a), _as(rank, b)))
        except (ArithmeticError, ValueError) as error:
            raise ExpressionFails(str(error)) from None

    return function


def _divide(a: Decimal | float, b: Decimal | float) -> Number:
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return DIGITS.divide(a, b)
    if b != 0:
        return float(a) / float(b)
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _unary(compute: Callable[[Any], Number]) -> Callable[[Value], Value]:
    def function(value: Value) -> Value:
        rank, n = numeric(value)
        if isinstance(n, float) and not math.isfinite(n):
            return _value(rank, abs(n) if compute is abs else n)
        return _value(rank, compute(n))

    return function


def _half_up(n: Number) -> int:
    """XPath's round: halves go up."""
    if isinstance(n, Decimal):
        return math.floor(n + Decimal("0.5"))
    return n if isinstance(n, int) else math.floor(n + 0.5)


# Comparisons


def _kind_of(value: Value) -> tuple[str, Any]:
    """A class of literals that compare with each other, and the thing to compare; fails for unknown datatypes."""
    n = ranked(value)
    if n is not None:
        return ("number", n[1])
    if isinstance(value, Literal):
        if value.language is not None:
            return ("language " + value.language, value.text)
        value = _time(value)
    match value:
        case IRI() | BlankNode():
            return ("resource", value)
        case bool() | str():
            return (type(value).__name__, value)
        case datetime():
            return ("datetime" if value.utcoffset() is None else "instant", value)
        case date():
            return ("date", value)
    raise ExpressionFails(f"{value!r} has no order")


def _time(value: Literal) -> Value:
    """A date or time in a form that is not its shortest."""
    try:
        if value.datatype == XSD + "dateTime":
            return datetime.fromisoformat(value.text)
        if value.datatype == XSD + "date":
            return date.fromisoformat(value.text)
    except ValueError:
        pass
    return value


def equal(left: Value, right: Value) -> bool:
    """SPARQL's =."""
    if key(left) == key(right):
        n = ranked(left)
        return n is None or not _nan(n[1])
    if isinstance(left, IRI | BlankNode) or isinstance(right, IRI | BlankNode):
        return False
    (left_class, a), (right_class, b) = _kind_of(left), _kind_of(right)
    if {left_class, right_class} == {"datetime", "instant"}:
        raise ExpressionFails("a time with a zone and one without do not compare")
    return left_class == right_class and bool(_exactly(a, b, operator.eq))


def _nan(n: Number) -> bool:
    return isinstance(n, float) and math.isnan(n)


def _exactly(a: Any, b: Any, compare: Callable[[Any, Any], bool]) -> bool:
    """Compares numbers of different types by value; a decimal and a float as floats, as XPath does."""
    if isinstance(a, Decimal) and isinstance(b, float):
        a = float(a)
    elif isinstance(b, Decimal) and isinstance(a, float):
        b = float(b)
    return compare(a, b)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    def comparison(left: Value, right: Value) -> bool:
        (left_class, a), (right_class, b) = _kind_of(left), _kind_of(right)
        if left_class != right_class or left_class == "resource":
            raise ExpressionFails(f"{left!r} and {right!r} do not compare")
        return _exactly(a, b, compare)

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


def _concat(*values: Value) -> Value:
    text = "".join(map(_text, values))
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


def _pattern(pattern: Value, flags: Sequence[Value]) -> re.Pattern[str]:
    letters = _simple(flags[0]) if flags else ""
    known = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE}
    if set(letters) - known.keys() - {"q"}:
        raise ExpressionFails(f"unknown flags {letters!r}")
    text = re.escape(_simple(pattern)) if "q" in letters else _simple(pattern)
    try:
        return re.compile(text, sum({known[letter] for letter in letters if letter in known}))
    except re.error as error:
        raise ExpressionFails(str(error)) from None


def _regex(value: Value, pattern: Value, *flags: Value) -> bool:
    return _pattern(pattern, flags).search(_text(value)) is not None


def _replace(value: Value, pattern: Value, replacement: Value, *flags: Value) -> Value:
    compiled = _pattern(pattern, flags)
    if compiled.search("") is not None:
        raise ExpressionFails("the pattern of REPLACE matches the empty string")
    new = re.sub(r"\\?\$(\d)|\\(.)", _reference, _simple(replacement))
    try:
        return _like(compiled.sub(new, _text(value)), value)
    except (re.error, IndexError) as error:
        raise ExpressionFails(str(error)) from None


def _reference(match: re.Match[str]) -> str:
    """$1 as Python has it."""
    if match[0].startswith("$"):
        return rf"\g<{match[1]}>"
    return re.escape(match[0][1:])


def _lang_matches(tag: Value, wanted: Value) -> bool:
    text, pattern = _simple(tag).lower(), _simple(wanted).lower()
    return bool(text) if pattern == "*" else text == pattern or text.startswith(pattern + "-")


# Terms


def _lang(value: Value) -> str:
    if datatype(value) is None:
        raise ExpressionFails(f"{value!r} is no literal")
    return _language(value) or ""


def _datatype(value: Value) -> IRI:
    found = datatype(value)
    if found is None:
        raise ExpressionFails(f"{value!r} is no literal")
    return IRI(found)


def _iri(value: Value) -> IRI:
    return value if isinstance(value, IRI) else IRI(_simple(value))


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
    n = ranked(value)
    try:
        found = Decimal(_simple(value).strip()) if n is None else Decimal(repr(n[1]) if n[0] >= Rank.FLOAT else n[1])
    except DecimalException:
        raise ExpressionFails(f"{value!r} is no decimal") from None
    if not found.is_finite():
        raise ExpressionFails(f"{value!r} is no decimal")
    return _value(Rank.DECIMAL, found)


def _to_float(rank: Rank, name: str) -> Callable[[Value], Value]:
    def cast(value: Value) -> Value:
        n = (rank, int(value)) if isinstance(value, bool) else ranked(value)
        if n is None:
            n = ranked(literal(_simple(value), XSD + name))
        if n is None:
            raise ExpressionFails(f"{value!r} is no {name}")
        return _value(rank, float(n[1]))

    return cast


def _to_boolean(value: Value) -> bool:
    if isinstance(value, bool) or ranked(value) is not None:
        return effective_boolean_value(value)
    found = literal(_simple(value), XSD + "boolean")
    if not isinstance(found, bool):
        raise ExpressionFails(f"{value!r} is no boolean")
    return found


def _to_time(name: str, type_: type) -> Callable[[Value], Value]:
    def cast(value: Value) -> Value:
        if isinstance(value, datetime) and type_ is date:
            return value.date()
        found = value if isinstance(value, date) else _time(Literal(_simple(value), XSD + name))
        if type(found) is not type_:
            raise ExpressionFails(f"{value!r} is no {name}")
        return found

    return cast


def _part_of_time(name: str) -> Callable[[Value], int]:
    def part(value: Value) -> int:
        found = _time(value) if isinstance(value, Literal) else value
        if not isinstance(found, date) or not hasattr(found, name):
            raise ExpressionFails(f"{value!r} has no {name}")
        return int(getattr(found, name))

    return part


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
    "round": _unary(_half_up),
    "ceil": _unary(math.ceil),
    "floor": _unary(math.floor),
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
    "strlang": lambda value, tag: Literal(_simple(value), language=_simple(tag)),
    "strdt": lambda value, type_: literal(_simple(value), str(_iri(type_))),
    "year": _part_of_time("year"),
    "month": _part_of_time("month"),
    "day": _part_of_time("day"),
    "hours": _part_of_time("hour"),
    "minutes": _part_of_time("minute"),
    XSD + "string": _str,
    XSD + "integer": _to_integer,
    XSD + "decimal": _to_decimal,
    XSD + "double": _to_float(Rank.DOUBLE, "double"),
    XSD + "float": _to_float(Rank.FLOAT, "float"),
    XSD + "boolean": _to_boolean,
    XSD + "date": _to_time("date", date),
    XSD + "dateTime": _to_time("dateTime", datetime),
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


AGGREGATES: dict[str, Callable[[Sequence[Value]], Value]] = {
    "count": count,
    "sum": or_unbound(_sum),
    "avg": or_unbound(_average),
}
