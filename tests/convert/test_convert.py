"""`deltalog convert`: a program in other languages, and what cannot be expressed in it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deltalog import KnowledgeBase
from deltalog.apps.cli.main import main
from deltalog.languages.load_program import read_documents
from deltalog.languages.registry import TARGETS, converted

sys.path.insert(0, str(Path(__file__).parent))
from nemo_programs import random_program

FOLDER = Path(__file__).parent / "golden"
PROGRAM = FOLDER / "program.dl"


@pytest.mark.parametrize("target", TARGETS)
def test_golden(target: str) -> None:
    """`python tests/convert/test_convert.py` rewrites the files."""
    assert _shown(target) == (FOLDER / f"{target}.txt").read_text()


def _shown(target: str) -> str:
    result = converted(read_documents([PROGRAM]), target)
    lost = "".join(f"line {each.span.line}: {each.message}\n" for each in result.lost if each.span)
    return f"{result.text}----\n{lost}"


def test_our_own_language_says_everything() -> None:
    document = read_documents([PROGRAM])
    result = converted(document, "deltalog")
    assert not result.lost
    assert read_documents([result.text]).rules == document.rules


def test_nemo_programs_come_back() -> None:
    case = Path(__file__).parent.parent / "nemo" / "cases" / "aggregates.rls"
    text = converted(read_documents([case]), "nemo")
    assert not text.lost
    assert "#count(" in text.text and "@output people" in text.text


@pytest.mark.parametrize("seed", range(8))
def test_random_nemo_programs_come_back(seed: int) -> None:
    text = random_program(seed)
    there = {target: converted(read_documents([text], "nemo"), target) for target in ("nemo", "deltalog")}
    assert not any(each.lost for each in there.values())
    facts = [derived(text, "nemo"), *(derived(each.text, target) for target, each in there.items())]
    assert facts[0] == facts[1] == facts[2], text


def derived(text: str, language: str) -> dict[str, set[str]]:
    kb = KnowledgeBase(text, language=language)
    return {name: set(map(repr, kb.facts(name))) for name in "pqstu" if name in kb.predicates and kb.facts(name)}


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fine = tmp_path / "fine.dl"
    fine.write_text("p(X) :- q(X, a).")
    assert main(["convert", str(fine), "--to", "souffle"]) == 0
    assert '.input q\np(X) :- q(X, "a").\n.output p\n' in capsys.readouterr().out
    assert main(["convert", str(PROGRAM), "--to", "nemo"]) == 1
    assert "cannot be expressed in nemo" in capsys.readouterr().err


if __name__ == "__main__":
    for name in TARGETS:
        (FOLDER / f"{name}.txt").write_text(_shown(name))
