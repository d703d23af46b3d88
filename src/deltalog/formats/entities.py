"""Entities of XML: plain ones of an internal DTD subset are expanded, all others are refused.

Protégé and the OWL API begin their files with document types such as

    <!DOCTYPE rdf:RDF [ <!ENTITY owl "http://www.w3.org/2002/07/owl#"> ]>

and write `&owl;Class`. Such a value is text without markup and without references, so expansion is one substitution;
the length of a value and the growth of a document have limits. External entities and document types could read files
and addresses, and nested entities can grow to gigabytes from a few hundred bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

from deltalog.core.errors import DataError

LONGEST_VALUE = 2_048  # bytes of an entity
MOST_ENTITIES = 1_000
RATIO, ALLOWANCE = 20, 10 * 2**20  # the growth of a document: so many times, and so many bytes in any case

_DECLARED = re.compile(rb"<!\s*(DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)", re.IGNORECASE)
_PROLOG = re.compile(rb"(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_DOCTYPE = re.compile(rb"<!DOCTYPE\s+[^\s\[<>\"']+\s*(\[|>)")
_SUBSET_END = re.compile(rb"\]\s*>")
_SPACE = re.compile(rb"(?:\s+|<!--.*?-->)*", re.DOTALL)
_ENTITY = re.compile(rb"<!ENTITY\s+([^\s%&;<>\"'\[\]]+)\s+(?:\"([^\"]*)\"|'([^']*)')\s*>")
_MARKUP = re.compile(rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|&([^\s&;#<>\"']+);", re.DOTALL)
_QUOTES = {b'"': b"&#34;", b"'": b"&#39;", b"\n": b" ", b"\r": b" "}


def expanded(data: bytes, path: Path | str) -> bytes:
    """A document without its document type, on the same lines, with the values of entities; DataError if refused."""
    if b"\0" in data:
        raise DataError(f"{path}: expected XML in UTF-8")
    found = _DECLARED.search(data)
    if found is None:
        return data
    start = _end_of(_PROLOG, data, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    opening = _DOCTYPE.match(data, start)
    if opening is None:
        raise _refused(data, found.start(), path, found[1].decode().upper())
    entities, end = _entities(data, opening, path) if opening[1] == b"[" else ({}, opening.end())
    other = _DECLARED.search(_MARKUP.sub(lambda m: b" " * len(m[0]), data[end:]))
    if other is not None:
        raise _refused(data, end + other.start(), path, other[1].decode().upper())
    lines = b"\n" * data.count(b"\n", start, end)
    return _substituted(data[:start] + lines + data[end:], entities, path)


def _end_of(pattern: re.Pattern[bytes], data: bytes, start: int) -> int:
    found = pattern.match(data, start)
    return found.end() if found else start


def _entities(data: bytes, opening: re.Match[bytes], path: Path | str) -> tuple[dict[bytes, bytes], int]:
    """The entities of an internal subset, and where the document type ends."""
    entities: dict[bytes, bytes] = {}
    at = opening.end()
    while True:
        at = _end_of(_SPACE, data, at)
        if closing := _SUBSET_END.match(data, at):
            return entities, closing.end()
        found = _ENTITY.match(data, at)
        if found is None or len(entities) >= MOST_ENTITIES:
            raise _refused(data, opening.start(), path, "DOCTYPE")
        value = found[2] if found[2] is not None else found[3]
        if len(value) > LONGEST_VALUE or any(sign in value for sign in (b"&", b"%", b"<")):
            raise _refused(data, at, path, "ENTITY")
        entities.setdefault(found[1], re.sub(rb"[\"'\n\r]", lambda m: _QUOTES[m[0]], value))  # the first one counts
        at = found.end()


def _substituted(data: bytes, entities: dict[bytes, bytes], path: Path | str) -> bytes:
    bound, grown = ALLOWANCE + RATIO * len(data), len(data)

    def value(found: re.Match[bytes]) -> bytes:
        nonlocal grown
        entity = entities.get(found[1]) if found[1] is not None else None
        if entity is None:
            return found[0]
        grown += len(entity)
        if grown > bound:
            raise DataError(f"{path}: refused, because its entities make it more than {RATIO} times as long")
        return entity

    return _MARKUP.sub(value, data) if entities else data


def _refused(data: bytes, at: int, path: Path | str, what: str) -> DataError:
    line = data.count(b"\n", 0, at) + 1
    return DataError(
        f"{path}:{line}: XML with <!{what} is refused, unless it is a document type with plain entities, as in "
        '<!DOCTYPE rdf:RDF [ <!ENTITY owl "http://www.w3.org/2002/07/owl#"> ]>: others can be made to take all memory, '
        "or to read other files. Write the IRIs out, or convert the file with a tool you trust"
    )
