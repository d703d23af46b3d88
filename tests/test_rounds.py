"""Recursions of many small rounds are evaluated many rounds at a time, and limits and interrupts still end them."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase, LimitReached
from deltalog.core.tuning import Tuning
from deltalog.engines.local.backend import LocalBackend

ROUNDS = 20_000
FEW_CALLS = 50
CHAIN = [(i, i + 1) for i in range(ROUNDS)]
PROGRAMS = {
    "counter": ("n(0). n(Y) :- n(X), X < 20000, BIND(X + 1 AS Y).", "n", ROUNDS + 1),
    "reachability": ("r(0). r(Y) :- r(X), e(X, Y).", "r", ROUNDS + 1),
    "two predicates": ("a(0). b(Y) :- a(X), e(X, Y). a(Y) :- b(X), e(X, Y).", "a", ROUNDS // 2 + 1),
    "three columns": (
        "f(0, 0, 1). f(M, B, C) :- f(N, A, B), N < 20000, BIND(N + 1 AS M), BIND((A + B) % 97 AS C).",
        "f",
        ROUNDS + 1,
    ),
    "same generation": ("s(0, 0). s(A, B) :- s(X, Y), e(X, A), e(Y, B).", "s", ROUNDS + 1),
    "negation": ("r(0). gap(7.5). r(Y) :- r(X), e(X, Y), NOT gap(Y), X < Y.", "r", ROUNDS + 1),
}


class Calls:
    """How often plans are evaluated by sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, run_all = 0, LocalBackend.run_all

        def counting(*arguments: object) -> object:
            self.count += 1
            return run_all(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(LocalBackend, "run_all", counting)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def base(program: str, edges: list[tuple[int, int]], **options: object) -> KnowledgeBase:
    kb = KnowledgeBase(program, schemes="standard", **options)
    if edges:
        kb.add("e", edges)
    return kb


@pytest.mark.parametrize("name", PROGRAMS)
def test_materialisation(name: str, calls: Calls) -> None:
    program, predicate, facts = PROGRAMS[name]
    kb = base(program, CHAIN if "e(" in program else [])
    assert kb.materialise().round_count >= ROUNDS
    assert kb.count(predicate) == facts
    assert calls.count < FEW_CALLS


def test_update(calls: Calls) -> None:
    kb = base("r(0). r(Y) :- r(X), e(X, Y). d(0, 0). d(Y, M) :- d(X, N), e(X, Y), BIND(N + 1 AS M).", CHAIN[1:])
    kb.materialise()
    change = kb.update(add={"e": CHAIN[:1]})
    assert len(change.added["r"]) == len(change.added["d"]) == ROUNDS
    assert calls.count < FEW_CALLS


def test_goal(calls: Calls) -> None:
    kb = base("p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z).", CHAIN)
    assert len(kb.query("p(0, X)", method="magic")) == ROUNDS
    assert calls.count < FEW_CALLS


def test_values_that_only_the_reference_computes(calls: Calls) -> None:
    kb = base('t("", 0). t(L, M) :- t(X, N), N < 500, BIND(N + 1 AS M), BIND(CONCAT("item ", M) AS L).', [])
    assert kb.count("t") == 501
    assert ("item 500", 500) in set(kb.facts("t"))
    assert calls.count < FEW_CALLS


def test_an_expression_that_fails_in_the_middle() -> None:
    kb = base("n(0). n(Y) :- n(X), X < 100, BIND(X + 1 AS Y). m(Y) :- n(X), m(X), BIND(60 / (X - 50) AS Y). m(50).", [])
    assert kb.count("n") == 101
    assert kb.report.failed_expressions == 1


def test_the_limit_of_facts_is_that_of_evaluation_by_sets() -> None:
    totals = []
    for few in (0, 512):
        tuning = Tuning(rounds_max_new_facts=few)
        kb = base("n(0). n(Y) :- n(X), BIND(X + 1 AS Y).", [], max_facts=1_000, tuning=tuning)
        report = kb.materialise(partial=True)
        totals.append((report.complete, report.round_count, report.facts_total))
    assert totals[0] == totals[1] == (False, totals[0][1], 1_000)


@pytest.mark.parametrize("call", ["materialise", "update", "goal"])
def test_a_deadline_ends_rules_without_end(call: str) -> None:
    kb = base("n(Y) :- n(X), start(X), BIND(X AS Y). n(Y) :- n(X), BIND(X + 1 AS Y).", [], timeout=0.3)
    if call != "update":
        kb.add("n", [(0,)])
    with pytest.raises(LimitReached, match="time"):
        if call == "goal":
            kb.query("n(X)", method="magic")
        elif call == "update":
            kb.update(add={"n": [(0,)]})
        else:
            kb.materialise()


def test_a_union_grows_by_one_input_while_another_is_empty() -> None:
    kb = KnowledgeBase(
        "i(X, Z) :- i(X, Y), i(Y, Z). r(X, Y) :- e(X, Y). r(X, Y) :- i(Y, X). r(X, Z) :- r(X, Y), e(Y, Z). e(0, 2)."
    )
    kb.materialise()
    kb.update(add={"r": [(2, 1)]})
    assert sorted(kb.update(add={"r": [(3, 0)]}).added["r"]) == [(3, 0), (3, 2)]


@pytest.mark.parametrize(("number", "factor"), [(89547301328687144, 103), (57288025073632148, 161)])
def test_products_just_beyond_64_bits_fail(number: int, factor: int) -> None:
    chain = f"p(0, {number}). p(Y, V) :- p(X, V), BIND(X + 1 AS Y), FILTER(Y < 20). "
    kb = KnowledgeBase(
        chain + f"p(99, W) :- p(15, V), BIND(V * {factor} AS W). q(W) :- p(15, V), BIND(V * {factor} AS W)."
    )
    assert kb.count("p") == 20 and kb.count("q") == 0
