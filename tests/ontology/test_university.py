"""The university of the examples: its ontology derives what its rules derive."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog import KnowledgeBase

FOLDER = Path(__file__).parents[2] / "examples" / "university"
UNIVERSITY = "http://example.org/university#"
IN_BOTH = ("memberOf", "partOf", "taughtBy", "hasAlumnus", "Course", "Faculty", "Person", "Professor", "Student")


@pytest.fixture(scope="module", params=["owl2rl", "owl2rl-rdf"])
def kb(request: pytest.FixtureRequest) -> KnowledgeBase:
    found = KnowledgeBase(ontology=FOLDER / "ontology.ttl", profile=request.param)
    found.load(FOLDER / "data.ttl")
    return found


@pytest.mark.parametrize("name", IN_BOTH)
def test_the_ontology_derives_what_the_rules_derive(kb: KnowledgeBase, name: str) -> None:
    by_rules = KnowledgeBase(FOLDER / "rules.dlog")
    by_rules.load(FOLDER / "data.ttl")
    assert set(kb.facts(UNIVERSITY + name)) == set(by_rules.facts(UNIVERSITY + name))


def test_queries(kb: KnowledgeBase) -> None:
    """Queries in the manner of LUBM's."""
    prefix = f"PREFIX : <{UNIVERSITY}>"
    queries = {
        "SELECT ?x { ?x a :Student ; :takes :datalog101 }": 2,
        "SELECT ?x { ?x a :Professor ; :memberOf :uni }": 3,
        "SELECT ?x { ?x a :Teacher }": 3,
        "SELECT ?x ?y { ?x :advisor ?y . ?y a :Faculty ; :teaches ?c . ?x :takes ?c }": 2,
        "SELECT ?x { :uni :hasAlumnus ?x . ?x a :Person }": 1,
    }
    assert {query: len(kb.sparql(f"{prefix} {query}").rows) for query in queries} == queries  # type: ignore[union-attr]
    assert kb.inconsistencies == []
