"""The two views of one dependency graph: strata are components of predicates, hyper-nodes components of rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cases import CASES

from deltalog.core.errors import ProgramError
from deltalog.languages.deltalog.parser import parse
from deltalog.program import analyse, read_rules
from deltalog.program.dependency import DependencyGraph
from deltalog.program.strata import single_heads


def strata(text: str) -> list[tuple[set[str], int, int]]:
    found = DependencyGraph.of(parse(text)).strata
    return [({p.name for p in s.preds}, len(s.nonrecursive), len(s.recursive)) for s in found]


def test_all_rules_of_a_predicate_are_in_one_stratum() -> None:
    text = "path(X, Z) :- path(X, Y), edge(Y, Z). path(X, Y) :- edge(X, Y). far(X) :- path(X, X)."
    assert strata(text) == [({"path"}, 1, 1), ({"far"}, 1, 0)]
    assert len(DependencyGraph.of(parse(text)).hyper_nodes) == 3


def test_rules_of_several_heads_are_split() -> None:
    assert strata("a(X), b(X) :- c(X). c(X) :- b(X). b(X) :- d(X).") == [({"b", "c"}, 1, 2), ({"a"}, 1, 0)]


def test_a_repeated_rule_is_one_rule() -> None:
    assert strata("p(X), q(X) :- r(X). p(X) :- r(X). p(X) :- r(X).") in (
        [({"p"}, 1, 0), ({"q"}, 1, 0)],
        [({"q"}, 1, 0), ({"p"}, 1, 0)],
    )


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.dl")), ids=lambda path: path.stem)
def test_both_views_have_all_rules_in_topological_order(path: Path) -> None:
    try:
        rules = [rule for node in analyse(read_rules([path])).hyper_nodes for rule in node.rules]
    except ProgramError:
        return
    graph = DependencyGraph.of(rules)
    assert {rule for node in graph.hyper_nodes for rule in node.rules} == set(rules)
    assert {r for s in graph.strata for r in s.rules} == {single for rule in rules for single in single_heads(rule)}
    derived = {pred for node in graph.hyper_nodes for pred in node.heads}
    done: set[object] = set()
    for stratum in graph.strata:
        assert (stratum.reads & derived) - stratum.preds <= done
        done |= stratum.preds
    for node in graph.hyper_nodes:  # each is in the strata of its heads, and no hyper-node is in two cycles
        assert not node.recursive or any(node.heads & stratum.preds and stratum.recursive for stratum in graph.strata)
