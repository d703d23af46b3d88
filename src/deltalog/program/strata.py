"""Strata: what maintenance works on, one after the other.

A stratum is a strongly connected component of predicates, with every rule that derives one of them (one head at a
time): recursive ones, which read a predicate of the stratum, and the others (the programs of recursive and nonrecursive
rules of paper 003). When a stratum's turn comes, all that its rules read besides itself is settled; and no later
stratum derives its predicates, so a fact that it loses is lost. Hyper-nodes (paper 004) are finer: two rules for one
predicate can be in two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deltalog.program.dependency import graph, negative, positive
from deltalog.syntax.ast import Pred, Rule


@dataclass(frozen=True)
class Stratum:
    """Predicates that depend on each other (or one), and the rules with one head each that derive them."""

    preds: frozenset[Pred]
    nonrecursive: tuple[Rule, ...]
    recursive: tuple[Rule, ...]
    reads: frozenset[Pred]  # what the bodies mention

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.nonrecursive + self.recursive


def strata(rules: Sequence[Rule]) -> tuple[Stratum, ...]:
    """The strata of some rules in topological order; predicates that no rule derives are in none."""
    single = list(dict.fromkeys(one for rule in rules for one in single_heads(rule)))
    dependencies = graph(single)
    names = {node: pred for pred, node in dependencies.preds.items()}
    deriving: dict[Pred, list[Rule]] = {}
    for rule in single:
        deriving.setdefault(rule.heads[0].pred, []).append(rule)
    found = []
    for members in reversed(dependencies.members):
        preds = frozenset(names[node] for node in members if node in names)
        own = [rule for pred in sorted(preds) for rule in deriving.get(pred, ())]
        if own:
            found.append(_stratum(preds, own))
    return tuple(found)


def single_heads(rule: Rule) -> tuple[Rule, ...]:
    """A rule as rules with one head each."""
    return (rule,) if len(rule.heads) == 1 else tuple(replace(rule, heads=(head,)) for head in rule.heads)


def _stratum(preds: frozenset[Pred], rules: Sequence[Rule]) -> Stratum:
    recursive = tuple(rule for rule in rules if any(atom.pred in preds for atom in positive(rule.body)))
    rest = tuple(rule for rule in rules if rule not in set(recursive))
    reads = frozenset(
        atom.pred for rule in rules for atom in (*positive(rule.body), *(atom for atom, _ in negative(rule.body)))
    )
    return Stratum(preds, rest, recursive, reads)
