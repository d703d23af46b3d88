"""Counts of derivations: what they are in the examples of Hu et al., and what becomes of them."""

from __future__ import annotations

from counted import check_counts, count_all, kept

from deltalog import KnowledgeBase
from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.knowledge_base.calls import session_of

TRANSITIVE = "R(X, Z) :- R(X, Y), R(Y, Z)."
SYMMETRIC = "R(Y, X) :- R(X, Y)."
R = Pred("R", 2)


def made(program: str, **facts: list[tuple[int, ...]]) -> KnowledgeBase:
    kb = KnowledgeBase(program, maintenance="counting", schemes="standard")
    for predicate, rows in facts.items():
        kb.add(predicate, rows)
    count_all(kb)
    return kb


def recursive(kb: KnowledgeBase, pred: Pred) -> dict[tuple[object, ...], int]:
    """How many instances of recursive rules derive each fact of a predicate that is a stratum."""
    assert session_of(kb).state.materialised is not None
    preds = frozenset([pred])
    found = kept(session_of(kb).state.materialised.counts[preds].recursive, preds, session_of(kb).backend)
    return {tuple(constant.value for constant in row): count for (_, row), count in found.items()}


def test_example_1_of_paper_003() -> None:
    """A chain c0, ..., cn, closed by rule (1): an instance for every i < j < k, so k - i - 1 of them for R(ci, ck)."""
    n = 8
    kb = made(TRANSITIVE, R=[(i, i + 1) for i in range(n)])
    assert recursive(kb, R) == {(i, k): k - i - 1 for i in range(n + 1) for k in range(i + 2, n + 1)}
    # Without (3, 4) the chain is two; all that crosses is lost, and nothing could be derived again.
    change = kb.update(remove={"R": [(3, 4)]})
    assert set(change.removed["R"]) == {(i, k) for i in range(4) for k in range(4, n + 1)}
    assert (change.report.overdeleted, change.report.rederived) == (20, 0)
    parts = (range(4), range(4, n + 1))
    assert recursive(kb, R) == {(i, k): k - i - 1 for part in parts for i in part for k in part if k > i + 1}
    assert set(kb.update(add={"R": [(3, 4)]}).added["R"]) == set(change.removed["R"])
    assert recursive(kb, R) == {(i, k): k - i - 1 for i in range(n + 1) for k in range(i + 2, n + 1)}


def test_example_2_of_paper_003() -> None:
    """A cycle closed by rules (1) and (5): every pair, by rule (1) through each of the n constants, and by rule (5)."""
    n = 5
    kb = made(TRANSITIVE + SYMMETRIC, R=[(i, (i + 1) % n) for i in range(n)])
    change = kb.update(remove={"R": [(n - 1, 0)]})  # what is left of the cycle still connects all
    assert not change.removed.get("R")
    assert change.report.overdeleted == change.report.inserted > 0
    assert recursive(kb, R) == {(i, k): n + 1 for i in range(n) for k in range(n)}
    change = kb.update(remove={"R": [(1, 2)]})  # {0, 1} and {2, 3, 4}
    assert len(change.removed["R"]) == 12
    assert recursive(kb, R) == {(i, k): 3 for i in (0, 1) for k in (0, 1)} | {
        (i, k): 4 for i in (2, 3, 4) for k in (2, 3, 4)
    }


def test_nonrecursive_counts_stop_overdeletion() -> None:
    program = "p(X, Y) :- a(X, Y). p(X, Y) :- b(X, Y). p(X, Z) :- p(X, Y), p(Y, Z)."
    kb = made(program, a=[(1, 2)], b=[(1, 2), (2, 3)])
    change = kb.update(remove={"a": [(1, 2)]})
    assert (change.report.overdeleted, len(change.removed)) == (0, 1)
    assert check_counts(kb) == 3


def test_an_instance_with_several_reasons_to_go_goes_once() -> None:
    """Two rows of b, one of d and one of a go or come at a time; each instance is counted off, or on, once."""
    program = "p(X) :- a(X, Y), a(X, Z), NOT b(X, _), NOT d(Y)."
    kb = made(program, a=[(1, 1), (1, 2), (2, 1), (2, 2)], b=[(3, 3)])
    assert not kb.update(remove={"a": [(1, 2)]}).removed.get("p")
    assert check_counts(kb) == 2
    kb.update(add={"b": [(1, 1), (1, 2)], "d": [(1,)]})
    assert (check_counts(kb), set(kb.facts("p"))) == (1, {(2,)})
    kb.update(add={"a": [(1, 3)]}, remove={"b": [(1, 1), (1, 2)], "d": [(1,)]})
    assert (check_counts(kb), set(kb.facts("p"))) == (2, {(1,), (2,)})
    kb.update(add={"b": [(2, 1)]}, remove={"a": [(2, 1), (2, 2)]})
    assert (check_counts(kb), set(kb.facts("p"))) == (1, {(1,)})


