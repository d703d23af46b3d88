"""Rules seen from a change: which instances it touches, and which facts can still be derived.

    affected     one variant for each literal that a change can touch: an atom reads the change (as DELTA), everything
                 else the state; for a negated atom, the change is joined to the body, and the negation stays
    checked      the rule with one more atom in its body that holds facts in question: it derives those of them that
                 it can (the backward evaluation of DRed, a set at a time)
    supports     the rule with such an atom, and with a body atom for a head: what instances that derive facts in
                 question stand on
    grouped      for a rule that is one aggregate: the rules that find the groups a change touches, and the rule
                 restricted to some groups

An aggregate is checked, too, only in the groups of the facts in question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from deltalog.plan.ir import Part
from deltalog.plan.rules import Variant
from deltalog.syntax.ast import Aggregate, Atom, Literal, Negation, Pred, Rule, Term, Variable, variables


@dataclass(frozen=True, slots=True)
class Affected:
    """A variant that reads the change of a predicate: of what was removed, or (negated) of what was added."""

    pred: Pred
    negated: bool
    variant: Variant


def affected(rule: Rule) -> Iterator[Affected]:
    """The variants of a rule without aggregates, one per literal."""
    for i, literal in enumerate(rule.body):
        if isinstance(literal, Atom):
            yield Affected(literal.pred, False, Variant(rule, ((i, Part.DELTA),)))
        elif isinstance(literal, Negation):
            body = (*rule.body, _apart(literal.atom, rule, i))
            yield Affected(literal.atom.pred, True, Variant(replace(rule, body=body), ((len(body) - 1, Part.DELTA),)))


def _apart(atom: Atom, rule: Rule, place: int) -> Atom:
    """A negated atom as a positive one: variables that occur only in it get other names, as they are existential."""
    bound = {
        v
        for i, other in enumerate(rule.body)
        if i != place and not isinstance(other, Negation)
        for v in variables(other)
    }
    return replace(atom, terms=tuple(_renamed(t, "#only ") if t not in bound else t for t in atom.terms))


def _renamed(term: Term, prefix: str) -> Term:
    return Variable(prefix + term.name) if isinstance(term, Variable) else term


def candidates(pred: Pred) -> Pred:
    """The name under which facts in question are read."""
    return Pred(f"#candidates {pred.name}", pred.arity)


def checked(rule: Rule) -> Variant:
    """The rule, for the facts in question only; they are read as DELTA, and inside of aggregates as ALL."""
    head = rule.heads[0]
    name = candidates(head.pred).name
    body = tuple(_within(literal, head, name) for literal in rule.body)
    return Variant(replace(rule, body=(*body, Atom(name, head.terms))), ((len(body), Part.DELTA),))


def supports(rule: Rule, preds: Collection[Pred]) -> Iterator[Variant]:
    """For each body atom of these predicates: the rule that finds the facts it stands for in instances that derive the
    facts in question."""
    question = checked(rule)
    for literal in rule.body:
        if isinstance(literal, Atom) and literal.pred in preds:
            yield replace(question, rule=replace(question.rule, heads=(literal,)))


def _within(literal: Literal, head: Atom, name: str) -> Literal:
    """An aggregate over the groups of the facts in question only."""
    if not isinstance(literal, Aggregate) or not any(v in head.terms for v in literal.on):
        return literal
    on = set(literal.on)
    terms = tuple(t if not isinstance(t, Variable) or t in on else _renamed(t, "#other ") for t in head.terms)
    return replace(literal, body=(*literal.body, Atom(name, terms)))


GROUPS = "#groups"


def is_aggregate(rule: Rule) -> bool:
    return len(rule.body) == 1 and isinstance(rule.body[0], Aggregate)


def grouped(rule: Rule) -> tuple[Rule, Rule]:
    """For h <- AGGREGATE(b ON g ...): the rule #groups(g) <- b, and the rule h over the groups of #groups only."""
    literal = rule.body[0]
    assert isinstance(literal, Aggregate)
    groups = Atom(GROUPS, literal.on)
    if not literal.on:
        return Rule((groups,), literal.body), rule
    return Rule((groups,), literal.body), replace(rule, body=(replace(literal, body=(*literal.body, groups)),))
