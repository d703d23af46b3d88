"""Ontology files: their triples, their prefixes, and the lines where things are defined."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.terms import IRI, Value
from deltalog.extensions.ontology.graph import RdfTriple, triples_of
from deltalog.formats.documents import DEFAULT, Reading
from deltalog.formats.files import name_of, read_all
from deltalog.formats.read import files_of, read

_TURTLE_PREFIX = re.compile(r"^\s*@?prefix\s+([\w.-]*):\s*<([^<>\s]*)>", re.IGNORECASE | re.MULTILINE)
_XML_PREFIX = re.compile(r"xmlns(?::([\w.-]+))?\s*=\s*[\"']([^\"']*)[\"']")


@dataclass(frozen=True)
class OntologyFile:
    """What a file says. `is_imported`: it was not given, but another one imports it; `found_as`: under these names."""

    path: Path
    triples: tuple[RdfTriple, ...]
    prefixes: Mapping[str, str] = field(compare=False)
    is_imported: bool = False
    found_as: frozenset[str] = frozenset()

    @cached_property
    def _subjects(self) -> frozenset[Value]:
        return frozenset(subject for subject, _, _ in self.triples)

    def without(self, triples: Collection[RdfTriple]) -> OntologyFile:
        """What the file says without some triples; itself if it says none of them."""
        left = tuple(each for each in self.triples if each not in triples)
        return self if len(left) == len(self.triples) else replace(self, triples=left)

    def mentions(self, name: IRI) -> bool:
        """Whether it says something about a name."""
        return name in self._subjects

    def place(self, name: IRI | None) -> str:
        """Where a name is defined, as far as that can be seen: the file, and the line."""
        line = None if name is None else line_of(_text(self.path), str(name))
        return str(self.path) if line is None else f"{self.path}:{line}"


def read_ontology(path: Path, reading: Reading = DEFAULT) -> list[OntologyFile]:
    """The ontology of an RDF file, or those of all RDF files of a folder."""
    return [read_document(file, reading) for file in files_of(path)]


def read_document(path: Path, reading: Reading = DEFAULT) -> OntologyFile:
    """The ontology of an RDF file."""
    if name_of(path).format not in ("ntriples", "turtle", "xml"):
        raise DataError(
            f"{path}: expected an ontology as RDF: Turtle (.ttl), RDF/XML (.owl, .rdf) or N-Triples (.nt). Other "
            "syntaxes of OWL (OWL/XML, functional, Manchester) can be converted by Protégé or ROBOT"
        )
    dictionary = Dictionary()
    facts = read(path, dictionary, replace(reading, graphs=False))
    rows = {pred: zip(*map(dictionary.decode, columns), strict=True) for pred, columns in facts.items()}
    return OntologyFile(path, tuple(triples_of(rows)), _prefixes(_text(path), name_of(path).format))


def _text(path: Path) -> str:
    return read_all(path).decode("utf-8", "replace")


def _prefixes(text: str, format: str) -> dict[str, str]:
    """The prefixes that a file declares, for people to read."""
    pattern = {"turtle": _TURTLE_PREFIX, "xml": _XML_PREFIX}.get(format)
    found = {prefix or "": namespace for prefix, namespace in pattern.findall(text)} if pattern else {}
    return {p: namespace for p, namespace in found.items() if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", namespace)}


def line_of(text: str, name: str) -> int | None:
    """The line where a name is defined: where it is the subject of something, or else where it first occurs."""
    local = name[max(name.rfind(sign) for sign in "#/:") + 1 :]
    full, short = re.escape(name), re.escape(local)
    subject = rf"(?:rdf:)?(?:about|ID)\s*=\s*[\"'](?:{full}|(?:[^\"'<>]*[#;/])?{short})[\"']"
    turtle = rf"^(?:<{full}>|[\w.-]*:{short}(?![\w-])|<#?{short}>)"
    for pattern in (subject, turtle, rf"<{full}>|[\w.-]*:{short}(?![\w-])|[#;/]{short}[\"']"):
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            return text.count("\n", 0, found.start()) + 1
    return None


def merged_prefixes(files: Iterable[OntologyFile]) -> dict[str, str]:
    """All prefixes; the first file with one decides what it means."""
    found: dict[str, str] = {}
    for file in files:
        for prefix, namespace in file.prefixes.items():
            found.setdefault(prefix, namespace)
    return found
