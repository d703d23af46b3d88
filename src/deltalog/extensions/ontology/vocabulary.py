"""Names of RDFS, OWL and SWRL, and which of them make axioms."""

from __future__ import annotations

from deltalog.core.rules import Pred
from deltalog.core.terms import IRI, RDF, XSD

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SWRL = "http://www.w3.org/2003/11/swrl#"
SWRLB = "http://www.w3.org/2003/11/swrlb#"
RESERVED = (RDF, RDFS, OWL, SWRL, XSD)  # namespaces whose names are no classes and properties of users
INCONSISTENT = "inconsistent"  # inconsistent(individual, axiom)

THING, NOTHING = IRI(OWL + "Thing"), IRI(OWL + "Nothing")
SAME_AS, DIFFERENT_FROM = OWL + "sameAs", OWL + "differentFrom"
TOP_PROPERTIES = frozenset((OWL + "topObjectProperty", OWL + "topDataProperty"))
EVERYTHING = frozenset((str(THING), RDFS + "Resource"))

# Characteristics of properties, as classes of properties.
CHARACTERISTICS = {
    OWL + f"{kind}Property": kind
    for kind in ("Functional", "InverseFunctional", "Reflexive", "Irreflexive", "Symmetric", "Asymmetric", "Transitive")
}
DATATYPE_PROPERTY, OBJECT_PROPERTY = OWL + "DatatypeProperty", OWL + "ObjectProperty"
ANNOTATION_PROPERTIES = frozenset(
    [RDFS + name for name in ("label", "comment", "seeAlso", "isDefinedBy")]
    + [
        OWL + name
        for name in ("deprecated", "versionInfo", "priorVersion", "backwardCompatibleWith", "incompatibleWith")
    ]
)

# Parts of class expressions, restrictions and data ranges.
CONNECTIVES = ("intersectionOf", "unionOf", "complementOf", "oneOf", "datatypeComplementOf")
CARDINALITIES = {  # kind, and whether there is a class of the values
    "minCardinality": ("min", False),
    "maxCardinality": ("max", False),
    "cardinality": ("exact", False),
    "minQualifiedCardinality": ("min", True),
    "maxQualifiedCardinality": ("max", True),
    "qualifiedCardinality": ("exact", True),
}
FILLERS = ("someValuesFrom", "allValuesFrom", "hasValue", "hasSelf")

_CLASSES_OF_AXIOMS = (
    *(name.removeprefix(OWL) for name in CHARACTERISTICS),
    *("AllDisjointClasses", "AllDisjointProperties", "AllDifferent", "NegativePropertyAssertion"),
    *("DatatypeProperty", "ObjectProperty", "Restriction"),
)
_PROPERTIES_OF_AXIOMS = (
    *("equivalentClass", "disjointWith", "disjointUnionOf", "equivalentProperty", "propertyDisjointWith", "inverseOf"),
    *("propertyChainAxiom", "hasKey", "members", "distinctMembers", "onProperty", "onClass", "onDataRange"),
    *("sourceIndividual", "assertionProperty", "targetIndividual", "targetValue", "onDatatype", "withRestrictions"),
    *(*CONNECTIVES, *CARDINALITIES, *FILLERS),
)
FACETS = ("minInclusive", "maxInclusive", "minExclusive", "maxExclusive", "length", "minLength", "maxLength", "pattern")
_SWRL_PROPERTIES = (
    *("body", "head", "classPredicate", "propertyPredicate", "dataRange", "builtin", "arguments"),
    *("argument1", "argument2"),
)
_SWRL_CLASSES = (
    *("Imp", "Variable", "ClassAtom", "IndividualPropertyAtom", "DatavaluedPropertyAtom"),
    *("SameIndividualAtom", "DifferentIndividualsAtom", "BuiltinAtom", "DataRangeAtom"),
)

# Facts of these predicates are, or belong to, axioms.
AXIOM_PREDICATES = frozenset(
    [Pred(OWL + name, 1) for name in _CLASSES_OF_AXIOMS]
    + [Pred(OWL + name, 2) for name in _PROPERTIES_OF_AXIOMS]
    + [Pred(RDFS + name, 2) for name in ("subClassOf", "subPropertyOf", "domain", "range")]
    + [Pred(RDFS + "Datatype", 1)]
    + [Pred(RDF + name, 2) for name in ("first", "rest", "type")]
    + [Pred(XSD + name, 2) for name in FACETS]
    + [Pred(SWRL + name, 2) for name in _SWRL_PROPERTIES]
    + [Pred(SWRL + name, 1) for name in _SWRL_CLASSES]
)


def is_reserved(name: str) -> bool:
    """Whether a name belongs to RDF, RDFS, OWL, SWRL or XML Schema themselves."""
    return name.startswith(RESERVED)


_DATATYPES = frozenset(
    [RDFS + "Literal", OWL + "real", OWL + "rational"]
    + [RDF + name for name in ("PlainLiteral", "langString", "XMLLiteral", "HTML")]
)


def is_datatype(name: str) -> bool:
    """Whether a name is a datatype without being declared as one."""
    return name.startswith(XSD) or name in _DATATYPES


# Relations that rules of an ontology use among themselves: their facts say nothing that the axioms do not say.
MEMBER_OF = "member_of_disjoint"  # member_of_disjoint(axiom, individual, class)
ALL_DIFFERENT = "all_different"  # all_different(axiom, individual)
AUXILIARY = frozenset((Pred(MEMBER_OF, 3), Pred(ALL_DIFFERENT, 2)))
