"""A closure that has followed many changes of its edges is the closure of the edges that there are then."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from deltalog.engines.local.reachability import Reachability
from deltalog.engines.local.sorted_runs import pack, sort_distinct
from deltalog.engines.local.table import Table

Edges = set[tuple[int, int]]


def table(edges: Edges) -> Table:
    columns = [np.array([edge[i] for edge in edges], np.uint32) for i in range(2)]
    return Table.of(sort_distinct(pack(columns, len(edges))), 2)


def drawn(random: Random, vertices: int, count: int, acyclic: float) -> Edges:
    """Edges of which so many lead upwards, so that there are more and fewer cycles."""
    edges = {(random.randrange(vertices), random.randrange(vertices)) for _ in range(count)}
    return {(min(e), max(e)) if random.random() < acyclic else e for e in edges}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_closure_follows_its_edges(seed: int, symmetric: bool) -> None:
    random = Random(seed)
    acyclic, guarded = random.choice([0.5, 0.9, 1.0]), random.random() < 0.3
    vertices = random.choice([10, 80, 200])
    edges = drawn(random, vertices, random.randint(1, 3 * vertices), acyclic)
    closure = Reachability.closing(table(edges), symmetric, guarded)
    if random.random() < 0.7:
        closure.graph.sets(False)  # and those of the other direction with it
    for _ in range(6):
        removed = set(random.sample(sorted(edges), min(len(edges) - 1, random.randint(0, 5))))
        added = drawn(random, vertices + 3, random.randint(0, 4), acyclic) - edges
        after = (edges - removed) | added
        before, closure = closure, closure.updated(table(after), table(removed), table(added))
        fresh, edges = Reachability.closing(table(after), symmetric, guarded), after
        assert np.array_equal(closure.keys(), fresh.keys())
        assert closure.size == fresh.size
        ids = np.arange(vertices, dtype=np.uint32)
        for forward in (True, False):
            assert np.array_equal(closure.counts(ids, forward), fresh.counts(ids, forward))
            pairs = [sorted(zip(*map(list, one.partners(ids, forward)), strict=True)) for one in (closure, fresh)]
            assert pairs[0] == pairs[1]
        lost, won = before.minus(closure).keys(), closure.minus(before).keys()
        assert np.array_equal(lost, np.setdiff1d(before.keys(), closure.keys()))
        assert np.array_equal(won, np.setdiff1d(closure.keys(), before.keys()))
