"""Rules of SWRL inside of ontologies.

Atoms of classes and properties are tested and concluded like class expressions. Built-ins are conditions, or compute
their first argument; those without a counterpart among our functions are refused by name.
"""

from __future__ import annotations

from typing import Any

from deltalog.core.rules import (
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Term,
    Variable,
    variables,
)
from deltalog.core.terms import IRI, BlankNode, Value
from deltalog.extensions.ontology.axioms import SwrlRule
from deltalog.extensions.ontology.compile_expressions import Conclusions, Context, PartialBody, link
from deltalog.extensions.ontology.graph import RdfGraph
from deltalog.extensions.ontology.profile import Loss
from deltalog.extensions.ontology.read_expressions import Expressions, NotAnExpression
from deltalog.extensions.ontology.vocabulary import DIFFERENT_FROM, SAME_AS, SWRL, SWRLB
from deltalog.functions import registry
from deltalog.functions.function import SWRL as LANGUAGE
from deltalog.functions.function import Function, Sort

_FUNCTIONS = registry.named(LANGUAGE)
_SIGN = "unaryMinus"
_IGNORING_CASE = {"stringEqualIgnoreCase": "=", "containsIgnoreCase": "contains"}


class CannotExpress(Exception):
    """A rule that has no counterpart; the message says why."""


def compile_swrl(axiom: SwrlRule, graph: RdfGraph, expressions: Expressions, context: Context) -> Conclusions:
    """The rules of a rule of SWRL: one each for the atoms of its head, and for alternatives in its body."""
    try:
        return _Reader(graph, expressions, context).rules(axiom.node)
    except (CannotExpress, NotAnExpression) as problem:
        return [Loss(context.axiom, f"{problem}; the rule is left out")]


class _Reader:
    def __init__(self, graph: RdfGraph, expressions: Expressions, context: Context) -> None:
        self._graph, self._expressions = graph, expressions
        self._names: dict[Value, Variable] = {}
        for node in graph.of_type(SWRL + "Variable"):
            self._names.setdefault(node, Variable(self._variable_name(node)))
        self._context = context.of_new_rule({variable.name for variable in self._names.values()})

    def rules(self, node: Value) -> Conclusions:
        body, head = (self._atoms(node, name) for name in ("body", "head"))
        if not head:
            raise CannotExpress("the rule has no head")
        bodies: list[PartialBody | Loss] = [PartialBody()]
        for atom in sorted(body, key=lambda atom: self._graph.is_a(atom, SWRL + "BuiltinAtom")):
            tests = self._tests(atom)
            bodies = [both for each in bodies if isinstance(each, PartialBody) for both in self._joined(each, tests)]
        self._check_built_ins(bodies)
        return self._context.each(
            bodies, PartialBody(), lambda found: [r for a in head for r in self._concluded(a, found)]
        )

    def _joined(self, body: PartialBody, tests: list[PartialBody | Loss]) -> list[PartialBody | Loss]:
        found: list[PartialBody | Loss] = []
        for test in tests:
            both = test if isinstance(test, Loss) else body.joined(test)
            found += [both] if both is not None else []
        return found

    def _check_built_ins(self, bodies: list[PartialBody | Loss]) -> None:
        """A variable of a condition needs a value."""
        for body in bodies:
            if isinstance(body, Loss):
                raise CannotExpress(str(body))
            known = {v for each in body.literals if isinstance(each, Atom) for v in variables(each)} | set(body.fixed)
            known |= {each.variable for each in body.literals if isinstance(each, Bind)}
            for literal in body.literals:
                if missing := [v.name for v in variables(literal) if v not in known]:
                    raise CannotExpress(f"nothing gives ?{missing[0]} a value")

    def _atoms(self, node: Value, part: str) -> tuple[Value, ...]:
        found = self._graph.object(node, SWRL + part)
        return self._expressions.items(found) if found is not None else ()

    def _term(self, atom: Value, argument: str) -> Term:
        found = self._graph.object(atom, SWRL + argument)
        if found is None:
            raise CannotExpress(f"an atom has no swrl:{argument}")
        return self._as_term(found)

    def _as_term(self, value: Value) -> Term:
        return self._names.get(value) or Constant(value)

    def _variable_name(self, value: Value) -> str:
        assert isinstance(value, IRI | BlankNode)
        local = "".join(c if c.isalnum() or c == "_" else "_" for c in str(value).rpartition("#")[2].rpartition("/")[2])
        used = {variable.name for variable in self._names.values()}
        name = local.rpartition("_")[2] if isinstance(value, BlankNode) else local
        name = f"swrl_{name}" if not name or name in used else name
        return name if name not in used else f"{name}_{len(used)}"

    def _tests(self, atom: Value) -> list[PartialBody | Loss]:
        graph, context = self._graph, self._context
        if graph.is_a(atom, SWRL + "ClassAtom"):
            return context.tests(self._class(atom, "classPredicate"), self._term(atom, "argument1"))
        if graph.is_a(atom, SWRL + "DataRangeAtom"):
            return context.tests(self._class(atom, "dataRange"), self._term(atom, "argument1"))
        if graph.is_a(atom, SWRL + "BuiltinAtom"):
            return [PartialBody((self._built_in(atom),))]
        return [PartialBody((self._link(atom),))]

    def _concluded(self, atom: Value, body: PartialBody) -> Conclusions:
        if self._graph.is_a(atom, SWRL + "ClassAtom"):
            expression = self._class(atom, "classPredicate")
            return self._context.conclusions(expression, self._term(atom, "argument1"), body)
        if self._graph.is_a(atom, SWRL + "BuiltinAtom", SWRL + "DataRangeAtom"):
            raise CannotExpress("a built-in or a data range cannot be the conclusion of a rule")
        return [self._context.rule(self._link(atom), body)]

    def _class(self, atom: Value, name: str) -> Any:
        found = self._graph.object(atom, SWRL + name)
        if found is None:
            raise CannotExpress(f"an atom has no swrl:{name}")
        return self._expressions.expression(found)

    def _link(self, atom: Value) -> Atom:
        """An atom of a property, or of sameAs and differentFrom."""
        terms = self._term(atom, "argument1"), self._term(atom, "argument2")
        if self._graph.is_a(atom, SWRL + "SameIndividualAtom"):
            return Atom(SAME_AS, terms)
        if self._graph.is_a(atom, SWRL + "DifferentIndividualsAtom"):
            return Atom(DIFFERENT_FROM, terms)
        property = self._graph.object(atom, SWRL + "propertyPredicate")
        if property is None:
            raise CannotExpress("unsupported SWRL atom")
        return link(self._expressions.property(property), *terms)

    def _built_in(self, atom: Value) -> BodyLiteral:
        name, listed = self._graph.object(atom, SWRL + "builtin"), self._graph.object(atom, SWRL + "arguments")
        if not isinstance(name, IRI) or listed is None:
            raise CannotExpress("a built-in has no name or no arguments")
        return built_in(str(name), [self._as_term(value) for value in self._expressions.items(listed)])


