"""The W3C's test suite of SPARQL 1.1 Update: all syntax and evaluation tests, on the local and the naive engine.

The tests mean by the default graph what the standard does, the unnamed one.
"""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest
from sparql_oracle import same_rows, value
from w3c_suite import MF, UT, Manifest, W3CTest, _named, all_tests, graph

from deltalog import IRI, KnowledgeBase, UsageError
from deltalog.core.rules import QUADS
from deltalog.core.terms import Value
from deltalog.evaluation.facts import rows
from deltalog.extensions.graphs.membership import TripleTables
from deltalog.extensions.graphs.relations import without_graphs
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.sparql.parse_update import parse_update

Triples = list[tuple[Value, ...]]
UPDATES = [test for test in all_tests() if test.kind == "UpdateEvaluationTest"]
GOOD = [test for test in all_tests() if test.kind == "PositiveUpdateSyntaxTest11"]
BAD = [test for test in all_tests() if test.kind == "NegativeUpdateSyntaxTest11"]


def test_there_are_as_many_as_the_suite_has() -> None:
    assert (len(UPDATES), len(GOOD), len(BAD)) == (93, 42, 13)


@pytest.mark.parametrize("test", GOOD, ids=lambda test: test.name)
def test_good_syntax(test: W3CTest) -> None:
    parse_update(test.based, {})


@pytest.mark.parametrize("test", BAD, ids=lambda test: test.name)
def test_bad_syntax(test: W3CTest) -> None:
    with pytest.raises(UsageError, match=r"line \d+, column \d+ of the query: "):
        parse_update(test.based, {})


@pytest.mark.parametrize("engine", ["local", "naive"])
@pytest.mark.parametrize("test", UPDATES, ids=lambda test: test.name)
def test_updates(test: W3CTest, engine: str) -> None:
    entry = next(entry for entry, action in test.manifest.subjects(MF + "action") if action == test.action)
    before = dataset(test.manifest, test.action)
    after = dataset(test.manifest, test.manifest.one(entry, MF + "result"))
    kb = KnowledgeBase(engine=engine, default_graph="unnamed")
    for name, triples in before.items():
        kb.add("[]", triples, graph=name)
    kb.sparql_update(test.based)
    assert same_rows(quads(contents(kb)), quads(after))


def dataset(manifest: Manifest, node: Any) -> dict[IRI | None, Triples]:
    """The triples of each graph; those of the unnamed graph under None."""
    found: dict[IRI | None, Triples] = {}
    for file in manifest.all(node, UT + "data"):
        found.setdefault(None, []).extend(triples(file.value))
    for named in manifest.all(node, UT + "graphData"):
        file, name = _named(manifest, named)
        found.setdefault(IRI(name), []).extend(triples(file))
    return found


def triples(file: str) -> Triples:
    return [tuple(map(_term, (t.subject, t.predicate, t.object))) for t in graph(file)]


def _term(term: ox.NamedNode | ox.BlankNode | ox.Literal) -> Value:
    return value(term)


def contents(kb: KnowledgeBase) -> dict[IRI | None, Triples]:
    tables, backend = TripleTables(session_of(kb).backend), session_of(kb).backend
    found: dict[Any, Triples] = {
        None: list(rows(tables.from_facts(without_graphs(session_of(kb).state.explicit)), 3, backend))
    }
    for name, *triple in rows(tables.of(session_of(kb).state.explicit, QUADS), 4, backend):
        found.setdefault(name, []).append(tuple(triple))
    return found


def quads(graphs: dict[IRI | None, Triples]) -> list[tuple[Value | None, ...]]:
    return [(name, *triple) for name, found in graphs.items() for triple in dict.fromkeys(found)]
