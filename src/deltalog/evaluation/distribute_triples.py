"""What users see of triples: every fact under its own predicate, once.

Rules with a variable in the predicate or class position work on the relations TRIPLE and rdf:type (see
`deltalog.program.triple_bridges`). Bridges keep these equal to the relations of the classes and properties that the
program or its data knows; those have a home, and what TRIPLE and rdf:type hold of them are copies. The rest, triples
whose predicate or class appeared during evaluation, is shown under that predicate:

    p(x, y) <- [x, p, y]            c(x) <- rdf:type(x, c)            where p and c have no home

A change of rules or data can give a predicate a home, or take it away, and its facts then move between relations.
`net_change` is therefore defined on what users see, whichever relation a fact is in before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from deltalog.core.rules import TRIPLE, TRIPLES, TYPES, Atom, Constant, HiddenName, Pred, Term, Variable
from deltalog.core.terms import IRI, RDF_TYPE, Value
from deltalog.evaluation.backend import Backend, run
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan, fact_columns
from deltalog.evaluation.plan.variants import new_facts, project
from deltalog.evaluation.seminaive import Relations
from deltalog.program.triple_bridges import is_rdf

T = TypeVar("T")
X, P, Y = Variable("x"), Variable("p"), Variable("y")
WILDCARDS = (TRIPLES, TYPES)
CHANGE = HiddenName("#net change")


# A state.


def shown(relations: Relations[T], homes: frozenset[Pred] = frozenset()) -> Relations[T]:
    """The relations of a state that users see, with the facts of TRIPLE and rdf:type under their own predicates."""
    visible = {key: table for key, table in relations.parts.items() if not key[0].hidden}
    relations = Relations(relations.backend, visible)
    # p(x, y) <- [x, p, y]
    _show(relations, homes, TRIPLES, (X, Y), lambda p: Atom(TRIPLE, (X, p, Y)))
    # c(x) <- rdf:type(x, c)
    _show(relations, homes, TYPES, (X,), lambda c: Atom(TYPES.name, (X, c)))
    return relations


def _show(
    relations: Relations[T], homes: frozenset[Pred], pred: Pred, terms: tuple[Term, ...], body: Callable[[Term], Atom]
) -> None:
    """Shows the facts of TRIPLE, or of rdf:type, under the property or class that each is of. Those of literals, blank
    nodes and relative IRIs, which are no predicates, stay where they are; those that have a home are there."""
    if not relations.size(pred):
        return
    left, plans = relations.backend.empty(pred.arity), dict[Pred, Plan]()
    for value in _values(relations, body(P)):
        atom, head = body(Constant(value)), Atom(str(value), terms)
        if not (isinstance(value, IRI) and is_rdf(head.pred)):
            left = relations.backend.merge(left, _facts(relations, atom))
        elif head.pred not in homes:
            plans[head.pred] = new_facts(head.pred, (project(head, ir.Scan(atom)),))
    for shown, table in (relations.backend.run_all(plans, relations.parts) if plans else {}).items():
        relations.add(shown, table)
    relations.set(pred, left)


def _values(relations: Relations[T], atom: Atom) -> list[Value]:
    """The distinct values of ?p in an atom."""
    plan = ir.Distinct(ir.Project(ir.Scan(atom), ((P, P),)))
    return relations.backend.codec.values(relations.backend.rows(run(relations.backend, plan, relations.parts))[0])


def _facts(relations: Relations[T], atom: Atom) -> T:
    """The facts that match an atom."""
    return run(relations.backend, ir.Distinct(project(atom, ir.Scan(atom))), relations.parts)


def distributed(facts: Mapping[Pred, T], backend: Backend[T]) -> dict[Pred, T]:
    """Facts by predicate with triples under their own predicates; none hidden, none empty."""
    relations = shown(Relations(backend, {(pred, Part.ALL): table for pred, table in facts.items()}))
    return {pred: table for (pred, _), table in relations.parts.items() if backend.size(table)}


# A change.


def net_change(facts: Mapping[Pred, T], other: Relations[T]) -> dict[Pred, T]:
    """Those of the facts that a state does not show: what was added against the state before a change, or what was
    removed against the state after it."""
    backend, found = other.backend, distributed(facts, other.backend)
    if not any(other.size(pred) or pred in facts for pred in WILDCARDS):
        return found
    net = {pred: _unknown_to(other, pred, table) for pred, table in found.items()}
    return {pred: table for pred, table in net.items() if backend.size(table)}


def _unknown_to(other: Relations[T], pred: Pred, table: T) -> T:
    """The facts of a predicate that are in no relation of a state that could show them."""
    terms = fact_columns(pred.arity)
    change = Pred(CHANGE, pred.arity)
    plan: Plan = ir.Scan(Atom(change.name, terms))
    for place in _places(pred):
        if other.size(place.pred):
            plan = ir.AntiJoin(plan, ir.Scan(place))
    parts = {**other.parts, (change, Part.ALL): table}
    return run(other.backend, ir.Project(plan, tuple((v, v) for v in terms)), parts)


def _places(pred: Pred) -> Iterator[Atom]:
    """Where a fact of a predicate may be kept."""
    terms = fact_columns(pred.arity)
    yield Atom(pred.name, terms)
    if pred.arity == 2:
        yield Atom(TRIPLE, (terms[0], Constant(IRI(pred.name)), terms[1]))
    elif pred.arity == 1:
        yield Atom(TYPES.name, (terms[0], Constant(IRI(pred.name))))
        yield Atom(TRIPLE, (terms[0], Constant(RDF_TYPE), Constant(IRI(pred.name))))
