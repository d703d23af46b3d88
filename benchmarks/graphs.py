"""What named graphs cost: loading, small updates, SPARQL Update and look-ups, against the same data without graphs, and
against Oxigraph's store.

    python -m benchmarks.graphs [TRIPLES]

A random graph of TRIPLES (500,000) with ten properties; as quads, each triple is in one of a hundred graphs, and a
tenth of them in the unnamed graph, too. There are no rules. Medians, in one process, taken in turn.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

import pyoxigraph as ox

from deltalog import IRI, KnowledgeBase

E, TIMES = "http://e/", 50


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 500_000
    with tempfile.TemporaryDirectory() as folder:
        plain, quads = Path(folder) / "plain.nt", Path(folder) / "quads.nq"
        _write(count, plain, quads)
        KnowledgeBase().load(plain)  # compiles kernels
        stores: dict[str, KnowledgeBase | ox.Store] = {}
        for name, load in (
            ("triples", lambda: _loaded(plain)),
            ("quads, union", lambda: _loaded(quads)),
            ("quads, unnamed", lambda: _loaded(quads, "unnamed")),
            ("Oxigraph, quads", lambda: _oxigraph(quads)),
        ):
            start = perf_counter()
            stores[name] = load()
            print(f"load {name:<16} {perf_counter() - start:8.3f} s")
        for what, request in _requests().items():
            _compare(what, stores, request)
    return 0


def _write(count: int, plain: Path, quads: Path) -> None:
    random = Random(1)
    with plain.open("w") as triples, quads.open("w") as file:
        for _ in range(count):
            s, p, o = random.randrange(count // 5), random.randrange(10), random.randrange(count // 5)
            triple = f"<{E}n{s}> <{E}p{p}> <{E}n{o}>"
            triples.write(f"{triple} .\n")
            file.write(f"{triple} <{E}g{random.randrange(100)}> .\n")
            if random.random() < 0.1:
                file.write(f"{triple} .\n")


def _loaded(path: Path, default_graph: str = "union") -> KnowledgeBase:
    kb = KnowledgeBase(default_graph=default_graph)
    kb.load(path)
    kb.materialise()
    return kb


def _oxigraph(path: Path) -> ox.Store:
    store = ox.Store()
    store.bulk_load(path=str(path), format=ox.RdfFormat.N_QUADS)
    return store


def _requests() -> dict[str, Callable[[KnowledgeBase | ox.Store, int], object]]:
    def update(kb: KnowledgeBase | ox.Store, i: int) -> object:
        if isinstance(kb, ox.Store):
            return kb.add(ox.Quad(*(ox.NamedNode(f"{E}{name}") for name in (f"new{i}", "p1", f"n{i}"))))
        return kb.update(add={E + "p1": [(IRI(f"{E}new{i}"), IRI(f"{E}n{i}"))]})

    def sparql_update(kb: KnowledgeBase | ox.Store, i: int) -> object:
        request = f"INSERT DATA {{ GRAPH <{E}g1> {{ <{E}also{i}> <{E}p1> <{E}n{i}> }} }}"
        return kb.update(request) if isinstance(kb, ox.Store) else kb.sparql_update(request)

    def by_pattern(kb: KnowledgeBase | ox.Store, i: int) -> object:
        where = f"VALUES ?x {{ <{E}n{i}> }} ?x <{E}p2> ?y"
        request = f"DELETE {{ ?x <{E}p2> ?y }} INSERT {{ ?x <{E}p3> ?y }} WHERE {{ {where} }}"
        return kb.update(request) if isinstance(kb, ox.Store) else kb.sparql_update(request)

    def look_up(kb: KnowledgeBase | ox.Store, i: int) -> object:
        query = f"SELECT * {{ GRAPH ?g {{ <{E}n{i}> ?p ?o }} }}"
        return list(kb.query(query) if isinstance(kb, ox.Store) else kb.sparql(query))  # type: ignore[arg-type, call-overload]

    return {
        "update of one fact": update,
        "INSERT DATA of one quad": sparql_update,
        "DELETE INSERT WHERE": by_pattern,
        "GRAPH ?g look-up": look_up,
    }


def _compare(
    what: str, stores: dict[str, KnowledgeBase | ox.Store], request: Callable[[KnowledgeBase | ox.Store, int], object]
) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in stores}
    for i in range(TIMES):
        for name, store in stores.items():
            start = perf_counter()
            request(store, i)
            seconds[name].append(perf_counter() - start)
    print(what)
    for name, times in seconds.items():
        print(f"  {name:<16} {1000 * median(times):8.3f} ms")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
