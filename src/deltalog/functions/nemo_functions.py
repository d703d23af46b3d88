"""The functions of Nemo's language, where they mean something else than ours of the same name.

Nemo's values are IRIs, strings, strings with a language, integers of 64 bits, doubles, floats, booleans, nulls (our
blank nodes) and other typed literals; `literal_value` makes them. All integer datatypes are integers, and a decimal
without a fraction is one, too. A float of 32 bits is a Literal of xsd:float here. A function that is given something
else than it takes fails, and never converts, except that an integer and a double are computed as doubles.

  - `/` of two integers is an integer, cut off at the point; REM has the sign of the first number.
  - SQRT and LOG of integers are integers, cut off. ROUND rounds halves up. A result beyond 64 bits, NaN and the
    infinities fail. Shifts are by the last six bits of the second number.
  - MIN, MAX, SUM, PRODUCT and LUKA (the t-norm of Łukasiewicz, of doubles) take any number of numbers.
  - STR is the text of a value, with doubles in plain notation (2, not 2.0); fullStr is the value as Nemo writes it.
  - String functions take strings, with or without a language. UCASE and LCASE keep the language.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Any

from deltalog.core.terms import DECIMAL, IRI, RDF, XSD, BlankNode, Literal, Value, lexical, literal
from deltalog.functions.datatypes import BOUNDS
from deltalog.functions.function import ExpressionFails
from deltalog.functions.regular_expressions import WrongPattern, compiled
from deltalog.functions.sparql_operators import concatenated

FLOAT = XSD + "float"

# Values


def literal_value(text: str, datatype: str | None, language: str | None = None) -> Value:
    """The value of a literal; ValueError if the text is wrong for its datatype."""
    if language is not None:
        return Literal(text, language=language)
    name = (datatype or "").removeprefix(XSD)
    if datatype is None or name == "string":
        return text
    if name in BOUNDS and datatype.startswith(XSD):
        return _integer_value(text, name)
    match datatype.removeprefix(XSD) if datatype.startswith(XSD) else "":
        case "decimal":
            return _decimal_value(text)
        case "double":
            return _double_value(text)
        case "float":
            return float32(_double_value(text))
        case "boolean":
            return _truth_value(text)
    return literal(text, datatype)


def _integer_value(text: str, name: str) -> Value:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"{text!r} is no xsd:{name}")
    value, (least, most) = int(text), BOUNDS[name]
    if (least is not None and value < least) or (most is not None and value > most):
        raise ValueError(f"{text} is not in the range of xsd:{name}")
    if -(2**63) <= value < 2**63 or name == "integer":
        return value
    return Literal(str(value), XSD + name)


def _decimal_value(text: str) -> Value:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is no xsd:decimal") from None
    if value == value.to_integral_value() and -(2**63) <= value < 2**63:
        return int(value)
    return literal(_plain(value), DECIMAL)


def _truth_value(text: str) -> bool:
    if text not in ("true", "1", "false", "0"):
        raise ValueError(f"{text!r} is no xsd:boolean")
    return text in ("true", "1")


def _double_value(text: str) -> float:
    if "_" in text or text != text.strip() or not text.isascii():
        raise ValueError(f"{text!r} is no number")
    return finite(float(text))


def finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("a number is finite: neither infinity nor NaN")
    return value


def float32(value: float) -> Literal:
    """A number as a float of 32 bits, by its shortest text; ValueError if it is too large for one."""
    rounded = struct.unpack("f", struct.pack("f", value))[0]
    if not math.isfinite(rounded):
        raise ValueError(f"{value!r} is no float of 32 bits")
    texts = (f"{rounded:.{digits}g}" for digits in range(1, 18))
    text = next(text for text in texts if struct.unpack("f", struct.pack("f", float(text)))[0] == rounded)
    return Literal(_plain(Decimal(text)), FLOAT)


def _plain(value: Decimal) -> str:
    """Digits without an exponent, and without zeros at the end of a fraction."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def text_of(value: Value) -> str:
    """The text of a value, as STR gives it."""
    return _plain(Decimal(repr(value))) if isinstance(value, float) else lexical(value)


