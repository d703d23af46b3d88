"""Axioms of every kind: `cases/<name>.ttl` has an ontology with facts, `cases/<name>.expected` what it derives, by the
compiled rules on every engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ontology.closures import derived

CASES = sorted((Path(__file__).parent / "cases").glob("*.ttl"))
# Where the OWL 2 RL/RDF rules are not to be compared: they have no rules for it, or other names of contradictions.
NOT_GENERIC = ("has_self", "facets", "datatype_definition", "disjoint_union", "swrl", "data_max_cardinality")
NOT_GENERIC += ("exactly_one", "sub_property_of_an_inverse", "chain_with_an_inverse", "annotations_are_no_facts")


def names(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("case", CASES, ids=names)
def test_compiled(case: Path, engine: str) -> None:
    expected = set(case.with_suffix(".expected").read_text().splitlines())
    assert expected, "a case derives something"
    assert derived(case, "owl2rl", engine) == expected


@pytest.mark.parametrize("case", [case for case in CASES if not case.stem.startswith(NOT_GENERIC)], ids=names)
def test_the_rules_for_all_ontologies_derive_the_same(case: Path) -> None:
    expected = set(case.with_suffix(".expected").read_text().splitlines())
    found = derived(case, "owl2rl-rdf")
    assert {line for line in found if not line.startswith("inconsistent")} == {
        line for line in expected if not line.startswith("inconsistent")
    }
    assert _inconsistent(found) == _inconsistent(expected)


def _inconsistent(found: set[str]) -> set[str]:
    return {line.split()[1] for line in found if line.startswith("inconsistent")}


def test_there_are_cases() -> None:
    assert len(CASES) >= 50
