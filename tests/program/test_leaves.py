"""A program with leaves more or fewer is what the analysis of its rules gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cases import CASES

from deltalog.core.errors import ProgramError
from deltalog.core.rules import Rule
from deltalog.program import Program, analyse, changed, read_rules
from deltalog.program.incremental_analysis import changed_leaves, without_leaves
from deltalog.program.recognise import SCHEME_SETTINGS

PROGRAMS = sorted(CASES.glob("*/*.dl"))


def described(program: Program) -> object:
    nodes = {
        (frozenset(node.rules), node.recursive, node.depth, node.heads, node.reads) for node in program.hyper_nodes
    }
    depths = [node.depth for node in program.hyper_nodes]
    assert depths == sorted(depths)
    assert all(node in program.hyper_nodes for node in program.home.values())
    home = {rule: node.rules for rule, node in program.home.items()}
    return nodes, set(program.rules), home, program.bridges, program.scheme_of, program.stored, program.data


def rules_of(path: Path) -> tuple[Rule, ...]:
    try:
        rules = tuple(dict.fromkeys(rule for rule in read_rules([path]) if rule.body))
        analyse(rules)
    except ProgramError:
        return ()
    return rules


@pytest.mark.parametrize("way", SCHEME_SETTINGS)
def test_any_rule_out_and_in_again(way: str) -> None:
    shared = cut = 0
    for path in PROGRAMS:
        rules = rules_of(path)
        read = {pred for node in analyse(rules).hyper_nodes for pred in node.reads}
        program = analyse(rules, read, way)
        for rule in rules:
            rest = tuple(other for other in rules if other != rule)
            smaller = changed(program, rest, read, way)
            assert described(smaller) == described(analyse(rest, read, way)), f"{path.name} without {rule}"
            without = without_leaves(program, rest)
            if without is not None:
                assert described(without[0]) == described(smaller), f"{path.name} without the leaf {rule}"
                assert set(without[0].recognised) == set(analyse(rest, read, way).recognised)
                cut += 1
            again = changed(smaller, (*rest, rule), read, way)
            assert described(again) == described(analyse((*rest, rule), read, way)), f"{path.name} with {rule}"
            shared += changed_leaves(smaller, again) is not None
    assert shared > 20
    assert cut > 20


def test_leaves_share_the_rest() -> None:
    rules = tuple(read_rules(["p(X) :- a(X). q(X) :- p(X), NOT b(X). r(X) :- q(X)."]))
    program = analyse(rules)
    smaller = changed(program, rules[:2], (), "auto")
    assert all(any(node is other for other in program.hyper_nodes) for node in smaller.hyper_nodes)
    leaves = changed_leaves(program, smaller)
    assert leaves is not None
    assert ([node.rules for node in leaves.removed], leaves.added) == ([(rules[2],)], ())


def test_what_is_read_is_no_leaf() -> None:
    rules = tuple(read_rules(["p(X) :- a(X). q(X) :- p(X)."]))
    assert changed_leaves(analyse(rules), changed(analyse(rules), rules[1:], (), "auto")) is None


def test_the_one_rule_of_a_structure_is_no_leaf() -> None:
    """Even where a rule of the program is the same."""
    rules = tuple(read_rules(["t(?x, ?y) :- e(?x, ?y). t(?x, ?z) :- t(?x, ?y), e(?y, ?z)."]))
    program = analyse(rules, (), "auto")
    assert program.scheme_of[rules[0].heads[0].pred].rule == rules[0]
    assert without_leaves(program, rules[1:]) is None
    smaller = changed(program, rules[1:], (), "auto")
    assert described(smaller) == described(analyse(rules[1:], (), "auto"))