def datatype_of(value: Value) -> str:
    match value:
        case IRI():
            return XSD + "anyURI"
        case BlankNode():
            raise ExpressionFails("a null has no datatype")
        case bool():
            return XSD + "boolean"
        case int() if -(2**31) <= value < 2**31:
            return XSD + "int"
        case int():
            return XSD + ("long" if is_integer(value) else "integer")
        case float():
            return XSD + "double"
        case Decimal():
            return DECIMAL
        case str():
            return XSD + "string"
        case Literal(language=str()):
            return RDF + "langString"
        case Literal():
            return value.datatype
    return XSD + type(value).__name__.replace("datetime", "dateTime")


def full_text(value: Value) -> str:
    """The value as Nemo writes it into rules."""
    match value:
        case IRI():
            return f"<{value}>"
        case BlankNode():
            return f"_:{lexical(value)}"
        case Literal(language=str(language)):
            return f"{quoted(value.text)}@{language}"
        case str():
            return quoted(value)
    return f"{quoted(text_of(value))}^^<{datatype_of(value)}>"


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


# Numbers


def is_integer(value: Value) -> bool:
    """Whether a value is an integer of 64 bits; a larger one is no number."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _number(value: Value) -> int | float:
    if isinstance(value, Literal) and value.datatype == FLOAT:
        return float(value.text)
    if not isinstance(value, float) and not is_integer(value):
        raise ExpressionFails(f"{value!r} is no number")
    return value  # type: ignore[return-value]


def _integer(value: Value) -> int:
    if not is_integer(value):
        raise ExpressionFails(f"{value!r} is no integer")
    return value  # type: ignore[return-value]


def _checked(result: int | float) -> int | float:
    if isinstance(result, int):
        if not -(2**63) <= result < 2**63:
            raise ExpressionFails("the result does not fit 64 bits")
        return result
    if not math.isfinite(result):
        raise ExpressionFails("the result is no finite number")
    return result


def by_kind(integers: Callable[..., int] | None, floats: Callable[..., float]) -> Callable[..., Value]:
    """A function of numbers: of integers alone, if there is one for them, of floats of 32 bits alone, or of all as
    doubles."""

    def function(*values: Value) -> Value:
        numbers = [_number(value) for value in values]
        if all(map(is_integer, numbers)):
            if integers is None:
                raise ExpressionFails("not a function of integers")
            return _checked(integers(*numbers))
        result = _checked(floats(*map(float, numbers)))
        return float32(result) if all(map(is_float, values)) else result

    return function


def of_many(compute: Callable[..., Value]) -> Callable[..., Value]:
    """A function of any number of values; of one, it is that value, whatever it is."""
    return lambda *values: compute(*values) if len(values) > 1 else values[0]


def power(a: int, b: int) -> int:
    if b < 0 or (abs(a) > 1 and b > 64):
        raise ExpressionFails("no integer of 64 bits")
    return int(a**b)


def logarithm(a: int, base: int) -> int:
    if a < 1 or base < 2:
        raise ExpressionFails("no logarithm")
    result = 0
    while a >= base:
        a, result = a // base, result + 1
    return result


def half_up(value: float) -> float:
    below = math.floor(value)
    return float(below + (value - below >= 0.5))


def shift(compute: Callable[[int, int], int]) -> Callable[..., int]:
    def function(value: Value, by: Value) -> int:
        if (places := _integer(by)) < 0:
            raise ExpressionFails("a shift is by a number of bits, not less than 0")
        bits = compute(_integer(value), places % 64) % 2**64
        return bits - 2**64 if bits >= 2**63 else bits

    return function


def bits(compute: Callable[[int, int], int]) -> Callable[..., int]:
    return lambda *values: reduce(compute, map(_integer, values))


def to_integer(value: Value) -> int:
    match value:
        case bool():
            return int(value)
        case str() if not isinstance(value, IRI | BlankNode) and re.fullmatch(r"[+-]?[0-9]+", value):
            return int(_checked(int(value)))
        case Literal(language=None) if re.fullmatch(r"[+-]?[0-9]+", value.text):
            return int(_checked(int(value.text)))
    number = _number(value)
    if number != int(number):
        raise ExpressionFails(f"{value!r} is no integer")
    return int(_checked(int(number)))


def to_double(value: Value) -> float:
    if isinstance(value, bool | IRI | BlankNode):
        raise ExpressionFails(f"{value!r} is no number")
    if isinstance(value, str):
        return float(_checked(_double_value(value)))
    if isinstance(value, Literal) and not value.language:
        return float(_checked(_double_value(value.text)))
    return float(value if isinstance(value, Decimal) else _number(value))


# Strings


def _string(value: Value) -> str:
    if isinstance(value, Literal) and value.language:
        return value.text
    if isinstance(value, IRI | BlankNode) or not isinstance(value, str):
        raise ExpressionFails(f"{value!r} is no string")
    return value


def of_strings(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: compute(*map(_string, values))


def keeping_language(compute: Callable[[str], str]) -> Callable[[Value], Value]:
    return lambda value: _like(value, compute(_string(value)))


def _like(value: Value, text: str) -> Value:
    """A text in the language of a value, if that has one."""
    return Literal(text, language=value.language) if isinstance(value, Literal) else text


def of_two(compute: Callable[[str, str], Any], keeping: bool = False) -> Callable[[Value, Value], Any]:
    """A function of two strings; the second has no language, or that of the first. None is a text that is not there."""

    def function(one: Value, other: Value) -> Any:
        texts = _string(one), _string(other)
        if isinstance(other, Literal) and (not isinstance(one, Literal) or one.language != other.language):
            raise ExpressionFails("the strings have different languages")
        result = compute(*texts)
        return (_like(one, result) if result is not None else "") if keeping else result

    return function


def before(text: str, part: str) -> str | None:
    return text[: text.index(part)] if part in text else None


def after(text: str, part: str) -> str | None:
    return text[text.index(part) + len(part) :] if part in text else None


def joined(*values: Value) -> Value:
    text = concatenated([_string(value) for value in values])
    languages = {value.language if isinstance(value, Literal) else None for value in values}
    return _like(values[0], text) if len(languages) == 1 else text


def substring(value: Value, start: Value, *length: Value) -> Value:
    text, begin = _string(value), _integer(start)
    end = begin + _integer(length[0]) if length else len(text) + 1
    return _like(value, text[max(begin, 1) - 1 : max(end, 1) - 1])


def language_of(value: Value) -> str:
    if is_plain_string(value):
        return ""
    if not isinstance(value, Literal) or not value.language:
        raise ExpressionFails(f"{value!r} has no language")
    return value.language


def to_iri(value: Value) -> IRI:
    if isinstance(value, IRI):
        return value
    if not is_plain_string(value):
        raise ExpressionFails(f"{value!r} is no string")
    return IRI(lexical(value))


_ELSEWHERE = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9]")  # look-around and back-references


def matches(text: str, pattern: str) -> bool:
    """Whether a pattern is in a text; what is no pattern is in none. `\\b`, `(?i)` and named groups are Python's."""
    try:
        return compiled(pattern).is_in(text)
    except WrongPattern:
        pass
    try:
        return not _ELSEWHERE.search(pattern) and re.search(pattern, text) is not None
    except re.error:
        return False


def distance(left: str, right: str) -> int:
    """The distance of Levenshtein."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def boolean(value: Value) -> bool:
    if not isinstance(value, bool):
        raise ExpressionFails(f"{value!r} is neither true nor false")
    return value


def is_plain_string(value: Value) -> bool:
    return isinstance(value, str) and not isinstance(value, IRI | BlankNode)


def is_float(value: Value) -> bool:
    return isinstance(value, Literal) and value.datatype == FLOAT


def is_numeric(value: Value) -> bool:
    return is_integer(value) or isinstance(value, float) or is_float(value)


def float_logarithm(a: float, base: float) -> float:
    return math.log(a) / (math.log(base) if base else -math.inf)
