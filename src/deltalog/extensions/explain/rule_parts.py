"""Relations that stand for parts of rules (`deltalog.program.core_rules`), in the words of the rule.

#not(a)         (q(a, ?y), ?y > 1)
#per(a, 0)      AGGREGATE(q(?x, ?y) PER ?x BIND COUNT(?y) AS ?n) with ?x = a, ?n = 0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from deltalog.core.rule_text import print_atom, print_literal, print_predicate, print_term
from deltalog.core.rules import (
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Disjunction,
    Expression,
    Filter,
    NegatedBody,
    Negation,
    PartName,
    Pred,
    Term,
    Variable,
)

TermsOf = Mapping[Variable, Term]


def atom_text(atom: Atom) -> str:
    """An atom in the rule language."""
    name = atom.name
    if not isinstance(name, PartName):
        return print_atom(atom)
    terms = dict(zip(name.columns, atom.terms, strict=True))
    if _is_per(name):
        values = [f"{print_term(v)} = {print_term(t)}" for v, t in terms.items() if v != t]
        return name_text(name) + (f" with {', '.join(values)}" if values else "")
    return _enclosed(tuple(_with_terms(each, terms) for each in name.written))


def predicate_text(pred: Pred) -> str:
    """A predicate, and its arity; or the part of a rule that it stands for."""
    return name_text(pred.name) if isinstance(pred.name, PartName) else f"{print_predicate(pred.name)}/{pred.arity}"


def name_text(name: PartName) -> str:
    """The part of a rule that a relation stands for."""
    return print_literal(name.written[0]) if _is_per(name) else _enclosed(name.written)


def literal_text(literal: BodyLiteral) -> str:
    """A literal of the core language in the rule language."""
    match literal:
        case Atom():
            return atom_text(literal)
        case Negation(atom):
            return f"NOT {atom_text(atom)}"
        case Aggregate(body=body):
            return print_literal(replace(literal, body=tuple(part for each in body for part in _as_written(each))))
    return print_literal(literal)


def per_literals(rule_head: Atom, body: tuple[BodyLiteral, ...]) -> dict[BodyLiteral, BodyLiteral]:
    """The aggregate of a relation for PER, and what the user has written for it."""
    name = rule_head.name
    if not isinstance(name, PartName) or not _is_per(name):
        return {}
    return {literal: name.written[0] for literal in body if isinstance(literal, Aggregate)}


def _is_per(name: PartName) -> bool:
    first = name.written[0]
    return isinstance(first, Aggregate) and first.per and len(name.written) == 1 and len(name.columns) > len(first.on)


def _enclosed(body: tuple[BodyLiteral, ...]) -> str:
    text = ", ".join(map(literal_text, body))
    return text if len(body) == 1 and isinstance(body[0], Disjunction) else f"({text})"


def _as_written(literal: BodyLiteral) -> tuple[BodyLiteral, ...]:
    """A literal of an aggregate, or those that a relation for alternatives stands for."""
    if not isinstance(literal, Atom) or not isinstance(literal.name, PartName) or _is_per(literal.name):
        return (literal,)
    terms = dict(zip(literal.name.columns, literal.terms, strict=True))
    return tuple(_with_terms(each, terms) for each in literal.name.written)


def _with_terms(literal: BodyLiteral, terms: TermsOf) -> BodyLiteral:
    """A literal with terms for variables; results of a BIND and of an aggregate stay variables."""
    match literal:
        case Atom():
            return replace(literal, terms=tuple(_term(term, terms) for term in literal.terms))
        case Negation(atom):
            return replace(literal, atom=replace(atom, terms=tuple(_term(term, terms) for term in atom.terms)))
        case Filter(condition):
            return replace(literal, condition=_expression(condition, terms))
        case Bind(expression):
            return replace(literal, expression=_expression(expression, terms))
        case NegatedBody(body):
            return replace(literal, body=tuple(_with_terms(each, terms) for each in body))
        case Disjunction(alternatives):
            found = (tuple(_with_terms(each, terms) for each in body) for body in alternatives)
            return replace(literal, alternatives=tuple(found))
    return literal


def _term(term: Term, terms: TermsOf) -> Term:
    return terms.get(term, term) if isinstance(term, Variable) else term


def _expression(expression: Expression, terms: TermsOf) -> Expression:
    match expression:
        case Variable():
            return terms.get(expression, expression)
        case Call():
            return replace(expression, arguments=tuple(_expression(each, terms) for each in expression.arguments))
    return expression
