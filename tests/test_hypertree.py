"""Decompositions of rule bodies, and rules evaluated by them."""

from __future__ import annotations

import time
from itertools import combinations
from random import Random

import pytest
from conftest import as_sets
from hypertrees import broken, least_width
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.generators.motivating import motivating as generated
from deltalog import KnowledgeBase, UsageError
from deltalog.core.rules import Atom, Pred, Variable, variables
from deltalog.core.tuning import Tuning
from deltalog.engines.local.index_join import IndexJoin
from deltalog.evaluation import replan_joins
from deltalog.evaluation.facts import of_predicate
from deltalog.evaluation.plan.hypertree.decompose import TreeNode, decompose, with_functional_leaves
from deltalog.evaluation.plan.hypertree.gyo import is_acyclic
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.statistics import UnknownStatistics
from deltalog.knowledge_base.calls import session_of

WAYS = ("standard", "hypertree", "combined")


class Skewed(UnknownStatistics):
    """Sizes that differ, so that costs do."""

    def size(self, pred: Pred, part: Part) -> float:
        return 10.0 ** (1 + hash(pred.name) % 5)


def body(*edges: str) -> list[Atom]:
    return [Atom(f"e{i}", tuple(map(Variable, edge))) for i, edge in enumerate(edges)]


def cycle(n: int) -> list[Atom]:
    names = "abcdefghijklmnopqrstuvwxyz"[:n]
    return body(*(names[i] + names[(i + 1) % n] for i in range(n)))


def clique(n: int) -> list[Atom]:
    return body(*map("".join, combinations("abcdefgh"[:n], 2)))


@pytest.mark.parametrize(
    ("atoms", "width"),
    [
        (body("ab", "bc", "cd"), 1),
        (body("abc", "ab", "bc", "ca"), 1),
        (body("ab", "bc", "ca"), 2),
        (cycle(4), 2),
        (cycle(6), 2),
        (cycle(20), 2),
        (clique(4), 2),
        (clique(5), 3),
        (clique(6), 3),
        (body("ab", "cd"), 1),
        (body("", "ab"), 1),
        (body("abc", "cde", "efa"), 2),
    ],
    ids=str,
)
def test_widths(atoms: list[Atom], width: int) -> None:
    found = decompose(atoms, UnknownStatistics())
    assert found.least_width == width
    assert broken(found.root, atoms) == []
    assert is_acyclic([frozenset(variables(atom)) for atom in atoms]) == (width == 1)


@st.composite
def bodies(draw: st.DrawFn, most: int = 6) -> list[Atom]:
    edge = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3, unique=True)
    return body(*("".join(edge) for edge in draw(st.lists(edge, min_size=1, max_size=most))))


@settings(max_examples=150, deadline=None)
@given(bodies())
def test_least_width_is_that_of_brute_force(atoms: list[Atom]) -> None:
    edges = [frozenset(variables(atom)) for atom in atoms]
    found = decompose(atoms, Skewed())
    assert broken(found.root, atoms) == []
    assert found.least_width == least_width(edges)
    assert found.least_width <= found.width <= found.least_width + 1
    assert is_acyclic(edges) == (found.least_width == 1)


@pytest.mark.parametrize("seed", range(6))
def test_twenty_atoms_are_decomposed_at_once(seed: int) -> None:
    random = Random(seed)
    atoms = body(*("".join(random.sample("abcdefghijkl", 2 + seed % 2)) for _ in range(20)))
    decompose(atoms, UnknownStatistics())
    started = time.process_time()
    found = decompose(atoms, UnknownStatistics())
    assert time.process_time() - started < 0.5, "it is about 0.03 s; much more is another algorithm"
    assert broken(found.root, atoms) == []


# Examples 1 to 3 of Zhang et al.

N, K = 6, 30  # with few, one node is the better tree
RULE = "pc(X, Y) :- cw(X, Z1), ca(X, Z2), pc(Z1, Y), pc(Z2, Y)."


def motivating() -> dict[str, list[tuple[str, str]]]:
    grid = [(i, i * K + j, j) for i in range(N) for j in range(1, K + 1)]
    return {
        "cw": [(f"a{i}", f"b{m}") for i, m, _ in grid] + [(f"a{N}", "a2")],
        "ca": [(f"a{i}", f"c{m}") for i, m, _ in grid] + [(f"a{N}", "a3")],
        "pc": [(f"{kind}{m}", f"d{j}") for kind in "bc" for _, m, j in grid],
    }


