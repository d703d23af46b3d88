"""What an ontology with facts derives, as lines of text; by compiled rules and by the rules for all ontologies."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deltalog import KnowledgeBase
from deltalog.core.rule_text import print_value
from deltalog.core.rules import TRIPLES, Pred
from deltalog.core.terms import IRI, RDF_TYPE, BlankNode, Value
from deltalog.extensions.ontology.graph import RdfTriple, triples_of
from deltalog.extensions.ontology.vocabulary import DIFFERENT_FROM, SAME_AS, is_reserved
from deltalog.knowledge_base.calls import session_of

EXAMPLE = "http://example.org/"
OWL = "http://www.w3.org/2002/07/owl#"


def knowledge_base(path: Path, profile: str, engine: str = "local") -> KnowledgeBase:
    """A knowledge base of an ontology with its facts."""
    return KnowledgeBase(ontology=path, profile=profile, engine=engine)


def derived(path: Path, profile: str, engine: str = "local") -> set[str]:
    """What follows beyond the facts of the file."""
    stated = KnowledgeBase()
    stated.load(path)
    return lines(knowledge_base(path, profile, engine)) - lines(stated)


def lines(kb: KnowledgeBase) -> set[str]:
    """The facts about individuals, and the contradictions, as `:a a :C`, `:a :p :b` and `inconsistent :a AXIOM`."""
    kb.materialise()
    contradictions = {f"inconsistent {text(x)} {axiom}" for x, axiom in _rows(kb, Pred("inconsistent", 2))}
    triples = (each for name in kb.predicates for each in _triples(kb, session_of(kb).predicate(name)))
    return contradictions | {line_of(*each) for each in triples if is_about_individuals(*each)}


def _rows(kb: KnowledgeBase, pred: Pred) -> list[tuple[Value, ...]]:
    return list(kb.facts(str(pred))) if pred.name in kb.predicates else []


def _triples(kb: KnowledgeBase, pred: Pred) -> Iterable[RdfTriple]:
    return triples_of({pred: kb.facts(str(pred))}) if ":" in pred.name or pred == TRIPLES else ()


def line_of(subject: Value, predicate: IRI, object: Value) -> str:
    return f"{text(subject)} {'a' if predicate == RDF_TYPE else text(predicate)} {text(object)}"


def is_about_individuals(subject: Value, predicate: IRI, object: Value) -> bool:
    """Whether a triple is of user vocabulary, or of equality, about something with a name."""
    if not isinstance(subject, IRI) or isinstance(object, BlankNode) or is_reserved(subject):
        return False
    if str(predicate) in (SAME_AS, DIFFERENT_FROM):
        return isinstance(object, IRI)
    return not is_reserved(object if predicate == RDF_TYPE and isinstance(object, IRI) else predicate)


def text(value: Value) -> str:
    if isinstance(value, IRI):
        return ":" + value.removeprefix(EXAMPLE) if value.startswith(EXAMPLE) else value.replace(OWL, "owl:")
    return print_value(value)
