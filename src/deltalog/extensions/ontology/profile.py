"""What OWL 2 RL cannot say, and what is lost where an ontology says it.

A rule can test class expressions to the left of a subclass axiom, and conclude those to the right. Some expressions can
be tested only, some can be concluded only; the tables below have a reason for each that cannot.

Four things outside of the profile lose nothing as rules, and are compiled: HasSelf, datatypes with facets, "at least
one" to the left, and someValuesFrom of a single individual to the right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deltalog.extensions.ontology.axioms import (
    AllValuesFrom,
    Cardinality,
    ClassExpression,
    ComplementOf,
    OneOf,
    SomeValuesFrom,
    UnionOf,
)


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of an axiom that no rule stands for, and why."""

    part: str
    why: str

    def __str__(self) -> str:
        return f"{self.part}: {self.why}"


_TESTS: dict[type[Any], str] = {
    AllValuesFrom: "allValuesFrom to the left: that there are no other values cannot be known",
    ComplementOf: "complementOf to the left: what is not stated may still hold",
}
_CONCLUSIONS: dict[type[Any], str] = {
    SomeValuesFrom: "someValuesFrom to the right: no individual is invented for it",
    UnionOf: "unionOf to the right: which of the classes it is stays open",
    OneOf: "oneOf to the right: which of the individuals it is stays open",
}


def untestable(expression: ClassExpression) -> str:
    """Why no rule can test an expression."""
    if isinstance(expression, Cardinality):
        if expression.kind == "min":
            return "minCardinality above 1 to the left: individuals with different names may be the same"
        return f"{_cardinality(expression)} to the left: that there are no more values cannot be known"
    return _TESTS.get(type(expression), "it cannot be tested by a rule")


def inconclusive(expression: ClassExpression) -> str:
    """Why no rule can conclude an expression."""
    if isinstance(expression, Cardinality):
        if expression.kind == "max":
            return "maxCardinality above 1 to the right: which of the values are the same stays open"
        return f"{_cardinality(expression)} to the right: no individual is invented for it"
    return _CONCLUSIONS.get(type(expression), "it cannot be the conclusion of a rule")


def _cardinality(expression: Cardinality) -> str:
    return "cardinality" if expression.kind == "exact" else f"{expression.kind}Cardinality"


EVERYTHING = "owl:Thing to the left: a rule cannot go through all individuals"
REFLEXIVE = "a reflexive property: a rule cannot go through all individuals"
PATTERN = "the facet xsd:pattern has no function in rules"
TOO_MANY = "an intersection of unions with too many combinations: name some of the unions as classes"
NOT_RDFS = "it has no meaning in RDFS"
