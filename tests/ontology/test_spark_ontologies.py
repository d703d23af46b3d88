"""Ontologies on the Spark engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltalog import IRI, KnowledgeBase
from deltalog.extensions.ontology.vocabulary import RDFS
from tests.ontology.closures import lines

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize("case", ["disjoint_union", "functional", "domain_and_range", "facets"])
def test_compiled(case: str, spark: Any) -> None:
    path = CASES / f"{case}.ttl"
    here, there = KnowledgeBase(ontology=path), KnowledgeBase(ontology=path, engine="auto", spark=spark)
    assert lines(there) == lines(here)
    assert [str(each) for each in there.inconsistencies] == [str(each) for each in here.inconsistencies]


def test_axioms_among_facts(spark: Any) -> None:
    names = [IRI(f"http://example.org/{name}") for name in ("A", "B", "x")]
    kb = KnowledgeBase(profile="owl2rl", engine="spark", spark=spark)
    kb.add(str(names[0]), [(names[2],)])
    kb.materialise()
    change = kb.update(add={RDFS + "subClassOf": [(names[0], names[1])]})
    assert list(change.added[str(names[1])]) == [(names[2],)]
