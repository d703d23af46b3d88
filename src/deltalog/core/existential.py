"""Existential rules: rules whose heads have new values.

    parent(x, y) <- person(x), y = SKOLEM(<deltalog:new#...>, x)

A rule invents y where no value is known for which its heads hold (`deltalog.evaluation.chase`). The name of a new value depends on
the rule and on the values that the heads share with the body, so it is the same in every evaluation. What marks such a
rule is the first argument of SKOLEM; so it can be written as text, and read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from deltalog.core.rules import Atom, Bind, BodyLiteral, Call, Constant, Rule, Variable
from deltalog.core.terms import IRI

NEW = "deltalog:new#"


@dataclass(frozen=True)
class ExistentialRule:
    """heads(x, v) <- body, where the variables `new` have no value in the body. `skolem` is the rule as it is written,
    with names for them."""

    heads: tuple[Atom, ...]
    body: tuple[BodyLiteral, ...]
    names: tuple[Bind, ...]
    skolem: Rule

    @property
    def new(self) -> tuple[Variable, ...]:
        return tuple(bind.variable for bind in self.names)

    @property
    def frontier(self) -> tuple[Variable, ...]:
        """The variables of the heads that have values in the body."""
        return frontier(self.heads, self.new)


def frontier(heads: Sequence[Atom], new: Sequence[Variable]) -> tuple[Variable, ...]:
    """The variables of heads other than new ones."""
    names = dict.fromkeys(t for head in heads for t in head.terms if isinstance(t, Variable))
    return tuple(v for v in names if v not in new)


def with_new_values(rule: Rule, labels: dict[Variable, str]) -> Rule:
    """A rule with names for variables of its heads that have no value; a label says which one of which rule."""
    shared = frontier(rule.heads, tuple(labels))
    calls = {v: Call("skolem", (Constant(IRI(NEW + label)), *shared), rule.span) for v, label in labels.items()}
    return replace(rule, body=(*rule.body, *(Bind(call, v, rule.span) for v, call in calls.items())))


def existential_rules(rules: Iterable[Rule]) -> Iterator[ExistentialRule]:
    """The existential rules among some rules."""
    for rule in rules:
        names = tuple(literal for literal in rule.body if isinstance(literal, Bind) and _is_name(literal))
        if names:
            yield ExistentialRule(rule.heads, tuple(each for each in rule.body if each not in names), names, rule)


def ordinary_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules without new values."""
    new = {each.skolem for each in existential_rules(rules)}
    return tuple(rule for rule in rules if rule not in new) if new else rules


def _is_name(bind: Bind) -> bool:
    match bind.expression:
        case Call("skolem", (Constant(IRI() as label), *_)):
            return label.startswith(NEW)
    return False
