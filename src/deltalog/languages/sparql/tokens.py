r"""Text to tokens, by the terminals of SPARQL's grammar (https://www.w3.org/TR/sparql11-query/#rQueryUnit).

Every token knows its place, and every error about a query names one. The longest token wins, as the standard asks, so
`?a<?b&&?c>?d` has an IRI in it. Signs are tokens of their own: whether `-1` is a number or a subtraction depends on
where it stands, which is for the parser to see. `\u0041` stands for a character anywhere in a query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from deltalog.core.arguments import checked_text
from deltalog.core.errors import UsageError
from deltalog.core.rules import Source, Span

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
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _TERMINALS.items()))
_BETWEEN = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_CODEPOINT = re.compile(r"\\\\|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Token:
    """A terminal: its kind, its text, and where it stands. The kind of what follows the last one is `end`."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """A word in capitals, and a sign as it is; no other token is a keyword."""
        return self.text.upper() if self.kind in ("word", "sign") else ""

    def __str__(self) -> str:
        return "the end of the query" if self.kind == "end" else f"`{self.text}`"


@dataclass(frozen=True)
class Tokens:
    """The tokens of a query, and its text for error messages."""

    source: Source
    tokens: tuple[Token, ...]

    def fail(self, message: str, token: Token) -> NoReturn:
        raise _error(self.source, message, token.start, token.end)


def tokenize(query: str) -> Tokens:
    """The tokens of a query, the last of which is its end."""
    query = checked_text(query, "SPARQL as text, such as 'SELECT ?x { ?x a ?c }'")
    source = Source("the query", _with_code_points(query))
    text, at = source.text, 0
    found: list[Token] = []
    while (at := _end_of(_BETWEEN, text, at)) < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _error(source, "no token of SPARQL starts here", at, at + 1)
        assert match.lastgroup is not None
        found.append(Token(match.lastgroup, match.group(), at))
        at = match.end()
    last = found[-1].end if found else 0
    return Tokens(source, (*found, Token("end", "", last)))


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _with_code_points(query: str) -> str:
    """A query with a character for each of its `\\uXXXX` and `\\UXXXXXXXX`."""

    def character(match: re.Match[str]) -> str:
        digits = match[1] or match[2]
        if digits is None:
            return match[0]
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise _error(Source("the query", query), "no character has this code point", *match.span())
        return chr(code)

    return _CODEPOINT.sub(character, query)


def _error(source: Source, message: str, start: int, end: int) -> UsageError:
    span = Span(source, start, end)
    return UsageError(f"line {span.line}, column {span.column} of the query: {message}\n{span.excerpt()}")


def text_of(string: str) -> str:
    """The text of a string token, without its quotes and escapes."""
    width = 3 if string[:3] in ("'''", '"""') else 1
    return re.sub(r"\\(.)", lambda match: _CHARACTERS[match[1]], string[width:-width], flags=re.DOTALL)


def local_name(written: str) -> str:
    """The local part of a prefixed name, without its escapes."""
    return re.sub(r"\\(.)", r"\1", written)
