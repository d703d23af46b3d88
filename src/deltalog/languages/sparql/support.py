"""The facts that an answer rests on: the atoms of its goal, or the triples of its pattern, with values.

Every variable of a goal that has a name is a column of its answers. A `_` occurs once, so each atom is looked up on
its own. A SPARQL query leaves variables out: its pattern is solved again, with the values of the row, for the others.
What a group, a path or a filter contributes is no single fact, and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from deltalog.core.rules import TRIPLES, TYPES, Atom, BodyLiteral, Constant, Term, Variable, triple
from deltalog.core.terms import RDF_TYPE, Value
from deltalog.evaluation.goals.goal_evaluator import answer
from deltalog.evaluation.seminaive import Relations
from deltalog.languages.sparql.algebra import (
    BGP,
    BindPattern,
    GraphPattern,
    Grouping,
    GroupPattern,
    JoinPattern,
    LeftJoinPattern,
    MinusPattern,
    Select,
    UnionPattern,
    ValuesPattern,
    hidden,
    in_scope,
    join,
)

SupportingValues = Mapping[str, Value]


def support_of_answer(goal: Sequence[BodyLiteral], row: SupportingValues, facts: Relations[Any]) -> list[Atom]:
    """The facts that an answer of a goal rests on."""
    atoms = [with_values(literal, row) for literal in goal if isinstance(literal, Atom)]
    found = (atom if is_ground(atom) else first_match(atom, facts) for atom in atoms)
    return _distinct(atom for atom in found if atom is not None)


def support_of_solution(
    select: Select, row: SupportingValues, solve: Callable[[Select], SupportingValues | None]
) -> list[Atom]:
    """The triples that a solution of a query rests on, as far as its row and its pattern say; some may not hold, of
    an OPTIONAL or one side of a UNION."""
    pattern = _with_names(_without_groups(select.pattern))
    known = {Variable(name): Constant(value) for name, value in row.items() if Variable(name) in in_scope(pattern)}
    given = ValuesPattern(tuple(known), (tuple(known.values()),))
    solution = solve(Select(join(given, pattern) if known else pattern, None, limit=1))
    return [] if solution is None else _distinct(filter(is_ground, _atoms(pattern, {**solution, **row})))


def first_match(atom: Atom, facts: Relations[Any]) -> Atom | None:
    """A fact that an atom matches."""
    named = replace(atom, terms=tuple(_named(term, i) for i, term in enumerate(atom.terms)))
    found = answer([named], facts)
    for row in found.page(0, 1):
        return with_values(named, dict(zip(found.columns, row, strict=True)))
    return None


def _named(term: Term, place: int) -> Term:
    return Variable(f"value{place}") if isinstance(term, Variable) and term.anonymous else term


def with_values(atom: Atom, row: SupportingValues) -> Atom:
    """An atom with values; one whose predicate or class has become known is of that predicate."""
    terms = tuple(_value(term, row) for term in atom.terms)
    if atom.pred == TRIPLES:
        return triple(terms[0], terms[1], terms[2])
    return triple(terms[0], Constant(RDF_TYPE), terms[1]) if atom.pred == TYPES else replace(atom, terms=terms)


def _value(term: Term, row: SupportingValues) -> Term:
    return Constant(row[term.name]) if isinstance(term, Variable) and term.name in row else term


def is_ground(atom: Atom) -> bool:
    return all(isinstance(term, Constant) for term in atom.terms)


def _distinct(atoms: Iterator[Atom]) -> list[Atom]:
    return list(dict.fromkeys(atoms))


# Patterns.


def _without_groups(pattern: GraphPattern) -> GraphPattern:
    """The pattern whose solutions are grouped; a pattern that groups nothing as it is."""
    inner = pattern
    while isinstance(inner, GroupPattern | BindPattern):
        inner = inner.pattern
    return inner.pattern if isinstance(inner, Grouping) else pattern


def _with_names(tree: Any) -> Any:
    """Blank nodes of a pattern as variables that a solution shows."""
    if isinstance(tree, Variable):
        return Variable(tree.name.replace("#_:", "blank ")) if hidden(tree) else tree
    if isinstance(tree, tuple):
        return tuple(map(_with_names, tree))
    if not is_dataclass(tree) or isinstance(tree, type | Constant):
        return tree
    return replace(tree, **{field.name: _with_names(getattr(tree, field.name)) for field in fields(tree)})


def _atoms(pattern: GraphPattern, row: SupportingValues) -> Iterator[Atom]:
    """The triples of a pattern, with values."""
    match pattern:
        case BGP(triples):
            for subject, predicate, object in triples:
                if path := _predicate(predicate):
                    yield triple(_value(subject, row), _value(path, row), _value(object, row))
        case JoinPattern(left, right) | LeftJoinPattern(left, right):
            yield from _atoms(left, row)
            yield from _atoms(right, row)
        case UnionPattern(sides):
            for side in sides:
                yield from _atoms(side, row)
        case GroupPattern(inner) | BindPattern(inner) | MinusPattern(inner) | Select(inner):
            yield from _atoms(inner, row)


def _predicate(predicate: Any) -> Term | None:
    """A predicate that is no path."""
    if isinstance(predicate, Variable | Constant):
        return predicate
    return Constant(predicate) if isinstance(predicate, str) else None
