r"""From the text of a Nemo program to words.

`%` starts a comment everywhere outside of texts and `<iri>`s, and `/* */` are around one. Texts have no escapes, so
`"a\n"` has a backslash; `\"\"\"...\"\"\"` may contain quotes and line ends. `p(5).` ends with a dot: a number
has digits after its point. After a term, `<` compares: `?x<3,?y>4` has no IRI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Source, Span

_NAME = r"[^\W\d]\w*"
_CONSTANT = r"[^\W\d](?:\w|%[0-9A-Fa-f]{2})*"  # such as Hello%20World
_WORD = re.compile(
    rf"""
    (?P<skip>(?:\s+|\ufeff|%[^\n]*|/\*.*?\*/)+)
  | (?P<formatted>f\"\"\".*?\"\"\"|f")
  | (?P<long>\"\"\".*?\"\"\")
  | (?P<string>"[^"]*")
  | (?P<iri><(?![=-])[^<>\s"{{}}|^`\\]*>)
  | (?P<number>(?:0b[01]+|0o[0-7]+|0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:[fd]\b)?))
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
MAX_DEPTH = 100  # of brackets in brackets, and of formatted texts in formatted texts
_COMPARING = re.compile(r"<=?")
_TERMS = {"variable", "existential", "parameter", "number", "string", "long", "formatted", "iri", "name", ")"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word, its kind and its place; the kind of a sign is the sign itself."""

    kind: str
    text: str
    span: Span


def words(source: Source, diagnostics: list[Diagnostic], at: int = 0, stop: int | None = None) -> Iterator[Word]:
    """The words of a text, or of a part of it, and an `end`; what is none is reported and skipped."""
    stop, last = len(source.text) if stop is None else stop, ""
    while at < stop:
        kind, end = _next(source.text, at, stop, last)
        if not kind:
            diagnostics.append(_strange(source, at))
            at = min(_after(source.text, at), stop)
            continue
        if kind != "skip":
            text = source.text[at:end]
            last = text if kind == "sign" else kind
            yield Word(last, text, Span(source, at, end))
        at = end
    yield Word("end", "", Span(source, at, at))


def _next(text: str, at: int, stop: int, last: str) -> tuple[str, int]:
    """The kind of the word at a place after a word of the kind `last`, and where it ends; no kind if there is none."""
    found = _WORD.match(text, at, stop)
    if found is None:
        return "", at
    kind = found.lastgroup or ""
    if kind == "iri" and last in _TERMS and (sign := _COMPARING.match(text, at)):
        return "sign", sign.end()
    if found.group() == 'f"':
        end = formatted_end(text, found.end())
        return ("formatted", end) if end else ("", at)
    return kind, found.end()


def formatted_end(text: str, at: int, depth: int = 0) -> int:
    """Where a formatted text ends whose first character after the quote is at a place; 0 if it does not."""
    while at < len(text) and text[at] != '"':
        if text.startswith(("{{", "}}"), at):
            at += 2
        elif text[at] == "{":
            at = term_end(text, at + 1, depth + 1) + 1
            if at == 1:
                return 0
        elif text[at] == "}":
            return 0
        else:
            at += 1
    return at + 1 if at < len(text) else 0


def term_end(text: str, at: int, depth: int = 0) -> int:
    """Where the `}` is that closes a term in a formatted text; 0 if nothing does. The term may have texts inside."""
    while at < len(text) and text[at] not in "{}" and depth <= MAX_DEPTH:
        if text.startswith('f"', at) and not text[at - 1].isalnum():
            at = formatted_end(text, at + 2, depth)
        elif text[at] == '"':
            at = text.find('"', at + 1) + 1
        else:
            at += 1
        if not at:
            return 0
    return at if text.startswith("}", at) else 0


def _strange(source: Source, at: int) -> Diagnostic:
    if source.text.startswith(('"', 'f"'), at):
        return Diagnostic("this text in quotes does not end", Span(source, at, at + 1), "End it with a double quote.")
    return Diagnostic(f"the character {source.text[at]!r} means nothing here", Span(source, at, at + 1))


def _after(text: str, at: int) -> int:
    end = text.find("\n", at) if text.startswith(('"', 'f"'), at) else at + 1
    return len(text) if end < 0 else end
