"""Medians by columns are what the naive engine computes value by value."""

from __future__ import annotations

import math
from random import Random

import pytest

from deltalog import KnowledgeBase

VALUES = {
    "integers": [0, 1, 2, 3, -7, 2**53 + 1, -(2**63), 2**63 - 1],
    "floats": [0.5, -0.0, 0.0, 1e-320, 3.25, -8.75, 1e300],
    "sums that are too large": [1e308, 1.5e308, -1e308, 2.0],
    "floats that are no numbers": [math.inf, -math.inf, math.nan, 1.5],
    "both": [1, 1.0, 2, 2.5, -3],
    "others": [1, 2.5, "a", True],
}


@pytest.mark.parametrize("kind", VALUES)
def test_medians(kind: str) -> None:
    random = Random(kind)
    rows = [(group, i, random.choice(VALUES[kind])) for group in range(30) for i in range(random.randint(1, 7))]
    found = []
    for engine in ("local", "naive"):
        kb = KnowledgeBase("m(G, M) :- AGGREGATE(v(G, I, X) ON G BIND MED(X) AS M).", engine=engine)
        kb.add("v", rows)
        found.append(sorted(map(repr, kb.facts("m"))))
    assert found[0] == found[1]
    assert found[0] or kind == "others"
