r"""From the text of a Nemo program to words.

`%` starts a comment everywhere outside of texts and `<iri>`s, and `/* */` are around one. Texts have no escapes, so
`"a\n"` has a backslash; `\"\"\"...\"\"\"` may contain quotes and line ends. `p(5).` ends with a dot: a number
has digits after its point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from deltalog.model.errors import Diagnostic
from deltalog.syntax.ast import Source, Span

_NAME = r"[^\W\d]\w*"
_CONSTANT = r"[^\W\d](?:\w|%[0-9A-Fa-f]{2})*"  # such as Hello%20World
_WORD = re.compile(
    rf"""
    (?P<skip>(?:\s+|\ufeff|%[^\n]*|/\*.*?\*/)+)
  | (?P<formatted>f\"\"\".*?\"\"\"|f"(?:\{{\{{|\}}\}}|\{{(?:"[^"]*"|[^"{{}}])*\}}|[^"{{}}])*")
  | (?P<long>\"\"\".*?\"\"\")
  | (?P<string>"[^"]*")
  | (?P<iri><(?![=-])[^<>\s"{{}}|^`\\]*>)
  | (?P<number>(?:0b[01]+|0o[0-7]+|0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:[fFdD]\b)?))
  | (?P<directive>@{_NAME})
  | (?P<attribute>\#\[)
  | (?P<aggregate>\#{_NAME})
  | (?P<variable>\?{_NAME})
  | (?P<existential>!{_NAME})
  | (?P<parameter>\${_NAME})
  | (?P<prefixed>(?:{_NAME}|_)?:(?!-)(?:\w[\w-]*)?)
  | (?P<name>{_CONSTANT}|_)
  | (?P<sign>:-|!=|<=|>=|\^\^|[-=<>+*/~!(){{}}\[\],.:;@|])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word, its kind and its place; the kind of a sign is the sign itself."""

    kind: str
    text: str
    span: Span


def words(source: Source, diagnostics: list[Diagnostic]) -> Iterator[Word]:
    """The words of a text, and an `end`; what is none is reported and skipped."""
    at = 0
    while at < len(source.text):
        found = _WORD.match(source.text, at)
        if found is None:
            diagnostics.append(_strange(source, at))
            at = _after(source.text, at)
            continue
        kind = found.lastgroup or ""
        if kind != "skip":
            text = found.group()
            yield Word(text if kind == "sign" else kind, text, Span(source, at, found.end()))
        at = found.end()
    yield Word("end", "", Span(source, at, at))


def _strange(source: Source, at: int) -> Diagnostic:
    if source.text[at] == '"':
        return Diagnostic("this text in quotes does not end", Span(source, at, at + 1), "End it with a double quote.")
    return Diagnostic(f"the character {source.text[at]!r} means nothing here", Span(source, at, at + 1))


def _after(text: str, at: int) -> int:
    end = text.find("\n", at) if text[at] == '"' else at + 1
    return len(text) if end < 0 else end
