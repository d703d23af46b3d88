"""The W3C's test suites of SPARQL, by their manifests.

`all_tests()` lists the tests. A test has the IRIs of its files; `Suite.read` has their contents. Results
are read by Oxigraph's parsers, and result sets that are written as graphs by `_result_set`. Rows and triples are
compared with any renaming of blank nodes, numbers by datatype and value.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from sparql_oracle import value

from deltalog import UsageError
from deltalog.core.terms import Value

ARCHIVE = Path(__file__).parent / "w3c" / "suites.tar.xz"
ROOT = "http://w3c.example/"
ROOTS = (
    "sparql11/manifest-all.ttl",
    "dawg-data-r2/manifest-evaluation.ttl",
    "dawg-data-r2/manifest-syntax.ttl",
)
MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
Row = tuple[Value | None, ...]


@dataclass(frozen=True)
class W3CTest:
    """A test: what kind it is, the IRIs of its query, its data, its named graphs (with their names) and its result."""

    name: str  # the folder and the name, as in `aggregates/agg01`
    kind: str
    query: str
    data: tuple[str, ...] = ()
    graphs: tuple[tuple[str, str], ...] = ()
    result: str | None = None
    action: Any = field(default=None, compare=False, repr=False)  # the node of the manifest, for updates
    manifest: Any = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        return read(self.query).decode()

    @property
    def based(self) -> str:
        """The query, with its own place as the base of relative IRIs, if it has any."""
        has_relative = re.search(r"<[^:<>\s]*>", self.text) is not None
        return f"BASE <{self.query}>\n{self.text}" if has_relative else self.text

    @property
    def regimes(self) -> frozenset[str]:
        """The entailment regimes for which the result is right; none if it is that of simple entailment."""
        regime = "http://www.w3.org/ns/sparql-service-description#entailmentRegime"
        nodes = self.manifest.all(self.action, regime)
        listed = [
            one for node in nodes for one in (self.manifest.list(node) if isinstance(node, ox.BlankNode) else [node])
        ]
        return frozenset(node.value.rpartition("/")[2] for node in listed)


@cache
def _files() -> dict[str, bytes]:
    found = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                found[ROOT + member.name] = content.read()
    return found


def read(iri: str) -> bytes:
    return _files()[iri]


def graph(iri: str) -> list[Any]:
    """The triples of a file."""
    formats = {"ttl": ox.RdfFormat.TURTLE, "rdf": ox.RdfFormat.RDF_XML, "nt": ox.RdfFormat.N_TRIPLES}
    format = formats.get(iri.rpartition(".")[2], ox.RdfFormat.TURTLE)
    return [quad.triple for quad in ox.parse(read(iri), format, base_iri=iri)]


class Manifest:
    """A graph, to look things up in."""

    def __init__(self, iri: str) -> None:
        self.iri = iri
        self.objects: dict[tuple[Any, str], list[Any]] = {}
        for triple in graph(iri):
            self.objects.setdefault((triple.subject, triple.predicate.value), []).append(triple.object)

    def all(self, subject: Any, predicate: str) -> list[Any]:
        return self.objects.get((subject, predicate), [])

    def one(self, subject: Any, predicate: str) -> Any:
        return next(iter(self.all(subject, predicate)), None)

    def list(self, node: Any) -> Iterator[Any]:
        while node is not None and node != ox.NamedNode(RDF + "nil"):
            yield self.one(node, RDF + "first")
            node = self.one(node, RDF + "rest")

    def subjects(self, predicate: str) -> Iterator[tuple[Any, Any]]:
        for (subject, name), objects in self.objects.items():
            if name == predicate:
                yield from ((subject, object) for object in objects)


@cache
def all_tests() -> tuple[W3CTest, ...]:
    """All tests of all manifests."""
    return tuple(test for root in ROOTS for test in _of_manifest(ROOT + root))


def _of_manifest(iri: str) -> Iterator[W3CTest]:
    manifest = Manifest(iri)
    for _, includes in manifest.subjects(MF + "include"):
        for included in manifest.list(includes):
            if included.value in _files():
                yield from _of_manifest(included.value)
    for _, entries in manifest.subjects(MF + "entries"):
        yield from filter(None, (_test(manifest, entry) for entry in manifest.list(entries)))


def _test(manifest: Manifest, entry: Any) -> W3CTest | None:
    """A test of a query or an update; None for the tests of protocols, which have no files."""
    action, result = manifest.one(entry, MF + "action"), manifest.one(entry, MF + "result")
    folder = manifest.iri.removeprefix(ROOT).removeprefix("sparql11/").rpartition("/")[0]
    query = manifest.one(action, QT + "query") or manifest.one(action, UT + "request") or action
    kind = manifest.one(entry, RDF + "type")
    if not isinstance(query, ox.NamedNode) or query.value not in _files():
        return None
    return W3CTest(
        f"{folder}/{entry.value.rpartition('#')[2]}",
        kind.value.rpartition("#")[2],
        query.value,
        tuple(node.value for node in manifest.all(action, QT + "data")),
        tuple(_named(manifest, node) for node in manifest.all(action, QT + "graphData")),
        result.value if isinstance(result, ox.NamedNode) else None,
        action,
        manifest,
    )


def _named(manifest: Manifest, node: Any) -> tuple[str, str]:
    """The file of a named graph, and its name."""
    if isinstance(node, ox.NamedNode):
        return node.value, node.value
    label = manifest.one(node, RDFS_LABEL)
    file = manifest.one(node, QT + "graph") or manifest.one(node, UT + "graph")
    return file.value, label.value if label is not None else file.value


# Expected results.


@dataclass(frozen=True)
class Expected:
    """Rows with the names of their columns, or a truth value, or triples."""

    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    truth: bool | None = None
    is_graph: bool = False
    in_order: bool = False


def expected(iri: str) -> Expected:
    ending = iri.rpartition(".")[2]
    formats = {"srx": ox.QueryResultsFormat.XML, "srj": ox.QueryResultsFormat.JSON, "tsv": ox.QueryResultsFormat.TSV}
    if ending in formats:
        return _of_results(ox.parse_query_results(read(iri), formats[ending]))
    manifest = Manifest(iri)
    sets = [node for node, type in manifest.subjects(RDF + "type") if type == ox.NamedNode(RS + "ResultSet")]
    if sets:
        return _result_set(manifest, sets[0])
    triples = [(value(t.subject), value(t.predicate), value(t.object)) for t in graph(iri)]
    return Expected(("subject", "predicate", "object"), tuple(triples), is_graph=True)


def _of_results(results: Any) -> Expected:
    if isinstance(results, ox.QueryBoolean):
        return Expected(truth=bool(results))
    columns = tuple(variable.value for variable in results.variables)
    rows = [tuple(None if row[name] is None else value(row[name]) for name in columns) for row in results]
    return Expected(columns, tuple(rows))


def _result_set(manifest: Manifest, node: Any) -> Expected:
    """A result set that is written as a graph."""
    truth = manifest.one(node, RS + "boolean")
    if truth is not None:
        return Expected(truth=truth.value == "true")
    columns = tuple(name.value for name in manifest.all(node, RS + "resultVariable"))
    solutions = manifest.all(node, RS + "solution")
    indexes = [manifest.one(solution, RS + "index") for solution in solutions]
    in_order = bool(indexes) and None not in indexes
    if in_order:
        places = {solution: int(index.value) for solution, index in zip(solutions, indexes, strict=True)}
        solutions = sorted(solutions, key=lambda solution: places[solution])
    rows = []
    for solution in solutions:
        bindings = {
            manifest.one(binding, RS + "variable").value: value(manifest.one(binding, RS + "value"))
            for binding in manifest.all(solution, RS + "binding")
        }
        rows.append(tuple(bindings.get(name) for name in columns))
    return Expected(columns, tuple(rows), in_order=in_order)


def is_refusal(error: UsageError) -> bool:
    """Whether a query is refused for what we do not support, and not for its syntax."""
    return re.match(r"line \d+, column \d+ of the query: ", str(error)) is None
