"""Class expressions as parts of rules: tested in bodies, concluded in heads.

`tests` gives the bodies that test whether a term belongs to a class expression: one each for the alternatives of a
union. `conclusions` gives the rules that conclude it from a body. Both give a `Loss` for what rules cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count, product
from math import prod

from deltalog.core.rules import Atom, Bind, BodyLiteral, Call, Constant, Filter, Rule, Term, Variable, variables
from deltalog.core.rules import Expression as Formula
from deltalog.core.terms import IRI, XSD, BlankNode, Value
from deltalog.extensions.ontology.axioms import (
    AllValuesFrom,
    Cardinality,
    ClassExpression,
    ClassName,
    ComplementOf,
    Datatype,
    DatatypeRestriction,
    HasSelf,
    HasValue,
    IntersectionOf,
    OneOf,
    Property,
    Short,
    SomeValuesFrom,
    UnionOf,
)
from deltalog.extensions.ontology.existentials import Existentials
from deltalog.extensions.ontology.profile import EVERYTHING as ALL_INDIVIDUALS
from deltalog.extensions.ontology.profile import PATTERN, TOO_MANY, Loss, inconclusive, untestable
from deltalog.extensions.ontology.vocabulary import EVERYTHING, INCONSISTENT, NOTHING, SAME_AS, THING

_MAX_ALTERNATIVES = 1_000  # rules of an intersection of unions; with more, it is left out


@dataclass(frozen=True, slots=True)
class PartialBody:
    """Literals of a rule body, and variables that a constant has taken the place of."""

    literals: tuple[BodyLiteral, ...] = ()
    fixed: Mapping[Variable, Constant] = field(default_factory=dict)

    def and_(self, *literals: BodyLiteral) -> PartialBody:
        return PartialBody((*self.literals, *literals), self.fixed)

    def joined(self, other: PartialBody) -> PartialBody | None:
        """Both; None if they fix a variable to different values."""
        if not self.literals and not self.fixed:
            return other
        if any(self.fixed.get(variable, value) != value for variable, value in other.fixed.items()):
            return None
        new = tuple(literal for literal in other.literals if literal not in self.literals)
        return PartialBody((*self.literals, *new), {**self.fixed, **other.fixed})


Tests = list[PartialBody | Loss]
Conclusions = list[Rule | Loss]


class Variables:
    """Fresh variables of a rule: ?x, ?y, ?z, ... without those that it has already."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        names = chain("xyzuvw", (f"x{n}" for n in count(1)))
        self._names = (name for name in names if name not in taken)

    def fresh(self) -> Variable:
        return Variable(next(self._names))


