"""Goals over an aggregate inside of an aggregate have the same answers by every method."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase

PROGRAM = """
edge(1, 2, 3) . edge(1, 3, 4) . edge(2, 2, 4) .
total(?s) :- AGGREGATE(AGGREGATE(edge(?x, ?y, ?w) ON ?x BIND MIN(?w) AS ?m) BIND SUM(?m) AS ?s) .
into(?y, ?s) :- AGGREGATE(AGGREGATE(edge(?x, ?y, ?w) ON ?x ?y BIND MIN(?w) AS ?m) ON ?y BIND SUM(?m) AS ?s) .
"""


@pytest.mark.parametrize("method", ["auto", "magic", "qsqr", "materialised"])
def test_nested_aggregates(method: str) -> None:
    kb = KnowledgeBase(PROGRAM)
    assert list(kb.query("total(?s)", method=method)) == [(7,)]
    assert sorted(kb.query("into(?y, ?s)", method=method)) == [(2, 7), (3, 4)]
    assert list(kb.query("into(2, ?s)", method=method)) == [(7,)]
