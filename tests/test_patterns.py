"""Which rules are taken for a structure, and which are not."""

from __future__ import annotations

import pytest

from deltalog import IRI, KnowledgeBase
from deltalog.core.terms import Value, key
from deltalog.core.tuning import Tuning
from deltalog.program.recognise import SCHEME_SETTINGS


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
        ("r(X, Z) :- r(X, Y), e(Y, Z). r(X, Y) :- e(X, Y).", ["r: transitive, by linear rules"]),
        ("r(X, Z) :- e(X, Y), r(Y, Z). r(X, Y) :- e(X, Y).", ["r: transitive, by linear rules"]),
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


def test_large_differences_are_not_listed() -> None:
    from deltalog.engines.local.virtual_relation import VirtualDifference

    tuning = Tuning(max_listed_pairs=3)
    kb = KnowledgeBase("r(X, Z) :- r(X, Y), r(Y, Z).", schemes="scheme", tuning=tuning)
    kb.add("r", [(i, i + 1) for i in range(9)])
    before = set(kb.facts("r"))
    change = kb.update(remove={"r": [(4, 5)]}, add={"r": [(20, 0), (9, 30)]})
    after = set(kb.facts("r"))
    assert isinstance(change.added["r"].table, VirtualDifference)
    assert len(change.added["r"]) == len(after - before)
    assert set(change.added["r"]) == after - before
    assert len(change.removed["r"]) == len(before - after)
    assert set(change.removed["r"]) == before - after


# Guards compare values.

EDGES = (
    "e(1, 2). e(2, 1.0). e(1.0, 3). e(3, 1).",
    'e(a, "2"^^xsd:int). e("2"^^xsd:int, 2). e(2, a). e(2.0, a). e(a, 2.0).',
    'e(2, "2.0"^^xsd:decimal). e("2.0"^^xsd:decimal, "2.00"^^xsd:decimal). e("2.00"^^xsd:decimal, 2).',
)
CLOSURE = "p(X, Z) :- p(X, Y), p(Y, Z), X != Z."
GUARDS = (
    f"{CLOSURE} p(X, Y) :- e(X, Y).",
    "p(X, Z) :- p(X, Y), p(Y, Z), COMP(Z, !=, X). p(X, Y) :- p(Y, X). p(X, Y) :- e(X, Y).",
    f"{CLOSURE} p(X, Y) :- p(Y, X), X != Y. p(X, Y) :- e(X, Y).",
    "p(X, Z) :- p(X, Y), p(Y, Z). p(X, Y) :- p(Y, X), X != Y. p(X, Y) :- e(X, Y).",
    f"{CLOSURE} p(X, Z) :- p(X, Y), p(Y, Z). p(X, Y) :- e(X, Y).",
    "p(X, Z) :- p(X, Y), e(Y, Z), X != Z. p(X, Y) :- e(X, Y).",
    "p(X, Z) :- e(X, Y), p(Y, Z), X != Z. p(X, Y) :- e(X, Y).",
    f"{CLOSURE} p(X, Y) :- e(X, Y), X != Y.",
    f"{CLOSURE} p(X, Y) :- i(Y, X). i(X, Y) :- p(Y, X). i(X, Y) :- e(X, Y).",
)
# What brings floats into a relation of integers.
MADE = (
    "p(X, 1.0) :- e(X, 2).",
    "p(X, Y) :- e(X, N), Y = N / 1.",
    "p(X, Y) :- e(X, N), BIND(N * 1.0 AS Y).",
    "p(X, Y) :- q(X, Y). q(X, M) :- AGGREGATE(e(X, Y) ON X BIND AVG(Y) AS M).",
    "p(X, Y) :- q(X, Y), NOT e(X, Y). q(X, M) :- AGGREGATE(e(X, Y), BIND(Y + 0.0 AS Z) ON X BIND MAX(Z) AS M).",
)


def rows(kb: KnowledgeBase, predicate: str) -> set[tuple[tuple[type, object], ...]]:
    """Facts in which 1 and 1.0 are different."""
    return {tuple(map(key, row)) for row in kb.facts(predicate)}


@pytest.mark.parametrize("way", SCHEME_SETTINGS)
@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize("rules", GUARDS)
def test_guards_compare_values(rules: str, edges: str, way: str) -> None:
    program = f"{rules} {edges}"
    assert rows(KnowledgeBase(program, schemes=way), "p") == rows(KnowledgeBase(program, engine="naive"), "p")


