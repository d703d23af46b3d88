"""Test cases in the format of the W3C's OWL 2 test suite (OWL 2 Conformance, section 4), and how they are run.

A manifest is RDF in which a test case has its kinds, profiles and semantics, and documents as literals of RDF/XML:
premise, conclusion or non-conclusion, and imported ontologies. Those of the profile RL under the RDF-based semantics
concern deltalog (`applies`).

An entailment holds if the conclusion's graph is found in the closure, with blank nodes as variables, or if the premise
is inconsistent. Declarations in a conclusion are left out, as they are no consequences.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

from deltalog import KnowledgeBase
from deltalog.core.rules import TRIPLES
from deltalog.core.terms import IRI, RDF_TYPE, BlankNode, Value, lexical
from deltalog.extensions.ontology.graph import RdfTriple, triples_of
from deltalog.extensions.ontology.imports import CATALOG
from deltalog.extensions.ontology.load import read_document
from deltalog.extensions.ontology.vocabulary import OWL, RDFS
from deltalog.knowledge_base.calls import session_of

TEST = "http://www.w3.org/2007/OWL/testOntology#"
POSITIVE, NEGATIVE, CONSISTENT, INCONSISTENT = (
    f"{kind}Test" for kind in ("PositiveEntailment", "NegativeEntailment", "Consistency", "Inconsistency")
)
KINDS = (POSITIVE, NEGATIVE, CONSISTENT, INCONSISTENT)
_DECLARED = ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty", "NamedIndividual", "Ontology")
DECLARATIONS = frozenset([*(IRI(OWL + name) for name in _DECLARED), IRI(RDFS + "Datatype")])
Graph = Collection[RdfTriple]


@dataclass(frozen=True)
class OwlTest:
    """A test case. Documents are texts of RDF/XML."""

    name: str
    kinds: frozenset[str]
    premise: str = ""
    conclusion: str = ""  # of a positive entailment
    other: str = ""  # the non-conclusion of a negative one
    imported: Mapping[str, str] = field(default_factory=dict)
    profiles: frozenset[str] = frozenset()
    semantics: frozenset[str] = frozenset()

    @property
    def applies(self) -> bool:
        """Whether it is a test of the OWL 2 RL/RDF rules, with documents in RDF/XML."""
        needed = (self.premise, self.conclusion if POSITIVE in self.kinds else "-")
        by_rules = "RDF-BASED" in self.semantics or not self.semantics
        return all(needed) and by_rules and "RL" in self.profiles and not self.kinds.isdisjoint(KINDS)


def read_manifest(path: Path) -> list[OwlTest]:
    """The test cases of a manifest, by name."""
    about: dict[Value, dict[str, list[Value]]] = defaultdict(lambda: defaultdict(list))
    for subject, predicate, object in read_document(path).triples:
        about[subject][str(predicate).removeprefix(TEST)].append(object)
    tests = [_test(each, about) for each in list(about.values()) if "identifier" in each]
    return sorted(tests, key=lambda test: test.name)


def _test(own: Mapping[str, list[Value]], about: Mapping[Value, Mapping[str, list[Value]]]) -> OwlTest:
    def text(name: str) -> str:
        return lexical(own[name][0]) if name in own else ""

    def names(predicate: str) -> frozenset[str]:
        return frozenset(str(each).removeprefix(TEST) for each in own.get(predicate, ()))

    documents = (about[node] for node in own.get("importedOntology", ()) if node in about)
    imported = {str(each["importedOntologyIRI"][0]): lexical(each["rdfXmlInputOntology"][0]) for each in documents}
    texts = (text(f"rdfXml{part}Ontology") for part in ("Premise", "Conclusion", "NonConclusion"))
    return OwlTest(text("identifier"), names(str(RDF_TYPE)), *texts, imported, names("profile"), names("semantics"))


# Running a test.


@dataclass(frozen=True)
class Closure:
    """What follows from a premise."""

    graph: frozenset[RdfTriple]
    is_inconsistent: bool


def closure(test: OwlTest, profile: str, folder: Path) -> Closure:
    kb = KnowledgeBase(ontology=write_documents(test, folder), profile=profile)
    kb.materialise()
    preds = [session_of(kb).predicate(name) for name in kb.predicates]
    facts = {pred: kb.facts(str(pred)) for pred in preds if ":" in pred.name or pred == TRIPLES}
    return Closure(frozenset(triples_of(facts)), bool(kb.inconsistencies))


def write_documents(test: OwlTest, folder: Path) -> Path:
    """The premise as a file, with a catalog of what it imports."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number, (iri, text) in enumerate(test.imported.items()):
        (folder / f"imported{number}.rdf").write_text(text)
        entries.append(f'<uri name={quoteattr(iri)} uri="imported{number}.rdf"/>')
    (folder / CATALOG).write_text(f"<catalog>{''.join(entries)}</catalog>")
    (folder / "premise.rdf").write_text(test.premise)
    return folder / "premise.rdf"


