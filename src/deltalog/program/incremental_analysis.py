"""Programs that differ only in leaf hyper-nodes, which no other hyper-node reads (Xu and Curé, section 5).

`analyse` runs its passes over a whole program. When rules are added or removed whose heads no other rule reads or
derives, the results for all other rules stay the same: the new program is the old one with leaf hyper-nodes added or
removed, and shares all others with it. The conditions are conservative; any other change goes through `analyse`.

Removing leaves only (`without_leaves`) takes microseconds, whatever the size of the program.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from deltalog.core.rules import TRIPLES, TYPES, Pred, Rule
from deltalog.program.aggregates import has_separable
from deltalog.program.binding import directed_rule
from deltalog.program.core_rules import core_rules
from deltalog.program.hyper_nodes import HyperNode
from deltalog.program.program import Program, analyse
from deltalog.program.recognise import copied
from deltalog.program.safety import unsafe
from deltalog.program.value_kinds import Numbers, no_numbers

INTERNAL = frozenset((TRIPLES, TYPES))


def changed(
    old: Program,
    rules: tuple[Rule, ...],
    data: Collection[Pred],
    schemes: str,
    numbers: Numbers = no_numbers,
    same_scope: bool = True,
) -> Program:
    """The Program of new rules, over data of some predicates, sharing the hyper-nodes of an old Program where it can.
    `same_scope`: the scope of the old one covers the numbers of the data. (Values of leaves are in no scope.)"""
    data = frozenset(data)
    leaves = _with_leaves(old, rules, schemes) if same_scope and data <= old.data else None
    return analyse(rules, data, schemes, old.rules, numbers) if leaves is None else leaves


def without_leaves(old: Program, rules: tuple[Rule, ...]) -> tuple[Program, tuple[HyperNode, ...]] | None:
    """The old program with only these of its rules, and the removed hyper-nodes; None if they are not all leaves."""
    left = set(map(id, rules))
    removed = [rule for rule in old.rules if id(rule) not in left]
    if old.has_wildcards or len(removed) + len(rules) != len(old.rules):
        return None
    home = dict(old.home)
    leaves = {id(node): node for rule in removed if (node := home.pop(rule, None)) is not None}
    rest = tuple([node for node in old.hyper_nodes if id(node) not in leaves])
    nodes = tuple(leaves.values())
    evaluated = {directed_rule(rule) for rule in removed}
    if len(rest) + len(nodes) != len(old.hyper_nodes) or evaluated != {rule for node in nodes for rule in node.rules}:
        return None  # a hyper-node is split, or a rule is not evaluated as written
    if not all([_is_leaf(node, rest, old) for node in nodes]):
        return None
    kept = old.scheme_of, old.stored, old.recognised, old.scope
    return Program(rules, (), old.facts, rest, old.data, *kept, home, rules), nodes


def _is_leaf(leaf: HyperNode, rest: Iterable[HyperNode], program: Program) -> bool:
    """Whether no other hyper-node reads or derives the heads of one, and no scheme or note is about them."""
    if not leaf.heads.isdisjoint(INTERNAL) or not leaf.heads.isdisjoint(program.scheme_of):
        return False
    if leaf.recursive and program.recognised:
        return False
    apart = leaf.heads.isdisjoint
    return all([apart(node.reads) and apart(node.heads) for node in rest])


def _with_leaves(old: Program, rules: tuple[Rule, ...], schemes: str) -> Program | None:
    """The old program with leaves added and removed; None if the change is more than that."""
    before, after = set(old.rules), set(rules)
    new = [rule for rule in rules if rule not in before]
    removed = {directed_rule(rule) for rule in old.rules if rule not in after}
    nodes = [node for node in old.hyper_nodes if not removed.issuperset(node.rules)]
    if len(removed) != sum(len(node.rules) for node in old.hyper_nodes) - sum(len(node.rules) for node in nodes):
        return None  # a hyper-node is split, or a rule is not evaluated as written
    if not all(_is_plain(rule, old, schemes) for rule in new):
        return None
    added = [HyperNode.of((directed_rule(rule),), False, 0) for rule in new]
    if old.has_wildcards or not _are_leaves(removed, added, nodes) or _derive(removed, old.scheme_of):
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
    """Whether a rule is safe, and evaluated as written whatever the other rules are."""
    if core_rules(rule) != (rule,) or has_separable(rule.body):
        return False
    copy = copied(rule) if schemes != "standard" else None
    if copy is not None and (schemes == "module" or copy[0] in old.scheme_of):
        return False
    return not any(unsafe(rule))


def _are_leaves(removed: Iterable[Rule], added: Sequence[HyperNode], rest: Iterable[HyperNode]) -> bool:
    """Whether no kept and no added rule reads or derives the heads of the removed and added rules."""
    heads = {head.pred for rule in removed for head in rule.heads}
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
    """Hyper-nodes that only the old or only the new program has."""

    removed: tuple[HyperNode, ...]
    added: tuple[HyperNode, ...]


def changed_leaves(old: Program, new: Program) -> Leaves | None:
    """The leaves in which a new program differs from the old one; None if they differ in more."""
    if new.scheme_of is not old.scheme_of:
        return None
    before, after = set(map(id, old.hyper_nodes)), set(map(id, new.hyper_nodes))
    removed = tuple(node for node in old.hyper_nodes if id(node) not in after)
    added = tuple(node for node in new.hyper_nodes if id(node) not in before)
    rest = (node for node in new.hyper_nodes if id(node) in before)
    rules = {rule for node in removed for rule in node.rules}
    return Leaves(removed, added) if _are_leaves(rules, added, rest) else None


def _depth(leaf: HyperNode, nodes: Iterable[HyperNode]) -> int:
    return max((node.depth + 1 for node in nodes if not node.heads.isdisjoint(leaf.reads)), default=0)
