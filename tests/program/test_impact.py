"""The hyper-nodes that Xu and Curé says are directly affected by its changes of rules."""

from __future__ import annotations

from deltalog.languages.deltalog.parser import parse
from deltalog.program import analyse
from deltalog.program.impact import directly_affected

# Figure 1. As it is printed, ?X of r5 and ?Z of r8 have no value; p0 gives ?X one here, and ?Z of r8 is ?Y.
RULES = {
    "r1": "p1(X,Y) :- p0(X,Y).",
    "r2": "p2(X,Z) :- p1(X,Y), p3(Y,Z).",
    "r3": "p3(X,Y) :- p4(X,Y).",
    "r4": "p4(X,Y) :- p2(X,Y).",
    "r5": "p5(X,Y) :- p6(Y,Z), p0(X,_), NOT p2(X,Z).",
    "r6": "p6(X,Y) :- p5(X,Y).",
    "r7": "p7(X,Z) :- p3(X,Y), p5(Y,Z).",
}
R8 = "p2(X,Y) :- p3(X,Y)."


def affected(before: list[str], after: list[str]) -> list[set[str]]:
    """The directly affected hyper-nodes, each by the predicates of its heads."""
    old, new = (analyse(parse("\n".join(rules))) for rules in (before, after))
    return [{pred.name for pred in node.heads} for node in directly_affected(old, new)]


def without(*names: str) -> list[str]:
    return [rule for name, rule in RULES.items() if name not in names]


def test_r8_is_added() -> None:
    """Figure 3(b): hn2."""
    assert affected(without(), [*without(), R8]) == [{"p2", "p3", "p4"}]


def test_r4_is_removed() -> None:
    """Figure 3(c): hn2 is split into hn2, hn5 and hn6; with the successors hn3 and hn4 these are {hn2, ..., hn6}."""
    assert affected(without(), without("r4")) == [{"p3"}, {"p2"}, {"p5", "p6"}, {"p7"}]


def test_r4_comes_back() -> None:
    """Algorithm 2: three hyper-nodes merge into a new one."""
    assert affected(without("r4"), without()) == [{"p2", "p3", "p4"}]


def test_r5_r6_and_r7_are_removed() -> None:
    """hn3 and hn4 go with all that they derived: nothing is left to reason about."""
    assert affected(without(), without("r5", "r6", "r7")) == []


def test_a_rule_that_leaves_its_hyper_node_whole() -> None:
    """Figure 5: r7 is removed, hn2 stays one hyper-node, and hn3 is only downstream."""
    hn2 = ["a(X,Y) :- b(X,Y).", "b(X,Y) :- a(X,Y), e(X,Y).", "a(Y,X) :- a(X,Y)."]
    rest = ["e(X,Y) :- d(X,Y).", "c(X) :- a(X,X)."]
    assert affected([*hn2, *rest], [*hn2[:2], *rest]) == [{"a", "b"}]


def test_what_read_a_hyper_node_that_is_gone() -> None:
    assert affected(without(), without("r1")) == [{"p2", "p3", "p4"}]
