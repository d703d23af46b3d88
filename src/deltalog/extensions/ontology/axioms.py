"""Class expressions, properties and axioms of OWL 2 as frozen values; a value prints in OWL's functional syntax.

The names are those of the OWL 2 Structural Specification, without `Object` and `Data`: which of the two a property is
decides the graph (`deltalog.extensions.ontology.read_axioms`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from deltalog.core.rule_text import print_iri, print_value
from deltalog.core.terms import IRI, BlankNode, Value

Short = Callable[[str], str]  # an IRI as text, with a prefix where there is one


class AxiomPart:
    """An expression or axiom: its text is its name and its arguments."""

    __slots__ = ()

    def text(self, short: Short = print_iri) -> str:
        parts = [_text(getattr(self, field.name), short) for field in fields(self)]  # type: ignore[arg-type]
        return f"{type(self).__name__}({' '.join(filter(None, parts))})"


def _text(part: object, short: Short) -> str:
    if isinstance(part, AxiomPart):
        return part.text(short)
    if isinstance(part, tuple):
        return " ".join(_text(each, short) for each in part)
    if isinstance(part, IRI):
        return short(str(part))
    return "" if part is None else print_value(part)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Property(AxiomPart):
    """A property, or the inverse of one."""

    iri: IRI
    inverse: bool = False

    def text(self, short: Short = print_iri) -> str:
        name = short(str(self.iri))
        return f"ObjectInverseOf({name})" if self.inverse else name


# Class expressions and data ranges.


@dataclass(frozen=True, slots=True)
class ClassName(AxiomPart):
    iri: IRI

    def text(self, short: Short = print_iri) -> str:
        return short(str(self.iri))


@dataclass(frozen=True, slots=True)
class Datatype(AxiomPart):
    iri: IRI

    def text(self, short: Short = print_iri) -> str:
        return short(str(self.iri))


@dataclass(frozen=True, slots=True)
class DatatypeRestriction(AxiomPart):
    """A datatype with facets, such as (xsd:minInclusive, 18)."""

    datatype: Datatype
    facets: tuple[tuple[IRI, Value], ...]


@dataclass(frozen=True, slots=True)
class IntersectionOf(AxiomPart):
    operands: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class UnionOf(AxiomPart):
    operands: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class ComplementOf(AxiomPart):
    operand: ClassExpression


@dataclass(frozen=True, slots=True)
class OneOf(AxiomPart):
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class SomeValuesFrom(AxiomPart):
    property: Property
    filler: ClassExpression


@dataclass(frozen=True, slots=True)
class AllValuesFrom(AxiomPart):
    property: Property
    filler: ClassExpression


@dataclass(frozen=True, slots=True)
class HasValue(AxiomPart):
    property: Property
    value: Value


@dataclass(frozen=True, slots=True)
class HasSelf(AxiomPart):
    property: Property


@dataclass(frozen=True, slots=True)
class Cardinality(AxiomPart):
    """At least, at most or exactly so many values (of a class, if there is one)."""

    kind: str  # min, max or exact
    number: int
    property: Property
    filler: ClassExpression | None = None

    def text(self, short: Short = print_iri) -> str:
        filler = f" {self.filler.text(short)}" if self.filler is not None else ""
        return f"{self.kind.capitalize()}Cardinality({self.number} {self.property.text(short)}{filler})"


ClassExpression = (
    ClassName
    | Datatype
    | DatatypeRestriction
    | IntersectionOf
    | UnionOf
    | ComplementOf
    | OneOf
    | SomeValuesFrom
    | AllValuesFrom
    | HasValue
    | HasSelf
    | Cardinality
)


# Axioms.


@dataclass(frozen=True, slots=True)
class SubClassOf(AxiomPart):
    sub: ClassExpression
    sup: ClassExpression


@dataclass(frozen=True, slots=True)
class EquivalentClasses(AxiomPart):
    classes: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointClasses(AxiomPart):
    classes: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class DisjointUnion(AxiomPart):
    whole: ClassExpression
    parts: tuple[ClassExpression, ...]


@dataclass(frozen=True, slots=True)
class SubPropertyOf(AxiomPart):
    sub: Property
    sup: Property


@dataclass(frozen=True, slots=True)
class PropertyChain(AxiomPart):
    chain: tuple[Property, ...]
    sup: Property

    def text(self, short: Short = print_iri) -> str:
        return f"SubPropertyOf(PropertyChain({_text(self.chain, short)}) {self.sup.text(short)})"


@dataclass(frozen=True, slots=True)
class EquivalentProperties(AxiomPart):
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True)
class DisjointProperties(AxiomPart):
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True)
class InverseProperties(AxiomPart):
    first: Property
    second: Property


@dataclass(frozen=True, slots=True)
class PropertyDomain(AxiomPart):
    property: Property
    domain: ClassExpression


@dataclass(frozen=True, slots=True)
class PropertyRange(AxiomPart):
    property: Property
    range: ClassExpression


@dataclass(frozen=True, slots=True)
class Characteristic(AxiomPart):
    """A property is functional, transitive, ...: `kind` is a value of `vocabulary.CHARACTERISTICS`."""

    kind: str
    property: Property

    def text(self, short: Short = print_iri) -> str:
        return f"{self.kind}Property({self.property.text(short)})"


@dataclass(frozen=True, slots=True)
class HasKey(AxiomPart):
    members: ClassExpression
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True)
class DifferentIndividuals(AxiomPart):
    individuals: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ClassAssertion(AxiomPart):
    """An individual of a class that has no name."""

    members: ClassExpression
    individual: Value


@dataclass(frozen=True, slots=True)
class NegativePropertyAssertion(AxiomPart):
    property: Property
    source: Value
    target: Value


@dataclass(frozen=True, slots=True)
class DatatypeDefinition(AxiomPart):
    datatype: Datatype
    range: ClassExpression


@dataclass(frozen=True, slots=True)
class SwrlRule(AxiomPart):
    """A rule of SWRL, by the node that has it; `deltalog.extensions.ontology.swrl` reads its atoms."""

    node: Value

    def text(self, short: Short = print_iri) -> str:
        name = short(str(self.node)) if isinstance(self.node, IRI) else ""
        return f"DLSafeRule({name})"


@dataclass(frozen=True, slots=True)
class Malformed(AxiomPart):
    """Something that begins like an axiom and is none."""

    node: Value
    why: str

    def text(self, short: Short = print_iri) -> str:
        name = short(str(self.node)) if isinstance(self.node, IRI) else "a blank node"
        return f"{name}: {self.why}"


Axiom = (
    SubClassOf
    | EquivalentClasses
    | DisjointClasses
    | DisjointUnion
    | SubPropertyOf
    | PropertyChain
    | EquivalentProperties
    | DisjointProperties
    | InverseProperties
    | PropertyDomain
    | PropertyRange
    | Characteristic
    | HasKey
    | DifferentIndividuals
    | ClassAssertion
    | NegativePropertyAssertion
    | DatatypeDefinition
    | SwrlRule
    | Malformed
)


def names_in(part: object) -> list[IRI]:
    """The IRIs in an axiom, in the order of its text."""
    if isinstance(part, IRI):
        return [part]
    if isinstance(part, tuple):
        return [name for each in part for name in names_in(each)]
    if isinstance(part, AxiomPart):
        return [name for field in fields(part) for name in names_in(getattr(part, field.name))]  # type: ignore[arg-type]
    return []


Resource = IRI | BlankNode