@pytest.mark.parametrize("way", SCHEME_SETTINGS)
@pytest.mark.parametrize("made", MADE)
def test_guards_compare_values_that_rules_make(made: str, way: str) -> None:
    program = f"{CLOSURE} p(X, Y) :- e(X, Y). {made} e(1, 2). e(2, 3). e(3, 1)."
    kb = KnowledgeBase(program, schemes=way)
    assert rows(kb, "p") == rows(KnowledgeBase(program, engine="naive"), "p")
    assert not any(structure.guarded for structure in kb.program.scheme_of.values())


BY_VALUE = "p: not a closure, as numbers of different types can be equal in value, and its guard compares values"


@pytest.mark.parametrize(
    ("values", "closed"),
    [
        ((1, 2, 3), True),
        ((1, 2, 2**70), True),
        ((1.0, 2.5, float("nan")), True),
        ((1, IRI("http://e.x/a"), "1"), True),
        ((1, 2, 1.0), False),
        ((1.0, 2.0, 2**70), False),
    ],
)
def test_structures_need_numbers_of_one_type(values: tuple[Value, ...], closed: bool) -> None:
    kb = KnowledgeBase(CLOSURE)
    kb.add("p", [(a, b) for a in values for b in values])
    kb.add("other", [(1,), (1.5,)])  # not what the guard compares
    assert bool(kb.program.scheme_of) == closed
    assert (BY_VALUE in kb.program.recognised) != closed
    assert (BY_VALUE in kb.plan()) != closed


def test_numbers_elsewhere_and_numbers_of_aggregates_do_not_matter() -> None:
    kb = KnowledgeBase(
        f"{CLOSURE} n(X, N), m(X, M) :- AGGREGATE(p(X, Y), v(Y, T) ON X BIND COUNT(T) AS N BIND AVG(T) AS M)."
    )
    kb.add("p", [("a", "b"), ("b", "c")])
    kb.add("v", [("b", 1), ("c", 1.5)])
    assert set(kb.facts("m")) == {("a", 1.25), ("b", 1.5)}
    assert kb.program.scheme_of


@pytest.mark.parametrize("way", SCHEME_SETTINGS)
def test_a_float_comes_and_goes(way: str) -> None:
    rules = f"{CLOSURE} p(X, Y) :- e(X, Y). u(X, Y) :- p(X, Y). u(X, Y) :- e(Y, X)."
    kb, naive = KnowledgeBase(rules, schemes=way), KnowledgeBase(rules, engine="naive")
    for one in (kb, naive):
        one.add("e", [(1, 2), (2, 3), (3, 4)])
    steps = [
        ({"other": [(1.0,)]}, {}, True),
        ({"e": [(4, 1.0)]}, {}, False),
        ({"e": [(1.0, 2)]}, {}, False),
        ({}, {"e": [(4, 1.0), (1.0, 2)]}, False),
        ({"e": [(4, 1)]}, {"e": [(1, 2)]}, False),
    ]
    before = {predicate: rows(kb, predicate) for predicate in "pu"}
    for add, remove, closed in steps:
        done = kb.update(add=add, remove=remove)
        naive.update(add=add, remove=remove)
        for predicate in "pu":
            after = rows(kb, predicate)
            assert after == rows(naive, predicate)
            assert {tuple(map(key, row)) for row in done.added.get(predicate, ())} == after - before[predicate]
            assert {tuple(map(key, row)) for row in done.removed.get(predicate, ())} == before[predicate] - after
            before[predicate] = after
        if way in ("auto", "scheme"):
            assert any(structure.guarded for structure in kb.program.scheme_of.values()) == closed
    kb.add("e", [(4, 5)])  # from here on everything is analysed anew
    if way in ("auto", "scheme"):
        assert any(structure.guarded for structure in kb.program.scheme_of.values())


def test_a_rule_and_a_float_come_together() -> None:
    """A rule that nothing reads, which alone would not be looked at with the others."""
    kb = KnowledgeBase(f"{CLOSURE} p(1, 2).", schemes="scheme")
    assert kb.count("p") == 1
    kb.add_rules("leaf(X) :- p(X, Y). p(2, 1.0).")
    assert rows(kb, "p") == {tuple(map(key, row)) for row in ((1, 2), (2, 1.0))}
    assert kb.count("leaf") == 2


def test_rules_that_make_floats_come_and_go() -> None:
    made = "p(X, Y) :- e(X, N), Y = N / 1."
    kb = KnowledgeBase(f"{CLOSURE} p(X, Y) :- e(X, Y). e(1, 2). e(2, 1).", schemes="scheme")
    before = rows(kb, "p")
    assert kb.program.scheme_of
    kb.add_rules(made)
    assert not kb.program.scheme_of
    assert rows(kb, "p") == rows(KnowledgeBase([*map(str, kb.rules), "e(1, 2). e(2, 1)."], engine="naive"), "p")
    kb.remove_rules(made)
    assert kb.program.scheme_of
    assert rows(kb, "p") == before
