"""Values of facts.

A value is Python's own `int`, `float`, `Decimal`, `bool`, `str`, `date` or `datetime`, an RDF term that Python has no
type for: `IRI`, `BlankNode`, `Literal` (a language, or a datatype without a Python type), or a `tuple` of values. Two
values are one when they have the same type and are equal: an IRI, an integer, a float and a string are never equal to
each other, whatever Python says of `1 == 1.0 == True`, and -0.0 and 0.0 are two values, as they are two RDF terms;
comparisons of numbers in expressions hold them equal. `key` is that equality as a hashable thing.

In RDF, `str` is xsd:string, `int` xsd:integer, `float` xsd:double, `Decimal` xsd:decimal, `bool` xsd:boolean, `date`
xsd:date and `datetime` xsd:dateTime. Other numeric datatypes (xsd:int, xsd:float, ...) stay Literals, and count as
numbers in expressions. A decimal has one text, without zeros that say nothing: 1.50 and 1.5 are one value.

A tuple has a text, `[1, "a", <http://example.org/a>, [true, "chat"@fr]]`, with its elements as constants of the rule
language, always in the same way: equal tuples have equal texts. In RDF and in tables it is a literal of the datatype
TUPLE with that text, so whatever can store literals can store tuples.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Any

from deltalog.core.arguments import check_type, short_repr
from deltalog.core.errors import UsageError

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TUPLE = "urn:deltalog:tuple"
MAX_TUPLE_DEPTH = 200  # of tuples in tuples
MAX_TUPLE_ELEMENTS = 1 << 16  # on one level of tuples in tuples
NO_VALUE = "there is no value (null); a fact has a value for each argument"
NO_DECIMAL = "decimals are finite, with at most 4,000 digits before the point and after it"
TOO_FINE = "times are kept to the microsecond, and some of these have nanoseconds"


class IRI(str):
    """An IRI, without angle brackets. A `str`, but never equal to a plain one."""

    __slots__ = ()

    def __new__(cls, text: str) -> IRI:
        check_type(text, str, "an IRI as text, such as 'http://example.org/a'")
        return str.__new__(cls, text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IRI) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((IRI, str.__str__(self)))

    def __repr__(self) -> str:
        return f"IRI({str.__repr__(self)})"


class BlankNode(str):
    """A blank node by its label, without `_:`. A `str`, but never equal to a plain one."""

    __slots__ = ()

    def __new__(cls, label: str) -> BlankNode:
        check_type(label, str, "the label of a blank node as text, such as 'b1'")
        return str.__new__(cls, label)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlankNode) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((BlankNode, str.__str__(self)))

    def __repr__(self) -> str:
        return f"BlankNode({str.__repr__(self)})"


class Literal:
    """An RDF literal with a language tag, or with a datatype that Python has no type for.

    Built by `literal`, which gives Python's own value where there is one.
    """

    __slots__ = ("datatype", "language", "text")

    def __init__(self, text: str, datatype: str | None = None, language: str | None = None) -> None:
        if not (isinstance(text, str) and isinstance(datatype, str | None) and isinstance(language, str | None)):
            given = ", ".join(map(short_repr, (text, datatype, language)))
            raise UsageError(f"a Literal has a text, and a datatype or a language as texts, and not ({given})")
        self.text = text
        self.language = language.lower() if language else None
        self.datatype = RDF + "langString" if language else (datatype or XSD + "string")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str, str | None]:
        return (self.text, self.datatype, self.language)

    @property
    def value(self) -> Any:
        """Python's value, where there is one: an int, a float, a Decimal, a bool, a date, a datetime, a time or a
        timedelta; else the text."""
        found = python_value(self.text, self.datatype)
        return self.text if found is None else found

    def __repr__(self) -> str:
        extra = f"language={self.language!r}" if self.language else f"datatype={self.datatype!r}"
        return f"Literal({self.text!r}, {extra})"


def is_absolute(iri: str) -> bool:
    """Whether a name is an absolute IRI: it begins with a scheme."""
    return _SCHEME.match(iri) is not None


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
Value = int | float | Decimal | bool | str | date | datetime | IRI | BlankNode | Literal | tuple["Value", ...]
RDF_TYPE = IRI(RDF + "type")


class Kind(IntEnum):
    """What an id stands for; the order is the order of values of different kinds in MIN, MAX and sorted output."""

    BLANK = 1
    IRI = 2
    BOOLEAN = 3
    INTEGER = 4  # fits 64 bits
    BIG_INTEGER = 5  # does not
    DOUBLE = 6
    NUMBER = 7  # a Decimal, or a Literal of another numeric datatype
    DATE = 8
    DATETIME = 9
    STRING = 10
    LANGUAGE = 11  # a Literal with a language
    TYPED = 12  # a Literal of any other datatype
    TUPLE = 13


MAX_STR_BITS = 13_000  # of an integer; Python's `str` takes 4,300 digits, which are 14,284 bits

MAX_DECIMAL_DIGITS = 4000  # before the point, and after it
DECIMAL = XSD + "decimal"

# The numeric datatypes other than xsd:integer and xsd:double.
NUMERIC = frozenset(
    XSD + name
    for name in (
        *("decimal", "float", "byte", "short", "int", "long"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedByte", "unsignedShort", "unsignedInt", "unsignedLong"),
    )
)


def kind(value: Any) -> Kind:
    """The kind of a value; TypeError for what is not a value."""
    match value:
        case IRI():
            return Kind.IRI
        case BlankNode():
            return Kind.BLANK
        case str():
            return Kind.STRING
        case bool():
            return Kind.BOOLEAN
        case int():
            return Kind.INTEGER if -(2**63) <= value < 2**63 else Kind.BIG_INTEGER
        case float():
            return Kind.DOUBLE
        case Decimal():
            if not is_decimal(value):
                raise TypeError(f"{value!r:.80} is not a value of deltalog: {NO_DECIMAL}")
            return Kind.NUMBER
        case datetime():
            _check_moment(value)
            return Kind.DATETIME
        case date():
            return Kind.DATE
        case Literal(language=str()):
            return Kind.LANGUAGE
        case Literal() if value.datatype in NUMERIC and number(value) is not None:
            return Kind.NUMBER
        case Literal():
            return Kind.TYPED
        case tuple():
            _check_depth(value)
            return Kind.TUPLE
        case _:
            null = value is None or type(value).__name__ == "NAType"  # pandas.NA
            raise TypeError(
                NO_VALUE if null else f"{type(value).__name__} is not a value of deltalog: {short_repr(value)}"
            )


def is_decimal(value: Decimal) -> bool:
    """Whether a Decimal is an xsd:decimal: a finite number, with not too many digits."""
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and -exponent <= MAX_DECIMAL_DIGITS and value.adjusted() < MAX_DECIMAL_DIGITS


def _check_moment(value: datetime) -> None:
    """Refuses what pandas adds to datetime: NaT, which is not equal to itself, and nanoseconds."""
    if value != value:
        raise TypeError(NO_VALUE)
    if getattr(value, "nanosecond", 0):
        raise TypeError(TOO_FINE)


def _check_depth(value: tuple[Any, ...]) -> None:
    """Refuses a tuple with an element that is no value, or with too many tuples in each other."""
    level: list[Any] = [value]
    for _ in range(MAX_TUPLE_DEPTH):
        elements = [element for one in level for element in one]
        if len(elements) > MAX_TUPLE_ELEMENTS:
            raise ValueError(f"a tuple has at most {MAX_TUPLE_ELEMENTS:,} elements on a level")
        level = [element for element in elements if isinstance(element, tuple)]
        for element in elements:
            if not isinstance(element, tuple):
                kind(element)
        if not level:
            return
    raise ValueError(f"a tuple has at most {MAX_TUPLE_DEPTH} tuples in each other")


def key(value: Value) -> tuple[type, object]:
    """Equal for values that are one value, and only for those."""
    if isinstance(value, float):
        return (float, "nan") if math.isnan(value) else (float, value or repr(value))
    if isinstance(value, datetime):
        return (datetime, value.isoformat())
    if isinstance(value, tuple):
        return (tuple, tuple(map(key, value)))
    return (type(value), value)


def number(value: Value) -> int | float | Decimal | None:
    """The number that a value counts as in arithmetic and comparisons; None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        return value
    if isinstance(value, Literal) and value.datatype in NUMERIC:
        return {DECIMAL: _decimal, XSD + "float": _double}.get(value.datatype, _integer)(value.text)
    return None


