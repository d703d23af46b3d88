"""Our own test cases, in the W3C's format: every rule of tables 4 to 9 of OWL 2 Profiles, by what it derives, and by
what it must not. `write_manifest` makes a manifest of them.

A line is the name of a rule, a sign and two graphs in Turtle: `+` the first entails the second, `-` it does not, `!` it
is inconsistent. Every premise of `+` and `-` is also a test of consistency.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from deltalog.core.terms import IRI, BlankNode, Literal, Value, datatype, lexical
from deltalog.extensions.ontology.graph import RdfTriple
from deltalog.extensions.ontology.load import read_document
from tests.ontology.owl_tests.manifest import CONSISTENT, INCONSISTENT, NEGATIVE, POSITIVE, TEST

PREFIXES = """@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
OBJECTS = ":p a owl:ObjectProperty . :q a owl:ObjectProperty . :r a owl:ObjectProperty ."
CASES = """
eq-sym | + | :a owl:sameAs :b . | :b owl:sameAs :a .
eq-trans | + | :a owl:sameAs :b . :b owl:sameAs :c . | :a owl:sameAs :c .
eq-trans | - | :a owl:sameAs :b . :c owl:sameAs :d . | :a owl:sameAs :d .
eq-rep-s | + | :a owl:sameAs :b . :a :p :c . | :b :p :c .
eq-rep-p | + | :p owl:sameAs :q . :a :p :c . | :a :q :c .
eq-rep-o | + | :a owl:sameAs :b . :c :p :a . | :c :p :b .
eq-rep-o | + | :a owl:sameAs :b . :a a :C . | :b a :C .
eq-diff1 | ! | :a owl:sameAs :b . :a owl:differentFrom :b . |
eq-diff1 | - | :a owl:differentFrom :b . | :a owl:sameAs :b .
eq-diff2 | ! | [] a owl:AllDifferent ; owl:members ( :a :b :c ) . :a owl:sameAs :c . |
eq-diff3 | ! | [] a owl:AllDifferent ; owl:distinctMembers ( :a :b ) . :a owl:sameAs :b . |
eq-diff3 | - | [] a owl:AllDifferent ; owl:distinctMembers ( :a :b ) . | :a owl:sameAs :b .
prp-dom | + | :p rdfs:domain :C . :a :p :b . | :a a :C .
prp-dom | - | :p rdfs:domain :C . :a :p :b . | :b a :C .
prp-rng | + | :p rdfs:range :C . :a :p :b . | :b a :C .
prp-rng | - | :p rdfs:range :C . :a :p :b . | :a a :C .
prp-fp | + | :p a owl:FunctionalProperty . :a :p :b , :c . | :b owl:sameAs :c .
prp-fp | - | :p a owl:FunctionalProperty . :a :p :b . :d :p :c . | :b owl:sameAs :c .
prp-ifp | + | :p a owl:InverseFunctionalProperty . :a :p :c . :b :p :c . | :a owl:sameAs :b .
prp-ifp | - | :p a owl:InverseFunctionalProperty . :a :p :b , :c . | :b owl:sameAs :c .
prp-irp | ! | :p a owl:IrreflexiveProperty . :a :p :a . |
prp-irp | - | :p a owl:IrreflexiveProperty . :a :p :b . :b :p :a . | :a :p :a .
prp-symp | + | :p a owl:SymmetricProperty . :a :p :b . | :b :p :a .
prp-asyp | ! | :p a owl:AsymmetricProperty . :a :p :b . :b :p :a . |
prp-asyp | - | :p a owl:AsymmetricProperty . :a :p :b . :b :p :c . | :c :p :a .
prp-trp | + | :p a owl:TransitiveProperty . :a :p :b . :b :p :c . :c :p :d . | :a :p :d .
prp-trp | - | :p a owl:TransitiveProperty . :a :p :b . :c :p :b . | :a :p :c .
prp-spo1 | + | :p rdfs:subPropertyOf :q . :a :p :b . | :a :q :b .
prp-spo1 | - | :p rdfs:subPropertyOf :q . :a :q :b . | :a :p :b .
prp-spo2 | + | :r owl:propertyChainAxiom ( :p :q :p ) . :a :p :b . :b :q :c . :c :p :d . | :a :r :d .
prp-spo2 | - | :r owl:propertyChainAxiom ( :p :q ) . :a :q :b . :b :p :c . | :a :r :c .
prp-eqp1 | + | :p owl:equivalentProperty :q . :a :p :b . | :a :q :b .
prp-eqp2 | + | :p owl:equivalentProperty :q . :a :q :b . | :a :p :b .
prp-pdw | ! | :p owl:propertyDisjointWith :q . :a :p :b ; :q :b . |
prp-pdw | - | :p owl:propertyDisjointWith :q . :a :p :b ; :q :c . | :b owl:differentFrom :c .
prp-adp | ! | [] a owl:AllDisjointProperties ; owl:members ( :p :q :r ) . :a :p :b ; :r :b . |
prp-inv1 | + | :p owl:inverseOf :q . :a :p :b . | :b :q :a .
prp-inv2 | + | :p owl:inverseOf :q . :a :q :b . | :b :p :a .
prp-inv2 | - | :p owl:inverseOf :q . :a :q :b . | :a :p :b .
prp-key | + | :C owl:hasKey ( :p :q ) . :a a :C ; :p :u ; :q :v . :b a :C ; :p :u ; :q :v . | :a owl:sameAs :b .
prp-key | - | :C owl:hasKey ( :p :q ) . :a a :C ; :p :u ; :q :v . :b a :C ; :p :u ; :q :w . | :a owl:sameAs :b .
prp-key | - | :C owl:hasKey ( :p ) . :a a :C ; :p :u . :b :p :u . | :a owl:sameAs :b .
prp-npa1 | ! | [] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b ; \
a owl:NegativePropertyAssertion . :a :p :b . |
prp-npa1 | - | [] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b ; \
a owl:NegativePropertyAssertion . :b :p :a . | :a :p :b .
prp-npa2 | ! | :d a owl:DatatypeProperty . [] owl:sourceIndividual :a ; owl:assertionProperty :d ; owl:targetValue 5 ; \
a owl:NegativePropertyAssertion . :a :d 5 . |
cls-nothing2 | ! | :a a owl:Nothing . |
cls-nothing2 | ! | :C rdfs:subClassOf owl:Nothing . :a a :C . |
cls-int1 | + | :C owl:intersectionOf ( :A :B ) . :x a :A , :B . | :x a :C .
cls-int1 | - | :C owl:intersectionOf ( :A :B ) . :x a :A . | :x a :C .
cls-int2 | + | :C owl:intersectionOf ( :A :B ) . :x a :C . | :x a :A , :B .
cls-uni | + | :C owl:unionOf ( :A :B ) . :x a :B . | :x a :C .
cls-uni | - | :C owl:unionOf ( :A :B ) . :x a :C . | :x a :A .
cls-com | ! | :C owl:complementOf :D . :x a :C , :D . |
cls-com | - | :C owl:complementOf :D . :x a :C . :y a :D . | :x owl:differentFrom :y .
cls-svf1 | + | :C owl:equivalentClass [ owl:onProperty :p ; owl:someValuesFrom :D ; a owl:Restriction ] . \
:x :p :y . :y a :D . | :x a :C .
cls-svf1 | - | :C owl:equivalentClass [ owl:onProperty :p ; owl:someValuesFrom :D ; a owl:Restriction ] . :x :p :y . | \
:x a :C .
cls-svf2 | + | :C owl:equivalentClass [ owl:onProperty :p ; owl:someValuesFrom owl:Thing ; a owl:Restriction ] . \
:x :p :y . | :x a :C .
cls-avf | + | :C rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :D ; a owl:Restriction ] . :x a :C ; :p :y . \
| :y a :D .
cls-avf | - | :C rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :D ; a owl:Restriction ] . :x :p :y . \
| :y a :D .
cls-hv1 | + | :C rdfs:subClassOf [ owl:onProperty :p ; owl:hasValue :v ; a owl:Restriction ] . :x a :C . | :x :p :v .
cls-hv2 | + | [ owl:onProperty :p ; owl:hasValue :v ; a owl:Restriction ] rdfs:subClassOf :C . :x :p :v . | :x a :C .
cls-hv2 | - | [ owl:onProperty :p ; owl:hasValue :v ; a owl:Restriction ] rdfs:subClassOf :C . :x :p :w . | :x a :C .
cls-maxc1 | ! | :C rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality 0 ; a owl:Restriction ] . \
:x a :C ; :p :y . |
cls-maxc2 | + | :C rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality 1 ; a owl:Restriction ] . \
:x a :C ; :p :y , :z . | :y owl:sameAs :z .
cls-maxc2 | - | :C rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality 1 ; a owl:Restriction ] . \
:x :p :y , :z . | :y owl:sameAs :z .
cls-maxqc1 | ! | :C rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 0 ; owl:onClass :D ; \
a owl:Restriction ] . :x a :C ; :p :y . :y a :D . |
cls-maxqc2 | ! | :C rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 0 ; owl:onClass owl:Thing ; \
a owl:Restriction ] . :x a :C ; :p :y . |
cls-maxqc3 | + | :C rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onClass :D ; \
a owl:Restriction ] . :x a :C ; :p :y , :z . :y a :D . :z a :D . | :y owl:sameAs :z .
cls-maxqc3 | - | :C rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onClass :D ; \
a owl:Restriction ] . :x a :C ; :p :y , :z . :y a :D . | :y owl:sameAs :z .
cls-maxqc4 | + | :C rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onClass owl:Thing ; \
a owl:Restriction ] . :x a :C ; :p :y , :z . | :y owl:sameAs :z .
cls-oo | + | :C owl:oneOf ( :a :b ) . | :a a :C . :b a :C .
cls-oo | - | :C owl:oneOf ( :a :b ) . :x a :C . | :x owl:sameAs :a .
cax-sco | + | :C rdfs:subClassOf :D . :x a :C . | :x a :D .
cax-sco | - | :C rdfs:subClassOf :D . :x a :D . | :x a :C .
cax-eqc1 | + | :C owl:equivalentClass :D . :x a :C . | :x a :D .
cax-eqc2 | + | :C owl:equivalentClass :D . :x a :D . | :x a :C .
cax-dw | ! | :C owl:disjointWith :D . :x a :C , :D . |
cax-dw | - | :C owl:disjointWith :D . :x a :C . :y a :D . | :x owl:differentFrom :y .
cax-adc | ! | [] a owl:AllDisjointClasses ; owl:members ( :C :D :E ) . :x a :C , :E . |
dt-type2 | + | :d a owl:DatatypeProperty ; rdfs:range xsd:integer . :x :d 5 . | :x :d "5"^^xsd:integer .
dt-eq | + | :d a owl:DatatypeProperty , owl:FunctionalProperty . :x :d 5 , "05"^^xsd:integer . | :x :d 5 .
dt-diff | ! | :d a owl:DatatypeProperty , owl:FunctionalProperty . :x :d 5 , 6 . |
dt-not-type | ! | :d a owl:DatatypeProperty . :x :d "five"^^xsd:integer . |
dt-not-type | ! | :d a owl:DatatypeProperty ; rdfs:range xsd:integer . :x :d "five" . |
scm-cls | + | :C a owl:Class . | :C rdfs:subClassOf :C , owl:Thing ; owl:equivalentClass :C . \
owl:Nothing rdfs:subClassOf :C .
scm-sco | + | :C rdfs:subClassOf :D . :D rdfs:subClassOf :E . | :C rdfs:subClassOf :E .
scm-sco | - | :C rdfs:subClassOf :D . :E rdfs:subClassOf :D . | :C rdfs:subClassOf :E .
scm-eqc1 | + | :C owl:equivalentClass :D . | :C rdfs:subClassOf :D . :D rdfs:subClassOf :C .
scm-eqc2 | + | :C rdfs:subClassOf :D . :D rdfs:subClassOf :C . | :C owl:equivalentClass :D .
scm-op | + | :p a owl:ObjectProperty . | :p rdfs:subPropertyOf :p ; owl:equivalentProperty :p .
scm-dp | + | :d a owl:DatatypeProperty . | :d rdfs:subPropertyOf :d ; owl:equivalentProperty :d .
scm-spo | + | :p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r . | :p rdfs:subPropertyOf :r .
scm-eqp1 | + | :p owl:equivalentProperty :q . | :p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p .
scm-eqp2 | + | :p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p . | :p owl:equivalentProperty :q .
scm-dom1 | + | :p rdfs:domain :C . :C rdfs:subClassOf :D . | :p rdfs:domain :D .
scm-dom2 | + | :q rdfs:domain :C . :p rdfs:subPropertyOf :q . | :p rdfs:domain :C .
scm-rng1 | + | :p rdfs:range :C . :C rdfs:subClassOf :D . | :p rdfs:range :D .
scm-rng2 | + | :q rdfs:range :C . :p rdfs:subPropertyOf :q . | :p rdfs:range :C .
scm-rng2 | - | :p rdfs:range :C . :p rdfs:subPropertyOf :q . | :q rdfs:range :C .
scm-hv | + | :A owl:hasValue :v ; owl:onProperty :p . :B owl:hasValue :v ; owl:onProperty :q . \
:p rdfs:subPropertyOf :q . | :A rdfs:subClassOf :B .
scm-svf1 | + | :A owl:someValuesFrom :C ; owl:onProperty :p . :B owl:someValuesFrom :D ; owl:onProperty :p . \
:C rdfs:subClassOf :D . | :A rdfs:subClassOf :B .
scm-svf2 | + | :A owl:someValuesFrom :C ; owl:onProperty :p . :B owl:someValuesFrom :C ; owl:onProperty :q . \
:p rdfs:subPropertyOf :q . | :A rdfs:subClassOf :B .
scm-avf1 | + | :A owl:allValuesFrom :C ; owl:onProperty :p . :B owl:allValuesFrom :D ; owl:onProperty :p . \
:C rdfs:subClassOf :D . | :A rdfs:subClassOf :B .
scm-avf2 | + | :A owl:allValuesFrom :C ; owl:onProperty :p . :B owl:allValuesFrom :C ; owl:onProperty :q . \
:p rdfs:subPropertyOf :q . | :B rdfs:subClassOf :A .
scm-avf2 | - | :A owl:allValuesFrom :C ; owl:onProperty :p . :B owl:allValuesFrom :C ; owl:onProperty :q . \
:p rdfs:subPropertyOf :q . | :A rdfs:subClassOf :B .
scm-int | + | :C owl:intersectionOf ( :A :B ) . | :C rdfs:subClassOf :A , :B .
scm-uni | + | :C owl:unionOf ( :A :B ) . | :A rdfs:subClassOf :C . :B rdfs:subClassOf :C .
"""
IMPORTED = (":C rdfs:subClassOf :D .", "<http://example.org/o> a owl:Ontology ; owl:imports <http://example.org/i> .")