@dataclass(frozen=True, slots=True)
class Context:
    """What the expressions of an axiom need to know: names for messages, and which properties have literals."""

    short: Short
    axiom: str  # its text
    data_properties: frozenset[str]
    object_properties: frozenset[str]
    datatypes: Mapping[str, ClassExpression] = field(default_factory=dict)  # definitions
    existentials: Existentials = field(default_factory=Existentials)
    variables: Variables = field(default_factory=Variables)

    def fresh(self) -> Variable:
        return self.variables.fresh()

    def of_new_rule(self, taken: Collection[str] = ()) -> Context:
        """The context with all variables to be used again, except those that are taken."""
        return Context(
            self.short,
            self.axiom,
            self.data_properties,
            self.object_properties,
            self.datatypes,
            self.existentials,
            Variables(taken),
        )

    # Tests.

    def tests(self, expression: ClassExpression, term: Term) -> Tests:
        """The bodies by which a term is a member of a class expression."""
        if self._is_data_range(expression):
            return self._data_tests(expression, term)
        match expression:
            case ClassName(iri):
                if str(iri) in EVERYTHING:
                    return [PartialBody()]
                return [] if iri == NOTHING else [PartialBody((Atom(str(iri), (term,)),))]
            case IntersectionOf(operands):
                return self._all_of([self.tests(operand, term) for operand in operands])
            case UnionOf(operands):
                return [test for operand in operands for test in self.tests(operand, term)]
            case OneOf(values):
                return [body for value in values if (body := _equal(term, value)) is not None]
            case SomeValuesFrom(property, filler):
                return self._some(property, filler, term)
            case Cardinality("min", 1, property, filler):
                return self._some(property, filler, term)
            case HasValue(property, value):
                return [PartialBody((link(property, term, Constant(value)),))]
            case HasSelf(property):
                return [PartialBody((link(property, term, term),))]
            case Cardinality("min", 0):
                return [PartialBody()]
        return [self.loss(expression, untestable)]

    def _some(self, property: Property, filler: ClassExpression | None, term: Term) -> Tests:
        value = self.fresh()
        has = PartialBody((link(property, term, value),))
        found: Tests = self._all_of([[has], self.tests(filler, value)]) if filler is not None else [has]
        holders = self.existentials.holders(property, filler or ClassName(THING))
        return [*found, *(PartialBody((Atom(str(name), (term,)),)) for name in holders)]

    def _all_of(self, parts: list[Tests]) -> Tests:
        """Every combination of alternatives; one with a loss is lost."""
        if prod(map(len, parts)) > _MAX_ALTERNATIVES:
            return [Loss(self.axiom, TOO_MANY)]
        found: Tests = []
        for combination in product(*parts):
            lost = [part for part in combination if isinstance(part, Loss)]
            if lost:
                found.append(lost[0])
                continue
            body: PartialBody | None = PartialBody()
            for part in combination:
                body = body.joined(part) if body is not None and isinstance(part, PartialBody) else None
            if body is not None:
                found.append(body)
        return list({repr(each): each for each in found}.values()) if len(found) > 1 else found

    def _data_tests(self, range: ClassExpression, term: Term) -> Tests:
        condition = self._condition(range, term)
        return [condition if isinstance(condition, Loss) else PartialBody((Filter(condition),))]

    def _condition(self, range: ClassExpression, term: Term) -> Formula | Loss:
        """The condition by which a term is in a data range."""
        match range:
            case Datatype(iri):
                definition = self.datatypes.get(str(iri))
                if definition is not None:
                    return self._condition(definition, term)
                return Call("hasdatatype", (term, Constant(iri)))
            case DatatypeRestriction(datatype, facets):
                conditions = [_facet(facet.removeprefix(XSD), term, value) for facet, value in facets]
                return _connected("&&", [self._condition(datatype, term), *conditions])
            case OneOf(values):
                return _connected("||", [Call("=", (term, Constant(value))) for value in values])
            case IntersectionOf(operands):
                return _connected("&&", [self._condition(operand, term) for operand in operands])
            case UnionOf(operands):
                return _connected("||", [self._condition(operand, term) for operand in operands])
            case ComplementOf(operand):
                condition = self._condition(operand, term)
                return condition if isinstance(condition, Loss) else Call("!", (condition,))
        return self.loss(range, untestable)

    # Conclusions.

    def conclusions(self, expression: ClassExpression, term: Term, body: PartialBody) -> Conclusions:
        """The rules that conclude from a body that a term is a member of a class expression."""
        if self._is_data_range(expression):
            return self._outside_of(expression, term, body)
        match expression:
            case ClassName(iri):
                if str(iri) in EVERYTHING:
                    return []
                return [self.rule(Atom(str(iri), (term,)), body) if iri != NOTHING else self.inconsistent(term, body)]
            case IntersectionOf(operands):
                return [each for operand in operands for each in self.conclusions(operand, term, body)]
            case UnionOf((operand,)):
                return self.conclusions(operand, term, body)
            case AllValuesFrom(property, filler):
                value = self.fresh()
                linked = body.and_(link(property, term, value), *self.individual(value, property, filler))
                return self.conclusions(filler, value, linked)
            case HasValue(property, value) | SomeValuesFrom(property, OneOf((value,))):
                return [self.rule(link(property, term, Constant(value)), body)]
            case HasSelf(property):
                return [self.rule(link(property, term, term), body)]
            case ComplementOf(operand):
                return self.excluded(operand, term, body)
            case Cardinality("max", 0 | 1) | Cardinality("exact", 0):
                return self._at_most(expression, term, body)
            case Cardinality("exact", 1, property, filler):
                at_most = Cardinality("max", 1, property, filler)
                return [self.loss(expression, inconclusive), *self._at_most(at_most, term, body)]
            case Cardinality("min", 0):
                return []
        return [self.loss(expression, inconclusive)]

    def individual(self, value: Variable, property: Property, members: ClassExpression) -> tuple[Filter, ...]:
        """The condition that a value of a property is no literal, where it may be one and a class should have it."""
        surely = property.inverse or str(property.iri) in self.object_properties
        return () if surely or self._is_data_range(members) else (Filter(Call("!", (Call("isliteral", (value,)),))),)

    def excluded(self, expression: ClassExpression, term: Term, body: PartialBody) -> Conclusions:
        """Inconsistent if a term is a member of an expression."""
        tests = self.tests(expression, term)
        return self.each(tests, body, lambda found: [self.inconsistent(term, found)])

    def each(self, tests: Tests, body: PartialBody, conclude: Callable[[PartialBody], Conclusions]) -> Conclusions:
        """What follows from a body and any of some tests."""
        found: Conclusions = []
        for test in tests:
            if isinstance(test, Loss):
                found.append(test)
            elif (both := body.joined(test)) is not None:
                found += conclude(both)
        return found

    def _at_most(self, limit: Cardinality, term: Term, body: PartialBody) -> Conclusions:
        first = self.fresh()
        anything: Tests = [PartialBody()]
        tests = self.tests(limit.filler, first) if limit.filler is not None else anything
        linked = body.and_(link(limit.property, term, first))
        if limit.number == 0:
            return self.each(tests, linked, lambda found: [self.inconsistent(term, found)])
        second = self.fresh()
        others = self.tests(limit.filler, second) if limit.filler is not None else anything
        pairs = self._all_of([tests, others])
        linked = linked.and_(link(limit.property, term, second))
        is_data = limit.filler is not None and self._is_data_range(limit.filler)
        return self.each(pairs, linked, lambda found: self.same(first, second, term, limit.property, found, is_data))

    def same(
        self,
        first: Variable,
        second: Variable,
        owner: Term,
        property: Property,
        body: PartialBody,
        is_data: bool = False,
    ) -> Conclusions:
        """Two values of a property are the same: individuals by owl:sameAs; literals cannot be made the same."""
        differ = Filter(Call("!=", (first, second)))
        name = str(property.iri)
        if property.inverse or name in self.object_properties:
            return [self.rule(Atom(SAME_AS, (first, second)), body.and_(differ))]
        if is_data or name in self.data_properties:
            return [self.inconsistent(owner, body.and_(differ))]
        literals = [Filter(Call("isliteral", (value,))) for value in (first, second)]
        individuals = [Filter(Call("!", (Call("isliteral", (value,)),))) for value in (first, second)]
        return [
            self.rule(Atom(SAME_AS, (first, second)), body.and_(*individuals, differ)),
            self.inconsistent(owner, body.and_(*literals, differ)),
        ]

    def _outside_of(self, range: ClassExpression, term: Term, body: PartialBody) -> Conclusions:
        """Inconsistent if a term is a literal outside of a data range."""
        condition = self._condition(range, term)
        if isinstance(condition, Loss):
            return [condition]
        wrong = body.and_(Filter(Call("isliteral", (term,))), Filter(Call("!", (condition,))))
        return [self.inconsistent(_owner(wrong, term), wrong)]

    def _is_data_range(self, expression: ClassExpression) -> bool:
        match expression:
            case Datatype() | DatatypeRestriction():
                return True
            case OneOf(values):
                return bool(values) and all(map(is_literal, values))
            case IntersectionOf(operands) | UnionOf(operands):
                return bool(operands) and all(map(self._is_data_range, operands))
            case ComplementOf(operand):
                return self._is_data_range(operand)
        return False

    # Rules.

    def rule(self, head: Atom, body: PartialBody) -> Rule | Loss:
        """A rule, if the body gives all variables of its head a value."""
        literals = tuple([_fixed_literal(literal, body.fixed) for literal in body.literals])
        fixed = _fixed_atom(head, body.fixed) if body.fixed else head
        known = {variable for literal in literals if isinstance(literal, Atom) for variable in variables(literal)}
        known |= {literal.variable for literal in literals if isinstance(literal, Bind)}
        needed = {*variables(fixed), *(v for literal in literals for v in variables(literal))}
        if needed - known:
            return Loss(self.axiom, ALL_INDIVIDUALS)
        return Rule((fixed,), literals)

    def inconsistent(self, term: Term, body: PartialBody) -> Rule | Loss:
        """A rule that reports an inconsistency."""
        return self.rule(Atom(INCONSISTENT, (term, Constant(self.axiom))), body)

    def loss(self, expression: ClassExpression, why: Callable[[ClassExpression], str]) -> Loss:
        return Loss(expression.text(self.short), why(expression))


