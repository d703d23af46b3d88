"""Class expressions, data ranges and properties of a graph (OWL 2 Mapping to RDF Graphs, sections 3.2.4 and 3.2.5)."""

from __future__ import annotations

from collections.abc import Iterator

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.terms import IRI, XSD, Value, number
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
    SomeValuesFrom,
    UnionOf,
)
from deltalog.extensions.ontology.graph import NotAList, RdfGraph, is_node
from deltalog.extensions.ontology.vocabulary import (
    CARDINALITIES,
    CONNECTIVES,
    DATATYPE_PROPERTY,
    FACETS,
    FILLERS,
    OWL,
    RDFS,
    is_datatype,
)

CONSTRUCTORS = (*CONNECTIVES, "onProperty", "onDatatype")


class NotAnExpression(Exception):
    """A node that should be a class expression, a data range or a property is none; the message says why."""


class Expressions:
    """Reads the expressions of a graph."""

    def __init__(self, graph: RdfGraph) -> None:
        self._graph = graph

    def is_constructed(self, node: Value) -> bool:
        """Whether a node has a class expression of its own."""
        return any(self._graph.objects(node, OWL + name) for name in CONSTRUCTORS)

    def expression(self, node: Value, around: frozenset[Value] = frozenset()) -> ClassExpression:
        """The class expression or data range of a node. A name stands for itself, whatever it is defined as."""
        if isinstance(node, IRI):
            return Datatype(node) if self.is_datatype(node) else ClassName(node)
        if node in around:
            raise NotAnExpression("a class expression contains itself")
        return self.constructed(node, around)

    def constructed(self, node: Value, around: frozenset[Value] = frozenset()) -> ClassExpression:
        """The class expression that a node is defined as: several parts are an intersection."""
        parts = tuple(self._parts(node, around | {node}))
        if not parts:
            raise NotAnExpression("expected a class expression (intersectionOf, onProperty with someValuesFrom, ...)")
        return parts[0] if len(parts) == 1 else IntersectionOf(parts)

    def _parts(self, node: Value, around: frozenset[Value]) -> Iterator[ClassExpression]:
        graph = self._graph
        for name in CONNECTIVES:
            for object in graph.objects(node, OWL + name):
                yield self._connected(name, object, around)
        for property in graph.objects(node, OWL + "onProperty"):
            yield from self._restrictions(node, self.property(property), around)
        for datatype in graph.objects(node, OWL + "onDatatype"):
            yield self._facets(node, datatype)

    def _connected(self, name: str, object: Value, around: frozenset[Value]) -> ClassExpression:
        if name in ("complementOf", "datatypeComplementOf"):
            return ComplementOf(self.expression(object, around))
        items = self.items(object)
        if name == "oneOf":
            return OneOf(items)
        operands = tuple(self.expression(item, around) for item in items)
        return IntersectionOf(operands) if name == "intersectionOf" else UnionOf(operands)

    def _restrictions(self, node: Value, property: Property, around: frozenset[Value]) -> Iterator[ClassExpression]:
        graph = self._graph
        for name in FILLERS:
            for object in graph.objects(node, OWL + name):
                match name:
                    case "someValuesFrom":
                        yield SomeValuesFrom(property, self.expression(object, around))
                    case "allValuesFrom":
                        yield AllValuesFrom(property, self.expression(object, around))
                    case "hasValue":
                        yield HasValue(property, object)
                    case _:
                        yield HasSelf(property)
        for name, (kind, qualified) in CARDINALITIES.items():
            for object in graph.objects(node, OWL + name):
                filler = self._qualifier(node, around) if qualified else None
                yield Cardinality(kind, _count(object), property, filler)

    def _qualifier(self, node: Value, around: frozenset[Value]) -> ClassExpression:
        found = self._graph.object(node, OWL + "onClass") or self._graph.object(node, OWL + "onDataRange")
        if found is None:
            raise NotAnExpression("a qualified cardinality without owl:onClass or owl:onDataRange")
        return self.expression(found, around)

    def _facets(self, node: Value, datatype: Value) -> ClassExpression:
        if not isinstance(datatype, IRI):
            raise NotAnExpression("expected the IRI of a datatype after owl:onDatatype")
        graph = self._graph
        items = [item for each in graph.objects(node, OWL + "withRestrictions") for item in self.items(each)]
        pairs = [
            (IRI(XSD + facet), value) for i in items for facet in FACETS for value in graph.objects(i, XSD + facet)
        ]
        return DatatypeRestriction(Datatype(datatype), tuple(pairs))

    def property(self, node: Value) -> Property:
        """The property of a node, which may be the inverse of one."""
        if isinstance(node, IRI):
            return Property(node)
        inverse = self._graph.object(node, OWL + "inverseOf") if is_node(node) else None
        if not isinstance(inverse, IRI):
            raise NotAnExpression("expected a property, or owl:inverseOf one")
        return Property(inverse, inverse=True)

    def items(self, node: Value) -> tuple[Value, ...]:
        try:
            return self._graph.items(node)
        except NotAList:
            raise NotAnExpression("a list is broken: rdf:first or rdf:rest is missing, or it has no end") from None

    def is_datatype(self, name: IRI) -> bool:
        return is_datatype(str(name)) or self._graph.is_a(name, RDFS + "Datatype")

    # Which properties have literals as values.

    @cached_property
    def data_properties(self) -> frozenset[str]:
        """The properties that are declared as such, that have a datatype as their range, and all below them."""
        graph = self._graph
        found = {str(node) for node in graph.of_type(DATATYPE_PROPERTY)}
        for node, range in graph.pairs(RDFS + "range"):
            constructed = not isinstance(range, IRI) and graph.is_a(range, RDFS + "Datatype", OWL + "DataRange")
            if constructed or (isinstance(range, IRI) and self.is_datatype(range)):
                found.add(str(node))
        return frozenset(self._with_all_below(found))

    def _with_all_below(self, properties: set[str]) -> set[str]:
        below: dict[str, list[str]] = {}
        for predicate, both in ((RDFS + "subPropertyOf", False), (OWL + "equivalentProperty", True)):
            for sub, sup in self._graph.pairs(predicate):
                below.setdefault(str(sup), []).append(str(sub))
                if both:
                    below.setdefault(str(sub), []).append(str(sup))
        waiting = list(properties)
        while waiting:
            new = [name for name in below.get(waiting.pop(), ()) if name not in properties]
            properties.update(new)
            waiting += new
        return properties


def _count(value: Value) -> int:
    found = number(value)
    if not isinstance(found, int) or found < 0:
        raise NotAnExpression(f"expected a non-negative integer as a cardinality, got {value!r}")
    return found
