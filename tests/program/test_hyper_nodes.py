"""The dependency graph: components, order, depth, cycles through negation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltalog.core.errors import NotStratified, UnsafeRule
from deltalog.core.rules import Pred
from deltalog.languages.deltalog.parser import parse
from deltalog.program import Program, analyse
from deltalog.program.components import components

# Figure 1 of Xu and Curé, and the hyper-nodes of its figure 3(a).
PAPER = """
p1(X,Y) :- p0(X,Y).
p2(X,Z) :- p1(X,Y), p3(Y,Z).
p3(X,Y) :- p4(X,Y).
p4(X,Y) :- p2(X,Y).
p5(X,Y) :- p6(Y,Z), p0(X,X), NOT p2(X,Z).
p6(X,Y) :- p5(X,Y).
p7(X,Z) :- p3(X,Y), p5(Y,Z).
"""


def analysed(text: str) -> Program:
    return analyse(parse(text))


def shape(program: Program) -> list[tuple[set[str], bool, int]]:
    return [({pred.name for pred in node.heads}, node.recursive, node.depth) for node in program.hyper_nodes]


def test_the_example_of_the_paper() -> None:
    assert shape(analysed(PAPER)) == [
        ({"p1"}, False, 0),
        ({"p2", "p3", "p4"}, True, 1),
        ({"p5", "p6"}, True, 2),
        ({"p7"}, False, 3),
    ]


def test_rules_of_one_predicate_may_be_in_different_hyper_nodes() -> None:
    program = analysed("path(X, Z) :- path(X, Y), edge(Y, Z). path(X, Y) :- edge(X, Y). far(X) :- path(X, X).")
    assert shape(program) == [({"path"}, False, 0), ({"path"}, True, 1), ({"far"}, False, 2)]


def test_what_a_hyper_node_knows() -> None:
    text = "p(X), q(X, a) :- r(X), NOT s(X), AGGREGATE(t(Y) BIND COUNT(Y) AS X)."
    aggregate, node = analysed(text).hyper_nodes  # an aggregate beside other literals has a relation of its own
    assert aggregate.reads == aggregate.negated == {Pred("t", 1)}
    assert node.heads == {Pred("p", 1), Pred("q", 2)}
    assert node.reads == {Pred("r", 1), Pred("s", 1)} | aggregate.heads
    assert node.negated == {Pred("s", 1)}
    assert not node.recursive and len(node.rules) == 1


def test_several_heads_tie_rules_together() -> None:
    assert shape(analysed("a(X), b(X) :- c(X). c(X) :- b(X).")) == [({"a", "b", "c"}, True, 0)]


def test_the_same_name_with_another_arity_is_another_predicate() -> None:
    assert shape(analysed("p(X) :- p(X, Y), NOT p(Y, X, X).")) == [({"p"}, False, 0)]


def test_facts_and_predicates_of_a_program() -> None:
    program = analysed("p(a), q(b). p(a). p(X) :- r(X, Y).")
    assert [str(fact.pred) for fact in program.facts] == ["p/1", "q/1"]
    assert {str(pred) for pred in program.preds} == {"p/1", "q/1", "r/2"}
    assert {str(pred) for pred in program.derived} == {"p/1"}
    assert len(program.rules) == 1


def test_a_repeated_rule_is_one_rule() -> None:
    program = analysed("p(X) :- q(X). p(?X) :- q(?X) .")
    assert len(program.rules) == 1 and len(program.hyper_nodes) == 1 and len(program.warnings) == 1


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- q(X), NOT p(X).",
        "p(X) :- q(X), NOT r(X). r(X) :- s(X). s(X) :- p(X).",
        "p(N) :- AGGREGATE(p(X) BIND COUNT(X) AS N).",
        "p(N) :- AGGREGATE(q(X), NOT p(X) BIND COUNT(X) AS N).",
        "p(X) :- q(X), NOT r(X). r(X) :- q(X), NOT p(X).",
        "p :- NOT p.",
    ],
)
def test_not_stratified(text: str) -> None:
    with pytest.raises(NotStratified):
        analysed(text)


def test_every_cycle_is_reported_rule_by_rule() -> None:
    with pytest.raises(NotStratified) as caught:
        analysed("a(X) :- e(X), NOT b(X).\nb(X) :- c(X).\nc(X) :- a(X).\nw(X) :- m(X, Y), NOT w(Y).")
    first, second = caught.value.diagnostics
    hint = first.hint or ""
    assert [hint.index(f"<text>:{line}:1") for line in (1, 3, 2)] == sorted(
        hint.index(f"<text>:{k}:1") for k in (1, 2, 3)
    )
    assert "needs NOT `b`" in hint and "`w` depends on itself" in second.message


def test_unsafe_and_not_stratified_come_together() -> None:
    with pytest.raises(UnsafeRule) as caught:
        analysed("w(X) :- m(X, Y), NOT w(Y). p(X).")
    assert len(caught.value.diagnostics) == 2


@given(
    st.integers(1, 12).flatmap(lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=4), min_size=n, max_size=n))
)
def test_components_against_reachability(successors: list[list[int]]) -> None:
    reach = [{i} for i in range(len(successors))]
    for _ in successors:
        for i, many in enumerate(successors):
            reach[i] = reach[i].union(*(reach[j] for j in many))
    component, members = components(successors)
    for i in range(len(successors)):
        assert members[component[i]] == [j for j in range(len(successors)) if j in reach[i] and i in reach[j]]
        assert all(component[j] <= component[i] for j in successors[i])


edges = st.lists(st.tuples(st.integers(0, 6), st.lists(st.integers(0, 8), min_size=1, max_size=3)), max_size=12)


@given(edges)
def test_hyper_nodes_are_in_topological_order(heads_and_bodies: list[tuple[int, list[int]]]) -> None:
    text = "\n".join(f"p{h}(X) :- {', '.join(f'p{b}(X)' for b in body)}." for h, body in heads_and_bodies)
    nodes = analysed(text).hyper_nodes
    assert sum(len(node.rules) for node in nodes) == len(set(parse(text)))
    for i, node in enumerate(nodes):
        assert node.recursive == bool(node.heads & node.reads)
        assert not any(later.heads & node.reads for later in nodes[i + 1 :])
        before = [other.depth + 1 for other in nodes if other is not node and other.heads & node.reads]
        assert node.depth == max(before, default=0)


def test_thousands_of_rules() -> None:
    chain = parse("\n".join(f"p{i + 1}(X) :- p{i}(X), NOT q{i}(X)." for i in range(4000)))
    program = analyse(chain)
    assert program.hyper_nodes[-1].depth == 3999
    ring = parse("\n".join(f"p{(i + 1) % 4000}(X) :- p{i}(X)." for i in range(4000)))
    assert len(analyse(ring).hyper_nodes) == 1
