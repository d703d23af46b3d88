"""The same quads in a knowledge base and in Oxigraph, and queries with GRAPH, FROM and FROM NAMED about them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyoxigraph as ox
from sparql_oracle import NODES, PREFIX, XSD_PREFIX, RandomQuery, Twins, mark, value

from deltalog import KnowledgeBase
from deltalog.core.rules import QUADS, UNNAMED
from deltalog.evaluation.facts import rows
from deltalog.extensions.graphs.membership import TripleTables
from deltalog.extensions.graphs.relations import without_graphs
from deltalog.knowledge_base.calls import session_of

GRAPHS = (":g", ":h", ":a")  # one of them is also a node


class GraphTwins(Twins):
    """Quads, given as the text of an INSERT DATA, in both; loaded from a file. If the default graph is the union, it is
    the default graph of the other one."""

    def __init__(
        self, quads: str, folder: Path, default_graph: str = "unnamed", engine: str = "local", program: str = ""
    ) -> None:
        self.store = ox.Store()
        self.store.update(f"{PREFIX} {XSD_PREFIX} INSERT DATA {{ {quads} }}")
        file = folder / "quads.nq"
        self.store.dump(str(file), ox.RdfFormat.N_QUADS)
        self.kb = KnowledgeBase(program, engine=engine, default_graph=default_graph)
        self.kb.load(file)
        if default_graph == "union":
            self.store.update("INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }")


def quads_of(kb: KnowledgeBase) -> set[tuple[Any, ...]]:
    """The quads of a knowledge base, by what it says of their graphs; None is the unnamed graph."""
    triples, explicit, backend = (
        TripleTables(session_of(kb).backend),
        session_of(kb).state.explicit,
        session_of(kb).backend,
    )
    named = {tuple(map(mark, row)) for row in rows(triples.of(explicit, QUADS), 4, backend)}
    also_unnamed = {tuple(map(mark, row)) for row in rows(triples.of(explicit, UNNAMED), 3, backend)}
    facts = {tuple(map(mark, row)) for row in rows(triples.from_facts(without_graphs(explicit)), 3, backend)}
    if session_of(kb).settings.default_graph == "union":
        assert {row[1:] for row in named} <= facts, "a fact of a graph is not explicit"
        assert also_unnamed <= {row[1:] for row in named}, "a fact is marked that is in no graph"
        facts = facts - {row[1:] for row in named} | also_unnamed
    else:
        assert not also_unnamed
    return named | {(None, *row) for row in facts}


def quads_in(store: ox.Store) -> set[tuple[Any, ...]]:
    return {
        (
            None if isinstance(quad.graph_name, ox.DefaultGraph) else mark(value(quad.graph_name)),
            *(mark(value(term)) for term in (quad.subject, quad.predicate, quad.object)),
        )
        for quad in store
    }


def random_quads(random: Random, graphs: tuple[str, ...] = GRAPHS) -> str:
    parts = [_triples(random)]
    parts += [f"GRAPH {graph} {{ {_triples(random)} }}" for graph in graphs]
    return " ".join(parts)


def _triples(random: Random) -> str:
    edges = [f"{random.choice(NODES)} {random.choice((':p', ':q'))} {random.choice(NODES)}" for _ in range(4)]
    values = [f"{random.choice(NODES)} :v {random.choice(('1', '2', '2.5'))}" for _ in range(2)]
    classes = [f"{random.choice(NODES)} a {random.choice((':C', ':D'))}" for _ in range(2)]
    return " . ".join([*edges, *values, *classes])


class RandomGraphQuery(RandomQuery):
    """Queries with GRAPH. Oxigraph loses the variable of GRAPH in a subquery and in VALUES, so there are none inside of
    it; it counts the triples that two graphs of FROM share twice, so such queries are DISTINCT; at times it does so
    with `p?`."""

    inside = False  # of GRAPH

    def text(self) -> str:
        self.paths = tuple(path for path in self.paths if path != ":p?")
        clauses = self.dataset() if self.random.random() < 0.3 else ""
        head, brace, rest = super().text().partition("{")
        return f"{head}{clauses}{brace}{rest}"

    def dataset(self) -> str:
        default = self.random.sample((*GRAPHS, ":nowhere"), self.random.randint(0, 2))
        named = self.random.sample(GRAPHS, self.random.randint(0, 2))
        self.as_set |= len(default) > 1
        return "".join([*(f"FROM {graph} " for graph in default), *(f"FROM NAMED {graph} " for graph in named)])

    def part(self, depth: int) -> str:
        return self.named_graph(depth) if self.random.random() < 0.5 else super().part(depth)

    def named_graph(self, depth: int) -> str:
        graph = self.random.choice((*GRAPHS, "?g", "?g", "?g", "?g", "?x"))
        before, self.inside = self.inside, True
        group = self.group(max(depth - 1, 0))
        self.inside = before
        return f"GRAPH {graph} {group}"

    def values(self) -> str:
        return self.filter() if self.inside else super().values()

    def subselect(self, depth: int) -> str:
        return self.group(depth) if self.inside else super().subselect(depth)
