"""The axioms of a graph (OWL 2 Mapping to RDF Graphs, section 3.2.5), and the facts beside them.

Each kind of axiom has a predicate or a class by which it is found, and a small function that reads it. Annotations say
nothing about individuals, and are left out; so are declarations, except that they tell data properties from others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from deltalog.core.terms import IRI, RDF_TYPE, Value
from deltalog.extensions.ontology.axioms import (
    Axiom,
    Characteristic,
    ClassAssertion,
    ClassName,
    DatatypeDefinition,
    DifferentIndividuals,
    DisjointClasses,
    DisjointProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentProperties,
    HasKey,
    InverseProperties,
    Malformed,
    NegativePropertyAssertion,
    PropertyChain,
    PropertyDomain,
    PropertyRange,
    SubClassOf,
    SubPropertyOf,
    SwrlRule,
)
from deltalog.extensions.ontology.graph import RdfGraph, RdfTriple
from deltalog.extensions.ontology.read_expressions import Expressions, NotAnExpression
from deltalog.extensions.ontology.vocabulary import (
    ANNOTATION_PROPERTIES,
    CHARACTERISTICS,
    DIFFERENT_FROM,
    NOTHING,
    OWL,
    RDFS,
    SAME_AS,
    SWRL,
    is_reserved,
)


class Stated(NamedTuple):
    """An axiom, and the node that has it."""

    axiom: Axiom
    subject: Value


def read_axioms(graph: RdfGraph) -> list[Stated]:
    """All axioms, each once; those that cannot be read are `Malformed`."""
    expressions = Expressions(graph)
    found = [
        *(stated for name, read in PAIRS.items() for stated in _of_pairs(graph.pairs(name), read, expressions)),
        *(
            stated
            for name, read in NODES.items()
            for stated in _of_nodes(graph.of_type(name), read, expressions, graph)
        ),
        *_of_nodes(_negative_nodes(graph), _negative, expressions, graph),
        *_characteristics(graph, expressions),
        *_definitions(graph, expressions),
        *_assertions(graph, expressions),
    ]
    return list({stated.axiom: stated for stated in reversed(found)}.values())[::-1]


def _of_pairs(
    pairs: Iterable[tuple[Value, Value]], read: Callable[[Value, Value, Expressions], Axiom], expressions: Expressions
) -> Iterator[Stated]:
    for subject, object in pairs:
        try:
            yield Stated(read(subject, object, expressions), subject)
        except NotAnExpression as problem:
            yield Stated(Malformed(subject, str(problem)), subject)


def _of_nodes(
    nodes: Iterable[Value],
    read: Callable[[Value, RdfGraph, Expressions], Axiom],
    expressions: Expressions,
    graph: RdfGraph,
) -> Iterator[Stated]:
    for node in nodes:
        try:
            yield Stated(read(node, graph, expressions), node)
        except NotAnExpression as problem:
            yield Stated(Malformed(node, str(problem)), node)


# Axioms that are a triple of two nodes.


def _sub_class(sub: Value, sup: Value, of: Expressions) -> Axiom:
    return SubClassOf(of.expression(sub), of.expression(sup))


def _equivalent_class(first: Value, second: Value, of: Expressions) -> Axiom:
    left, right = of.expression(first), of.expression(second)
    if isinstance(first, IRI) and of.is_datatype(first):
        return DatatypeDefinition(left, right)  # type: ignore[arg-type]
    return EquivalentClasses((left, right))


def _disjoint_class(first: Value, second: Value, of: Expressions) -> Axiom:
    return DisjointClasses((of.expression(first), of.expression(second)))


def _disjoint_union(whole: Value, parts: Value, of: Expressions) -> Axiom:
    return DisjointUnion(of.expression(whole), tuple(map(of.expression, of.items(parts))))


def _sub_property(sub: Value, sup: Value, of: Expressions) -> Axiom:
    return SubPropertyOf(of.property(sub), of.property(sup))


def _chain(sup: Value, chain: Value, of: Expressions) -> Axiom:
    return PropertyChain(tuple(map(of.property, of.items(chain))), of.property(sup))


def _equivalent_property(first: Value, second: Value, of: Expressions) -> Axiom:
    return EquivalentProperties((of.property(first), of.property(second)))


def _disjoint_property(first: Value, second: Value, of: Expressions) -> Axiom:
    return DisjointProperties((of.property(first), of.property(second)))


def _domain(property: Value, domain: Value, of: Expressions) -> Axiom:
    return PropertyDomain(of.property(property), of.expression(domain))


def _range(property: Value, range: Value, of: Expressions) -> Axiom:
    return PropertyRange(of.property(property), of.expression(range))


def _key(members: Value, properties: Value, of: Expressions) -> Axiom:
    return HasKey(of.expression(members), tuple(map(of.property, of.items(properties))))


PAIRS: dict[str, Callable[[Value, Value, Expressions], Axiom]] = {
    RDFS + "subClassOf": _sub_class,
    OWL + "equivalentClass": _equivalent_class,
    OWL + "disjointWith": _disjoint_class,
    OWL + "disjointUnionOf": _disjoint_union,
    RDFS + "subPropertyOf": _sub_property,
    OWL + "propertyChainAxiom": _chain,
    OWL + "equivalentProperty": _equivalent_property,
    OWL + "propertyDisjointWith": _disjoint_property,
    RDFS + "domain": _domain,
    RDFS + "range": _range,
    OWL + "hasKey": _key,
}


# Axioms that are a node of a class.


def _members(node: Value, graph: RdfGraph, of: Expressions) -> tuple[Value, ...]:
    """The members of a node, which OWL 1 called distinct; a node may have both."""
    found = [*graph.objects(node, OWL + "members"), *graph.objects(node, OWL + "distinctMembers")]
    if not found:
        raise NotAnExpression("owl:members is missing")
    return tuple(member for each in found for member in of.items(each))


def _all_different(node: Value, graph: RdfGraph, of: Expressions) -> Axiom:
    return DifferentIndividuals(_members(node, graph, of))


def _all_disjoint_classes(node: Value, graph: RdfGraph, of: Expressions) -> Axiom:
    return DisjointClasses(tuple(map(of.expression, _members(node, graph, of))))


def _all_disjoint_properties(node: Value, graph: RdfGraph, of: Expressions) -> Axiom:
    return DisjointProperties(tuple(map(of.property, _members(node, graph, of))))


def _negative(node: Value, graph: RdfGraph, of: Expressions) -> Axiom:
    source, property = (graph.object(node, OWL + name) for name in ("sourceIndividual", "assertionProperty"))
    targets = [*graph.objects(node, OWL + "targetIndividual"), *graph.objects(node, OWL + "targetValue")]
    if source is None or property is None or not targets:
        raise NotAnExpression("owl:sourceIndividual, owl:assertionProperty or the target is missing")
    return NegativePropertyAssertion(of.property(property), source, targets[0])


def _negative_nodes(graph: RdfGraph) -> list[Value]:
    """The nodes that say which individual does not have which value. Their type is implied: rules prp-npa1 and
    prp-npa2 of OWL 2 RL/RDF do not ask for it."""
    return list(dict.fromkeys([*graph.of_type(OWL + "NegativePropertyAssertion"), *_sources(graph)]))


def _sources(graph: RdfGraph) -> Iterator[Value]:
    for node, _ in graph.pairs(OWL + "sourceIndividual"):
        targets = graph.objects(node, OWL + "targetIndividual") or graph.objects(node, OWL + "targetValue")
        if targets and graph.objects(node, OWL + "assertionProperty"):
            yield node


def _swrl_rule(node: Value, graph: RdfGraph, of: Expressions) -> Axiom:
    return SwrlRule(node)


NODES: dict[str, Callable[[Value, RdfGraph, Expressions], Axiom]] = {
    OWL + "AllDifferent": _all_different,
    OWL + "AllDisjointClasses": _all_disjoint_classes,
    OWL + "AllDisjointProperties": _all_disjoint_properties,
    SWRL + "Imp": _swrl_rule,
}


# Axioms of other forms.


def _characteristics(graph: RdfGraph, of: Expressions) -> Iterator[Stated]:
    for type, kind in CHARACTERISTICS.items():
        yield from _of_nodes(graph.of_type(type), lambda n, _, of, k=kind: Characteristic(k, of.property(n)), of, graph)  # type: ignore[misc]
    for first, second in graph.pairs(OWL + "inverseOf"):
        if isinstance(first, IRI) and isinstance(second, IRI):
            yield Stated(InverseProperties(of.property(first), of.property(second)), first)


def _definitions(graph: RdfGraph, of: Expressions) -> Iterator[Stated]:
    """Names that have a class expression themselves, as in OWL 1: equivalent to it."""
    constructors = ("intersectionOf", "unionOf", "complementOf", "oneOf", "onProperty")
    subjects = dict.fromkeys(s for name in constructors for s, _ in graph.pairs(OWL + name) if isinstance(s, IRI))
    for subject in subjects:
        try:
            definition = of.constructed(subject)
        except NotAnExpression as problem:
            yield Stated(Malformed(subject, str(problem)), subject)
        else:
            if not of.is_datatype(subject):
                yield Stated(EquivalentClasses((ClassName(subject), definition)), subject)


def _assertions(graph: RdfGraph, of: Expressions) -> Iterator[Stated]:
    """Individuals of classes without a name."""
    for individual, type in graph.pairs(str(RDF_TYPE)):
        if not isinstance(type, IRI) and of.is_constructed(type):
            try:
                yield Stated(ClassAssertion(of.expression(type), individual), individual)
            except NotAnExpression as problem:
                yield Stated(Malformed(individual, str(problem)), individual)


# Facts.


def read_facts(triples: Iterable[RdfTriple], graph: RdfGraph) -> Iterator[RdfTriple]:
    """The triples that are about individuals: neither axioms nor annotations nor declarations."""
    ignored = ANNOTATION_PROPERTIES | {str(node) for node in graph.of_type(OWL + "AnnotationProperty")}
    about = (OWL + "Axiom", OWL + "Annotation", OWL + "Ontology", SWRL + "Imp")
    for subject, predicate, object in triples:
        name = str(predicate)
        if name == str(RDF_TYPE):
            is_fact = isinstance(object, IRI) and (not is_reserved(object) or object == NOTHING)
        else:
            is_fact = name in (SAME_AS, DIFFERENT_FROM) or not is_reserved(name)
        if is_fact and name not in ignored and not graph.is_a(subject, *about):
            yield subject, predicate, object
