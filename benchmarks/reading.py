"""Query times over virtual relations and over tables (compare Zhang's thesis, Table 5.14).

    python -m benchmarks.reading [VERTICES EDGES]

The same queries run over a closure and a union, once as virtual relations and once as tables. Both knowledge bases are
materialised first. Each query runs several times, alternately, and the minimum is reported.
"""

from __future__ import annotations

import sys
import time

from benchmarks.generators.graphs import dag
from deltalog import KnowledgeBase

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z).
either(X, Y) :- path(X, Y).
either(X, Y) :- near(X, Y).
"""
QUERIES = {
    "all pairs of the closure": "path(?x, ?y)",
    "all pairs of the union": "either(?x, ?y)",
    "from one": "path({a}, ?y)",
    "to one": "path(?x, {b})",
    "one pair": "path({a}, {b})",
    "the union from one": "either({a}, ?y)",
    "from all marked": "marked(?x), path(?x, ?y)",
    "to all marked": "path(?x, ?y), marked(?y)",
    "between marked": "marked(?x), marked(?y), path(?x, ?y)",
    "the union between marked": "marked(?x), marked(?y), either(?x, ?y)",
    "and one edge on, from one": "path({a}, ?y), edge(?y, ?z)",
    "closed twice, from one": "path({a}, ?y), path(?y, ?z)",
    "who reaches anything": "edge(?x, ?y), path(?y, ?x)",
}
TURNS = 5


def knowledge_base(schemes: str, vertices: int, edges: int) -> KnowledgeBase:
    kb = KnowledgeBase(PROGRAM, schemes=schemes)
    kb.add("edge", [tuple(map(int, row)) for row in dag(vertices, edges, 0)])
    kb.add("near", [(v, v + 1) for v in range(0, vertices - 1, 3)])
    kb.add("marked", [(v,) for v in range(0, vertices, 50)])
    kb.materialise()
    return kb


def timed(kb: KnowledgeBase, goal: str) -> tuple[float, int]:
    """The seconds of a query, and its number of rows."""
    started = time.perf_counter()
    rows = len(kb.query(goal, method="materialised").to_arrow())
    return time.perf_counter() - started, rows


def main() -> None:
    vertices, edges = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (4_000, 20_000)
    ways = [knowledge_base(way, vertices, edges) for way in ("scheme", "standard")]
    print(f"{'query':30} {'rows':>12} {'scheme s':>10} {'table s':>10} {'ratio':>6}")
    for name, goal in QUERIES.items():
        text = goal.format(a=vertices // 5, b=4 * vertices // 5)
        runs = [[timed(kb, text) for kb in ways] for _ in range(TURNS)]
        scheme, table = (min(run[i][0] for run in runs) for i in (0, 1))
        assert {count for run in runs for _, count in run} == {runs[0][0][1]}, name
        print(f"{name:30} {runs[0][0][1]:12,} {scheme:10.5f} {table:10.5f} {scheme / table:6.2f}")


if __name__ == "__main__":
    main()
