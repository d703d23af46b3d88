"""owl:imports: documents that an ontology is to be read with.

An import is a name (an IRI), not a place. It is found, in this order,

1. among the files that were given: by the IRI or version IRI of an ontology in them;
2. as a file, if the IRI is a file's (`<other.ttl>` in a document without a base);
3. by the catalog beside the document, `catalog-v001.xml`, which Protégé writes (OASIS XML Catalogs: `uri`, `system`,
   `rewriteURI`, `rewriteSystem`, `nextCatalog`, and `xml:base` around them).

Nothing is fetched from the network. What is not found is `missing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit
from xml.etree import ElementTree

from deltalog.core.errors import DataError
from deltalog.core.terms import IRI, RDF, RDF_TYPE, XSD
from deltalog.extensions.ontology.load import OntologyFile
from deltalog.extensions.ontology.vocabulary import OWL, RDFS, SWRL, SWRLB
from deltalog.formats.entities import expanded

CATALOG = "catalog-v001.xml"
_IMPORTS, _ONTOLOGY, _VERSION = (IRI(OWL + name) for name in ("imports", "Ontology", "versionIRI"))
_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_NAMES = {"uri": "name", "system": "systemId"}
_PREFIXES = {"rewriteURI": "uriStartString", "rewriteSystem": "systemIdStartString"}
_BUILT_IN = frozenset(namespace.rstrip("#") for namespace in (RDF, RDFS, OWL, XSD, SWRL, SWRLB))


class Import(NamedTuple):
    """A document that another one imports."""

    iri: str
    by: Path

    def __str__(self) -> str:
        wanted = _in_catalog(self.iri, self.by.parent)
        mapped = f"; {CATALOG} maps it to {wanted}, which is not a file" if wanted is not None else ""
        return (
            f"{self.by} imports <{self.iri}>, which was not found, so its axioms are missing{mapped}. Give its file as "
            f"an ontology, too, or name it in {CATALOG} beside {self.by.name}; nothing is fetched from the network"
        )


def with_imports(
    given: Iterable[OntologyFile], known: Iterable[OntologyFile], read: Callable[[Path], OntologyFile]
) -> list[OntologyFile]:
    """Files with all that they import, as far as it is found. `known` files are there already."""
    there = {file.path.resolve(): file for file in known}
    found = {file.path.resolve(): file for file in given}
    waiting = list(found.values())
    while waiting:
        for wanted in _imports(waiting.pop(0)):
            path = None if _has(wanted.iri, [*there.values(), *found.values()]) else _find(wanted)
            if path is None:
                continue
            old = found.get(path) or there.get(path)
            file = old if old is not None else replace(read(path), is_imported=True)
            found[path] = replace(file, found_as=file.found_as | {wanted.iri})
            waiting += [found[path]] if old is None else []
    return list(found.values())


def missing(files: Iterable[OntologyFile]) -> tuple[Import, ...]:
    """What files import, and none of them is."""
    files = list(files)
    return tuple(wanted for file in files for wanted in _imports(file) if not _has(wanted.iri, files))


def still_imported(files: Iterable[OntologyFile]) -> list[OntologyFile]:
    """The files that were given, and those that they import, directly or not."""
    files = list(files)
    kept = [file for file in files if not file.is_imported]
    for file in kept:  # which grows meanwhile
        wanted = {_plain(each.iri) for each in _imports(file)}
        kept += [other for other in files if other not in kept and not wanted.isdisjoint(_names(other))]
    return kept


def _imports(file: OntologyFile) -> list[Import]:
    iris = dict.fromkeys(str(o) for _, p, o in file.triples if p == _IMPORTS and isinstance(o, IRI))
    return [Import(iri, file.path) for iri in iris if _plain(iri) not in _BUILT_IN]


def _has(iri: str, files: Iterable[OntologyFile]) -> bool:
    return any(_plain(iri) in _names(file) for file in files)


def _names(file: OntologyFile) -> set[str]:
    """What a document is called."""
    own = {str(s) for s, p, o in file.triples if p == RDF_TYPE and o == _ONTOLOGY}
    versions = {str(o) for _, p, o in file.triples if p == _VERSION}
    return {_plain(name) for name in (*own, *versions, *file.found_as, file.path.resolve().as_uri())}


def _plain(iri: str) -> str:
    return iri.rstrip("#")


def _find(wanted: Import) -> Path | None:
    """The file of an import, if there is one."""
    candidates = (_as_path(wanted.iri), _in_catalog(wanted.iri, wanted.by.parent))
    return next((path.resolve() for path in candidates if isinstance(path, Path) and path.is_file()), None)


# Catalogs.


def _in_catalog(iri: str, folder: Path) -> Path | str | None:
    """What the catalog of a folder has for an IRI: a path, or the address of something elsewhere."""
    mapped = _mapped(iri, (folder / CATALOG).resolve(), set())
    if mapped is None:
        return None
    return _as_path(mapped) or mapped


def _mapped(iri: str, catalog: Path, seen: set[Path]) -> str | None:
    """An entry for the name itself, or else for the longest beginning of it; then those of the next catalogs."""
    if catalog in seen or not catalog.is_file():
        return None
    seen.add(catalog)
    entries = list(_entries(_parsed(catalog), catalog.as_uri()))
    exact = [to for tag, name, to in entries if tag in _NAMES and _plain(name) == _plain(iri)]
    starts = [
        (len(name), to + iri[len(name) :]) for tag, name, to in entries if tag in _PREFIXES if iri.startswith(name)
    ]
    if exact or starts:
        return exact[0] if exact else max(starts)[1]
    others = (_as_path(to) for tag, _, to in entries if tag == "nextCatalog")
    return next((found for path in others if path and (found := _mapped(iri, path.resolve(), seen))), None)


def _entries(element: ElementTree.Element, base: str) -> Iterator[tuple[str, str, str]]:
    """Kind, name and target of each entry."""
    base = urljoin(base, element.get(_BASE, ""))
    tag = element.tag.rpartition("}")[2]
    name, target = element.get({**_NAMES, **_PREFIXES}.get(tag, ""), ""), _target(element, tag)
    if target is not None:
        yield tag, name, urljoin(base, target)
    for child in element:
        yield from _entries(child, base)


def _target(element: ElementTree.Element, tag: str) -> str | None:
    kind = "rewritePrefix" if tag in _PREFIXES else "catalog" if tag == "nextCatalog" else "uri"
    return element.get(kind) if tag in (*_NAMES, *_PREFIXES, "nextCatalog") else None


def _parsed(catalog: Path) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(expanded(catalog.read_bytes(), catalog))
    except ElementTree.ParseError as problem:
        raise DataError(
            f"{catalog}:{problem.position[0]}: this catalog of imports is not well-formed XML: {problem}"
        ) from None


def _as_path(iri: str) -> Path | None:
    parts = urlsplit(iri)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None
