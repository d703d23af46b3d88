"""Parts of RDF/XML in which pyoxigraph and the standard differ.

pyoxigraph takes some attributes that the standard refuses; these are errors here. It refuses `xml:lang=""`, which ends
the scope of an outer language; a tag that means "no language" is put in its place, and the reader takes it off the
literals. It gives XML literals all namespaces in scope and refuses empty ones; they become text in canonical form. It
keeps dot segments of `xml:base` (`deltalog.formats.relative_iris`).

Elements alternate: those of nodes, and inside of them those of properties (section 2.1 of the standard). What may be an
attribute depends on which of them an element is (sections 7.2.11 to 7.2.21), and so does what is inside: `parseType`
makes it properties again, a list of nodes, or text.
"""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from deltalog.core.limits import check_running
from deltalog.core.terms import RDF
from deltalog.formats.relative_iris import MarkedBases
from deltalog.formats.text import place_error
from deltalog.formats.xml_literals import canonical_text

PIECE = 1 << 18  # bytes that are read between two checks of the limits
MOST_ATTRIBUTES = 2_000  # of an element, with its namespaces; the parser compares each with all others
NODES, PROPERTIES, TEXT = range(3)  # what the elements inside of another are
XML = "http://www.w3.org/XML/1998/namespace"
INSIDE = {None: NODES, "Resource": PROPERTIES, "Collection": NODES}
NEVER = frozenset(RDF + name for name in ("RDF", "Description", "li", "bagID", "aboutEach", "aboutEachPrefix"))
NOT_OF_NODES = NEVER | {RDF + name for name in ("resource", "parseType", "datatype")}
NOT_OF_PROPERTIES = NEVER | {RDF + "about"}
ALONE = (RDF + "parseType", RDF + "datatype")  # beside which there may be rdf:ID only
LANGUAGE, BASE = XML + "lang", XML + "base"
_NAME = re.compile(rb"<[^\s/>]+")
_ATTRIBUTE = re.compile(rb"\s*([^\s=]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_TAG_END = re.compile(rb"(?:\"[^\"]*\"|'[^']*'|[^\"'>])*>")
_LANGUAGE_NAME, _BASE_NAME = re.compile(rb"xml:lang"), re.compile(rb"xml:base")
_PARSE_TYPE = re.compile(rb"(?!xmlns:|xml:)[^:]+:parseType")
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)


def prepared(data: bytes, path: Path, max_depth: int, bases: MarkedBases | None = None) -> tuple[bytes, str | None]:
    """A document for pyoxigraph, and the tag in it that means no language, if there is one.

    Raises DataError for XML that is malformed, cut short, too deep or not in UTF-8, and for an attribute that cannot
    stand where it does. Without `bases`, bases with dot segments stay as they are.
    """
    elements = _Elements(path, max_depth, bases)
    elements.read(data)
    tag = _unused_tag(data) if elements.empty_languages else None
    edits = [(at, at, (tag or "").encode()) for at in elements.empty_languages]
    edits += elements.literals + elements.bases
    return _edited(data, edits), tag


def _unused_tag(data: bytes) -> str:
    lower = data.lower()
    return next(tag for number in count() if (tag := f"x-none-{number}").encode() not in lower)


def _edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """The document with other bytes in some places."""
    pieces, at = [], 0
    for start, end, text in sorted(edits):
        pieces += [data[at:start], text]
        at = end
    return b"".join((*pieces, data[at:])) if edits else data