def test_rows_of_a_group_count() -> None:
    """Two groups with the same result derive one fact."""
    kb = made("n(N) :- AGGREGATE(a(X, Y) ON X BIND COUNT(Y) AS N).", a=[(1, 1), (2, 1), (3, 1), (3, 2)])
    assert not kb.update(remove={"a": [(1, 1)]}).removed.get("n")
    assert check_counts(kb) == 2
    assert set(kb.update(remove={"a": [(2, 1)]}).removed["n"]) == {(1,)}
    assert set(kb.update(add={"a": [(4, 1)]}, remove={"a": [(3, 2)]}).added["n"]) == {(1,)}
    assert check_counts(kb) == 1


def test_counts_are_made_when_something_has_been_lost() -> None:
    kb = KnowledgeBase("p(X, Y) :- a(X, Y). p(X, Z) :- p(X, Y), a(Y, Z).", maintenance="counting", schemes="standard")
    kb.add("a", [(i, i + 1) for i in range(20)])
    kb.materialise()
    kb.update(add={"a": [(30, 31), (31, 32)]})
    assert check_counts(kb) == 0
    assert kb.update(remove={"a": [(31, 32)]}).report.notes == ["p: delete and rederive"]
    assert check_counts(kb) == 21 + 190
    assert kb.update(remove={"a": [(30, 31)]}).report.notes == ["p: delete and rederive with counts"]
    assert check_counts(kb) == 20 + 190


def test_counts_of_a_stratum_that_is_recomputed_are_not_kept() -> None:
    kb = made("p(X, Y) :- a(X, Y). p(X, Z) :- p(X, Y), a(Y, Z).", a=[(i, i + 1) for i in range(20)])
    session_of(kb).backend.tuning = Tuning(recompute_min_facts=0, recompute_all_min_changed_share=10.0)
    assert kb.update(remove={"a": [(9, 10)]}).report.recomputed == 1
    assert session_of(kb).state.materialised is not None and not session_of(kb).state.materialised.counts
    session_of(kb).backend.tuning = Tuning()
    kb.update(remove={"a": [(5, 6)]})
    assert check_counts(kb) > 0


def test_counts_follow_rules() -> None:
    first, last = "p(X, Y) :- a(X, Y).", "p(X, Z) :- p(X, Y), a(Y, Z)."
    swapped = "p(X, Y) :- a(Y, X)."
    kb = made(first + last, a=[(1, 2), (2, 3), (3, 4)])
    for change, rule in ((kb.add_rules, swapped), (kb.remove_rules, first), (kb.remove_rules, last)):
        change(rule)
        assert check_counts(kb) > 0
    kb.add_rules("a(X, Y) :- p(Y, X).")  # now a and p are one stratum, and the rule for p is recursive
    kb.update(remove={"a": [(1, 2)]})
    assert check_counts(kb) > 0
    kb.remove_rules("a(X, Y) :- p(Y, X).")  # p is a stratum again, of which there were counts before
    kb.update(remove={"a": [(2, 3)]})
    assert check_counts(kb) > 0


def test_a_stream_with_counts_does_not_grow() -> None:
    kb = made("p(X, Y) :- a(X, Y). p(X, Z) :- p(X, Y), a(Y, Z).", a=[(i, i + 1) for i in range(8)])
    for i in range(300):
        kb.update(add={"a": [(8, 100 + i)]})
        kb.update(remove={"a": [(8, 100 + i)]})
    assert check_counts(kb) == 8 + 28
    assert session_of(kb).state.materialised is not None
    (counts,) = session_of(kb).state.materialised.counts.values()
    assert all(table.nbytes < 20_000 for kept in (counts.nonrecursive, counts.recursive) for table in kept.values())


def test_backbones_of_schemes_are_counted() -> None:
    """As docs/schemes.md says: relations that a scheme keeps have no counts, and their backbones have."""
    program = "p(X, Y) :- e(X, Y), g(Y). p(X, Y) :- f(X, Y), g(Y). p(X, Z) :- p(X, Y), p(Y, Z)."
    kb = KnowledgeBase(program, maintenance="counting", schemes="scheme")
    for predicate in ("e", "f"):
        kb.add(predicate, [(i, i + 1) for i in range(9)])
    kb.add("g", [(i,) for i in range(10)])
    kb.materialise()
    kb.update(remove={"f": [(3, 4)]})
    assert session_of(kb).state.materialised is not None
    assert {str(pred) for preds in session_of(kb).state.materialised.counts for pred in preds} == {"#backbone p/2"}
    assert kb.count("p") == 45
