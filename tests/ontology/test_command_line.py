"""`deltalog ontology`, `deltalog run --ontology` and ready-made rules on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from deltalog.apps.cli.main import main

Run = Callable[..., tuple[int, str, str]]
PREFIXES = """@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


@pytest.fixture
def deltalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("zoo.ttl").write_text(f"{PREFIXES}:Cat rdfs:subClassOf :Animal ; owl:disjointWith :Dog .\n")
    Path("more.ttl").write_text(f"{PREFIXES}:Animal rdfs:subClassOf :Being , [ owl:unionOf ( :Male :Female ) ] .\n")
    Path("data.ttl").write_text(f"{PREFIXES}:tom a :Cat .\n")
    Path("odd.ttl").write_text(f"{PREFIXES}:tom a :Dog .\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_the_rules_of_an_ontology(deltalog: Run) -> None:
    code, out, err = deltalog("ontology", "zoo.ttl", "more.ttl")
    assert code == 0
    assert "# SubClassOf(:Cat :Animal)\n:Animal[?x] :- :Cat[?x] .\n" in out
    assert 'inconsistent(?x, "DisjointClasses(:Cat :Dog)") :- :Cat[?x], :Dog[?x] .\n' in out
    assert "more.ttl:4: SubClassOf(:Animal UnionOf(:Male :Female))\n  lost: UnionOf(:Male :Female): unionOf" in err
    assert err.endswith("3 rules from 4 axioms; parts of 1 are lost\n")


def test_the_rules_are_a_program(deltalog: Run) -> None:
    assert deltalog("ontology", "zoo.ttl", "--out", "zoo.dl")[:2] == (0, "")
    code, _, err = deltalog("run", "zoo.dl", "--data", "data.ttl", "--only", "http://example.org/Animal", "--out", "o")
    assert code == 0, err
    assert [path.read_text() for path in Path("o").glob("Animal*.csv")] == ["<http://example.org/tom>\n"]


def test_profiles(deltalog: Run) -> None:
    _, out, err = deltalog("ontology", "zoo.ttl", "--profile", "rdfs")
    assert "inconsistent" not in out
    assert "zoo.ttl:4: DisjointClasses(:Cat :Dog)\n  lost: it has no meaning in RDFS\n" in err
    _, out, err = deltalog("ontology", "zoo.ttl", "--profile", "owl2rl-rdf")
    assert "# cax-sco" in out and "dt-not-type" in out
    assert "the axioms stay facts" in err


def test_run(deltalog: Run) -> None:
    code, out, err = deltalog("run", "--ontology", "zoo.ttl", "more.ttl", "--data", "data.ttl", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["per_predicate"]["http://example.org/Being"] == 1
    assert report["inconsistencies"] == 0
    assert "3 rules from 4 axioms; parts of 1 axiom are lost, which `deltalog ontology` lists" in err


@pytest.mark.parametrize("profile", ["owl2rl", "owl2rl-rdf"])
def test_contradictions_are_loud(deltalog: Run, profile: str) -> None:
    command = ["run", "--ontology", "zoo.ttl", "--data", "data.ttl", "--data", "odd.ttl", "--profile", profile]
    code, out, err = deltalog(*command, "--json", "--quiet")
    report = json.loads(out)
    assert code == 0
    assert report["inconsistencies"] == 1
    assert "INCONSISTENT: 1 contradiction with the ontology\n  <http://example.org/tom> contradicts " in err
    assert report["inconsistency_examples"][0] in err
    assert report["per_predicate"]["http://example.org/Animal"] == 1


def test_ready_made_rules(deltalog: Run) -> None:
    code, out, _ = deltalog("run", "@rdfs-plus", "--data", "zoo.ttl", "--data", "data.ttl", "--json")
    assert code == 0
    assert json.loads(out)["facts_derived"] > 0
    code, _, err = deltalog("run", "@rdsf", "--data", "data.ttl")
    assert code == 1
    assert "there are no ready-made rules @rdsf; choose one of @owl2rl, " in err


def test_wrong_usage(deltalog: Run) -> None:
    assert deltalog("run", "--data", "data.ttl")[0] == 2
    code, _, err = deltalog("ontology", "none.owl")
    assert (code, err) == (1, "error: none.owl: there is no such file or folder\n")
    Path("zoo.ofn").write_text("Ontology()")
    code, _, err = deltalog("ontology", "zoo.ofn")
    assert code == 1
    assert "zoo.ofn" in err


@pytest.mark.parametrize("way", ["representatives", "axioms"])
def test_equality(deltalog: Run, way: str) -> None:
    Path("same.ttl").write_text(f"{PREFIXES}:tom owl:sameAs :thomas .\n")
    asked = ("run", "--ontology", "zoo.ttl", "--data", "data.ttl", "--data", "same.ttl", "--equality", way)
    code, out, _ = deltalog(*asked, "--json")
    report = json.loads(out)
    assert (code, report["per_predicate"]["http://example.org/Animal"]) == (0, 2)
    assert report["equality"].startswith(f"{way}: ")
    assert f"equality by {way}: " in deltalog(*asked)[2]
