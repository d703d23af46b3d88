"""Which rules are taken for a structure, and which are not."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase


def recognised(program: str, way: str = "auto") -> list[str]:
    kb = KnowledgeBase(program, schemes=way)
    return sorted(kb.program.recognised)


TRANSITIVE = "r: transitive"
GUARDED = "r: transitive (no pairs of one with itself, unless given)"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("r(X, Z) :- r(X, Y), r(Y, Z).", [TRANSITIVE]),
        ("r(A, B) :- r(C, B), r(A, C).", [TRANSITIVE]),
        ("r(X, Z) :- r(X, Y), r(Y, Z), X != Z.", [GUARDED]),
        ("r(X, Z) :- r(X, Y), r(Y, Z), Z != X. r(X, Z) :- r(X, Y), r(Y, Z).", [TRANSITIVE]),
        ("r(X, Y) :- r(X, Z) and r(Z, Y) and COMP(X, !=, Y).", [GUARDED]),
        ("r(X, Z) :- r(X, Y), r(Y, Z). r(X, Y) :- r(Y, X).", ["r: symmetric and transitive"]),
        ("r(X, Z) :- r(X, Y), r(Z, Y).", []),
        ("r(X, X) :- r(X, Y), r(Y, X).", []),
        ("r(X, Z) :- r(X, Y), r(Y, Z), Y != Z.", []),
        ("r(X, Z) :- r(X, Y), r(Y, Z), p(X).", []),
        ("r(1, Z) :- r(1, Y), r(Y, Z).", []),
        ("r(X, Z) :- r(X, Y), e(Y, Z). r(X, Y) :- e(X, Y).", ["r: transitive, by its linear form"]),
        ("r(X, Z) :- e(X, Y), r(Y, Z). r(X, Y) :- e(X, Y).", ["r: transitive, by its linear form"]),
        ("r(X, Z) :- r(X, Y), e(Y, Z).", ["r: not a closure, as no rule says that every e is one"]),
        (
            "r(X, Z) :- r(X, Y), e(Y, Z). r(X, Z) :- r(X, Y), f(Y, Z). r(X, Y) :- e(X, Y).",
            ["r: not a closure, as it is extended by e and f"],
        ),
        (
            "r(X, Z) :- r(X, Y), e(Y, Z). r(X, Y) :- e(X, Y). r(X, Y) :- g(X, Y).",
            ["r: not a closure, as other rules derive it, too"],
        ),
        (
            "r(X, Z) :- r(X, Y), e(Y, Z). r(X, Y) :- e(X, Y). r(1, 2).",
            ["r: not a closure, as it has explicit facts"],
        ),
        (
            "r(X, Z) :- r(X, Y), r(Y, Z). s(X, Y) :- r(Y, X). r(X, Y) :- s(Y, X).",
            [TRANSITIVE, "s: the inverse of r"],
        ),
        (
            "r(X, Z) :- r(X, Y), r(Y, Z). u(X, Y) :- r(X, Y). u(X, Y) :- a(Y, X).",
            [TRANSITIVE, "u: the union of r, a"],
        ),
        ("u(X, Y) :- b(X, Y). u(X, Y) :- a(X, Y).", []),
    ],
)
def test_recognition(program: str, expected: list[str]) -> None:
    assert recognised(program) == expected


def test_unions_of_tables_are_virtual_when_asked_for() -> None:
    assert recognised("u(X, Y) :- b(X, Y). u(X, Y) :- a(X, Y).", "scheme") == ["u: the union of b, a"]


def test_standard_recognises_nothing() -> None:
    assert recognised("r(X, Z) :- r(X, Y), r(Y, Z).", "standard") == []


def test_a_large_closure_is_never_written_out() -> None:
    kb = KnowledgeBase("same(X, Y) :- same(Y, X).  same(X, Z) :- same(X, Y), same(Y, Z).  in(X) :- same(X, Y).")
    n = 100_000
    kb.add("same", [(i, i + 1) for i in range(n - 1)])
    assert kb.count("same") == n * n
    assert kb.count("in") == n
    assert (5, n - 5) in kb.facts("same")
    change = kb.update(remove={"same": [(n // 2 - 1, n // 2)]})
    assert len(change.removed["same"]) == n * n // 2 == kb.count("same")
    assert len(kb.query("same(7, ?x)")) == n // 2
    assert len(kb.query("same(?x, 7)")) == n // 2


def test_a_removed_rule_makes_a_table_again() -> None:
    kb = KnowledgeBase("r(X, Z) :- r(X, Y), r(Y, Z).  s(X, Y) :- r(X, Y), p(X).", schemes="scheme")
    kb.add("r", [(1, 2), (2, 3)])
    kb.add("p", [(1,)])
    assert set(kb.facts("s")) == {(1, 2), (1, 3)}
    change = kb.remove_rules("r(X, Z) :- r(X, Y), r(Y, Z).")
    assert set(change.removed["r"]) == {(1, 3)} == set(change.removed["s"])
    assert set(kb.add_rules("r(X, Z) :- r(X, Y), r(Y, Z).").added["s"]) == {(1, 3)}


def test_large_differences_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    from deltalog.backends.local import reachability
    from deltalog.backends.local.implicit import Gap

    monkeypatch.setattr(reachability, "LISTED", 3)
    kb = KnowledgeBase("r(X, Z) :- r(X, Y), r(Y, Z).", schemes="scheme")
    kb.add("r", [(i, i + 1) for i in range(9)])
    before = set(kb.facts("r"))
    change = kb.update(remove={"r": [(4, 5)]}, add={"r": [(20, 0), (9, 30)]})
    after = set(kb.facts("r"))
    assert isinstance(change.added["r"].table, Gap)
    assert len(change.added["r"]) == len(after - before)
    assert set(change.added["r"]) == after - before
    assert len(change.removed["r"]) == len(before - after)
    assert set(change.removed["r"]) == before - after