def instantiations(kb: KnowledgeBase) -> set[frozenset[tuple[str, ...]]]:
    """What the nodes hold: the rows of each, as sets of values, so that the order of columns does not matter."""
    nodes = [
        (pred, table)
        for (pred, _), table in session_of(kb).state.materialised.relations.parts.items()
        if pred.name.startswith("#node")
    ]
    return {
        frozenset(tuple(sorted(row)) for row in of_predicate(pred, table, session_of(kb).backend))
        for pred, table in nodes
    }


def rows(*parts: list[tuple[str, str, str]]) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(sorted(row)) for part in parts for row in part)


def test_the_examples_of_paper_000() -> None:
    kb = KnowledgeBase(RULE, cyclic="hypertree", maintenance="dred")
    for predicate, facts in motivating().items():
        kb.add(predicate, facts)
    kb.materialise()
    d = range(1, K + 1)

    # Example 1: inst_p1 and inst_p2 after both rounds, and the facts.
    first = [[(f"a{i}", f"{kind}{i * K + j}", f"d{j}") for i in range(N) for j in d] for kind in "bc"]
    second = [[(f"a{N}", other, f"d{j}") for j in d] for other in ("a2", "a3")]
    assert instantiations(kb) == {rows(first[0], second[0]), rows(first[1], second[1])}
    derived = {(f"a{i}", f"d{j}") for i in range(N + 1) for j in d}
    assert set(kb.derived("pc")) == derived

    # ... adding CW(an, a4), CA(an, a5) adds instantiations, but no facts.
    change = kb.update(add={"cw": [(f"a{N}", "a4")], "ca": [(f"a{N}", "a5")]})
    third = [[(f"a{N}", other, f"d{j}") for j in d] for other in ("a4", "a5")]
    assert instantiations(kb) == {rows(*sides) for sides in zip(first, second, third, strict=True)}
    assert not change.added.get("pc") and not change.removed.get("pc")
    assert {name for name in change.added} == {"cw", "ca"}

    # Examples 2 and 3: without CA(an, a3) its instantiations go, PC(an, dj) are overdeleted, and come back.
    change = kb.update(remove={"ca": [(f"a{N}", "a3")]})
    assert instantiations(kb) == {rows(first[0], second[0], third[0]), rows(first[1], third[1])}
    assert set(kb.derived("pc")) == derived
    assert {name for name in change.removed} == {"ca"} and not change.added
    assert (change.report.overdeleted, change.report.rederived) == (K, K)


# The setting, and what users see of it.


@pytest.mark.parametrize("way", WAYS)
def test_nodes_are_not_seen(way: str) -> None:
    kb = KnowledgeBase(RULE, cyclic=way)
    for predicate, facts in motivating().items():
        kb.add(predicate, facts)
    report = kb.materialise()
    assert kb.predicates == ["ca", "cw", "pc"]
    assert report.facts_total == kb.explicit_facts + (N + 1) * K == sum(report.per_predicate.values())
    assert report.rounds[-1].total == report.facts_total
    change = kb.update(remove={"ca": [("a0", "c1")]})
    assert set(change.removed) == {"ca", "pc"}
    assert change.report.overdeleted == 1


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no option 'no' for cyclic rules; choose one of combined, standard"):
        KnowledgeBase(cyclic="no")