def link(property: Property, subject: Term, object: Term) -> Atom:
    """An atom of a property or its inverse."""
    terms = (object, subject) if property.inverse else (subject, object)
    return Atom(str(property.iri), terms)


def _equal(term: Term, value: Value) -> PartialBody | None:
    if isinstance(term, Variable):
        return PartialBody(fixed={term: Constant(value)})
    return PartialBody() if term == Constant(value) else None


def _owner(body: PartialBody, literal: Term) -> Term:
    """The individual that has a literal: the subject of the last atom that mentions it."""
    atoms = [each for each in body.literals if isinstance(each, Atom) and len(each.terms) == 2]
    return next((atom.terms[0] for atom in reversed(atoms) if literal in atom.terms), literal)


def _fixed_atom(atom: Atom, fixed: Mapping[Variable, Constant]) -> Atom:
    return Atom(atom.name, tuple(fixed.get(t, t) if isinstance(t, Variable) else t for t in atom.terms))


def _fixed_literal(literal: BodyLiteral, fixed: Mapping[Variable, Constant]) -> BodyLiteral:
    if not fixed:
        return literal
    if isinstance(literal, Atom):
        return _fixed_atom(literal, fixed)
    if isinstance(literal, Filter):
        return Filter(_fixed_formula(literal.condition, fixed))
    if isinstance(literal, Bind):
        value, result = _fixed_formula(literal.expression, fixed), fixed.get(literal.variable)
        return Bind(value, literal.variable) if result is None else Filter(Call("=", (result, value)))
    return literal


