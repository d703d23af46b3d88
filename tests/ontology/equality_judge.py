"""A judge of equality: its axioms from the definition, over every predicate that turns out to have facts.

It shares nothing with the rules that ontologies have for equality, and nothing with representatives. Everything is
evaluated from scratch by the naive engine, with axioms as text:

1. evaluate the user's rules, the rules of the axioms without those of equality, and the axioms of equality so far;
2. write the axioms of equality for every class and property that has facts now; if there are new ones, begin again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deltalog import KnowledgeBase
from deltalog.core.rules import Constant, Pred
from deltalog.extensions.ontology.graph import RdfTriple
from deltalog.extensions.ontology.known_predicates import KnownPredicates
from deltalog.extensions.ontology.load import OntologyFile
from deltalog.extensions.ontology.state import Ontology

FactSets = dict[str, set[tuple[Any, ...]]]
OWL = "http://www.w3.org/2002/07/owl#"
VOCABULARIES = (
    OWL,
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2001/XMLSchema#",
    "http://www.w3.org/2003/11/swrl#",
)
SPECIAL = KnownPredicates(
    frozenset((Pred(OWL + "differentFrom", 2), Pred(OWL + "Nothing", 1), Pred(OWL + "sameAs", 2)))
)
EQUALITY = f"""
<{OWL}sameAs>(?y, ?x) :- <{OWL}sameAs>(?x, ?y) .
<{OWL}sameAs>(?x, ?z) :- <{OWL}sameAs>(?x, ?y), <{OWL}sameAs>(?y, ?z) .
"""


def judged(
    rules: str,
    files: Iterable[OntologyFile],
    facts: Mapping[str, Iterable[tuple[Any, ...]]],
    axioms: Iterable[RdfTriple],
) -> FactSets:
    """All facts that follow."""
    ontology = Ontology(files=tuple(files)).compiled_with(axioms, SPECIAL)
    compiled = [rule for each in ontology.compiled.entries if each.group != "Equality" for rule in each.rules]
    program = rules + "\n" + "\n".join(str(rule) for rule in compiled if not rule.is_fact) + EQUALITY
    stated = {name: set(rows) for name, rows in facts.items()}
    for fact in ontology.facts:
        stated.setdefault(fact.name, set()).add(tuple(t.value for t in fact.terms if isinstance(t, Constant)))
    replaced = set[tuple[str, int]]()
    while True:
        found = _evaluated(program, stated)
        new = {(name, len(row)) for name, rows in found.items() for row in rows if _has_individuals(name, len(row))}
        if new <= replaced:
            return found
        program += "".join(_replacement(*each) for each in sorted(new - replaced))
        replaced |= new


def _evaluated(program: str, facts: FactSets) -> FactSets:
    kb = KnowledgeBase(program, engine="naive")
    for name, rows in facts.items():
        kb.add(name, sorted(rows, key=repr))
    kb.materialise()
    return {name: set(kb.facts(name)) for name in kb.predicates if len(kb.facts(name))}


def _has_individuals(name: str, arity: int) -> bool:
    is_of_users = ":" in name and not name.startswith(VOCABULARIES)
    return arity in (1, 2) and (is_of_users or name == OWL + "differentFrom")


def _replacement(name: str, arity: int) -> str:
    """The axioms of equality for one predicate: replacement in each of its positions."""
    if arity == 1:
        return f"<{name}>(?y) :- <{OWL}sameAs>(?x, ?y), <{name}>(?x) .\n"
    first = f"<{name}>(?y, ?z) :- <{OWL}sameAs>(?x, ?y), <{name}>(?x, ?z) .\n"
    return first + f"<{name}>(?z, ?y) :- <{OWL}sameAs>(?x, ?y), <{name}>(?z, ?x) .\n"