def literal(text: str, datatype: str | None = None, language: str | None = None) -> Value:
    """The value of an RDF literal: Python's own where there is one and the text is valid for it, else a Literal."""
    if language:
        return Literal(text, language=language)
    if datatype is None or datatype == XSD + "string":
        return text
    convert = _PYTHON_OWN.get(datatype)
    if convert is not None:
        value: Value | None = convert(text)
        if value is not None:
            return value
    return Literal(text, datatype)


def _integer(text: str) -> int | None:
    text = text.strip()
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 4000 else None


def _double(text: str) -> float | None:
    text = text.strip()
    special = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}.get(text)
    if special is not None:
        return special
    if not text or set(text) - set("0123456789+-.eE"):
        return None
    try:
        return float(text)
    except ValueError:
        return None


_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def _decimal(text: str) -> Decimal | None:
    """Digits with or without a point, and neither an exponent nor infinity."""
    text = text.strip(" \t\r\n")
    if not _DECIMAL.fullmatch(text):
        return None
    value = Decimal(text)
    return canonical(value) if is_decimal(value) else None


def canonical(value: Decimal) -> Decimal:
    """The same number without an exponent and without zeros at the end of a fraction."""
    return Decimal(_plain_digits(value))


def _plain_digits(value: Decimal) -> str:
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if value else "0"


