"""Classes that may have lost what made their individuals equal.

Facts about representatives cannot tell: with p(a, b) and p(a, c) under a functional p, both are one fact once b and c
are equal, and nothing shows that one of them is gone. So everything is found that a removed fact had a part in, without
looking for other derivations: a class whose link is among it is suspect, and then so is every fact about the class.
That is overdeletion, and it is rules, over the state before the change:

    #gone h <- #gone b1, b2, ...         for every rule h <- b1, b2, ... on which links depend, and for each bi
    #suspect(x) <- #gone #link(x, y)     and the same for owl:sameAs and hubs, where x has equals
    #gone p(x, y) <- p(x, y), #suspect(x)

Two classes that are equal because of each other are both found. Suspect classes are taken apart, and what still makes
them equal is found again. If no rule for a link depends on what was removed, there are none, and nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from deltalog.core.arrays import Ids
from deltalog.core.concurrency.cached import cached_property
from deltalog.core.equality_classes import NO_IDS, EqualityClasses
from deltalog.core.rules import Aggregate, Atom, HiddenName, Negation, Pred, Rule
from deltalog.evaluation.equality.recognise import SAME_AS
from deltalog.evaluation.equality.rewrite import CLUSTERED, LINK, NAMES, EqualityRewriting
from deltalog.evaluation.maintenance.materialisation import Evaluator
from deltalog.evaluation.plan.ir import fact_columns
from deltalog.evaluation.seminaive import Relations
from deltalog.program import analyse

T = TypeVar("T")
SUSPECT = Pred(HiddenName("#suspect"), 1)


@dataclass(frozen=True)
class Removal(Generic[T]):
    """What a change removes from a state over representatives, and what it changes at all."""

    rules: frozenset[Rule]
    facts: Mapping[Pred, T]  # with representatives
    changed: frozenset[Pred]  # predicates whose explicit facts or rules change in any way

    @property
    def preds(self) -> frozenset[Pred]:
        """The predicates that lose explicit facts or rules."""
        return frozenset(self.facts) | {rule.heads[0].pred for rule in self.rules}


@dataclass(frozen=True)
class Suspicion:
    """The rules and relations on which links depend, for as long as the rules stay the same."""

    rewriting: EqualityRewriting
    rules: tuple[Rule, ...]  # all rules of the state

    @cached_property
    def relevant(self) -> frozenset[Pred]:
        """The relations that links depend on."""
        return self._upstream(self.rewriting.equating)

    @cached_property
    def denied(self) -> frozenset[Pred]:
        """The relations that links depend on through negation or aggregates."""
        rules = (rule for rule in self.rules if rule.heads[0].pred in self.relevant)
        return self._upstream(frozenset(pred for rule in rules for pred in _nonmonotonic(rule)) - {CLUSTERED})

    @cached_property
    def overdeletion(self) -> tuple[Rule, ...]:
        """The rules above."""
        return tuple(self._overdeletion())

    def suspects(self, classes: EqualityClasses, state: Relations[T], removal: Removal[T], by: Evaluator[T]) -> Ids:
        """The representatives of suspect classes."""
        if not removal.changed.isdisjoint(self.denied):
            return classes.heads
        if removal.preds.isdisjoint(self.relevant):
            return NO_IDS
        removed = tuple(rule for rule in removal.rules if rule.heads[0].pred in self.relevant)
        rules = [*self.overdeletion, *(Rule((_gone_atom(rule.heads[0]),), rule.body) for rule in removed)]
        found = Relations(state.backend, dict(state.parts))
        for pred, table in removal.facts.items():
            if pred in self.relevant:
                found.set(_gone(pred), table)
        by.run(analyse(rules, {pred for pred, _ in found.whole()}), found)
        ids: Ids = np.sort(found.backend.rows(found.get(SUSPECT))[0])
        return ids

    def _upstream(self, preds: Collection[Pred]) -> frozenset[Pred]:
        """Predicates, and those that they depend on."""
        found, waiting = set(preds), list(preds)
        by_head: dict[Pred, list[Rule]] = {}
        for rule in self.rules:
            by_head.setdefault(rule.heads[0].pred, []).append(rule)
        while waiting:
            for rule in by_head.get(waiting.pop(), ()):
                new = rule.reads - found
                found |= new
                waiting += new
        return frozenset(found)

    def _overdeletion(self) -> Iterator[Rule]:
        for rule in self.rules:
            head = rule.heads[0]
            if head.pred not in self.relevant:
                continue
            for i, literal in enumerate(rule.body):
                if isinstance(literal, Atom):
                    yield Rule((_gone_atom(head),), (_gone_atom(literal), *rule.body[:i], *rule.body[i + 1 :]))
        for pred in (SAME_AS, LINK):
            yield from _suspected(pred, (0, 1))
        for hub in self.rewriting.hubs:
            for pred in dict.fromkeys((hub.left, hub.right)):
                yield from _suspected(pred, (pred.arity - 1,))
        for pred in sorted(self.relevant | {NAMES}):
            yield from _facts_of_suspects(pred, self.rewriting.columns.get(pred, ()))


def _nonmonotonic(rule: Rule) -> Iterator[Pred]:
    for literal in rule.body:
        if isinstance(literal, Negation):
            yield literal.atom.pred
        elif isinstance(literal, Aggregate):
            yield from Rule(rule.heads, literal.body).reads


def _gone(pred: Pred) -> Pred:
    kind = "#gone hidden " if pred.hidden else "#gone "
    return Pred(HiddenName(kind + pred.name), pred.arity)


def _gone_atom(atom: Atom) -> Atom:
    return Atom(_gone(atom.pred).name, atom.terms)


def _suspected(pred: Pred, columns: Iterable[int]) -> Iterator[Rule]:
    atom = Atom(_gone(pred).name, fact_columns(pred.arity))
    for column in columns:
        x = (atom.terms[column],)
        yield Rule((Atom(SUSPECT.name, x),), (atom, Atom(CLUSTERED.name, x)))


def _facts_of_suspects(pred: Pred, columns: Iterable[bool]) -> Iterator[Rule]:
    atom = Atom(pred.name, fact_columns(pred.arity))
    for term, is_representative in zip(atom.terms, columns, strict=False):
        if is_representative:
            yield Rule((_gone_atom(atom),), (Atom(SUSPECT.name, (term,)), atom))
