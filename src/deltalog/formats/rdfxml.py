"""Attributes of RDF/XML in which pyoxigraph and the standard differ.

pyoxigraph takes some that the standard refuses; these are errors here. It refuses `xml:lang=""`, which ends the scope
of an outer language; a tag that means "no language" is put in its place, and the reader takes it off the literals.

Elements alternate: those of nodes, and inside of them those of properties (section 2.1 of the standard). What may be an
attribute depends on which of them an element is (sections 7.2.11 to 7.2.21), and so does what is inside: `parseType`
makes it properties again, a list of nodes, or text.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from deltalog.core.limits import check_running
from deltalog.core.terms import RDF
from deltalog.formats.text import place_error

PIECE = 1 << 18  # bytes that are read between two checks of the limits
NODES, PROPERTIES, TEXT = range(3)  # what the elements inside of another are
XML = "http://www.w3.org/XML/1998/namespace"
INSIDE = {None: NODES, "Resource": PROPERTIES, "Collection": NODES}
NEVER = frozenset(RDF + name for name in ("RDF", "Description", "li", "bagID", "aboutEach", "aboutEachPrefix"))
NOT_OF_NODES = NEVER | {RDF + name for name in ("resource", "parseType", "datatype")}
NOT_OF_PROPERTIES = NEVER | {RDF + "about"}
ALONE = (RDF + "parseType", RDF + "datatype")  # beside which there may be rdf:ID only
LANGUAGE = XML + "lang"
_NAME = re.compile(rb"<[^\s/>]+")
_ATTRIBUTE = re.compile(rb"\s*([^\s=]+)\s*=\s*(\"[^\"]*\"|'[^']*')")


def prepared(data: bytes, path: Path, max_depth: int) -> tuple[bytes, str | None]:
    """A document for pyoxigraph, and the tag in it that means no language, if there is one.

    Raises DataError for XML that is malformed, cut short or too deep, and for an attribute that cannot stand where it
    does. An encoding that Expat does not know is left to the parser.
    """
    elements = _Elements(path, max_depth)
    with suppress(LookupError, ValueError):
        elements.read(data)
    if not elements.empty_languages:
        return data, None
    lower = data.lower()
    tag = next(tag for number in count() if (tag := b"x-none-%d" % number) not in lower)
    bounds = [0, *elements.empty_languages, len(data)]
    return tag.join(data[start:end] for start, end in pairwise(bounds)), tag.decode()


class _Elements:
    """The open elements, and for each what is inside of it; and where `xml:lang=""` has its value."""

    def __init__(self, path: Path, max_depth: int) -> None:
        self.empty_languages: list[int] = []
        self._max_depth = max_depth
        self._path, self._data, self._inside = path, b"", [NODES]
        self._parser = ParserCreate(namespace_separator="")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda _: self._inside.pop()

    def read(self, data: bytes) -> None:
        """Reads a document piece by piece, checking the limits of the call."""
        self._data = data
        try:
            for start in range(0, len(data), PIECE):
                check_running()
                self._parser.Parse(data[start : start + PIECE], False)
            self._parser.Parse(b"", True)
        except ExpatError as problem:
            raise place_error(self._path, data, problem.lineno, problem.offset + 1, ErrorString(problem.code)) from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        here = self._inside[-1]
        if len(self._inside) > self._max_depth:
            self._refuse(f"more than {self._max_depth:,} elements are nested; Tuning(rdf_max_depth=...) allows more")
        if here != TEXT and attributes.get(LANGUAGE) == "":
            self.empty_languages.append(self._place_of_language())
        if here == TEXT or (name == RDF + "RDF" and len(self._inside) == 1):
            self._inside.append(here)
            return
        refused = NOT_OF_NODES if here == NODES else NOT_OF_PROPERTIES
        if attributes:
            self._check(attributes, refused, "a node" if here == NODES else "a property")
        self._inside.append(PROPERTIES if here == NODES else INSIDE.get(attributes.get(ALONE[0]), TEXT))

    def _place_of_language(self) -> int:
        """Where the value of xml:lang begins in the tag that is read."""
        tag = _NAME.match(self._data, self._parser.CurrentByteIndex)
        found = tag and _ATTRIBUTE.match(self._data, tag.end())
        while found and found[1] != b"xml:lang":
            found = _ATTRIBUTE.match(self._data, found.end())
        assert found
        return found.start(2) + 1

    def _check(self, attributes: dict[str, str], refused: frozenset[str], what: str) -> None:
        for name in sorted(refused.intersection(attributes)):
            self._refuse(f"{_short(name)} cannot be an attribute of {what}")
        for name in ALONE:
            others = [other for other in attributes if other not in (name, RDF + "ID") and not other.startswith(XML)]
            if name in attributes and others:
                self._refuse(f"{_short(others[0])} cannot stand beside {_short(name)}")

    def _refuse(self, problem: str) -> None:
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        raise place_error(self._path, self._data, line, column, problem)


def _short(name: str) -> str:
    return "rdf:" + name.removeprefix(RDF) if name.startswith(RDF) else name