def _fixed_formula(formula: Formula, fixed: Mapping[Variable, Constant]) -> Formula:
    if isinstance(formula, Variable):
        return fixed.get(formula, formula)
    if isinstance(formula, Call):
        return Call(formula.function, tuple(_fixed_formula(each, fixed) for each in formula.arguments))
    return formula


_FACETS = {"minInclusive": ">=", "maxInclusive": "<=", "minExclusive": ">", "maxExclusive": "<"}
_LENGTHS = {"length": "=", "minLength": ">=", "maxLength": "<="}


def _facet(facet: str, term: Term, value: Value) -> Formula | None:
    """The condition of a facet; None if there is none."""
    if facet in _FACETS:
        return Call(_FACETS[facet], (term, Constant(value)))
    if facet in _LENGTHS:
        return Call(_LENGTHS[facet], (Call("strlen", (term,)), Constant(value)))
    return None


def _connected(connective: str, parts: Iterable[Formula | Loss | None]) -> Formula | Loss:
    """Conditions with `&&` or `||` between them; None is a facet without a condition."""
    whole: Formula | None = None
    for part in parts:
        if part is None:
            return Loss("DatatypeRestriction", PATTERN)
        if isinstance(part, Loss):
            return part
        whole = part if whole is None else Call(connective, (whole, part))
    return whole if whole is not None else Constant(connective == "&&")


def is_literal(value: Value) -> bool:
    return not isinstance(value, IRI | BlankNode)