def write_manifest(folder: Path) -> Path:
    """A manifest of all cases."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line.split("|") for line in CASES.strip().splitlines()]
    cases = [_case(n, *map(str.strip, line), folder=folder) for n, line in enumerate(lines)]  # type: ignore[misc]
    path = folder / "manifest.rdf"
    path.write_text(_rdf("".join([*cases, _importing(folder)])))
    return path


def _case(number: int, rule: str, sign: str, premise: str, other: str, folder: Path) -> str:
    kinds = {"+": (POSITIVE, CONSISTENT), "-": (NEGATIVE, CONSISTENT), "!": (INCONSISTENT,)}[sign]
    document = {"+": "Conclusion", "-": "NonConclusion"}.get(sign)
    texts = [_text("Premise", f"{OBJECTS} {premise}", folder)]
    texts += [_text(document, other, folder)] if document else []
    return _described(f"{rule}-{number}", kinds, texts)


def _importing(folder: Path) -> str:
    imported, importing = IMPORTED
    node = "<rdf:Description><test:importedOntologyIRI rdf:resource='http://example.org/i'/>{}</rdf:Description>"
    inner = node.format(_text("Input", imported, folder))
    texts = [
        _text("Premise", f"{importing} :x a :C .", folder),
        _text("Conclusion", ":x a :D .", folder),
        f"<test:importedOntology>{inner}</test:importedOntology>",
    ]
    return _described("imports", (POSITIVE, CONSISTENT), texts)


def _described(name: str, kinds: Iterable[str], texts: Iterable[str]) -> str:
    types = "".join(f"<rdf:type rdf:resource='{TEST}{kind}'/>" for kind in kinds)
    where = f"<test:profile rdf:resource='{TEST}RL'/><test:semantics rdf:resource='{TEST}RDF-BASED'/>"
    about = f"<test:TestCase rdf:about='http://example.org/tests/{name}'><test:identifier>{name}</test:identifier>"
    return f"{about}{types}{where}{''.join(texts)}</test:TestCase>\n"


def _text(part: str, turtle: str, folder: Path) -> str:
    source = folder / "source.ttl"
    source.write_text(PREFIXES + turtle)
    document = _rdf("".join(_descriptions(read_document(source).triples)))
    return f"<test:rdfXml{part}Ontology>{escape(document)}</test:rdfXml{part}Ontology>"


def _rdf(inner: str) -> str:
    return f"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:test='{TEST}'>{inner}</rdf:RDF>"


def _descriptions(triples: Iterable[RdfTriple]) -> Iterator[str]:
    for subject, predicate, object in triples:
        cut = max(predicate.rfind(sign) for sign in "#/") + 1
        name = f"p:{predicate[cut:]} xmlns:p={quoteattr(predicate[:cut])}"
        inner = f"<{name} {_object(object)}</p:{predicate[cut:]}>"
        yield f"<rdf:Description {_node(subject, 'about')}>{inner}</rdf:Description>"


def _node(node: Value, attribute: str) -> str:
    if isinstance(node, BlankNode):
        return f"rdf:nodeID={quoteattr('b' + ''.join(c for c in str(node) if c.isalnum()))}"
    return f"rdf:{attribute}={quoteattr(str(node))}"


def _object(value: Value) -> str:
    if isinstance(value, IRI | BlankNode):
        return f"{_node(value, 'resource')}>"
    if isinstance(value, Literal) and value.language:
        return f"xml:lang={quoteattr(value.language)}>{escape(lexical(value))}"
    return f"rdf:datatype={quoteattr(str(datatype(value)))}>{escape(lexical(value))}"