class _Elements:
    """The open elements, and for each what is inside of it; and what pyoxigraph must read in another form.

    These are the places where `xml:lang=""` has its value, and XML literals: as texts in canonical form, on as many
    lines, with the datatype in the place of `rdf:parseType`.
    """

    def __init__(self, path: Path, max_depth: int, marked: MarkedBases | None) -> None:
        self.bases: list[tuple[int, int, bytes]] = []
        self._marked = marked
        self.empty_languages: list[int] = []
        self.literals: list[tuple[int, int, bytes]] = []
        self._open_literal: tuple[int, re.Match[bytes]] | None = None  # its depth, and its attribute parseType
        self._namespaces: dict[str, list[str]] = {}
        self._namespace_count = 0  # of those in scope
        self._max_depth = max_depth
        self._path, self._data, self._inside = path, b"", [NODES]
        self._parser = ParserCreate(namespace_separator="")
        self._parser.XmlDeclHandler = self._declaration
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end
        self._parser.StartNamespaceDeclHandler = self._start_namespace
        self._parser.EndNamespaceDeclHandler = self._end_namespace

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

    def _start_namespace(self, prefix: str | None, uri: str | None) -> None:
        self._namespaces.setdefault(prefix or "", []).append(uri or "")
        self._namespace_count += 1

    def _end_namespace(self, prefix: str | None) -> None:
        self._namespaces[prefix or ""].pop()
        self._namespace_count -= 1

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if (encoding or "UTF-8").upper() not in ("UTF-8", "UTF8"):
            self._refuse(f"expected XML in UTF-8, not in {encoding}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        here = self._inside[-1]
        if len(attributes) + self._namespace_count > MOST_ATTRIBUTES:
            self._refuse(f"more than {MOST_ATTRIBUTES:,} attributes and namespaces of one element")
        if len(self._inside) > self._max_depth:
            self._refuse(f"more than {self._max_depth:,} elements are nested; Tuning(rdf_max_depth=...) allows more")
        if here != TEXT and attributes.get(LANGUAGE) == "":
            self.empty_languages.append(self._place_of_language())
        if here != TEXT and BASE in attributes and self._marked:
            start, end = self._attribute(_BASE_NAME).span(2)
            self.bases.append((start, end, b'"%s"' % _escaped(self._marked.marked(attributes[BASE]))))
        if here == TEXT or (name == RDF + "RDF" and len(self._inside) == 1):
            self._inside.append(here)
            return
        refused = NOT_OF_NODES if here == NODES else NOT_OF_PROPERTIES
        if attributes:
            self._check(attributes, refused, "a node" if here == NODES else "a property")
        self._inside.append(PROPERTIES if here == NODES else INSIDE.get(attributes.get(ALONE[0]), TEXT))
        if self._inside[-1] == TEXT:
            self._open_literal = len(self._inside), self._attribute(_PARSE_TYPE)

    def _end(self, _: str) -> None:
        if self._open_literal and self._open_literal[0] == len(self._inside):
            self._end_literal(self._open_literal[1])
            self._open_literal = None
        self._inside.pop()

    def _end_literal(self, parse_type: re.Match[bytes]) -> None:
        tag = _TAG_END.match(self._data, parse_type.end())
        assert tag
        start, end = tag.end(), max(tag.end(), self._parser.CurrentByteIndex)
        lines = b"\n" * self._data.count(b"\n", start, end)
        datatype = b'%sdatatype="%sXMLLiteral"%s' % (parse_type[1].removesuffix(b"parseType"), RDF.encode(), lines)
        self.literals.append((parse_type.start(1), parse_type.end(), datatype))
        namespaces = {prefix: uris[-1] for prefix, uris in self._namespaces.items() if uris}
        text = canonical_text(self._data[start:end], namespaces) if start < end else ""
        self.literals.append((start, end, _escaped(text)))

    def _place_of_language(self) -> int:
        """Where the value of xml:lang begins in the tag that is read."""
        return self._attribute(_LANGUAGE_NAME).start(2) + 1

    def _attribute(self, name: re.Pattern[bytes]) -> re.Match[bytes]:
        """An attribute of the tag that is read."""
        tag = _NAME.match(self._data, self._parser.CurrentByteIndex)
        found = tag and _ATTRIBUTE.match(self._data, tag.end())
        while found and not name.fullmatch(found[1]):
            found = _ATTRIBUTE.match(self._data, found.end())
        assert found
        return found

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


def _escaped(text: str) -> bytes:
    """Text as content of an element, on one line."""
    return text.translate(_ESCAPES).encode()


def _short(name: str) -> str:
    return "rdf:" + name.removeprefix(RDF) if name.startswith(RDF) else name
