"""Turtle and RDF/XML, parsed by pyoxigraph.

Its terms are Python objects, so this is slower than N-Triples by a factor of ten or more; convert what is large.
RDF/XML that declares a document type or entities is refused: a few hundred bytes of them can take all memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from deltalog.dictionary import Dictionary
from deltalog.errors import DataError
from deltalog.io.facts import Facts
from deltalog.io.files import read_all
from deltalog.io.ntriples import grouped
from deltalog.terms import IRI, BlankNode, Value, literal

BATCH = 100_000


def read_rdf(path: Path, dictionary: Dictionary, format: str) -> Facts:
    """The facts of a Turtle or RDF/XML file."""
    data = read_all(path)
    if format == "xml":
        _refuse_entities(data, path)
    terms = Dictionary()
    try:
        batches = list(_batches(data, format, terms))
    except SyntaxError as problem:
        raise _readable(problem, data, path) from None
    ids = dictionary.merge(terms)
    return grouped(ids[np.concatenate([np.empty((3, 0), np.uint32), *batches], axis=1)], dictionary)


def _batches(data: bytes, format: str, terms: Dictionary) -> Iterator[Any]:
    """The triples as three columns of ids, some at a time."""
    import pyoxigraph

    syntax = {"turtle": pyoxigraph.RdfFormat.TURTLE, "xml": pyoxigraph.RdfFormat.RDF_XML}[format]
    triples = pyoxigraph.parse(data, format=syntax, lenient=True)
    while batch := list(islice(triples, BATCH)):
        columns = ([t.subject for t in batch], [t.predicate for t in batch], [t.object for t in batch])
        yield np.array([terms.encode([_value(term) for term in column]) for column in columns], np.uint32)


def _value(term: Any) -> Value:
    match type(term).__name__:
        case "NamedNode":
            return IRI(term.value)
        case "BlankNode":
            return BlankNode(term.value)
        case "Literal":
            return literal(term.value, term.datatype.value, term.language)
        case _:
            raise SyntaxError(f"a {type(term).__name__.lower()} cannot be an argument of a fact")


def _refuse_entities(data: bytes, path: Path) -> None:
    found = re.search(rb"<!\s*(DOCTYPE|ENTITY)", data, re.IGNORECASE)
    if found is None and b"\0" in data:
        raise DataError(f"{path}: expected RDF/XML in UTF-8")
    if found is not None:
        line = data.count(b"\n", 0, found.start()) + 1
        raise DataError(
            f"{path}:{line}: RDF/XML with <!{found[1].decode().upper()} is refused, because entities can be made to "
            "take all memory. Write the IRIs out, or convert the file to Turtle with a tool you trust"
        )


def _readable(problem: SyntaxError, data: bytes, path: Path) -> DataError:
    """pyoxigraph's message with the file, the line and the line's text."""
    message = str(problem.msg or problem)
    place = f"{path}"
    if not problem.lineno:
        return DataError(f"{place}: {message}")
    lines = data.split(b"\n", problem.lineno)
    text = lines[problem.lineno - 1] if len(lines) >= problem.lineno else b""
    shown = text[:200].decode("utf-8", "replace").rstrip("\r")
    return DataError(f"{place}:{problem.lineno}:{problem.offset or 1}: {message}\n  {shown}")
