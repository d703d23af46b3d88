"""Test cases in the W3C's format: by compiled rules, and by the rules for all ontologies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ontology.owl_tests.manifest import OwlTest, closure, failures, is_about_schema, read_manifest
from tests.ontology.owl_tests.rules import CASES, write_manifest

# What compiled rules do not find, by the names of W3C's rules, besides schema triples.
NOT_COMPILED = {
    "dt-not-type": "a literal that is not of its own datatype, where no axiom is about its property",
    "eq-rep-p": "a property that is the same as another one is not looked for in the place of a predicate",
}


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> list[OwlTest]:
    return read_manifest(write_manifest(tmp_path_factory.mktemp("manifest")))


def missed(tests: list[OwlTest], profile: str, folder: Path) -> dict[str, list[str]]:
    found = {test.name: failures(test, closure(test, profile, folder / test.name), folder) for test in tests}
    return {name: wrong for name, wrong in found.items() if wrong}


def test_the_manifest_is_read_as_written(tests: list[OwlTest]) -> None:
    assert len(tests) == len(CASES.strip().splitlines()) + 1
    assert all(test.applies for test in tests)
    assert [test.name for test in tests if test.imported] == ["imports"]


def test_the_rules_for_all_ontologies(tests: list[OwlTest], tmp_path: Path) -> None:
    assert missed(tests, "owl2rl-rdf", tmp_path) == {}


def test_compiled_rules(tests: list[OwlTest], tmp_path: Path) -> None:
    about_individuals = [test for test in tests if not is_about_schema(test, tmp_path)]
    wrong = missed(about_individuals, "owl2rl", tmp_path)
    assert {name.rpartition("-")[0] for name in wrong} == set(NOT_COMPILED)


def test_a_test_of_another_profile_does_not_apply(tests: list[OwlTest]) -> None:
    assert not OwlTest("x", tests[0].kinds, "premise", profiles=frozenset({"EL"})).applies
