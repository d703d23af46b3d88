"""Strata: the strongly connected components of predicates that maintenance takes one after the other.

A stratum has every rule that derives one of its predicates (one head at a time): recursive rules, which read a
predicate of the stratum, and nonrecursive ones (Hu et al.). When a stratum is maintained, everything else that its
rules read is final; and no later stratum derives its predicates, so a fact that it deletes stays deleted. Hyper-nodes
(Xu and Curé) are finer: two rules for one predicate can be in two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deltalog.core.rules import Pred, Rule
from deltalog.program.body_atoms import positive


@dataclass(frozen=True)
class Stratum:
    """Predicates that depend on each other (or one), and the rules with one head each that derive them."""

    preds: frozenset[Pred]
    nonrecursive: tuple[Rule, ...]
    recursive: tuple[Rule, ...]
    reads: frozenset[Pred]  # the predicates in bodies, negated or not

    @classmethod
    def of(cls, preds: frozenset[Pred], rules: Sequence[Rule]) -> Stratum:
        recursive = tuple(rule for rule in rules if any(atom.pred in preds for atom in positive(rule.body)))
        nonrecursive = tuple(rule for rule in rules if rule not in set(recursive))
        return cls(preds, nonrecursive, recursive, frozenset(pred for rule in rules for pred in rule.reads))

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.nonrecursive + self.recursive


def single_heads(rule: Rule) -> tuple[Rule, ...]:
    """A rule as rules with one head each."""
    return (rule,) if len(rule.heads) == 1 else tuple(replace(rule, heads=(head,)) for head in rule.heads)
