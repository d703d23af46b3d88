"""Expressions as arguments of atoms.

The arguments of atoms are variables and constants everywhere else. Where a rule has an expression, it gets a variable:

    p(?x, ?y + 1) :- q(?x, f(?y)) .     p(?x, ?_1) :- q(?x, ?_2), BIND(f(?y) AS ?_2), BIND(?y + 1 AS ?_1) .
    p(?a) :- q([?a, ?b]) .              p(?a) :- q(?_1), ?_1 = [?a, ?b] .

An expression in a negated atom is computed outside of it if its variables are there as well, else inside of a NOT over
both: `NOT q([?a, _])` is `NOT (q(?_1), ?_1 = [?a, _])`. All names of new variables differ from those of the rule, so
what is printed is what is evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from deltalog.core.rules import (
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Disjunction,
    Filter,
    NegatedBody,
    Negation,
    Rule,
    Term,
    Variable,
    variables,
)


def flattened(rule: Rule) -> Rule:
    """A rule whose atoms have variables and constants for arguments; itself if that is so already."""
    if not (any(map(_computes, rule.heads)) or any(map(_needs_flattening, rule.body))):
        return rule
    flatten = _Flattening([v for head in rule.heads for v in _all_variables(head)], rule.body)
    pairs = [flatten.atom(head, patterns=False) for head in rule.heads]
    computed = tuple(literal for _, literals in pairs for literal in literals)
    return replace(rule, heads=tuple(head for head, _ in pairs), body=(*flatten.body(rule.body), *computed))


def flattened_body(body: tuple[BodyLiteral, ...]) -> tuple[BodyLiteral, ...]:
    """The same for the literals of a goal; new variables are no columns of its answers."""
    return _Flattening([], body, "_#").body(body) if any(map(_needs_flattening, body)) else body


def _computes(atom: Atom) -> bool:
    return any(isinstance(term, Call) for term in atom.terms)


def _needs_flattening(literal: BodyLiteral) -> bool:
    match literal:
        case Atom():
            return _computes(literal)
        case Negation(atom):
            return _computes(atom)
        case Aggregate(body) | NegatedBody(body):
            return any(map(_needs_flattening, body))
        case Disjunction(alternatives):
            return any(_needs_flattening(inner) for body in alternatives for inner in body)
        case _:
            return False


class _Flattening:
    """The flattening of one rule: new variables, and how often the written ones occur."""

    def __init__(self, head: Sequence[Variable], body: Sequence[BodyLiteral], prefix: str = "_") -> None:
        self.occurrences = Counter([*head, *(v for literal in body for v in _all_variables(literal))])
        self._names = (name for i in count(1) if Variable(name := f"{prefix}{i}") not in self.occurrences)

    def body(self, body: Sequence[BodyLiteral]) -> tuple[BodyLiteral, ...]:
        return tuple(literal for one in body for literal in self._literal(one))

    def _literal(self, literal: BodyLiteral) -> tuple[BodyLiteral, ...]:
        match literal:
            case Atom():
                atom, computed = self.atom(literal, patterns=True)
                return (atom, *computed)
            case Negation(atom):
                return self._negation(literal, atom)
            case Aggregate(body) | NegatedBody(body):
                return (replace(literal, body=self.body(body)),)
            case Disjunction(alternatives):
                return (replace(literal, alternatives=tuple(map(self.body, alternatives))),)
            case _:
                return (literal,)

    def _negation(self, literal: Negation, atom: Atom) -> tuple[BodyLiteral, ...]:
        here = Counter(_all_variables(atom))
        calls = (term for term in atom.terms if isinstance(term, Call))
        if all(self.occurrences[v] > here[v] for call in calls for v in variables(call)):
            flat, computed = self.atom(atom, patterns=False)
            return (*computed, replace(literal, atom=flat))
        flat, computed = self.atom(atom, patterns=True)
        return (NegatedBody((flat, *computed), literal.span),)

    def atom(self, atom: Atom, patterns: bool) -> tuple[Atom, tuple[BodyLiteral, ...]]:
        """An atom without expressions, and the literals that compute them; with `patterns`, a tuple is an equality,
        which may also give values to its elements."""
        terms: list[Term] = []
        computed: list[BodyLiteral] = []
        for term in atom.terms:
            if isinstance(term, Call):
                variable = Variable(next(self._names), term.span)
                pattern = patterns and term.function == "tuple"
                equal = Filter(Call("=", (variable, term), term.span), term.span)
                computed.append(equal if pattern else Bind(term, variable, term.span))
                term = variable
            terms.append(term)
        return replace(atom, terms=tuple(terms)), tuple(computed)


def _all_variables(literal: BodyLiteral) -> Iterator[Variable]:
    """Every occurrence of a variable in a literal, those in arguments of atoms and inside of aggregates included."""
    match literal:
        case Atom(terms=terms):
            yield from (variable for term in terms for variable in variables(term))
        case Negation(atom):
            yield from _all_variables(atom)
        case NegatedBody(body) | Aggregate(body):
            yield from (variable for inner in body for variable in _all_variables(inner))
            if isinstance(literal, Aggregate):
                yield from (v for call in literal.calls for v in variables(call.argument))
                yield from variables(literal)
        case Disjunction(alternatives):
            yield from (v for body in alternatives for inner in body for v in _all_variables(inner))
        case _:
            yield from variables(literal)
