"""Triples back to their predicates.

Rules with a variable in the predicate or class position work on the relations TRIPLE and rdf:type (see
`deltalog.program.triples`). When the fixpoint is reached, what they hold is given to the predicates and classes it
belongs to, so that a user reads every fact in one place: under its own predicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from deltalog.backends.base import Backend
from deltalog.engine.seminaive import Relations
from deltalog.plan import ir
from deltalog.plan.ir import Part
from deltalog.plan.rules import new_facts, project
from deltalog.syntax.ast import TRIPLE, TRIPLES, TYPES, Atom, Constant, Pred, Variable
from deltalog.terms import IRI, Value, lexical

T = TypeVar("T")
X, P, Y = Variable("x"), Variable("p"), Variable("y")


def distribute(relations: Relations[T]) -> Relations[T]:
    """Relations in which the facts of TRIPLE, and of rdf:type with a class that is an IRI, are in their own predicates;
    the same relations where there are no such facts."""
    if not relations.size(TRIPLES) and not relations.size(TYPES):
        return relations
    relations = Relations(relations.backend, dict(relations.parts))
    for value in _values(relations, Atom(TRIPLE, (X, P, Y))):
        # p(x, y) <- [x, p, y]
        _add(relations, Atom(lexical(value), (X, Y)), Atom(TRIPLE, (X, Constant(value), Y)))
    relations.set(TRIPLES, relations.backend.empty(3))
    for value in _values(relations, Atom(TYPES.name, (X, P))):
        if isinstance(value, IRI):
            # c(x) <- rdf:type(x, c)
            moved = _add(relations, Atom(lexical(value), (X,)), Atom(TYPES.name, (X, Constant(value))))
            relations.set(TYPES, relations.backend.minus(relations.get(TYPES), moved))
    return relations


def _values(relations: Relations[T], atom: Atom) -> list[Value]:
    """The distinct values of ?p in an atom."""
    plan = ir.Distinct(ir.Project(ir.Scan(atom), ((P, P),)))
    return relations.backend.values(relations.backend.rows(relations.backend.run(plan, relations.parts))[0])


def _add(relations: Relations[T], head: Atom, body: Atom) -> T:
    """Derives a head from one atom; gives the facts of the atom."""
    backend = relations.backend
    plan = new_facts(head.pred, (project(head, ir.Scan(body)),))
    relations.add(head.pred, backend.pin(backend.run(plan, relations.parts)))
    return backend.run(ir.Distinct(project(body, ir.Scan(body, Part.ALL))), relations.parts)


def distributed(facts: Mapping[Pred, T], backend: Backend[T]) -> dict[Pred, T]:
    """Facts by predicate with triples under their own predicates; none empty."""
    relations = distribute(Relations(backend, {(pred, Part.ALL): table for pred, table in facts.items()}))
    return {pred: table for (pred, _), table in relations.parts.items() if backend.size(table)}
