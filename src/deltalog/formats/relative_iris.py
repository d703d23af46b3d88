"""Relative IRIs of Turtle and TriG whose base has the segments `.` or `..`.

RFC 3986 (section 5.2) removes these segments from a path that was merged from the base and a reference, and keeps the
base as it is where the reference has no path. The parser keeps them in both cases, so in documents with such a base,
which are rare, relative IRIs are resolved before they are parsed.
"""

from __future__ import annotations

import re

from deltalog.core.iri_references import resolved

_DOTS = re.compile(r"/\.\.?(?:[/?#]|$)")
_BASE_WITH_DOTS = re.compile(rb"base\s*<[^<>\s]*/\.\.?[/?#>]", re.IGNORECASE)
_IS_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LONG_TEXT = r"\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"
_TEXT = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_IRI = r"(?P<base>(?:@base|\bBASE)\s*)?<(?P<iri>[^<>\"{}|^`\x00-\x20]*)>"
_TOKEN = re.compile(rf"{_LONG_TEXT}|{_TEXT}|{_IRI}|#[^\n]*", re.DOTALL | re.IGNORECASE)


def with_absolute_iris(data: bytes, base: str) -> bytes:
    """A document in which no relative IRI has a base with dot segments; other documents are as they were."""
    if not (_DOTS.search(base) or _BASE_WITH_DOTS.search(data)):
        return data
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data  # the parser says where

    def replaced(token: re.Match[str]) -> str:
        nonlocal base
        if token["iri"] is None:
            return token[0]
        iri = token["iri"] if _IS_ABSOLUTE.match(token["iri"]) else resolved(base, token["iri"])
        base = iri if token["base"] else base
        return f"{token['base'] or ''}<{iri}>"

    return _TOKEN.sub(replaced, text).encode()
