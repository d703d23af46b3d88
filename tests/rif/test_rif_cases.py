"""RIF documents and the facts that they give, as rules in the rule language say them."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog import KnowledgeBase
from deltalog.apps.cli.main import main
from deltalog.languages.load_program import read_rules

CASES = sorted((Path(__file__).parent / "cases").glob("*.rif"))


def facts(kb: KnowledgeBase) -> dict[str, list[str]]:
    return {str(name): sorted(map(repr, kb.facts(name))) for name in kb.predicates if len(kb.facts(name))}


@pytest.mark.parametrize("engine", ["local", "naive"])
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case(case: Path, engine: str) -> None:
    kb = KnowledgeBase(case, engine=engine)
    kb.materialise()
    wanted = KnowledgeBase(case.with_suffix(".facts.dl"), engine="naive")
    wanted.materialise()
    assert facts(kb) == facts(wanted)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_rules_can_be_printed(case: Path) -> None:
    rules = read_rules([case])
    assert read_rules(["\n".join(map(str, rules))]) == rules


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other_name = tmp_path / "rules.xml"
    other_name.write_text(CASES[0].read_text())
    assert main(["check", str(CASES[0])]) == main(["check", str(other_name), "--language", "rif"]) == 0
    assert main(["run", str(CASES[0]), "--out", str(tmp_path / "out"), "-q"]) == 0
    assert (tmp_path / "out" / "predicates.tsv").exists()


def test_a_text_with_rules_and_data_beside_it(tmp_path: Path) -> None:
    data = tmp_path / "data.nt"
    data.write_text("<http://example.org/eve> <http://example.org/parent> <http://example.org/ann> .\n")
    kb = KnowledgeBase([next(path for path in CASES if path.stem == "rules")])
    kb.load(data)
    kb.add_rules("relatives(?x) :- <http://example.org/ancestor>(<http://example.org/eve>, ?x) .")
    assert len(kb.facts("relatives")) == 3
