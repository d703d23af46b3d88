"""The ontology of a knowledge base as its store has it: JSON of the files' triples, from which it is compiled again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deltalog.core.rules import Atom, Constant, Pred
from deltalog.core.terms import IRI, BlankNode, Literal, Value, datatype, lexical, literal
from deltalog.extensions.ontology.graph import RdfTriple
from deltalog.extensions.ontology.known_predicates import KnownPredicates
from deltalog.extensions.ontology.load import OntologyFile
from deltalog.extensions.ontology.state import Ontology
from deltalog.languages.deltalog.parser import parse

_IRI, _BLANK, _LITERAL = "iri", "blank", "literal"


def as_json(ontology: Ontology) -> dict[str, Any]:
    """Profile and files; and the rules and facts that it shares with the user, mostly none."""
    return {
        "profile": ontology.profile,
        "files": [_file(file) for file in ontology.files],
        "shared_rules": [str(rule) for rule in ontology.rules if rule not in ontology.own_rules],
        "shared_facts": sorted(_atom(fact) for fact in ontology.facts - ontology.own_facts),
        "known": None if ontology.known is None else _known(ontology.known),
    }


def reopened(stored: Mapping[str, Any], axioms: Iterable[RdfTriple], facts: Iterable[Pred]) -> Ontology:
    """The ontology, compiled again with the axioms among the facts. A store of an earlier release does not say which
    predicates it was compiled for: those of facts alone, until the next change."""
    files, known = tuple(map(_as_file, stored["files"])), _as_known(stored.get("known"))
    compiled_for = known or KnownPredicates(frozenset(facts))
    ontology = Ontology(stored["profile"], files).compiled_with(axioms, compiled_for)
    ontology = replace(ontology, known=known)
    shared_rules = {rule for text in stored["shared_rules"] for rule in parse(text)}
    shared_facts = frozenset(map(_as_atom, stored["shared_facts"]))
    own_rules = frozenset(rule for rule in ontology.rules if rule not in shared_rules)
    return replace(ontology, own_rules=own_rules, own_facts=ontology.facts - shared_facts)


def _known(known: KnownPredicates) -> list[list[list[Any]]]:
    return [[[pred.name, pred.arity] for pred in sorted(preds)] for preds in (known.facts, known.heads, known.reads)]


def _as_known(stored: Any) -> KnownPredicates | None:
    return None if stored is None else KnownPredicates(*(frozenset(Pred(*each) for each in preds) for preds in stored))


def _file(file: OntologyFile) -> dict[str, Any]:
    triples = [[_term(term) for term in triple] for triple in file.triples]
    found = {"is_imported": file.is_imported, "found_as": sorted(file.found_as)}
    return {"path": str(file.path), "prefixes": dict(file.prefixes), "triples": triples, **found}


def _as_file(stored: Mapping[str, Any]) -> OntologyFile:
    triples = [tuple(_value(term) for term in triple) for triple in stored["triples"]]
    found = bool(stored.get("is_imported")), frozenset(map(str, stored.get("found_as", ())))
    rows = tuple((s, IRI(str(p)), o) for s, p, o in triples)
    return OntologyFile(Path(stored["path"]), rows, stored["prefixes"], *found)


def _atom(atom: Atom) -> list[Any]:
    return [atom.name, [_term(term.value) for term in atom.terms if isinstance(term, Constant)]]


def _as_atom(stored: Sequence[Any]) -> Atom:
    return Atom(stored[0], tuple(Constant(_value(term)) for term in stored[1]))


def _term(value: Value) -> list[str]:
    match value:
        case IRI():
            return [_IRI, str(value)]
        case BlankNode():
            return [_BLANK, str(value)]
        case Literal(language=str(language)):
            return [_LITERAL, value.text, value.datatype, language]
    return [_LITERAL, lexical(value), datatype(value) or "", ""]


def _value(stored: Sequence[str]) -> Value:
    kind, text, *rest = stored
    if kind == _LITERAL:
        return literal(text, rest[0], rest[1] or None)
    return IRI(text) if kind == _IRI else BlankNode(text)