def _boolean(text: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.strip())


def _date(text: str) -> date | None:
    try:
        value = date.fromisoformat(text)
    except ValueError:
        return None
    return value if lexical(value) == text else None


def _datetime(text: str) -> datetime | None:
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return None
    return value if lexical(value) == text else None


# Tuples.

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<sign>[\[\],])
  | "(?P<text>(?:[^"\\]|\\.)*)"(?:@(?P<language>[A-Za-z0-9-]+)|\^\^<(?P<datatype>[^>]*)>)?
  | <(?P<iri>[^>]*)>
  | _:(?P<blank>[^\s,\[\]]+)
  | (?P<number>[+-]?[0-9]+(?P<fraction>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?))
  | (?P<truth>true|false)
    )\s*""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_IN_TEXT = re.compile(r'["\\\x00-\x1f\x7f\x85\u2028\u2029\ufeff]')
_IN_NAME = re.compile(r'[<>"{}|^`\\\x00-\x20\x7f,\[\]]|^[-=?]')
_PLAIN_FLOAT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")


def _element_text(value: Value) -> str:
    match value:
        case tuple():
            return "[" + ", ".join([_element_text(element) for element in value]) + "]"
        case IRI():
            return f"<{_escaped(_IN_NAME, lexical(value))}>"
        case BlankNode():
            return f"_:{_escaped(_IN_NAME, lexical(value))}"
        case str():
            return _quoted(value)
        case bool() | int():
            return lexical(value)
        case float() if _PLAIN_FLOAT.fullmatch(repr(value)):
            return repr(value)
        case Literal(language=str(language)):
            return f"{_quoted(value.text)}@{language}"
        case _:
            return f"{_quoted(lexical(value))}^^<{_escaped(_IN_NAME, datatype(value) or '')}>"


def _quoted(text: str) -> str:
    return f'"{_escaped(_IN_TEXT, str.__str__(text))}"'


def _escaped(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: f"\\u{ord(found[0]):04X}", text)


def _tuple(text: str) -> tuple[Value, ...] | None:
    """The tuple of a text; None if it is not the text of one."""
    try:
        value = _read_tuple(_tokens(text))
        kind(value)
    except (ValueError, StopIteration):
        return None
    return value


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(text)
        yield found
        at = found.end()


