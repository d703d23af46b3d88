"""Turtle, TriG, RDF/XML and JSON-LD, parsed by pyoxigraph.

Its terms are Python objects, so this is slower than N-Triples by a factor of ten or more; convert large files.
Entities of RDF/XML are expanded or refused by `deltalog.formats.entities`. Nothing is fetched: JSON-LD whose context is
in another document is refused.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.limits import check_running
from deltalog.core.terms import IRI, BlankNode, Value, literal
from deltalog.formats.columns import FactColumns
from deltalog.formats.documents import DEFAULT, Reading, document_name
from deltalog.formats.entities import expanded
from deltalog.formats.files import read_all
from deltalog.formats.jsonld_terms import check_terms
from deltalog.formats.ntriples import by_mark, facts_of
from deltalog.formats.rdfxml import PIECE, prepared
from deltalog.formats.relative_iris import MarkedBases, with_absolute_iris
from deltalog.formats.text import BYTE_ORDER_MARK, place_error

_TOO_LONG = "Reached the buffer maximal size"  # pyoxigraph's MemoryError for a token
BATCH = 10_000  # triples between two checks of the limits


def read_rdf(path: Path, dictionary: Dictionary, format: str, reading: Reading = DEFAULT) -> FactColumns:
    """The facts of a Turtle, TriG, RDF/XML or JSON-LD file."""
    reading = by_mark(path, reading) if format in ("turtle", "trig") else reading
    return read_rdf_data(read_all(path), path, dictionary, format, reading)


def read_rdf_data(data: bytes, path: Path, dictionary: Dictionary, format: str, reading: Reading) -> FactColumns:
    """The facts of the bytes of a file."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    text, no_language, base, bases = data, None, reading.base_of(path), MarkedBases(data)
    if format == "xml":
        text, no_language = prepared(expanded(data, path), path, reading.max_depth, bases)
        base = bases.marked(base)
    elif format in ("turtle", "trig"):
        text = with_absolute_iris(data, base)
    elif format == "jsonld":
        _check_depth(data, path, reading.max_depth)
        check_terms(data, path, reading.max_depth)
        text, base = bases.in_json(data), bases.marked(base)
    terms, values = Dictionary(), _Values(BlankNodes(data, format, path, reading), bases, no_language)
    try:
        batches = list(_batches(_parsed(_Pieces(text), format, base), terms, values))
    except SyntaxError as problem:
        check_running()
        raise _readable(problem, data, path, lambda: _last_line_read(text, format, base)) from None
    except MemoryError as problem:
        if not str(problem).startswith(_TOO_LONG):
            raise
        raise DataError(f"{path}: a literal or an IRI of more than 16 MiB; N-Triples may have longer ones") from None
    ids = dictionary.merge(terms)
    return facts_of(ids[np.concatenate([np.empty((4, 0), np.uint32), *batches], axis=1)], dictionary, reading.graphs)


def _batches(triples: Iterator[Any], terms: Dictionary, values: _Values) -> Iterator[Any]:
    """The triples as columns of ids, the graph last (0 where there is none), some at a time."""
    while batch := list(islice(triples, BATCH)):
        check_running()
        columns = ([t.subject for t in batch], [t.predicate for t in batch], [t.object for t in batch])
        ids = [terms.encode([values.of(term) for term in column]) for column in columns]
        yield np.array([*ids, _graphs(batch, terms, values)], np.uint32)


def _check_depth(data: bytes, path: Path, most: int) -> None:
    """DataError if objects and arrays of JSON are nested too deeply: the parser calls itself for each of them."""
    if data.count(b"[") + data.count(b"{") <= most:
        return
    signs = np.frombuffer(_JSON_STRING.sub(b"", data), np.uint8)
    depth = np.cumsum(_JSON_STEPS[signs], dtype=np.int64)
    if depth.max(initial=0) > most:
        raise DataError(
            f"{path}: more than {most:,} objects and arrays are nested; Tuning(rdf_max_depth=...) allows more"
        )


_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_JSON_STEPS = np.zeros(256, np.int8)
_JSON_STEPS[list(b"[{")], _JSON_STEPS[list(b"]}")] = 1, -1


def _graphs(batch: Sequence[Any], terms: Dictionary, values: _Values) -> NDArray[np.uint32]:
    """The graphs of quads; none of triples, and of those in the unnamed graph."""
    ids = np.zeros(len(batch), np.uint32)
    names = [getattr(quad, "graph_name", None) for quad in batch]
    named = [i for i, name in enumerate(names) if type(name).__name__ in ("NamedNode", "BlankNode")]
    ids[named] = terms.encode([values.of(names[i]) for i in named])
    return ids


