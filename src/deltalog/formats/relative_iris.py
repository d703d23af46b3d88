"""Relative IRIs whose base has the segments `.` or `..`.

RFC 3986 (section 5.2) removes these segments from a path that was merged from the base and a reference, and keeps the
base as it is where the reference has no path. The parser keeps them in both cases. So in Turtle and TriG with such a
base, which are rare, relative IRIs are resolved before they are parsed. In RDF/XML and JSON-LD the parser gets another
base, without these segments; its last segment has a mark, and where the mark is still there in the IRI of a term, the
base was taken as a whole and is put back.
"""

from __future__ import annotations

import json
import re
from itertools import count

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


class MarkedBases:
    """Bases with dot segments, and those that the parser gets in their place."""

    def __init__(self, data: bytes) -> None:
        self._marks = (mark for n in count() if (mark := f"deltalog-base-{n}-").encode() not in data)
        self._whole: dict[str, str] = {}

    def marked(self, base: str) -> str:
        """What the parser gets for a base; relative ones and those without dot segments stay."""
        folder = _folder(base)
        if not (_IS_ABSOLUTE.match(base) and _DOTS.search(folder)):
            return base
        start = resolved(base, ".") + next(self._marks)
        self._whole[start] = folder
        return start + base.removeprefix(folder)

    def in_json(self, data: bytes) -> bytes:
        """A document of JSON-LD with such bases in its contexts."""
        return _JSON_BASE.sub(lambda match: match[1] + self._marked_json(match[2]), data)

    def _marked_json(self, text: bytes) -> bytes:
        try:
            base = json.loads(text)
        except ValueError:
            return text  # the parser says what is wrong
        marked = self.marked(base)
        return text if marked == base else json.dumps(marked).encode()

    def restored(self, iri: str) -> str:
        """The IRI of a term, with the base that the document has."""
        for start, folder in self._whole.items():
            if iri.startswith(start):
                return folder + iri.removeprefix(start)
        return iri


_JSON_BASE = re.compile(rb'("@base"\s*:\s*)("(?:[^"\\]|\\.)*")')


def _folder(base: str) -> str:
    """A base without the last segment of its path, and what is behind that."""
    path = re.split("[?#]", base, maxsplit=1)[0]
    return base[: path.rfind("/") + 1]
