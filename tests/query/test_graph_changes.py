"""Changes of named graphs against a set of quads: in memory, in files, in stores, with what follows from them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from graph_oracle import quads_of

from deltalog import IRI, DataError, Files, KnowledgeBase, UsageError
from deltalog.core.terms import BlankNode, key
from deltalog.extensions.store.verify import verify
from deltalog.knowledge_base.calls import session_of

E = "http://e/"
RULES = "PREFIX : <http://e/> :r[?x, ?y] :- :p[?x, ?y] . :r[?x, ?z] :- :r[?x, ?y], :r[?y, ?z] . :B[?x] :- :A[?x] ."
GRAPHS = (None, IRI(E + "g"), IRI(E + "h"), BlankNode("k"))
Facts = dict[str, list[tuple[Any, ...]]]


class QuadSet:
    """What a knowledge base should have: a set of graphs (None: the unnamed one) and facts."""

    def __init__(self, default_graph: str) -> None:
        self.union, self.quads = default_graph == "union", set[tuple[Any, ...]]()

    def change(self, add: Facts, remove: Facts, graph: Any) -> None:
        for quad in _quads(remove, graph):
            everywhere = self.union and graph is None
            self.quads -= {q for q in self.quads if q[1:] == quad[1:]} if everywhere else {quad}
        self.quads |= set(_quads(add, graph))

    def expected(self) -> set[tuple[Any, ...]]:
        return {(None if q[0] is None else key(q[0]), *map(key, q[1:])) for q in self.quads}

    def closure(self) -> KnowledgeBase:
        """All that follows from the default graph, by the naive engine."""
        kb = KnowledgeBase(RULES, engine="naive")
        for graph, s, p, o in self.quads:
            if self.union or graph is None:
                is_class = str(p).endswith("type")
                kb.add(str(o) if is_class else str(p), [(s,) if is_class else (s, o)])
        return kb


def _quads(facts: Facts, graph: Any) -> list[tuple[Any, ...]]:
    rdf_type = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    return [
        (graph, row[0], IRI(name), row[1]) if len(row) == 2 else (graph, row[0], rdf_type, IRI(name))
        for name, rows in facts.items()
        for row in rows
    ]


def random_facts(random: Random) -> Facts:
    nodes = [IRI(E + name) for name in "abcd"]
    edges = {E + random.choice("pq"): [(random.choice(nodes), random.choice(nodes))] for _ in range(2)}
    return edges | ({E + random.choice("AB"): [(random.choice(nodes),)]} if random.random() < 0.4 else {})


def check(kb: KnowledgeBase, model: QuadSet) -> None:
    assert quads_of(kb) == model.expected()
    closure = model.closure()
    for name in {*kb.predicates, *closure.predicates}:
        got = set(kb.facts(name)) if name in kb.predicates else set()
        assert got == (set(closure.facts(name)) if name in closure.predicates else set()), name
    names = {q[0] for q in model.quads} - {None}
    assert kb.graphs == {name: sum(q[0] == name for q in model.quads) for name in names}


@pytest.mark.parametrize("default_graph", ["union", "unnamed"])
@pytest.mark.parametrize("seed", range(6))
def test_random_changes(seed: int, default_graph: str) -> None:
    random = Random(seed)
    kb, model = KnowledgeBase(RULES, default_graph=default_graph), QuadSet(default_graph)
    for _ in range(25):
        add, remove, graph = random_facts(random), random_facts(random), random.choice(GRAPHS)
        remove = {} if random.random() < 0.3 else remove
        would = kb.what_if(add, remove, graph=graph)
        change = kb.update(add, remove, graph=graph)
        assert (would.added.counts(), would.removed.counts()) == (change.added.counts(), change.removed.counts())
        assert set(would.added_quads) == set(change.added_quads)
        model.change(add, remove, graph)
        check(kb, model)


@pytest.mark.parametrize("default_graph", ["union", "unnamed"])
def test_random_changes_in_a_store(default_graph: str, tmp_path: Path) -> None:
    """Every version can be opened, a reader follows, and a snapshot has the graphs."""
    random = Random(7)
    kb, model = KnowledgeBase(RULES, default_graph=default_graph), QuadSet(default_graph)
    kb.add(E + "p", [(IRI(E + "a"), IRI(E + "b"))], graph=GRAPHS[1])
    model.change({E + "p": [(IRI(E + "a"), IRI(E + "b"))]}, {}, GRAPHS[1])
    kb.save(tmp_path / "store")
    reader = KnowledgeBase.open(tmp_path / "store", readonly=True)
    versions = {1: model.expected()}
    for step in range(12):
        add, remove, graph = random_facts(random), random_facts(random), random.choice(GRAPHS)
        kb.update(add, remove, graph=graph)
        model.change(add, remove, graph)
        versions[kb.version or 0] = model.expected()
        if step == 6:
            kb.compact(keep=2)
        reader.refresh()
        check(reader, model)
    kb.close()
    assert quads_of(kb) == model.expected()
    other = {"union": "unnamed", "unnamed": "union"}[default_graph]
    with pytest.raises(UsageError, match="the default graph of this store"):
        KnowledgeBase.open(tmp_path / "store", default_graph=other)
    for version, quads in versions.items():
        with KnowledgeBase.open(tmp_path / "store", version=version) as old:
            assert session_of(old).settings.default_graph == default_graph
            assert quads_of(old) == quads


def test_a_request_is_one_version_of_a_store(tmp_path: Path) -> None:
    kb = KnowledgeBase(RULES)
    kb.save(tmp_path / "store")
    prefix = f"PREFIX : <{E}> "
    kb.sparql_update(f"{prefix} INSERT DATA {{ GRAPH :g {{ :a :p :b }} }} ; INSERT {{ :x :n ?y }} WHERE {{ :a :r ?y }}")
    assert kb.version == 2
    with pytest.raises(UsageError):
        kb.sparql_update(f"{prefix} CLEAR ALL ; CREATE GRAPH :h ; COPY :nowhere TO :g")
    assert kb.version == 2
    kb.sparql_update(f"{prefix} INSERT DATA {{ GRAPH :h {{ :a :p :b }} }}")  # no new fact, but a new quad
    before = quads_of(kb)
    kb.close()
    assert not verify(tmp_path / "store").problems
    with KnowledgeBase.open(tmp_path / "store") as again:
        assert again.version == 3
        assert quads_of(again) == before
        assert set(again.facts(E + "n")) == {(IRI(E + "x"), IRI(E + "b"))}


@pytest.mark.parametrize("default_graph", ["union", "unnamed"])
def test_quads_are_written_and_read_back(default_graph: str, tmp_path: Path) -> None:
    random = Random(3)
    kb, model = KnowledgeBase(default_graph=default_graph), QuadSet(default_graph)
    for graph in (*GRAPHS, *GRAPHS):
        facts = random_facts(random)
        kb.update(facts, graph=graph)
        model.change(facts, {}, graph)
    kb.write(tmp_path / "out", "nq")
    again = KnowledgeBase(default_graph=default_graph)
    again.load(tmp_path / "out" / "facts.nq")
    assert quads_of(again) == model.expected()
    kb.write(tmp_path / "some", "nq", only=[E + "p"])
    some = KnowledgeBase(default_graph=default_graph)
    some.load(tmp_path / "some" / "facts.nq")
    assert quads_of(some) == {quad for quad in model.expected() if quad[2] == key(IRI(E + "p"))}


def test_files_of_quads_are_added_and_removed(tmp_path: Path) -> None:
    (tmp_path / "x.trig").write_text(
        "@prefix : <http://e/> . :a :p :b . GRAPH :g { :a :p :b . :b :p 1 } _:k { :c a :A . [] :p :a }"
    )
    kb = KnowledgeBase(RULES)
    kb.load(tmp_path / "x.trig")
    named = next(name for name in kb.graphs if isinstance(name, BlankNode))
    assert kb.graphs == {IRI(E + "g"): 2, named: 2}
    assert set(kb.graph(IRI(E + "g"))) == {
        (IRI(E + "a"), IRI(E + "p"), IRI(E + "b")),
        (IRI(E + "b"), IRI(E + "p"), 1),
    }
    (tmp_path / "y.nq").write_text(f"<{E}b> <{E}p> 1 <{E}g> .\n")
    change = kb.update(remove=Files.of(tmp_path / "y.nq"))
    assert change.removed.counts() == {E + "p": 1, E + "r": 3}
    kb.load(tmp_path / "x.trig", graphs=False)
    assert kb.count(E + "p") == 3
    (tmp_path / "z.ttl").write_text("<http://e/a> <http://e/p> <http://e/z> .")
    kb.load(tmp_path / "z.ttl", graph=IRI(E + "z"))
    assert kb.graphs[IRI(E + "z")] == 1
    with pytest.raises(UsageError, match="graphs of their own"):
        kb.load(tmp_path / "x.trig", graph=IRI(E + "z"))


def test_what_cannot_be_in_a_graph() -> None:
    kb = KnowledgeBase()
    with pytest.raises(UsageError, match="road/3 cannot be in a graph"):
        kb.add("road", [("a", "b", 5)], graph=IRI(E + "g"))
    with pytest.raises(UsageError, match="a graph has an IRI or a BlankNode as its name"):
        kb.add("edge", [("a", "b")], graph="g")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="default graph"):
        KnowledgeBase(default_graph="all")
    kb.add("edge", [("a", "b")], graph=IRI(E + "g"))
    kb.add("road", [("a", "b", 5)])
    assert kb.predicates == ["edge", "road"]
    assert kb.explicit_facts == 2
    with pytest.raises(DataError):  # its subject is a literal
        kb.write("/nonexistent/folder", "nq", only=["edge"])
    kb.update(remove={"edge": [("a", "b")], "road": [("a", "b", 5)]})
    assert kb.explicit_facts == 0
