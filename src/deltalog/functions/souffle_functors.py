"""The functions of Soufflé's language, value by value.

Names have the prefix `souffle:` and, where the meaning depends on it, the type of their arguments: `souffle:i+` adds
numbers, `souffle:u+` unsigned ones, `souffle:f+` floats. Integers have 32 bits and wrap around; division truncates, and
`%` has the sign of the dividend; floats have single precision. Strings count in bytes of UTF-8.

A record is a Literal of the datatype RECORD whose text is the JSON array of its fields, so it is one value with one
text, and a record in a record is an array in an array. `nil` is the empty one, and a value of an algebraic data type
has the name of its branch as the first field.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from deltalog.core.terms import Literal, Value
from deltalog.functions.function import SOUFFLE, ExpressionFails, Function, of_souffle
from deltalog.functions.sparql_operators import concatenated

RECORD = "tag:deltalog,record"
BITS = 32
MAX_DIGITS = 4000  # that Python reads
_MASK = (1 << BITS) - 1
_SIGN = 1 << (BITS - 1)
_FORMATS = {"i": "i", "u": "I", "f": "f"}  # of `struct`


def signed(n: int) -> int:
    """An integer of any size, wrapped around to a number."""
    return ((n + _SIGN) & _MASK) - _SIGN


def unsigned(n: int) -> int:
    return n & _MASK


def single(x: float) -> float:
    """The nearest float of single precision."""
    try:
        found: float = struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.inf if x > 0 else -math.inf
    return found


# Arithmetic


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder(a: int, b: int) -> int:
    return a - b * truncated(a, b)


def power(a: int, b: int) -> int:
    return pow(a, b, 1 << BITS) if b >= 0 else int(math.pow(a, b))


def shift_left(a: int, b: int) -> int:
    return a << (b & (BITS - 1))


def shift_right(a: int, b: int) -> int:
    return a >> (b & (BITS - 1))


def shift_right_unsigned(a: int, b: int) -> int:
    return (a & _MASK) >> (b & (BITS - 1))


def float_power(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.inf


def quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a)


def _of_integers(compute: Callable[..., int], wrap: Callable[[int], int]) -> Callable[..., Value]:
    def function(*values: Value) -> int:
        return wrap(compute(*map(integer, values)))

    return function


def _of_floats(compute: Callable[..., float]) -> Callable[..., Value]:
    return lambda *values: single(compute(*map(float_of, values))) + 0.0


def typed(
    name: str,
    arguments: str,
    integers: Callable[..., int],
    floats: Callable[..., float] | None = None,
    core: tuple[str, str] = ("", ""),
    column: str = "",
    kernel: str = "",
    word: str = "",
) -> Iterator[Function]:
    """A function for each type of numbers. `core` is that of rules for integers and for floats."""
    names = {SOUFFLE: word} if word else {}
    for letter, wrap in (("i", signed), ("u", unsigned)):
        signature, scheme = f"{arguments.replace('n', 'integer')}", wrap.__name__
        found = of_souffle(letter + name, signature, _of_integers(integers, wrap), core=core[0]).named(**names)
        yield found.fast(column=(scheme, column) if column else (), kernel=kernel and f"{kernel} {scheme.upper()}")
    if floats is not None:
        signature = f"{arguments.replace('n', 'number')}"
        yield of_souffle(f"f{name}", signature, _of_floats(floats), core=core[1]).named(**names)


def integer(value: Value) -> int:
    if type(value) is not int:
        raise ExpressionFails(f"{value!r} is no number")
    return value


def float_of(value: Value) -> float:
    if type(value) not in (float, int):
        raise ExpressionFails(f"{value!r} is no float")
    return float(value)  # type: ignore[arg-type]


# Strings and conversions


def string(value: Value) -> str:
    if type(value) is not str:
        raise ExpressionFails(f"{value!r} is no symbol")
    return value


def substring(value: Value, start: Value, length: Value) -> str:
    text, begin, count = string(value).encode(), integer(start), integer(length)
    if begin < 0 or begin > len(text):
        return ""
    return text[begin : begin + count if count >= 0 else None].decode(errors="replace")


_CLASSES = {
    **{"digit": "0-9", "alpha": "a-zA-Z", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z"},
    **{"space": r"\s", "xdigit": "0-9a-fA-F", "blank": r" \t", "punct": r"!-/:-@\[-`{-~"},
}


_PIECE_OF_PATTERN = re.compile(r"\\.|\[(?:\[:\w+:\]|\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}|.", re.S)


@lru_cache(1000)
def _pattern(text: str) -> re.Pattern[str]:
    """A regular expression of ECMAScript, with the classes of POSIX. There, a `{` begins a number of repetitions."""
    if any(piece[0] == "{" for piece in _PIECE_OF_PATTERN.finditer(text)):
        raise ExpressionFails(f"{text!r} is no regular expression: `{{` has no number")
    text = re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match[1], match[0]), text)
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise ExpressionFails(f"{text!r} is no regular expression: {error}") from None


def match_pattern(pattern: Value, text: Value) -> bool:
    return _pattern(string(pattern)).fullmatch(string(text)) is not None


def number_in(text: str, bits: Callable[[int], int]) -> int:
    found = re.match(r"\s*[+-]?(?:0x[0-9a-fA-F]+|0b[01]+|\d+)", text)
    if found is None:
        raise ExpressionFails(f"{text!r} is no number")
    digits = found[0].strip()
    base = 16 if "x" in digits else 2 if "b" in digits else 10
    value = int(digits[:MAX_DIGITS], base)
    if bits(value) != value:
        raise ExpressionFails(f"{text!r} has more than 32 bits")
    return value


def float_in(text: str) -> float:
    found = re.match(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text)
    if found is None:
        raise ExpressionFails(f"{text!r} is no float")
    return single(float(found[0]))


def truncated_float(value: Value) -> int:
    x = float_of(value)
    if not math.isfinite(x):
        raise ExpressionFails(f"{x} is no number")
    return math.trunc(x)


def ordinal(value: Value) -> int:
    """A number that stands for a symbol or record: the same for the same value, whatever the program."""
    text = value.text if isinstance(value, Literal) else string(value)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 2


def same_bits(source: str, target: str) -> Callable[[Value], Value]:
    """The value of one type as that of another with the same bits."""

    def function(value: Value) -> Value:
        given = float_of(value) if source == "f" else integer(value)
        found: Value = struct.unpack(_FORMATS[target], struct.pack(_FORMATS[source], given))[0]
        return found

    return function


# Records


def record(*fields: Value) -> Literal:
    """The record of some values."""
    return Literal("[" + concatenated([_field_text(each) for each in fields], ",") + "]", RECORD)


def _field_text(value: Value) -> str:
    if isinstance(value, Literal) and value.datatype == RECORD:
        return value.text
    if type(value) not in (int, float, str):
        raise ExpressionFails(f"{value!r} cannot be in a record")
    return json.dumps(value, ensure_ascii=False)


NIL = record()


def fields_of(value: Value) -> tuple[Value, ...]:
    """The fields of a record."""
    if not (isinstance(value, Literal) and value.datatype == RECORD):
        raise ExpressionFails(f"{value!r} is no record")
    return _parsed(value.text)


_PIECE = re.compile(r'"(?:\\.|[^"\\])*"|[\[\],]')


@lru_cache(10_000)
def _parsed(text: str) -> tuple[Value, ...]:
    """The fields of an array, which is read at its outermost level only: a list may be long."""
    parts: list[str] = []
    depth, start = 0, 1
    for piece in _PIECE.finditer(text):
        depth += {"[": 1, "]": -1}.get(piece[0], 0)
        if (depth == 1 and piece[0] == ",") or (depth == 0 and len(text) > 2):
            parts.append(text[start : piece.start()])
            start = piece.end()
    return tuple(map(_from_json, parts))


def _from_json(part: str) -> Value:
    if part.startswith("["):
        return Literal(part, RECORD)
    found: Value = json.loads(part)
    return found


def field_of(value: Value, position: Value) -> Value:
    """A field of a record; nil where it has none: rules test before whether it is the record that they expect."""
    fields = fields_of(value)
    at = integer(position)
    return fields[at] if at < len(fields) else NIL


def branch(n: Any, *names: Any) -> Value:
    """The value of an enumeration: the branch of that number."""
    if not 0 <= integer(n) < len(names):
        raise ExpressionFails(f"the type has {len(names)} branches")
    return record(names[n])


def is_branch(value: Value, name: Value) -> bool:
    fields = fields_of(value)
    return bool(fields) and fields[0] == name


def of_strings(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: compute(*map(string, values))
