"""Random queries over random graphs have the solutions that Oxigraph finds, as bags."""

from __future__ import annotations

from random import Random

import pytest
from sparql_oracle import RandomQuery, Twins, random_graph

CASES, AT_ONCE = 400, 20


@pytest.mark.parametrize("start", range(0, CASES, AT_ONCE))
def test_random_queries(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        random = Random(seed)
        twins = Twins(random_graph(random))
        query = RandomQuery(random).text()
        for method in ("magic", "qsqr", "materialised"):
            twins.check(query, method)


def test_random_queries_naively() -> None:
    for seed in range(CASES, CASES + 40):
        random = Random(seed)
        Twins(random_graph(random), engine="naive").check(RandomQuery(random).text())