def failures(test: OwlTest, found: Closure, folder: Path) -> list[str]:
    """What a closure has wrong, for each kind of the test."""
    wrong = []
    if CONSISTENT in test.kinds and found.is_inconsistent:
        wrong.append("consistent, but a contradiction was found")
    if INCONSISTENT in test.kinds and not found.is_inconsistent:
        wrong.append("inconsistent, but no contradiction was found")
    if POSITIVE in test.kinds and not found.is_inconsistent:
        missing = unmatched(conclusion(test.conclusion, folder), found.graph)
        wrong += [f"not derived: {_line(each)}" for each in missing[:1]]
    if NEGATIVE in test.kinds and test.other and not unmatched(conclusion(test.other, folder), found.graph):
        wrong.append("the non-conclusion was derived")
    return wrong


def conclusion(document: str, folder: Path) -> list[RdfTriple]:
    """The triples of a conclusion, without declarations."""
    (folder / "conclusion.rdf").write_text(document)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        triples = read_document(folder / "conclusion.rdf").triples
    return [t for t in triples if not (t[1] == RDF_TYPE and t[2] in DECLARATIONS) and t[1] != IRI(OWL + "imports")]


def _line(triple: RdfTriple) -> str:
    return " ".join(repr(each) if not isinstance(each, IRI) else f"<{each}>" for each in triple)


def unmatched(wanted: Graph, graph: Graph) -> list[RdfTriple]:
    """Nothing if a graph has others as an instance of its blank nodes; or else a triple that cannot be matched."""
    by_predicate: dict[IRI, list[RdfTriple]] = defaultdict(list)
    for triple in graph:
        by_predicate[triple[1]].append(triple)
    known, ground = set(graph), [t for t in wanted if not _blanks(t)]
    missing = [t for t in ground if t not in known]
    if missing:
        return missing
    patterns = sorted((t for t in wanted if _blanks(t)), key=lambda t: len(_blanks(t)))
    return [] if _embeds(patterns, by_predicate, {}) else patterns


def _blanks(triple: RdfTriple) -> set[BlankNode]:
    return {term for term in triple if isinstance(term, BlankNode)}


def _embeds(patterns: list[RdfTriple], graph: Mapping[IRI, list[RdfTriple]], known: Mapping[Value, Value]) -> bool:
    """Whether blank nodes can be replaced so that all patterns are in the graph: by backtracking, the pattern with the
    fewest unknown nodes first."""
    if not patterns:
        return True
    pattern = min(patterns, key=lambda t: len(_blanks(t) - known.keys()))
    rest = [each for each in patterns if each is not pattern]
    return any(_embeds(rest, graph, more) for more in _matches(pattern, graph.get(pattern[1], ()), known))


def _matches(
    pattern: RdfTriple, triples: Iterable[RdfTriple], known: Mapping[Value, Value]
) -> Iterator[dict[Value, Value]]:
    for triple in triples:
        more = dict(known)
        for wanted, term in ((pattern[0], triple[0]), (pattern[2], triple[2])):
            if more.get(wanted, term if isinstance(wanted, BlankNode) else wanted) != term:
                break
            if isinstance(wanted, BlankNode):
                more[wanted] = term
        else:
            yield more


def is_about_schema(test: OwlTest, folder: Path) -> bool:
    """Whether a conclusion has triples about classes and properties, which compiled rules do not derive, or members of
    classes without a name."""
    reserved = (OWL, RDFS)
    own = [OWL + "sameAs", OWL + "differentFrom"]
    found = conclusion(test.conclusion, folder) if test.conclusion else []
    return any(
        (str(p).startswith(reserved) and str(p) not in own)
        or (p == RDF_TYPE and (isinstance(o, BlankNode) or str(o).startswith((OWL, RDFS))))
        for _, p, o in found
    )
