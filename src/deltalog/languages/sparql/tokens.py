r"""Text to tokens, by the terminals of SPARQL's grammar (https://www.w3.org/TR/sparql11-query/#rQueryUnit).

Every token knows its place, and every error about a query names one. The longest token wins, as the standard asks, so
`?a<?b&&?c>?d` has an IRI in it. Signs are tokens of their own: whether `-1` is a number or a subtraction depends on
where it stands, which is for the parser to see. `\u0041` stands for a character anywhere in a query.
"""

from __future__ import annotations

import re
from typing import NoReturn

from deltalog.core.arguments import checked_text
from deltalog.core.errors import UsageError
from deltalog.core.rules import Source, Span
from deltalog.languages.tokens import Token, pattern_of, scan

_BASE = (
    r"A-Za-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C-\u200D\u2070-\u218F"
    r"\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
_FIRST = _BASE + "_"
_VARNAME = rf"[{_FIRST}0-9][{_FIRST}0-9\u00B7\u0300-\u036F\u203F-\u2040]*"
_REST = rf"\-0-9\u00B7\u0300-\u036F\u203F-\u2040{_FIRST}"
_PREFIX = rf"[{_BASE}](?:[{_REST}.]*[{_REST}])?"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_LOCAL = rf"(?:[{_FIRST}:0-9]|{_ESCAPED})(?:(?:[{_REST}.:]|{_ESCAPED})*(?:[{_REST}:]|{_ESCAPED}))?"
_EXPONENT = r"[eE][+-]?[0-9]+"
_ECHAR = r"\\[tbnrf\\\"']"

_TERMINALS = {
    "space": r"(?:[ \t\r\n]+|#[^\r\n]*)+",
    "iri": r"<[^<>\"{}|^`\\\x00-\x20]*>",
    "blank": rf"_:[{_FIRST}0-9](?:[{_REST}.]*[{_REST}])?",
    "name": rf"(?:{_PREFIX})?:(?:{_LOCAL})?",
    "variable": rf"[?$]{_VARNAME}",
    "language": r"@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*",
    "double": rf"[0-9]+\.[0-9]*{_EXPONENT}|\.[0-9]+{_EXPONENT}|[0-9]+{_EXPONENT}",
    "decimal": r"[0-9]*\.[0-9]+",
    "integer": r"[0-9]+",
    "string": rf"'''(?:'{{0,2}}(?:[^'\\]|{_ECHAR}))*'''|\"\"\"(?:\"{{0,2}}(?:[^\"\\]|{_ECHAR}))*\"\"\""
    rf"|'(?:[^'\\\n\r]|{_ECHAR})*'|\"(?:[^\"\\\n\r]|{_ECHAR})*\"",
    "word": r"[A-Za-z][A-Za-z0-9_]*",
    "sign": r"\^\^|&&|\|\||!=|<=|>=|[-=<>!+*/|^?(){}\[\],;.]",
}
_TOKEN = pattern_of(_TERMINALS)
_CODEPOINT = re.compile(r"\\\\|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


class QueryToken(Token):
    """A terminal. The kind of what follows the last one is `end`."""

    __slots__ = ()

    @property
    def keyword(self) -> str:
        """A word in capitals, and a sign as it is; no other token is a keyword."""
        return self.text.upper() if self.kind in ("word", "sign") else ""

    def __str__(self) -> str:
        return "the end of the query" if self.kind == "end" else f"`{self.text}`"


def tokenize(query: str) -> tuple[QueryToken, ...]:
    """The tokens of a query, the last of which is its end."""
    query = checked_text(query, "SPARQL as text, such as 'SELECT ?x { ?x a ?c }'")
    source = Source("the query", _with_code_points(query))

    def strange(at: int) -> NoReturn:
        raise error_at(Span(source, at, at + 1), "no token of SPARQL starts here")

    found: list[QueryToken] = list(scan(source, 0, len(source.text), _TOKEN, strange, make=QueryToken))
    last = found[-1].span.end if found else 0
    return (*found, QueryToken("end", "", Span(source, last, last)))


def _with_code_points(query: str) -> str:
    """A query with a character for each of its `\\uXXXX` and `\\UXXXXXXXX`."""

    def character(match: re.Match[str]) -> str:
        digits = match[1] or match[2]
        if digits is None:
            return match[0]
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise error_at(Span(Source("the query", query), *match.span()), "no character has this code point")
        return chr(code)

    return _CODEPOINT.sub(character, query)


def error_at(span: Span, message: str) -> UsageError:
    return UsageError(f"line {span.line}, column {span.column} of the query: {message}\n{span.excerpt()}")


def text_of(string: str) -> str:
    """The text of a string token, without its quotes and escapes."""
    width = 3 if string[:3] in ("'''", '"""') else 1
    return re.sub(r"\\(.)", lambda match: _CHARACTERS[match[1]], string[width:-width], flags=re.DOTALL)


def local_name(written: str) -> str:
    """The local part of a prefixed name, without its escapes."""
    return re.sub(r"\\(.)", r"\1", written)
