r"""From the text of a Nemo program to words.

`%` starts a comment everywhere outside of texts and `<iri>`s, and `/* */` are around one. Texts have no escapes, so
`"a\n"` has a backslash; `\"\"\"...\"\"\"` may contain quotes and line ends. `p(5).` ends with a dot: a number
has digits after its point. After a term, `<` compares: `?x<3,?y>4` has no IRI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Source, Span
from deltalog.languages.tokens import UNCLOSED, Token, pattern_of, scan

_NAME = r"[^\W\d]\w*"
_CONSTANT = r"[^\W\d](?:\w|%[0-9A-Fa-f]{2})*"  # such as Hello%20World
_WORD = pattern_of(
    {
        "space": r"(?:\s+|\ufeff|%[^\n]*|/\*.*?\*/)+",
        "formatted": r'f""".*?"""|f"',
        "long": r'""".*?"""',
        "string": r'"[^"]*"',
        "iri": r'<(?![=-])[^<>\s"{}|^`\\]*>',
        "number": r"0b[01]+|0o[0-7]+|0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:[fd]\b)?",
        "directive": rf"@{_NAME}",
        "attribute": r"#\[",
        "aggregate": rf"#{_NAME}",
        "variable": rf"\?{_NAME}",
        "existential": rf"!{_NAME}",
        "parameter": rf"\${_NAME}",
        "prefixed": rf"(?:{_NAME}|_)?:(?!-)(?:\w[\w-]*)?",
        "name": rf"{_CONSTANT}|_",
        "sign": r":-|!=|<=|>=|\^\^|[-=<>+*/~!(){}\[\],.:;@|]",
    },
    re.DOTALL,
)
MAX_DEPTH = 100  # of brackets in brackets, and of formatted texts in formatted texts
_COMPARING = re.compile(r"<=?")
_TERMS = {"variable", "existential", "parameter", "number", "string", "long", "formatted", "iri", "name", ")"}


def words(source: Source, diagnostics: list[Diagnostic], at: int = 0, stop: int | None = None) -> Iterator[Token]:
    """The words of a text, or of a part of it, and an `end`; what is none is reported and skipped. The kind of a sign
    is the sign itself."""

    def strange(at: int) -> int:
        diagnostics.append(_strange(source, at))
        return _after(source.text, at)

    stop = len(source.text) if stop is None else stop
    yield from scan(source, at, stop, _WORD, strange, _kind)
    yield Token("end", "", Span(source, max(at, stop), max(at, stop)))


def _kind(found: re.Match[str], last: str) -> tuple[str, int]:
    """The kind of the word that was found after a word of the kind `last`, and where it ends."""
    kind = found.lastgroup or ""
    if kind == "iri" and last in _TERMS and (sign := _COMPARING.match(found.string, found.start())):
        return sign[0], sign.end()
    if found[0] == 'f"':
        end = formatted_end(found.string, found.end())
        return ("formatted", end) if end else (UNCLOSED, found.start())
    return found[0] if kind == "sign" else kind, found.end()


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