@pytest.mark.parametrize("n", [10_000, 40_000])
def test_three_stars_are_no_square(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any two of the stars join to n² / 4 rows, all three to 1 + 3 n / 2: only values that all allow are bound."""

    def no_join(*_: object) -> None:
        raise AssertionError("a two-way join")

    monkeypatch.setattr(IndexJoin, "join", no_join)
    star = [(0, 0)] + [edge for i in range(1, n // 2 + 1) for edge in ((0, i), (i, 0))]
    kb = KnowledgeBase("t(X, Y, Z) :- r(X, Y), s(Y, Z), u(Z, X).")
    for name in "rsu":
        kb.add(name, star)
    assert kb.plan().count("multiway") == 3
    kb.materialise()
    assert kb.count("t") == 1 + 3 * n // 2


CONDITIONS = """
odd(S, V) :- left(S, A), right(S, B), at(A, I), at(B, I), value(A, X), value(B, Y),
             BIND(X - Y AS V), FILTER(V > 0), X < 5, NOT hidden(A, B), NOT shut(I).
"""


@pytest.mark.parametrize("way", WAYS)
def test_conditions_find_their_place(way: str) -> None:
    random = Random(4)
    facts = {
        name: {(random.randrange(6), random.randrange(6)) for _ in range(16)}
        for name in ("left", "right", "at", "value", "hidden")
    }
    kbs = [KnowledgeBase(CONDITIONS, cyclic=way), KnowledgeBase(CONDITIONS, engine="naive")]
    for kb in kbs:
        for name, pairs in facts.items():
            kb.add(name, sorted(pairs))
        kb.add("shut", [(3,)])
    assert len(kbs[1].facts("odd")) > 0
    assert as_sets({"odd": list(kbs[0].facts("odd"))}) == as_sets({"odd": list(kbs[1].facts("odd"))})


def test_another_tree_when_the_data_has_become_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few facts one node is best; with many, two. What was made for the few is exchanged, both ways."""
    tuning = Tuning(recompute_all_min_changed_share=1e9, planning_cost_rows=0)
    grid = [(i, i * 200 + j, j) for i in range(3) for j in range(200)]
    many = {
        "cw": [(f"a{i}", f"b{m}") for i, m, _ in grid],
        "ca": [(f"a{i}", f"c{m}") for i, m, _ in grid],
        "pc": [(f"{kind}{m}", f"d{j}") for kind in "bc" for _, m, j in grid],
    }
    kb = KnowledgeBase(RULE, tuning=tuning)
    for name in many:
        kb.add(name, many[name][:2])
    kb.materialise()
    assert not session_of(kb).state.materialised.trees.relations
    change = kb.update(many)
    assert "pc: the data has changed much; another decomposition, nodes rebuilt" in change.report.notes
    assert {len(rows) for rows in instantiations(kb)} == {600}
    assert {pred for pred, _ in session_of(kb).state.materialised.relations.parts if pred.hidden} == set(
        session_of(kb).state.materialised.trees.relations
    )
    change = kb.update(remove={"cw": many["cw"][:10]})
    assert len(change.removed["pc"]) == 10
    assert not any("rebuilt" in note for note in change.report.notes)
    kb.update(remove={name: rows[10:] for name, rows in many.items()})
    assert {pred for pred, _ in session_of(kb).state.materialised.relations.parts if pred.hidden} == set(
        session_of(kb).state.materialised.trees.relations
    )
    fresh = KnowledgeBase(RULE, engine="naive")
    for pred, table in session_of(kb).state.explicit.items():
        fresh.add(pred.name, list(of_predicate(pred, table, session_of(kb).backend)))
    assert set(kb.facts("pc")) == set(fresh.facts("pc"))


def test_joins_that_are_safe_have_no_tree() -> None:
    """Where each value is met once, joins have few rows, whatever they meet; where there are hubs they may explode."""
    safe, hubs = (KnowledgeBase(RULE, tuning=Tuning(planning_cost_rows=0)) for _ in range(2))
    safe.add("cw", [(f"a{i}", f"b{i}") for i in range(1000)])
    safe.add("ca", [(f"a{i}", f"c{i}") for i in range(1000)])
    safe.add("pc", [(f"{kind}{i}", f"d{i}") for kind in "bc" for i in range(1000)])
    for predicate, facts in generated(20, 60).items():
        hubs.add(predicate, facts)
    assert [choice.way for choice in safe.materialise().cyclic_rules] == ["standard"]
    assert [choice.way for choice in hubs.materialise().cyclic_rules] == ["hypertree"]
    assert "at most" in hubs.materialise().cyclic_rules[0].why


def test_a_rule_that_reads_an_empty_relation_is_not_decomposed() -> None:
    """Its nodes over the other relations would be computed in vain."""
    kb, facts = KnowledgeBase(RULE), generated(20, 60)
    for predicate in ("cw", "ca"):
        kb.add(predicate, facts[predicate])
    kb.materialise()
    assert session_of(kb).state.materialised is not None and not session_of(kb).state.materialised.trees.relations
    (choice,) = session_of(kb).state.materialised.trees.choices.values()
    assert choice.waiting and choice.why.endswith("has no facts")
    kb.update(add={"pc": facts["pc"]})  # from now on a tree pays
    assert not next(iter(session_of(kb).state.materialised.trees.choices.values())).waiting


def test_a_tree_is_chosen_when_a_relation_gets_facts_in_the_recursion() -> None:
    """The relation pc is derived in the same recursion: by its sizes there is a tree, once it has facts."""
    kb, naive = (
        KnowledgeBase(f"{RULE} pc(X, Y) :- start(X, Y). start(X, Y) :- pc(X, Y), cw(X, X).", engine=engine)
        for engine in ("local", "naive")
    )
    for predicate, facts in generated(20, 60).items():
        for one in (kb, naive):
            one.add(predicate if predicate != "pc" else "start", facts)
    assert [rule.way for rule in kb.materialise().cyclic_rules] == ["hypertree"]
    assert set(kb.facts("pc")) == set(naive.facts("pc"))
    assert session_of(kb).state.materialised is not None
    hidden = {pred for pred, _ in session_of(kb).state.materialised.relations.parts if pred.hidden}
    assert hidden == set(session_of(kb).state.materialised.trees.relations)


@pytest.mark.parametrize("cyclic", ["combined", "standard"])
def test_joins_far_from_their_estimate_are_planned_again(cyclic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tuning = Tuning(planning_cost_rows=25, misestimate_factor=1.0)
    kb = KnowledgeBase("h(?x, ?y, ?z) :- a(?x, ?y), b(?y, ?z) .", cyclic=cyclic, tuning=tuning)
    hub = [(i, 0) for i in range(300)] + [(i, i) for i in range(1000, 3000)]
    kb.add("a", hub)
    kb.add("b", [(y, x) for x, y in hub])
    given_up: list[object] = []
    may_be = replan_joins._may_be_misestimated
    monkeypatch.setattr(replan_joins, "_may_be_misestimated", lambda *one: given_up.append(one) or may_be(*one))
    assert kb.count("h") == 300 * 300 + 2000 and given_up


def skewed_graph(nodes: int, edges: int) -> list[tuple[int, int]]:
    random = Random(5)
    return sorted({(int(nodes * random.random() ** 1.5), int(nodes * random.random() ** 1.5)) for _ in range(edges)})


@pytest.mark.parametrize("way", ["hypertree", "combined"])
def test_long_cycles(way: str) -> None:
    """Neither joins nor nodes of two edges far apart could do it: an atom of λ may stand for one of its variables."""
    edges = skewed_graph(60, 400)
    names = [f"X{i}" for i in range(14)]
    kb = KnowledgeBase(
        f"h(X0, X7) :- {', '.join(f'e({x}, {y})' for x, y in zip(names, [*names[1:], names[0]], strict=True))}.",
        cyclic=way,
        timeout=60,
    )
    kb.add("e", edges)
    steps = {(x, x) for x in range(60)}
    for _ in range(7):
        steps = {(x, z) for x, y in steps for other, z in edges if y == other}
    kb.materialise()
    assert set(kb.facts("h")) == {(x, y) for x, y in steps if (y, x) in steps}
    (choice,) = session_of(kb).state.materialised.trees.choices.values()
    assert choice.decomposition is not None
    assert all(node.rows <= 60 * len(edges) for node in choice.decomposition.root)


def test_petals_have_a_tree_however_few_rows_are_estimated() -> None:
    """Ten ways of two steps between X and Y: to the textbook estimate each makes them fewer, but they are the same."""
    edges = skewed_graph(100, 900)
    petals = ", ".join(f"e(X, Z{i}), e(Z{i}, Y)" for i in range(10))
    kb = KnowledgeBase(f"h(X, Y) :- {petals}.")
    kb.add("e", edges)
    assert [rule.way for rule in kb.materialise().cyclic_rules] == ["hypertree"]
    assert set(kb.facts("h")) == {(x, y) for x, z in edges for other, y in edges if z == other}


def test_functional_leaves_are_in_their_nodes() -> None:
    edges = (("a", "xy"), ("b", "yz"), ("c", "zw"), ("d", "wx"), ("l", "yv"))
    atoms = [Atom(name, tuple(map(Variable, ends))) for name, ends in edges]
    leaf = TreeNode(frozenset(variables(atoms[4])), (4,), 10.0)
    below = TreeNode(frozenset(map(Variable, "xzw")), (2, 3), 100.0)
    root = TreeNode(frozenset(map(Variable, "xyz")), (0, 1), 100.0, (leaf, below))

    class Functional(UnknownStatistics):
        def heaviest(self, pred: Pred, part: Part, column: int) -> float:
            return 1.0 if pred.name == "l" and column == 0 else 10.0

    assert not broken(root, atoms)
    taken = with_functional_leaves(root, atoms, Functional())
    assert taken == TreeNode(root.chi | leaf.chi, (0, 1, 4), 100.0, (below,))
    assert not broken(taken, atoms)
    assert with_functional_leaves(root, atoms, UnknownStatistics()) == root


@pytest.mark.parametrize("schemes", ["auto", "scheme", "module", "standard"])
def test_the_backbone_of_a_closure_is_no_node_of_a_tree(schemes: str) -> None:
    program = """
    p(X, Y) :- g(X, Y).
    r(X, Z) :- r(X, Y), r(Y, Z).
    r(X, Y) :- p(X, Y).
    r(Z, Z) :- g(X, Y), g(Y, Z).
    """
    kb = KnowledgeBase(program, cyclic="hypertree", schemes=schemes)
    kb.add("g", [(3, 0), (0, 5)])
    assert sorted(kb.facts("r")) == [(0, 5), (3, 0), (3, 5), (5, 5)]
    kb.update(add={"g": [(5, 6)]}, remove={"g": [(3, 0)]})
    assert sorted(kb.facts("r")) == [(0, 5), (0, 6), (5, 6), (6, 6)]