def _read_tuple(tokens: Iterator[re.Match[str]]) -> tuple[Value, ...]:
    """Elements go to the innermost open tuple; `comma` is whether one is expected before the next element."""
    open_tuples: list[list[Value]] = []
    comma = False
    for token in tokens:
        sign = token["sign"]
        if sign != "]" and comma != (sign == ","):
            raise ValueError("a comma is missing, or there is one too many")
        if sign == "[":
            open_tuples.append([])
        elif sign == "]":
            done = tuple(open_tuples.pop())
            if not open_tuples:
                if next(tokens, None) is not None:
                    raise ValueError("there is more after the tuple")
                return done
            open_tuples[-1].append(done)
        elif sign is None:
            open_tuples[-1].append(_element(token))
        comma = sign in (None, "]")
    raise ValueError("the tuple does not end")


def _element(token: re.Match[str]) -> Value:
    if token["text"] is not None:
        tag = token["datatype"]
        return literal(_unescaped(token["text"]), None if tag is None else _unescaped(tag), token["language"])
    if token["iri"] is not None:
        return IRI(_unescaped(token["iri"]))
    if token["blank"] is not None:
        return BlankNode(_unescaped(token["blank"]))
    if token["truth"] is not None:
        return token["truth"] == "true"
    number = token["number"]
    return float(number) if token["fraction"] else int(number)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: found[3] or chr(int(found[1] or found[2], 16)), text)


_PYTHON_OWN: dict[str, Any] = {
    TUPLE: _tuple,
    XSD + "integer": _integer,
    XSD + "double": _double,
    DECIMAL: _decimal,
    XSD + "boolean": _boolean,
    XSD + "date": _date,
    XSD + "dateTime": _datetime,
}


def lexical(value: Value) -> str:
    """The text of a value, without quotes, brackets or datatype."""
    match value:
        case IRI() | BlankNode() | str():
            return str.__str__(value)
        case bool():
            return "true" if value else "false"
        case float():
            return {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(repr(value), repr(value))
        case Decimal():
            return _plain_digits(value)
        case datetime():
            return value.isoformat().removesuffix("+00:00") + ("Z" if value.isoformat().endswith("+00:00") else "")
        case date():
            return value.isoformat()
        case Literal():
            return value.text
        case tuple():
            return _element_text(value)
        case int() if value.bit_length() > MAX_STR_BITS:
            return format(Decimal(value), "f")
        case _:
            return str(value)


def datatype(value: Value) -> str | None:
    """The datatype IRI of a literal value; None for an IRI or a blank node."""
    match value:
        case IRI() | BlankNode():
            return None
        case str():
            return XSD + "string"
        case bool():
            return XSD + "boolean"
        case int():
            return XSD + "integer"
        case float():
            return XSD + "double"
        case Decimal():
            return DECIMAL
        case datetime():
            return XSD + "dateTime"
        case date():
            return XSD + "date"
        case Literal():
            return value.datatype
        case tuple():
            return TUPLE


# Python's values of literals.

_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6})0*)?(Z|[+-]\d\d:\d\d)?")
_DURATION = re.compile(r"(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,6}0*)?)S)?)?")
_DURATIONS = (XSD + "dayTimeDuration", XSD + "duration")


def python_value(text: str, datatype: str) -> Any:
    """Python's value of a literal; None if it has none, or if the text is wrong for the datatype."""
    if datatype == XSD + "time":
        return _time(text.strip())
    if datatype in _DURATIONS:
        return _duration(text.strip())
    value = literal(text, datatype)
    return number(value) if isinstance(value, Literal) else value


def _time(text: str) -> time | None:
    try:
        return time.fromisoformat(text) if _TIME.fullmatch(text) else None
    except ValueError:
        return None


def _duration(text: str) -> timedelta | None:
    """A duration of days and times; months and years have no length in days."""
    found = _DURATION.fullmatch(text)
    if found is None or text.endswith(("P", "T")):
        return None
    days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups()[1:])
    try:
        length = timedelta(int(days), int(seconds), int(seconds % 1 * 10**6), 0, int(minutes), int(hours))
    except OverflowError:
        return None
    return -length if found[1] else length
