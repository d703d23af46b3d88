"""Compiled rules against the OWL 2 RL/RDF rules, on random ontologies with facts; and changes against starting over."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog import KnowledgeBase
from tests.ontology.closures import knowledge_base, lines
from tests.ontology.random_ontologies import RandomOntology, turtle


def without_axioms(found: set[str]) -> set[str]:
    """The rules have different names of contradictions."""
    return {" ".join(line.split()[:2]) if line.startswith("inconsistent") else line for line in found}


@pytest.mark.parametrize("seed", range(24))
def test_compiled_and_generic_rules_agree(seed: int, tmp_path: Path) -> None:
    made = RandomOntology(seed, equality=seed % 3 == 0)
    path = tmp_path / "ontology.ttl"
    path.write_text(turtle(made.axioms(4 + seed % 7), made.facts(12)))
    compiled = lines(knowledge_base(path, "owl2rl"))
    assert compiled == lines(knowledge_base(path, "owl2rl", "naive"))
    assert without_axioms(compiled) == without_axioms(lines(knowledge_base(path, "owl2rl-rdf"))), path.read_text()


@pytest.mark.parametrize("seed", range(12))
def test_changes_of_axioms_are_incremental(seed: int, tmp_path: Path) -> None:
    """Ontology files that come and go, and axioms among facts, against a knowledge base that has them all at once."""
    made = RandomOntology(1_000 + seed, equality=seed % 3 == 0)
    files = [tmp_path / f"{n}.ttl" for n in range(3)]
    for file in files:
        file.write_text(turtle(made.axioms(4)))
    facts = tmp_path / "facts.ttl"
    facts.write_text(turtle(made.facts(12)))
    kb = KnowledgeBase(ontology=files[:2])
    kb.load(facts)
    kb.materialise()
    kb.load_ontology(files[2])
    assert lines(kb) == at_once(files, facts)
    kb.remove_ontology(files[0])
    assert lines(kb) == at_once(files[1:], facts)
    kb.load_ontology(files[0])
    kb.remove_ontology(files[1], files[2])
    assert lines(kb) == at_once(files[:1], facts)


def at_once(ontologies: list[Path], facts: Path) -> set[str]:
    kb = KnowledgeBase(ontology=ontologies, engine="naive")
    kb.load(facts)
    return lines(kb)
