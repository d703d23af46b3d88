"""Bridges: rules that keep the triple relation and the relations by predicate consistent.

RDF is stored by predicate: `C(x)` for (x, rdf:type, C), `p(x, y)` for (x, p, y). Some rules have a variable in the
place of the predicate or of the class: they read and derive the predicates TRIPLE/3 and RDF_TYPE/2. Only for them, and
only in the directions that they need, these rules are added, for every class C and property p that is known:

    read RDF_TYPE       rdf:type(x, <C>) :- C(x)           derived RDF_TYPE     C(x) :- rdf:type(x, <C>)
    read TRIPLE         [x, <p>, y] :- p(x, y)             derived TRIPLE       p(x, y) :- [x, <p>, y]

If both are in use, rdf:type is one of the properties, and classes go by it. If only TRIPLE is, then
`[x, rdf:type, <C>] :- C(x)` and back.

Being ordinary rules they take part in dependencies: a rule that reads every class depends on every rule that derives
one. Predicates with bare names are no part of RDF, and have no bridges. A triple whose predicate no rule and no data
mentions stays in TRIPLE only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deltalog.core.rules import TRIPLE, TRIPLES, TYPES, Atom, Constant, Pred, Rule, Variable
from deltalog.core.terms import IRI, RDF_TYPE
from deltalog.program.analysis import Analysis
from deltalog.program.body_atoms import positive

_X, _Y = Variable("x"), Variable("y")


def add_bridges(analysis: Analysis) -> Analysis:
    """A pass: the bridges that are not rules of the program already."""
    written = set(analysis.rules)
    found = bridges(analysis.statements, analysis.data)
    return analysis.having(bridges=tuple(rule for rule in found if rule not in written))


def bridges(rules: Sequence[Rule], data: Iterable[Pred] = ()) -> tuple[Rule, ...]:
    """The bridges that rules need, over data of some predicates."""
    data = set(data)
    read = {pred for rule in rules for pred in rule.reads}
    derived = {head.pred for rule in rules for head in rule.heads if rule.body}
    stated = {head.pred for rule in rules for head in rule.heads if not rule.body} | data
    if not {TRIPLES, TYPES} & (read | derived):
        return ()
    known = {pred for pred in read | derived | stated if is_rdf(pred)}
    classes = sorted(pred.name for pred in known if pred.arity == 1)
    properties = sorted(pred.name for pred in known if pred.arity == 2 and pred != TYPES)
    by_type = TYPES in known
    result: list[Rule] = []
    if TRIPLES in read:
        result += [_rule(_triple(name), Atom(name, (_X, _Y))) for name in properties]
        result += _to_triples(classes, by_type)
    if TRIPLES in derived | data:
        result += [_rule(Atom(name, (_X, _Y)), _triple(name)) for name in properties]
        result += _from_triples(classes, by_type)
    if TYPES in read or (by_type and TRIPLES in read):
        result += [_rule(_type(name), Atom(name, (_X,))) for name in classes]
    if TYPES in derived or (by_type and TRIPLES in derived | data):
        result += [_rule(Atom(name, (_X,)), _type(name)) for name in classes]
    return tuple(result)


def bridged(bridges: Iterable[Rule]) -> frozenset[Pred]:
    """The classes and properties with bridges: their facts in TRIPLE and rdf:type are copies of their own."""
    found: set[Pred] = set()
    for rule in bridges:
        pair = {rule.heads[0].pred, *(atom.pred for atom in positive(rule.body))}
        found |= pair - {TRIPLES} if TRIPLES in pair else pair - {TYPES}
    return frozenset(found)


def is_rdf(pred: Pred) -> bool:
    """Whether a predicate is a class or a property of RDF: its name is an absolute IRI."""
    return ":" in pred.name and not pred.hidden


def _to_triples(classes: Sequence[str], by_type: bool) -> list[Rule]:
    if by_type:
        return [_rule(_triple(TYPES.name), Atom(TYPES.name, (_X, _Y)))]
    return [_rule(_type_triple(name), Atom(name, (_X,))) for name in classes]


def _from_triples(classes: Sequence[str], by_type: bool) -> list[Rule]:
    if by_type:
        return [_rule(Atom(TYPES.name, (_X, _Y)), _triple(TYPES.name))]
    return [_rule(Atom(name, (_X,)), _type_triple(name)) for name in classes]


def _rule(head: Atom, body: Atom) -> Rule:
    return Rule((head,), (body,))


def _triple(name: str) -> Atom:
    return Atom(TRIPLE, (_X, Constant(IRI(name)), _Y))


def _type_triple(name: str) -> Atom:
    return Atom(TRIPLE, (_X, Constant(RDF_TYPE), Constant(IRI(name))))


def _type(name: str) -> Atom:
    return Atom(TYPES.name, (_X, Constant(IRI(name))))
