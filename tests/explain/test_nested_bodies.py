"""Explanations of rules that are rewritten: alternatives, negated bodies, PER and tuples."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase

PROGRAM = """
a(1). a(2). b(1, 2). c(2).
either(X) :- a(X), (c(X) ; b(X, 2)).
neither(X) :- a(X), NOT (b(X, Y), c(Y)).
size(X, N) :- a(X), AGGREGATE(b(X, Y) PER X BIND COUNT(Y) AS N).
pair([X, Y]) :- b(X, Y).
first(X) :- pair([X, _]).
"""


@pytest.mark.parametrize("fact", ["either(1)", "either(2)", "neither(2)", "size(1, 1)", "size(2, 0)", "first(1)"])
def test_facts_have_proofs(fact: str) -> None:
    found = KnowledgeBase(PROGRAM).explain(fact)
    assert found.holds and found.proofs


@pytest.mark.parametrize("fact", ["either(3)", "neither(1)", "size(2, 1)", "first(2)"])
def test_others_have_reasons(fact: str) -> None:
    found = KnowledgeBase(PROGRAM).explain(fact)
    assert not found.holds and found.attempts
