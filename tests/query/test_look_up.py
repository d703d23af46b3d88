"""Goals of one atom with constants, by an index, against a scan of the facts."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from deltalog import IRI, KnowledgeBase
from deltalog.evaluation.goals import goal_evaluator

RULES = "q(X, Y) :- p(X, Y), X != 99.  t(X, Y) :- s(X, Y).  t(X, Z) :- t(X, Y), s(Y, Z).  r(X, Y, Z) :- g(X, Y, Z)."
ARITIES = {"p": 2, "q": 2, "g": 3, "r": 3, "s": 2, "t": 2, "u": 1}


def rows(rng: random.Random, arity: int) -> list[tuple[int, ...]]:
    return [tuple(rng.randrange(6) for _ in range(arity)) for _ in range(12)]


@pytest.mark.parametrize("seed", range(3))
def test_look_ups_find_what_a_scan_finds(seed: int) -> None:
    rng = random.Random(seed)
    kb = KnowledgeBase(RULES)
    for name in "pgsu":
        kb.add(name, rows(rng, ARITIES[name]))
    kb.materialise()
    for _ in range(6):
        kb.update(*({name: rows(rng, ARITIES[name]) for name in "pgsu"} for _ in range(2)))
        for name, arity in ARITIES.items():
            facts = set(kb.facts(name))
            for bound in (places for n in range(1, arity + 1) for places in combinations(range(arity), n)):
                key = {i: rng.randrange(7) for i in bound}
                goal = f"{name}({', '.join(str(key[i]) if i in key else f'?v{i}' for i in range(arity))})"
                matching = {fact for fact in facts if all(fact[i] == value for i, value in key.items())}
                wanted = {tuple(v for i, v in enumerate(fact) if i not in key) for fact in matching}
                assert set(kb.query(goal)) == wanted, goal


def test_what_is_no_look_up_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase("PREFIX : <http://e.org/>\n[?x, :k, ?y] :- [?y, :k, ?x].")
    kb.add("p", [(1, 1, 2), (1, 2, 2), (2, 2, 2)])
    kb.add("http://e.org/k", [(IRI("http://e.org/1"), 2)])
    kb.materialise()
    found = []
    monkeypatch.setattr(goal_evaluator, "look_up", lambda *given: found.append(look_up(*given)) or found[-1])
    assert set(kb.query("p(1, ?x, ?x)")) == {(2,)} and found[-1] is None
    assert set(kb.query("p(?x, ?x, 2)")) == {(1,), (2,)} and found[-1] is None
    assert set(kb.query("p(1, _, ?x)")) == {(2,)} and found[-1] is None
    assert len(kb.query("[:1, ?p, ?x]")) == 1 and found[-1] is None
    assert len(kb.query("p(?x, ?y, ?z)")) == 3 and found[-1] is None
    assert set(kb.query("p(1, ?x, ?y)")) == {(1, 2), (2, 2)} and found[-1] is not None
    assert set(kb.query("p(77, ?x, ?y)")) == set() and len(found[-1].runs) == 0


look_up = goal_evaluator.look_up