def _parsed(source: Any, format: str, base: str) -> Iterator[Any]:
    import pyoxigraph

    formats = pyoxigraph.RdfFormat
    syntax = {"turtle": formats.TURTLE, "trig": formats.TRIG, "xml": formats.RDF_XML, "jsonld": formats.JSON_LD}[format]
    return pyoxigraph.parse(source, format=syntax, base_iri=base)


class BlankNodes:
    """The names of a document's blank nodes (see `deltalog.formats.documents`).

    pyoxigraph gives a node without a label a random one: hexadecimal digits that do not occur as a label in the text.
    """

    def __init__(self, data: bytes, format: str, path: Path, reading: Reading) -> None:
        self._data, self._written = data, _LABELS[format]
        self._prefix, self._document = reading.label_prefix(path), document_name(path)
        self._numbers: dict[str, int] = {}

    @cached_property
    def _labels(self) -> set[str]:
        """All that could be labels in the text."""
        found: list[str] = self._written.findall(self._data.decode("utf-8", "replace"))
        return {label.rstrip(".") for label in found}

    def __getitem__(self, label: str) -> BlankNode:
        if not _RANDOM.fullmatch(label) or label in self._labels:
            return BlankNode(self._prefix + label)
        return BlankNode(f"{self._document}-{self._numbers.setdefault(label, len(self._numbers))}")


_RANDOM = re.compile(r"[0-9a-f]{8,32}")
_WRITTEN = re.compile(r"_:([^\s<>\"'(){}\[\],;#/\\|^`@:]+)")
_LABELS = {
    "turtle": _WRITTEN,
    "trig": _WRITTEN,
    "jsonld": _WRITTEN,
    "xml": re.compile(r"nodeID\s*=\s*[\"']([^\"']*)[\"']"),
}


@dataclass(frozen=True)
class _Values:
    """The values of a document's terms. `no_language` is the tag that means no language, if there is one."""

    blank_nodes: BlankNodes
    bases: MarkedBases
    no_language: str | None

    def of(self, term: Any) -> Value:
        match type(term).__name__:
            case "NamedNode":
                return IRI(self.bases.restored(term.value))
            case "BlankNode":
                return self.blank_nodes[term.value]
        _refuse_beyond_rdf_1_1(term)
        if self.no_language is not None and term.language == self.no_language:
            return literal(term.value)
        return literal(term.value, term.datatype.value, term.language)


def _refuse_beyond_rdf_1_1(term: Any) -> None:
    if type(term).__name__ == "Triple":
        raise SyntaxError("a triple cannot be an argument of a fact")
    if getattr(term, "direction", None) is not None:
        raise SyntaxError("a literal with a base direction (--ltr, --rtl) cannot be an argument of a fact")


def _readable(problem: SyntaxError, data: bytes, path: Path, last_line: Callable[[], int]) -> DataError:
    """pyoxigraph's message with the file, the line and the line's text."""
    message = _PLACE.sub("", str(problem.msg or problem))
    if "LoadDocumentCallback" in message:
        message = "a @context of another document is not fetched; put the context itself into the file"
    return place_error(path, data, problem.lineno or last_line(), problem.offset, message)


_PLACE = re.compile(r"^Parser error (?:at|between) line \d+ [a-z0-9 ]+: ")


def _last_line_read(data: bytes, format: str, base: str) -> int:
    """The number of the line in which a document that is wrong stops being parsed: it is parsed again, line by line."""
    lines = _Lines(data)
    try:
        for triple in _parsed(lines, format, base):
            _refuse_beyond_rdf_1_1(triple.object)
    except SyntaxError:
        pass
    return max(1, lines.number)


class _Document(io.RawIOBase):
    """A document that pyoxigraph reads piece by piece."""

    def readable(self) -> bool:
        return True


class _Pieces(_Document):
    """A document; the limits of the call are checked before each piece."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def read(self, size: int = -1) -> bytes:
        check_running()
        part = self._data[self._at : self._at + (PIECE if size < 0 else min(size, PIECE))]
        self._at += len(part)
        return part


class _Lines(_Document):
    """A document that is read a line at a time."""

    def __init__(self, data: bytes) -> None:
        self._lines, self._rest, self.number = iter(data.splitlines(keepends=True)), b"", 0

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = next(self._lines, b"")
            self.number += bool(self._rest)
        size = size if size >= 0 else len(self._rest)
        part, self._rest = self._rest[:size], self._rest[size:]
        return part
