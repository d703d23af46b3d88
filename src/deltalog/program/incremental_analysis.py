"""Programs that differ in leaves only: in hyper-nodes that nothing else reads (paper 004).

Whether rules are safe, what structures are among them and which hyper-nodes they make is found out for a whole program
(`analyse`). When rules come or go whose predicates no other rule reads or derives, nothing of that changes for the
others: the new program is the old one with some hyper-nodes more or fewer, and shares the others with it.

Which changes are such is decided carefully; every other one is for `analyse`.

Leaves that only go are the cheapest change of all (`without_leaves`): it takes microseconds, whatever the rest is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from deltalog.program.binding import directed_rule
from deltalog.program.hyper_nodes import HyperNode
from deltalog.program.program import Program, analyse
from deltalog.program.recognise import copied
from deltalog.program.safety import unsafe
from deltalog.program.value_kinds import Numbers, no_numbers
from deltalog.syntax.ast import TRIPLES, TYPES, Aggregate, Pred, Rule

INTERNAL = frozenset((TRIPLES, TYPES))


def changed(
    old: Program,
    rules: tuple[Rule, ...],
    data: Collection[Pred],
    schemes: str,
    numbers: Numbers = no_numbers,
    same_scope: bool = True,
) -> Program:
    """The Program of other rules than those of an old one, over data of some predicates; `same_scope` says that the
    scope of the old one has their numbers. (Values of leaves are in no scope, as nothing reads them.)"""
    data = frozenset(data)
    leaves = _with_leaves(old, rules, schemes) if same_scope and data <= old.data else None
    return analyse(rules, data, schemes, old.rules, numbers) if leaves is None else leaves


def without_leaves(old: Program, rules: tuple[Rule, ...]) -> tuple[Program, tuple[HyperNode, ...]] | None:
    """The old program with only these of its rules, and the hyper-nodes that are gone; None if these are no leaves."""
    left = set(map(id, rules))
    gone = [rule for rule in old.rules if id(rule) not in left]
    if old.has_wildcards or len(gone) + len(rules) != len(old.rules):
        return None
    home = dict(old.home)
    leaves = {id(node): node for rule in gone if (node := home.pop(rule, None)) is not None}
    rest = tuple([node for node in old.hyper_nodes if id(node) not in leaves])
    nodes = tuple(leaves.values())
    if len(rest) + len(nodes) != len(old.hyper_nodes) or sum([len(node.rules) for node in nodes]) != len(gone):
        return None  # of some hyper-node something is left, or a rule is not evaluated as it is written
    if not all([_is_leaf(node, rest, old) for node in nodes]):
        return None
    kept = old.scheme_of, old.stored, old.recognised, old.scope
    return Program(rules, (), old.facts, rest, old.data, *kept, home, rules), nodes


def _is_leaf(leaf: HyperNode, rest: Iterable[HyperNode], program: Program) -> bool:
    """Whether the rest neither reads nor derives what a hyper-node derives, and nothing is noted of that either."""
    if not leaf.heads.isdisjoint(INTERNAL) or not leaf.heads.isdisjoint(program.scheme_of):
        return False
    if leaf.recursive and program.recognised:
        return False
    apart = leaf.heads.isdisjoint
    return all([apart(node.reads) and apart(node.heads) for node in rest])


def _with_leaves(old: Program, rules: tuple[Rule, ...], schemes: str) -> Program | None:
    """The old program with leaves more or fewer; None if that is not all that the change is."""
    before, after = set(old.rules), set(rules)
    new = [rule for rule in rules if rule not in before]
    gone = {directed_rule(rule) for rule in old.rules if rule not in after}
    nodes = [node for node in old.hyper_nodes if not gone.issuperset(node.rules)]
    if len(gone) != sum(len(node.rules) for node in old.hyper_nodes) - sum(len(node.rules) for node in nodes):
        return None  # of some hyper-node something is left, or a rule is not evaluated as it is written
    if not all(_is_plain(rule, old, schemes) for rule in new):
        return None
    added = [HyperNode.of((directed_rule(rule),), False, 0) for rule in new]
    if old.has_wildcards or not _are_leaves(gone, added, nodes) or _derive(gone, old.scheme_of):
        return None
    home = {rule: node for rule, node in old.home.items() if rule in after}
    for rule, node in zip(new, added, strict=True):
        depth = _depth(node, nodes)
        home[rule] = replace(node, depth=depth)
        nodes.insert(bisect_right(nodes, depth, key=lambda other: other.depth), home[rule])
    return replace(old, rules=rules, hyper_nodes=tuple(nodes), home=home, linted=rules)


def _derive(rules: Iterable[Rule], preds: Collection[Pred]) -> bool:
    return any(head.pred in preds for rule in rules for head in rule.heads)


def _is_plain(rule: Rule, old: Program, schemes: str) -> bool:
    """Whether a rule is safe and evaluated as it is written, whatever other rules there are."""
    if len(rule.body) > 1 and any(isinstance(literal, Aggregate) for literal in rule.body):
        return False
    copy = copied(rule) if schemes != "standard" else None
    if copy is not None and (schemes == "module" or copy[0] in old.scheme_of):
        return False
    return not any(unsafe(rule))


def _are_leaves(gone: Iterable[Rule], added: Sequence[HyperNode], rest: Iterable[HyperNode]) -> bool:
    """Whether no rule that stays, and no new one, reads or derives what the changed rules derive."""
    heads = {head.pred for rule in gone for head in rule.heads}
    new = [pred for node in added for pred in node.heads]
    if len(heads.union(new)) < len(heads) + len(new):
        return False
    others: set[Pred] = set().union(*(node.reads for node in added))
    for node in rest:
        others |= node.reads
        others |= node.heads
    heads.update(new)
    return others.isdisjoint(heads) and INTERNAL.isdisjoint(others | heads)


@dataclass(frozen=True)
class Leaves:
    """Hyper-nodes that are in one of two programs only."""

    gone: tuple[HyperNode, ...]
    added: tuple[HyperNode, ...]


def changed_leaves(old: Program, new: Program) -> Leaves | None:
    """In which leaves a program differs from another one that it was made from; None if there is more to it."""
    if new.scheme_of is not old.scheme_of:
        return None
    before, after = set(map(id, old.hyper_nodes)), set(map(id, new.hyper_nodes))
    gone = tuple(node for node in old.hyper_nodes if id(node) not in after)
    added = tuple(node for node in new.hyper_nodes if id(node) not in before)
    rest = (node for node in new.hyper_nodes if id(node) in before)
    rules = {rule for node in gone for rule in node.rules}
    return Leaves(gone, added) if _are_leaves(rules, added, rest) else None


def _depth(leaf: HyperNode, nodes: Iterable[HyperNode]) -> int:
    return max((node.depth + 1 for node in nodes if not node.heads.isdisjoint(leaf.reads)), default=0)
