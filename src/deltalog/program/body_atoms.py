"""The atoms of a body: those that may be read while they grow, and those that must be complete first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltalog.core.rules import Aggregate, Atom, BodyLiteral, Disjunction, NegatedBody, Negation

OF_SOMETHING = ("min", "max", "avg", "med")  # aggregates that have no value for nothing


def positive(body: Sequence[BodyLiteral]) -> Iterator[Atom]:
    """The atoms of a body that can be read while they grow."""
    for literal in body:
        if isinstance(literal, Atom):
            yield literal
        elif isinstance(literal, Disjunction):
            yield from (atom for alternative in literal.alternatives for atom in positive(alternative))


def needs_facts(body: Sequence[BodyLiteral]) -> bool:
    """Whether a body holds for nothing as long as there are no facts at all."""
    return any(map(_needs_facts, body))


def _needs_facts(literal: BodyLiteral) -> bool:
    match literal:
        case Atom():
            return True
        case Disjunction(alternatives=alternatives):
            return all(map(needs_facts, alternatives))
        case Aggregate(body=body, on=on, calls=calls, per=per):
            is_empty = bool(on) and not per  # there is no group
            return needs_facts(body) and (is_empty or any(call.function in OF_SOMETHING for call in calls))
    return False


def negative(body: Sequence[BodyLiteral]) -> Iterator[tuple[Atom, BodyLiteral]]:
    """The atoms that must be complete before a body is evaluated, each with its negation or aggregate."""
    for literal in body:
        if isinstance(literal, Negation):
            yield literal.atom, literal
        elif isinstance(literal, Disjunction):
            yield from (found for alternative in literal.alternatives for found in negative(alternative))
        elif isinstance(literal, Aggregate | NegatedBody):
            yield from ((atom, literal) for atom in positive(literal.body))
            yield from ((atom, literal) for atom, _ in negative(literal.body))