def built_in(name: str, terms: list[Term]) -> BodyLiteral:
    """The condition or computation that a built-in is."""
    local = name.removeprefix(SWRLB)
    if local in _IGNORING_CASE and len(terms) == 2:
        return Filter(Call(_IGNORING_CASE[local], tuple(Call("lcase", (term,)) for term in terms)))
    if local == _SIGN and len(terms) == 2:
        return _computed(terms[0], Call("-", (terms[1],)))
    found = _called(_FUNCTIONS[local], terms) if local in _FUNCTIONS else None
    if found is None:
        known = sorted([*_FUNCTIONS, *_IGNORING_CASE, _SIGN])
        shown = f"swrlb:{local}" if name.startswith(SWRLB) else f"<{name}>"
        raise CannotExpress(
            f"the built-in {shown} of {len(terms)} arguments is not supported (of swrlb: {', '.join(known)})"
        )
    return found


def _called(function: Function, terms: list[Term]) -> BodyLiteral | None:
    """A comparison of two terms, or a function of all but the first, which is the result; one of two arguments is
    applied from left to right."""
    has_two = function.least == function.most == 2
    if has_two and function.gives is Sort.TRUTH:
        return Filter(Call(function.name, tuple(terms))) if len(terms) == 2 else None
    if has_two and len(terms) > 2:
        value: Expression = terms[1]
        for term in terms[2:]:
            value = Call(function.name, (value, term))
        return _computed(terms[0], value)
    is_call = function.least <= len(terms) - 1 <= function.most
    return _computed(terms[0], Call(function.name, tuple(terms[1:]))) if is_call else None


def _computed(result: Term, value: Expression) -> BodyLiteral:
    return Bind(value, result) if isinstance(result, Variable) else Filter(Call("=", (result, value)))
