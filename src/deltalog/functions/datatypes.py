"""Value spaces of datatypes: whether the value of a literal belongs to one.

A value belongs to every datatype whose value space contains it, whatever datatype it was written with: 5 belongs to
xsd:integer, xsd:byte and xsd:decimal. xsd:decimal, xsd:float and xsd:double share no values. A literal whose text is
wrong for its datatype ("abc"^^xsd:int) belongs to rdfs:Literal only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from deltalog.core.terms import NUMERIC, RDF, XSD, Literal, Value, lexical
from deltalog.core.terms import datatype as datatype_of

RDFS_LITERAL = "http://www.w3.org/2000/01/rdf-schema#Literal"
OWL = "http://www.w3.org/2002/07/owl#"
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
BOUNDS: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    **{name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in _BITS.items()},
    **{f"unsigned{name.capitalize()}": (0, 2**bits - 1) for name, bits in _BITS.items()},
}
_PATTERNS = {
    "string": r"(?s:.*)",
    "normalizedString": r"[^\t\n\r]*",
    "token": r"(?:[^\s]+(?: [^\s]+)*)?",
    "language": r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*",
    "Name": r"[^\W\d][\w:.-]*|:[\w:.-]*",
    "NCName": r"[^\W\d][\w.-]*",
    "NMTOKEN": r"[\w:.-]+",
}
_DECIMALS = frozenset(NUMERIC - {XSD + "float"}) | {XSD + "integer"}
_STRINGS = frozenset(XSD + name for name in _PATTERNS)


def in_value_space(value: Value, datatype: str) -> bool | None:
    """Whether a value belongs to a datatype; None if the datatype is not known. IRIs and blank nodes belong to none."""
    own = datatype_of(value)
    if own is None:
        return False
    if datatype in _SPACES:
        return _SPACES[datatype](value, own)
    return True if own == datatype else None


def _decimal(value: Value, own: str) -> Decimal | None:
    """The exact value of a literal of xsd:decimal and of the datatypes below it, if it has one."""
    if own not in _DECIMALS:
        return None
    try:
        found = Decimal(lexical(value).strip())
    except InvalidOperation:
        return None
    if not found.is_finite() or "e" in lexical(value).lower():
        return None
    return found if own == XSD + "decimal" or _within(found, own.removeprefix(XSD)) else None


def _within(value: Decimal, name: str) -> bool:
    least, most = BOUNDS[name]
    return value == value.to_integral_value() and (least is None or value >= least) and (most is None or value <= most)


def _integer(name: str) -> Callable[[Value, str], bool]:
    def test(value: Value, own: str) -> bool:
        found = _decimal(value, own)
        return found is not None and _within(found, name)

    return test


def _string(name: str) -> Callable[[Value, str], bool]:
    pattern = re.compile(_PATTERNS[name])

    def test(value: Value, own: str) -> bool:
        return own in _STRINGS and pattern.fullmatch(lexical(value)) is not None

    return test


def _float(value: Value, own: str) -> bool:
    if own != XSD + "float":
        return False
    text = lexical(value).strip()
    return text in ("INF", "-INF", "NaN") or re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) is not None


def _moment(zone: str) -> Callable[[Value, str], bool]:
    pattern = re.compile(r"-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?" + zone)

    def test(value: Value, own: str) -> bool:
        return own in (XSD + "dateTime", XSD + "dateTimeStamp") and pattern.fullmatch(lexical(value)) is not None

    return test


def _same(name: str, pattern: str) -> Callable[[Value, str], bool]:
    return lambda value, own: own == name and re.fullmatch(pattern, lexical(value)) is not None


_SPACES: dict[str, Callable[[Value, str], bool]] = {
    RDFS_LITERAL: lambda value, own: True,
    RDF + "langString": lambda value, own: own == RDF + "langString",
    RDF + "PlainLiteral": lambda value, own: own in (XSD + "string", RDF + "langString"),
    **dict.fromkeys(
        (XSD + "decimal", OWL + "real", OWL + "rational"), lambda value, own: _decimal(value, own) is not None
    ),
    **{XSD + name: _integer(name) for name in BOUNDS},
    **{XSD + name: _string(name) for name in _PATTERNS},
    XSD + "float": _float,
    XSD + "double": lambda value, own: isinstance(value, float),
    XSD + "boolean": lambda value, own: isinstance(value, bool),
    XSD + "date": lambda value, own: (
        (isinstance(value, date) and not isinstance(value, datetime))
        or (isinstance(value, Literal) and _same(XSD + "date", r"-?\d{4,}-\d\d-\d\d(Z|[+-]\d\d:\d\d)?")(value, own))
    ),
    XSD + "dateTime": _moment(r"(Z|[+-]\d\d:\d\d)?"),
    XSD + "dateTimeStamp": _moment(r"(Z|[+-]\d\d:\d\d)"),
    XSD + "hexBinary": _same(XSD + "hexBinary", r"([0-9a-fA-F]{2})*"),
    XSD + "base64Binary": _same(XSD + "base64Binary", r"[A-Za-z0-9+/=\s]*"),
}
