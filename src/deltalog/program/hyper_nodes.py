"""Hyper-nodes: the strongly connected components of rules that evaluation takes one after the other (Xu and Curé)."""

from __future__ import annotations

from dataclasses import dataclass

from deltalog.core.rules import Pred, Rule
from deltalog.program.body_atoms import negative


@dataclass(frozen=True)
class HyperNode:
    """Rules that depend on each other (or one rule), evaluated together."""

    rules: tuple[Rule, ...]
    recursive: bool
    depth: int  # the number of hyper-nodes on the longest path to it
    heads: frozenset[Pred]
    reads: frozenset[Pred]  # the predicates in bodies, negated or not
    negated: frozenset[Pred]  # of these, the ones that are negated or in an AGGREGATE

    @classmethod
    def of(cls, rules: tuple[Rule, ...], recursive: bool, depth: int) -> HyperNode:
        return cls(
            rules,
            recursive,
            depth,
            frozenset(head.pred for rule in rules for head in rule.heads),
            frozenset(pred for rule in rules for pred in rule.reads),
            frozenset(atom.pred for rule in rules for atom, _ in negative(rule.body)),
        )
