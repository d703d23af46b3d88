"""SPARQL Update: random requests against Oxigraph and against sets of quads; exact changes; what is refused."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyoxigraph as ox
import pytest
from graph_oracle import GRAPHS, GraphTwins, quads_in, quads_of, random_quads
from sparql_oracle import NODES, PREFIX, XSD_PREFIX

from deltalog import IRI, BlankNode, DataError, KnowledgeBase, LimitReached, UsageError

RULES = """
PREFIX : <http://e/>
:r[?x, ?y] :- :p[?x, ?y] .
:r[?x, ?z] :- :r[?x, ?y], :p[?y, ?z] .
:E[?x] :- :C[?x], NOT :D[?x] .
"""


class RandomRequest:
    """A request of one to four operations. Patterns mention no derived facts, which Oxigraph does not have. What COPY,
    MOVE and ADD read is a graph with triples: in Oxigraph, unlike here, there are graphs without any."""

    def __init__(self, random: Random, store: ox.Store, graphs_only: bool = False) -> None:
        self.random, self.graphs_only = random, graphs_only
        names = {f":{quad.graph_name.value[9:]}" for quad in store if isinstance(quad.graph_name, ox.NamedNode)}
        self.sources = [*sorted(names), *(() if graphs_only else ("DEFAULT",))]

    def text(self) -> str:
        first = [self.whole()] if self.sources and self.random.random() < 0.4 else []
        return " ;\n".join([*first, *(self.operation() for _ in range(self.random.randint(1, 3)))])

    def operation(self) -> str:
        return self.random.choice((self.data, self.data, self.modify, self.modify, self.modify, self.delete_where))()

    def data(self) -> str:
        return f"{self.random.choice(('INSERT', 'DELETE'))} DATA {{ {self.quads(False)} }}"

    def modify(self) -> str:
        scope = f"WITH {self.random.choice(GRAPHS)} " if self.random.random() < 0.3 else ""
        using = self.random.choice(("", "", "", f"USING {self.random.choice(GRAPHS)} ", "USING NAMED :g "))
        delete = f"DELETE {{ {self.quads(True)} }} " if self.random.random() < 0.7 else ""
        insert = f"INSERT {{ {self.quads(True)} }} " if not delete or self.random.random() < 0.6 else ""
        return f"{scope}{delete}{insert}{using}WHERE {{ {self.pattern()} }}"

    def delete_where(self) -> str:
        return f"DELETE WHERE {{ {self.quads(True)} }}"

    def whole(self) -> str:
        kind = self.random.choice(("COPY", "MOVE", "ADD", "CLEAR", "DROP"))
        if kind in ("CLEAR", "DROP"):
            targets = [*(f"GRAPH {graph}" for graph in GRAPHS), *(() if self.graphs_only else ("DEFAULT", "NAMED"))]
            return f"{kind} SILENT {self.random.choice(targets)}"
        target = self.random.choice(GRAPHS if self.graphs_only else (*GRAPHS, "DEFAULT"))
        return f"{kind} {self.random.choice(self.sources)} TO {target}"

    def quads(self, variables: bool) -> str:
        parts = [self.block(variables) for _ in range(self.random.randint(1, 2))]
        return " ".join(parts)

    def block(self, variables: bool) -> str:
        triples = " . ".join(self.triple(variables) for _ in range(self.random.randint(1, 2)))
        if not self.graphs_only and self.random.random() < 0.4:
            return f"{triples} . "
        graph = "?g" if variables and self.random.random() < 0.3 else self.random.choice(GRAPHS)
        return f"GRAPH {graph} {{ {triples} }} "

    def triple(self, variables: bool) -> str:
        node = (*NODES, "?x", "?y", "?x", "?y") if variables else NODES
        kind = self.random.random()
        if kind < 0.2:
            return f"{self.random.choice(node)} a {self.random.choice((':C', ':D'))}"
        if kind < 0.4:
            return (
                f"{self.random.choice(node)} :v {self.random.choice(('1', '2.5', '?w') if variables else ('1', '2.5'))}"
            )
        return f"{self.random.choice(node)} {self.random.choice((':p', ':q'))} {self.random.choice(node)}"

    def pattern(self) -> str:
        graph = f"GRAPH ?g {{ ?x {self.random.choice((':p', ':q', 'a'))} ?y }}"
        default = "?x :p ?y" if not self.graphs_only else f"GRAPH {self.random.choice(GRAPHS)} {{ ?x :p ?y }}"
        more = ("", "OPTIONAL { GRAPH :g { ?y :v ?w } }", "FILTER(?x != :a)", "MINUS { GRAPH :h { ?x :q ?y } }")
        return f"{self.random.choice((graph, default, f'{default} . {graph}'))} {self.random.choice(more)}"


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_random_requests_change_the_same_quads_as_in_oxigraph(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 10):
        random = Random(seed)
        twins = GraphTwins(random_quads(random), tmp_path, engine=random.choice(("local", "local", "naive")))
        for _ in range(4):
            request = PREFIX + XSD_PREFIX + RandomRequest(random, twins.store).text()
            twins.store.update(request)
            twins.kb.sparql_update(request)
            assert quads_of(twins.kb) == quads_in(twins.store), request


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_requests_in_a_union(start: int, tmp_path: Path) -> None:
    """Where the default graph is the union, named graphs change as in Oxigraph, and everything follows from them."""
    for seed in range(start, start + 10):
        random = Random(1_000 + seed)
        kb = GraphTwins(random_quads(random), tmp_path, "union", program=RULES).kb
        store = GraphTwins(random_quads(Random(1_000 + seed)), tmp_path).store
        for _ in range(4):
            request = PREFIX + XSD_PREFIX + RandomRequest(random, store, graphs_only=True).text()
            before = contents(kb)
            store.update(request)
            change = kb.sparql_update(request)
            assert quads_of(kb) == quads_in(store), request
            added, removed = difference(before, contents(kb))
            assert (facts(change.added), facts(change.removed)) == (added, removed), request
            assert contents(kb) == contents(afresh(kb)), request


def contents(kb: KnowledgeBase) -> dict[str, set[tuple[Any, ...]]]:
    return {name: set(kb.facts(name)) for name in kb.predicates if kb.count(name)}


def facts(found: Any) -> dict[str, set[tuple[Any, ...]]]:
    return {name: set(rows) for name, rows in found.items()}


def difference(before: Any, after: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    def less(one: Any, other: Any) -> dict[str, Any]:
        found = {name: rows - other.get(name, set()) for name, rows in one.items()}
        return {name: rows for name, rows in found.items() if rows}

    return less(after, before), less(before, after)


def afresh(kb: KnowledgeBase) -> KnowledgeBase:
    """What follows from the explicit facts, by the naive engine."""
    other = KnowledgeBase(RULES, engine="naive")
    for name in kb.predicates:
        explicit = set(kb.facts(name)) - set(kb.derived(name))
        if explicit:
            other.add(name, list(explicit))
    return other


def updated(*requests: str, **settings: Any) -> KnowledgeBase:
    kb = KnowledgeBase(RULES, **settings)
    for request in requests:
        kb.sparql_update(request)
    return kb


def test_an_operation_sees_what_those_before_it_have_done() -> None:
    kb = updated("INSERT DATA { :a :p :b }")
    change = kb.sparql_update(
        "INSERT DATA { :b :p :c } ; INSERT { ?x :far ?y } WHERE { ?x :r ?y FILTER NOT EXISTS { ?x :p ?y } } ;"
        "DELETE { ?x :p ?y } WHERE { ?x :far ?z . ?x :p ?y }"
    )
    assert change.added.counts() == {"http://e/far": 1, "http://e/p": 1, "http://e/r": 1}
    assert change.removed.counts() == {"http://e/p": 1, "http://e/r": 1}
    assert set(kb.facts("http://e/r")) == {(IRI("http://e/b"), IRI("http://e/c"))}


def test_a_derived_fact_stays_and_the_report_says_so() -> None:
    kb = updated("INSERT DATA { :a :p :b . :b :p :c . :a :r :c . :x :r :y }")
    change = kb.sparql_update("DELETE WHERE { ?x :r ?y }")
    assert change.removed.counts() == {"http://e/r": 1}
    assert change.notes == ("3 facts of http://e/r to delete still follow from rules",)
    assert not kb.sparql_update("DELETE DATA { :x :r :y }").notes


def test_a_request_that_fails_changes_nothing(tmp_path: Path) -> None:
    kb = updated("INSERT DATA { :a :p :b . GRAPH :g { :a :p :c } }")
    before, facts_before = quads_of(kb), contents(kb)
    (tmp_path / "bad.ttl").write_text("this is no Turtle")
    for request, error in (
        ("CLEAR ALL ; COPY :nowhere TO :g", UsageError),
        ("INSERT DATA { :x :p :y } ; CREATE GRAPH :g", UsageError),
        ("INSERT { ?x :p :z } WHERE { ?x :p ?y } ; LOAD <bad.ttl>", DataError),
        ("CLEAR ALL ; LOAD <http://e/>", UsageError),
    ):
        with pytest.raises(error):
            kb.sparql_update(request, load_from=[tmp_path])
        assert (quads_of(kb), contents(kb)) == (before, facts_before)
    kb.limits.max_facts = 8
    with pytest.raises(LimitReached):
        kb.sparql_update("INSERT DATA { :c :p :d . :d :p :a . :b :p :a } ; INSERT { ?x :q ?y } WHERE { ?x :r ?y }")
    kb.limits.max_facts = None
    assert (quads_of(kb), contents(kb)) == (before, facts_before)


def test_a_dry_run_changes_nothing() -> None:
    kb = updated("INSERT DATA { :a :p :b }")
    request = "INSERT DATA { GRAPH :g { :b :p :c } } ; DELETE { ?x :p ?y } WHERE { ?x :p ?y }"
    change = kb.sparql_update(request, dry_run=True)
    assert (change.removed.counts(), kb.graphs) == ({"http://e/p": 1, "http://e/r": 1}, {})
    assert kb.sparql_update(request).removed.counts() == change.removed.counts()


def test_load_reads_what_is_allowed(tmp_path: Path) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    for folder in (allowed, outside):
        folder.mkdir()
        (folder / "x.ttl").write_text("<http://e/a> <http://e/p> <http://e/b> .")
    (allowed / "link.ttl").symlink_to(outside / "x.ttl")
    (allowed / "edge.csv").write_text("a,b\n")
    kb = KnowledgeBase()
    for source in (
        outside.joinpath("x.ttl").as_uri(),
        allowed.joinpath("link.ttl").as_uri(),
        f"{allowed.as_uri()}/../outside/x.ttl",
        "../outside/x.ttl",
        "http://e/x.ttl",
        f"file://elsewhere{allowed}/x.ttl",
        "nothing.ttl",
    ):
        with pytest.raises(UsageError, match="is refused"):
            kb.sparql_update(f"LOAD <{source}>", load_from=[allowed])
        note = kb.sparql_update(f"LOAD SILENT <{source}> INTO GRAPH <http://e/g>", load_from=[allowed]).notes
        assert "is refused" in note[0]
    with pytest.raises(UsageError, match="is refused"):
        kb.sparql_update(f"LOAD <{allowed.joinpath('x.ttl').as_uri()}>")
    with pytest.raises(DataError, match="no format of RDF"):
        kb.sparql_update("LOAD <edge.csv>", load_from=[allowed])
    assert kb.explicit_facts == 0
    kb.sparql_update("LOAD <x.ttl> INTO GRAPH <http://e/g>", load_from=[allowed])
    kb.sparql_update(f"LOAD <{allowed.joinpath('x.ttl').as_uri()}>", load_from=[allowed])
    assert (kb.graphs, kb.count("http://e/p")) == ({IRI("http://e/g"): 1}, 1)


def test_blank_nodes_of_templates_are_new_ones() -> None:
    kb = updated("INSERT DATA { :a :p :b . :b :p :c }", "INSERT { _:n :of ?x ; :also _:n } WHERE { ?x :p ?y }")
    nodes = {node for node, _ in kb.facts("http://e/of")}
    assert len(nodes) == 2
    assert all(isinstance(node, BlankNode) for node in nodes)
    assert {(node, node) for node in nodes} == set(kb.facts("http://e/also"))
    kb.sparql_update("INSERT DATA { _:n :of :z } ; INSERT DATA { [] :of :z }")
    assert kb.count("http://e/of") == 4


def test_what_cannot_be_a_triple_is_left_out() -> None:
    kb = updated('INSERT DATA { :a :v "x" . :a :p :b }')
    assert not kb.sparql_update(
        "INSERT { ?v :q ?x . ?x ?v ?x . ?x :q ?none . GRAPH ?v { ?x :q ?x } } WHERE { ?x :v ?v }"
    ).added
    kb.sparql_update('INSERT DATA { "a" <edge> "b" }')  # a fact of a bare name is no RDF
    assert set(kb.facts("edge")) == {("a", "b")}
    kb.sparql_update("DELETE WHERE { ?x <edge> ?y }")
    assert not kb.count("edge")


def test_in_a_union_what_is_deleted_is_deleted_from_all_graphs() -> None:
    quads = "INSERT DATA { :a :p :b . GRAPH :g { :a :p :b . :b :p :c } GRAPH :h { :a :p :b } }"
    kb = updated(quads, "DELETE DATA { :a :p :b }")
    assert kb.graphs == {IRI("http://e/g"): 1}
    kb = updated(quads, "CLEAR DEFAULT")  # the unnamed graph
    assert kb.graphs == {IRI("http://e/g"): 2, IRI("http://e/h"): 1}
    assert kb.count("http://e/p") == 2
    kb = updated(quads, "DELETE DATA { :a :p :b }", default_graph="unnamed")
    assert kb.graphs == {IRI("http://e/g"): 2, IRI("http://e/h"): 1}
    assert not kb.count("http://e/p")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("INSERT DATA { ?x :p :y }", "line 1, column 15 of the query: a variable cannot be in INSERT DATA"),
        ("DELETE DATA { :x :p _:b }", "line 1, column 21 of the query: a blank node cannot be in DELETE DATA"),
        (
            "INSERT DATA { GRAPH :g { 1 :p :y } }",
            "line 1, column 15 of the query: the subject of a triple in INSERT DATA",
        ),
        (
            'DELETE DATA { "x" a :y }',
            "line 1, column 15 of the query: the subject of a triple in DELETE DATA cannot be a",
        ),
        ("DELETE WHERE { :x :p [] }", "line 1, column 22 of the query: a blank node cannot be in DELETE WHERE"),
        ("INSERT { :x :p/:q :y } WHERE {}", "line 1, column 15 of the query: expected"),
        ("INSERT { :x :p :y }", "line 1, column 20 of the query: expected WHERE"),
        ("INSERT DATA { :x :p :y } DELETE WHERE { :x :p :y }", "line 1, column 26 of the query: expected `;`"),
        ("SELECT * { ?x :p ?y }", "line 1, column 1 of the query: expected INSERT, DELETE"),
        ("CLEAR :g", "line 1, column 7 of the query: expected GRAPH, DEFAULT, NAMED or ALL"),
    ],
)
def test_wrong_requests(request_: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        updated(request_)
    assert str(error.value).startswith(message)
