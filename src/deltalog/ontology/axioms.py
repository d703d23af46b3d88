"""Class expressions, properties and axioms of OWL 2 as frozen values; a value prints in OWL's functional syntax.

The names are those of the OWL 2 Structural Specification, without `Object` and `Data`: which of the two a property is
decides the graph (`deltalog.ontology.read_axioms`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from deltalog.model.terms import IRI, BlankNode, Value
from deltalog.syntax.printer import print_iri, print_value

Short = Callable[[str], str]  # an IRI as text, with a prefix where there is one


class Node:
    """An expression or axiom: its text is its name and its arguments."""

    __slots__ = ()

    def text(self, short: Short = print_iri) -> str:
        parts = [_text(getattr(self, field.name), short) for field in fields(self)]  # type: ignore[arg-type]
        return f"{type(self).__name__}({' '.join(filter(None, parts))})"


def _text(part: object, short: Short) -> str:
    if isinstance(part, Node):
        return part.text(short)
    if isinstance(part, tuple):
        return " ".join(_text(each, short) for each in part)
    if isinstance(part, IRI):
        return short(str(part))
    return "" if part is None else print_value(part)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Property(Node):
    """A property, or the inverse of one."""

    iri: IRI
    inverse: bool = False

    def text(self, short: Short = print_iri) -> str:
        name = short(str(self.iri))
        return f"ObjectInverseOf({name})" if self.inverse else name


# Class expressions and data ranges.


@dataclass(frozen=True, slots=True)
class ClassName(Node):
    iri: IRI

    def text(self, short: Short = print_iri) -> str:
        return short(str(self.iri))


@dataclass(frozen=True, slots=True)
class Datatype(Node):
    iri: IRI

    def text(self, short: Short = print_iri) -> str:
        return short(str(self.iri))


@dataclass(frozen=True, slots=True)
class DatatypeRestriction(Node):
    """A datatype with facets, such as (xsd:minInclusive, 18)."""

    datatype: Datatype
    facets: tuple[tuple[IRI, Value], ...]


@dataclass(frozen=True, slots=True)
class IntersectionOf(Node):
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class UnionOf(Node):
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ComplementOf(Node):
    operand: Expression


@dataclass(frozen=True, slots=True)
class OneOf(Node):
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class SomeValuesFrom(Node):
    property: Property
    filler: Expression


@dataclass(frozen=True, slots=True)
class AllValuesFrom(Node):
    property: Property
    filler: Expression


@dataclass(frozen=True, slots=True)
class HasValue(Node):
    property: Property
    value: Value


@dataclass(frozen=True, slots=True)
class HasSelf(Node):
    property: Property


@dataclass(frozen=True, slots=True)
class Cardinality(Node):
    """At least, at most or exactly so many values (of a class, if there is one)."""

    kind: str  # min, max or exact
    number: int
    property: Property
    filler: Expression | None = None

    def text(self, short: Short = print_iri) -> str:
        filler = f" {self.filler.text(short)}" if self.filler is not None else ""
        return f"{self.kind.capitalize()}Cardinality({self.number} {self.property.text(short)}{filler})"


Expression = (
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
class SubClassOf(Node):
    sub: Expression
    sup: Expression


@dataclass(frozen=True, slots=True)
class EquivalentClasses(Node):
    classes: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class DisjointClasses(Node):
    classes: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class DisjointUnion(Node):
    whole: Expression
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class SubPropertyOf(Node):
    sub: Property
    sup: Property


@dataclass(frozen=True, slots=True)
class PropertyChain(Node):
    chain: tuple[Property, ...]
    sup: Property

    def text(self, short: Short = print_iri) -> str:
        return f"SubPropertyOf(PropertyChain({_text(self.chain, short)}) {self.sup.text(short)})"


@dataclass(frozen=True, slots=True)
class EquivalentProperties(Node):
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True)
class DisjointProperties(Node):
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True)
class InverseProperties(Node):
    first: Property
    second: Property


@dataclass(frozen=True, slots=True)
class PropertyDomain(Node):
    property: Property
    domain: Expression


@dataclass(frozen=True, slots=True)
class PropertyRange(Node):
    property: Property
    range: Expression


@dataclass(frozen=True, slots=True)
class Characteristic(Node):
    """A property is functional, transitive, ...: `kind` is a value of `vocabulary.CHARACTERISTICS`."""

    kind: str
    property: Property

    def text(self, short: Short = print_iri) -> str:
        return f"{self.kind}Property({self.property.text(short)})"


@dataclass(frozen=True, slots=True)
class HasKey(Node):
    members: Expression
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True)
class DifferentIndividuals(Node):
    individuals: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ClassAssertion(Node):
    """An individual of a class that has no name."""

    members: Expression
    individual: Value


@dataclass(frozen=True, slots=True)
class NegativePropertyAssertion(Node):
    property: Property
    source: Value
    target: Value


@dataclass(frozen=True, slots=True)
class DatatypeDefinition(Node):
    datatype: Datatype
    range: Expression


@dataclass(frozen=True, slots=True)
class SwrlRule(Node):
    """A rule of SWRL, by the node that has it; `deltalog.ontology.swrl` reads its atoms."""

    node: Value

    def text(self, short: Short = print_iri) -> str:
        name = short(str(self.node)) if isinstance(self.node, IRI) else ""
        return f"DLSafeRule({name})"


@dataclass(frozen=True, slots=True)
class Malformed(Node):
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
    if isinstance(part, Node):
        return [name for field in fields(part) for name in names_in(getattr(part, field.name))]  # type: ignore[arg-type]
    return []


Resource = IRI | BlankNode
