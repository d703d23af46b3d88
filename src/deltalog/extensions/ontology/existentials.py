"""Existential restrictions to the right of subclass axioms, as far as they imply such restrictions to the left.

    SubClassOf(:ResearchAssistant SomeValuesFrom(:worksFor :ResearchGroup))
    EquivalentClasses(:Employee IntersectionOf(:Person SomeValuesFrom(:worksFor :Organization)))

No rule names the group that a research assistant works for. But if research groups are organizations, then a research
assistant who is a person is an employee: the class `:ResearchAssistant` is another test for `SomeValuesFrom(:worksFor
:Organization)`. The OWL 2 RL/RDF rules find the same by scm-svf1 and scm-svf2. Only what axioms say of names is used:
subclasses and subproperties, equivalent ones, and parts of intersections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import product

from deltalog.core.terms import IRI
from deltalog.extensions.ontology.axioms import (
    Axiom,
    AxiomPart,
    Cardinality,
    ClassExpression,
    ClassName,
    EquivalentClasses,
    EquivalentProperties,
    IntersectionOf,
    Property,
    SomeValuesFrom,
    SubClassOf,
    SubPropertyOf,
)
from deltalog.extensions.ontology.vocabulary import THING

Existential = tuple[str, str]  # the property and the class, as text
_ANYTHING = ClassName(THING)


class Existentials:
    """By existential restriction, the names of classes whose members have it."""

    def __init__(self, axioms: Iterable[Axiom] = (), max_holders: int = 0) -> None:
        self._max_holders = max_holders
        classes, properties = _Hierarchy(), _Hierarchy()
        stated: list[tuple[IRI, Property, ClassExpression]] = []
        mentioned: set[Existential] = set()
        for axiom in axioms:
            mentioned.update([(property.text(), filler.text()) for property, filler in _all_existentials(axiom)])
            for sub, sup in _class_inclusions(axiom):
                if isinstance(sub, ClassName):
                    for part in _conjuncts(sup):
                        classes.put(sub.text(), part.text())
                        stated += [(sub.iri, *found) for found in _existentials(part)]
            for narrow, wide in _property_inclusions(axiom):
                properties.put(narrow.text(), wide.text())
        self._holders: dict[Existential, dict[IRI, None]] = {}
        for name, property, filler in stated:
            parts = [classes.above(part.text()) for part in _conjuncts(filler)]
            above = set[str]().union(*parts, [filler.text(), _ANYTHING.text()])
            for existential in mentioned.intersection(product(properties.above(property.text()), above)):
                self._holders.setdefault(existential, {})[name] = None

    def holders(self, property: Property, filler: ClassExpression) -> list[IRI]:
        """The classes whose members have some value of a class."""
        found = self._holders.get((property.text(), filler.text()), {})
        return list(found) if len(found) <= self._max_holders else []


class _Hierarchy:
    """What is above what, directly or not."""

    def __init__(self) -> None:
        self._direct: dict[str, list[str]] = {}
        self._above: dict[str, frozenset[str]] = {}

    def put(self, below: str, above: str) -> None:
        self._direct.setdefault(below, []).append(above)

    def above(self, start: str) -> frozenset[str]:
        """A name with all above it; not before everything is put."""
        if start not in self._above:
            found, waiting = {start}, [start]
            while waiting:
                new = [each for each in self._direct.get(waiting.pop(), ()) if each not in found]
                found.update(new)
                waiting += new
            self._above[start] = frozenset(found)
        return self._above[start]


def _class_inclusions(axiom: Axiom) -> Iterator[tuple[ClassExpression, ClassExpression]]:
    match axiom:
        case SubClassOf(sub, sup):
            yield sub, sup
        case EquivalentClasses((first, second)):
            yield first, second
            yield second, first


def _property_inclusions(axiom: Axiom) -> Iterator[tuple[Property, Property]]:
    match axiom:
        case SubPropertyOf(sub, sup):
            yield sub, sup
        case EquivalentProperties((first, second)):
            yield first, second
            yield second, first


def _conjuncts(expression: ClassExpression) -> Iterator[ClassExpression]:
    if isinstance(expression, IntersectionOf):
        for operand in expression.operands:
            yield from _conjuncts(operand)
    else:
        yield expression


def _all_existentials(part: object) -> Iterator[tuple[Property, ClassExpression]]:
    """The existential restrictions anywhere in an axiom."""
    if isinstance(part, tuple):
        for each in part:
            yield from _all_existentials(each)
    elif isinstance(part, AxiomPart) and not isinstance(part, ClassName | Property):
        if isinstance(part, SomeValuesFrom | Cardinality):
            yield from _existentials(part)
        for field in fields(part):  # type: ignore[arg-type]
            yield from _all_existentials(getattr(part, field.name))


def _existentials(expression: ClassExpression) -> Iterator[tuple[Property, ClassExpression]]:
    match expression:
        case SomeValuesFrom(property, filler):
            yield property, filler
        case Cardinality("min" | "exact", number, property, filler) if number > 0:
            yield property, filler if filler is not None else _ANYTHING
