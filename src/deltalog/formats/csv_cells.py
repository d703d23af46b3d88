r'''Cells of CSV and TSV files: the syntax of values.

    cell                                value
    12   -3                             an integer: digits without leading zeros
    1.5  -0.25                          a float: digits, a point, digits
    <http://example.org/a>              an IRI; what cannot stand in one is written \uXXXX or \UXXXXXXXX
    _:b1                                a blank node; the same escapes
    anything else                       a string: ada, 007, 1e5, true, -0
    "12"  "<a>"  "a,b"  "say ""hi"""    a quoted cell is a string, whatever it looks like
    """chat""@fr"                       but in quotes, "chat"@fr is a literal with a language,
    """2024-05-01""^^<...#date>"        and "2024-05-01"^^<...#date> one with a datatype

Quotes are those of CSV: a cell that starts with one ends with one, and a quote inside is doubled; it may contain
delimiters and line breaks. In the text of a literal a quote is \" and a backslash \\. A quoted cell that is not exactly
of the form of a literal, such as """Stop!"" she said", is a string.

Booleans, dates, floats with an exponent, NaN and the infinities are written as literals, so that reading them back
gives the same values. A string that looks like a literal is written as a literal with the datatype xsd:string. An empty
line is a row without cells: it is the one fact of a predicate without arguments, and is skipped anywhere else.

A column of mixed values in Arrow and Parquet is a column of strings with the same syntax.
'''

from __future__ import annotations

import re
from collections.abc import Callable

from deltalog.core.errors import DataError
from deltalog.core.terms import IRI, BlankNode, Literal, Value, datatype, lexical, literal

MAX_DIGITS = 4000  # Python reads no longer integers

_CODE = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_WORD = rf"(?:[A-Za-z0-9_]|[^\x00-\x7f]|{_CODE})"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_IRI = re.compile(rf"<((?:[^\x00-\x20<>\"\\]|{_CODE})*)>")
_BLANK = re.compile(rf"_:({_WORD}(?:(?:{_WORD}|[.:-])*(?:{_WORD}|[:-]))?)")
_LITERAL = re.compile(r"\"((?:[^\"\\]|\\[\"\\])*)\"(?:@([A-Za-z0-9-]+)|\^\^<([^<>]*)>)")

_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"\\,{}|^`]")
_NOT_IN_LABEL = re.compile(r"[^A-Za-z0-9_:.\-\x80-\U0010ffff]|\A[-.:]|\.\Z")
_MISTAKABLE = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?\Z|<|_:|\ufeff|\Z")
_UNSAFE = re.compile(r"[\",\t\r\n]")
_LANGUAGE = re.compile(r"[A-Za-z0-9-]+")


def parse_cell(text: str) -> Value:
    """The value of a whole cell, with its quotes."""
    if text[:1] == '"' and text[-1:] == '"' and len(text) > 1:
        return parse_quoted(text[1:-1].replace('""', '"'))
    return parse_plain(text)


def parse_plain(text: str) -> Value:
    """The value of a cell without quotes."""
    if _NUMBER.fullmatch(text):
        return parse_number(text)
    for form, type_ in ((_IRI, IRI), (_BLANK, BlankNode)):
        if found := form.fullmatch(text):
            inner = _unescaped(found[1])
            return text if inner is None else type_(inner)
    return text


def parse_number(text: str) -> Value:
    """The value of a number in plain notation (a string if Python has no such number)."""
    if "." in text:
        return float(text)
    return int(text) if len(text) <= MAX_DIGITS and text != "-0" else text


def parse_quoted(text: str) -> Value:
    """The value of a quoted cell, without the outer quotes."""
    found = _LITERAL.fullmatch(text)
    if found is None:
        return text
    content = re.sub(r"\\([\"\\])", r"\1", found[1])
    if found[2]:
        return Literal(content, language=found[2])
    inner = _unescaped(found[3])
    return text if inner is None else literal(content, inner)


def _unescaped(text: str) -> str | None:
    r"""Undo \uXXXX; None if one of them is no character."""
    if "\\" not in text:
        return text
    try:
        return re.sub(_CODE, lambda found: chr(int(found[0][2:], 16)), text)
    except (ValueError, OverflowError):
        return None


# Writing. A cell is safe for commas and tabs alike, so CSV and TSV differ in the delimiter only.


def print_cell(value: Value) -> str:
    """The cell of a value."""
    return _PRINTERS.get(type(value), _print_literal)(value)


def _print_string(value: str) -> str:
    if not _MISTAKABLE.match(value) and not _UNSAFE.search(value):
        return value
    if value[:1] == '"' and _LITERAL.fullmatch(value):
        return _print_literal(value)
    return _quoted(value)


def _print_iri(value: str) -> str:
    return f"<{_escaped(_NOT_IN_IRI, value)}>"


def _print_blank(value: str) -> str:
    if not value:
        raise DataError("a blank node with an empty label cannot be written")
    return f"_:{_escaped(_NOT_IN_LABEL, value)}"


def _escaped(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: f"\\u{ord(found[0]):04X}", text)


def print_integer(value: int) -> str:
    """The digits of an integer, if it can be written."""
    if value.bit_length() > 3 * MAX_DIGITS and abs(value) >= 10 ** (MAX_DIGITS - 1):
        raise DataError(f"an integer of more than {MAX_DIGITS - 1} digits cannot be written")
    return str(value)


def _print_float(value: float) -> str:
    text = repr(value)
    return text if _NUMBER.fullmatch(text) else _print_literal(value)


def _print_literal(value: Value) -> str:
    text = lexical(value).replace("\\", "\\\\").replace('"', '\\"')
    if isinstance(value, Literal) and value.language:
        return _quoted(f'"{text}"@{language_of(value)}')
    return _quoted(f'"{text}"^^{_print_iri(datatype(value) or "")}')


def language_of(value: Literal) -> str:
    """The language of a literal, if it can be written."""
    if not _LANGUAGE.fullmatch(value.language or ""):
        raise DataError(f"{value!r} cannot be written: its language is not of the form en or en-us")
    return value.language or ""


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


_PRINTERS: dict[type, Callable[..., str]] = {
    str: _print_string,
    IRI: _print_iri,
    BlankNode: _print_blank,
    int: print_integer,
    float: _print_float,
}
