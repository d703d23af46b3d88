"""The predicates of a program, as far as rules that follow them are concerned: those of equality, above all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deltalog.core.rules import TRIPLES, TYPES, Pred, Rule


@dataclass(frozen=True)
class KnownPredicates:
    """The predicates of facts, of the heads of rules, and of their bodies."""

    facts: frozenset[Pred] = frozenset()
    heads: frozenset[Pred] = frozenset()
    reads: frozenset[Pred] = frozenset()

    @property
    def all(self) -> frozenset[Pred]:
        return self.facts | self.heads | self.reads

    def and_rules(self, rules: Iterable[Rule]) -> KnownPredicates:
        """With the predicates of more rules; facts may be among them."""
        rules = tuple(rules)
        heads = self.heads.union(head.pred for rule in rules for head in rule.heads)
        return KnownPredicates(self.facts, heads, self.reads.union(*(rule.reads for rule in rules)))

    def and_facts(self, preds: Iterable[Pred]) -> KnownPredicates:
        return KnownPredicates(self.facts.union(preds), self.heads, self.reads)

    def may_have(self, pred: Pred) -> bool:
        """Whether there may be facts of a class or a property: a rule may derive it by a variable in its place."""
        wildcards = {TRIPLES, TYPES} if pred.arity == 1 else {TRIPLES}
        return pred in self.facts or pred in self.heads or not wildcards.isdisjoint(self.heads)
