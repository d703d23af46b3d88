"""Aggregates as predicates of their own.

A rule h <- b, AGGREGATE(...) with more than the aggregate in its body becomes

    #aggregate(on..., results...) <- AGGREGATE(...)
    h <- b, #aggregate(on..., results...)

so that the result of an aggregate is a relation like any other: it is computed once, looked up by index, and maintained
group by group. Rules with the same aggregate share the relation. An aggregate inside of another one becomes such a
relation, too, so the body of an aggregate has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from deltalog.core.rules import Aggregate, Atom, BodyLiteral, HiddenName, Rule
from deltalog.program.analysis import Analysis

PREFIX = "#aggregate "


def separate_aggregates(analysis: Analysis) -> Analysis:
    """A pass: every aggregate beside other literals has a relation of its own."""
    return analysis.having(evaluated=tuple(separate(analysis.evaluated)))


def separate(rules: Iterable[Rule]) -> list[Rule]:
    """Rules in which an aggregate stands alone in its body."""
    found: dict[Aggregate, Rule] = {}
    separated = [_without_aggregates(rule, found) for rule in rules]
    return [*separated, *found.values()]


def has_separable(body: Sequence[BodyLiteral]) -> bool:
    """Whether a body has an aggregate beside other literals, or inside of another aggregate."""
    return (len(body) > 1 and _has_aggregate(body)) or nests_aggregates(body)


def nests_aggregates(body: Iterable[BodyLiteral]) -> bool:
    """Whether an aggregate of a body is over another one."""
    return any(_has_aggregate(literal.body) for literal in body if isinstance(literal, Aggregate))


def _has_aggregate(body: Iterable[BodyLiteral]) -> bool:
    return any(isinstance(literal, Aggregate) for literal in body)


def _without_aggregates(rule: Rule, found: dict[Aggregate, Rule]) -> Rule:
    if not has_separable(rule.body):
        return rule
    if len(rule.body) == 1:
        return replace(rule, body=tuple(_flat(literal, found) for literal in rule.body))
    return replace(rule, body=tuple(_atom(literal, found) for literal in rule.body))


def _flat(literal: BodyLiteral, found: dict[Aggregate, Rule]) -> BodyLiteral:
    """An aggregate with relations for those inside of it."""
    if not isinstance(literal, Aggregate):
        return literal
    return replace(literal, body=tuple(_atom(inner, found) for inner in literal.body))


def _atom(literal: BodyLiteral, found: dict[Aggregate, Rule]) -> BodyLiteral:
    if not isinstance(literal, Aggregate):
        return literal
    if literal not in found:
        from deltalog.core.rule_text import print_literal

        terms = tuple(dict.fromkeys((*literal.on, *(call.variable for call in literal.calls))))
        head = Atom(HiddenName(PREFIX + print_literal(literal)), terms, literal.span)
        found[literal] = Rule((head,), (_flat(literal, found),), literal.span)
    return found[literal].heads[0]
