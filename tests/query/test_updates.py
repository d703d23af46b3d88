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
            return f"{self.random.choice(node)} :v {self.random.choice(('1', '2.5', '?w') if variables else ('1', '2.5'))}"
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
