"""Warnings of Soufflé programs: `warnings/<name>.dl`, and all that is said about it in `warnings/<name>.stderr`.

`python tests/souffle/test_souffle_warnings.py` writes the .stderr files anew; read the difference before you commit it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from deltalog import DataWarning, KnowledgeBase
from deltalog.apps.cli.main import main

FOLDER = Path(__file__).parent / "warnings"
PROGRAMS = sorted(FOLDER.glob("*.dl"))


def message(path: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = KnowledgeBase(Path(path.name)).warnings
    return "\n\n".join(map(str, found)) + "\n"


def given(act: Callable[[], object]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    return found


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_warnings(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    assert message(path) == path.with_suffix(".stderr").read_text(encoding="utf-8")


@pytest.mark.parametrize("engine", ["local", "naive"])
def test_each_is_given_once_also_with_stages(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    kb = KnowledgeBase(Path("empty.dl"), engine=engine)
    before = kb.warnings
    found = given(kb.materialise)
    assert {each.category for each in found} == {DataWarning} and len(found) == len(before) > 0
    assert given(kb.materialise) == [] and kb.warnings == before


def test_facts_that_are_added_are_facts() -> None:
    kb = KnowledgeBase(".decl e(x : number)\n.decl f(x : number)\n.decl p(x : number)\np(x) :- e(x), f(x).\nf(1).")
    assert [each.message.partition(",")[0] for each in kb.warnings] == ["there are no facts of `e` with 1 argument"]
    kb.add("e", [(1,)])
    assert given(kb.materialise) == [] and kb.warnings == []


def test_rules_that_are_added() -> None:
    kb = KnowledgeBase(".decl e(x : number, y : number)\n.output e\ne(1, 2).")
    found = given(lambda: kb.add_rules(".decl e(x : number, y : number)\n.decl p(x : number)\np(x) :- e(x, y)."))
    assert [str(each.message).partition("\n")[0] for each in found] == ["<text>:3:14: y occurs only once in this rule"]


def test_check_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(FOLDER / "repeated.dl")]) == 0
    said = capsys.readouterr()
    assert said.err.count("has been there before") == 4 and "7 warnings" in said.out


@pytest.mark.parametrize(
    ("rule", "is_idle"),
    [
        ("p(x) :- e(x).", True),
        ("p(x) :- x = max y : { e(y) }.", True),
        ("p(x) :- x = count : { e(_) }.", False),
        ("p(1) :- !e(1).", False),
        ("p(x) :- e(x) ; x = 1.", False),
    ],
)
def test_run_says_that_there_are_no_facts(
    rule: str, is_idle: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.dl"
    program.write_text(f".decl e(x : number)\n.decl p(x : number)\n{rule}\n.output p\n")
    assert main(["run", str(program), "-D", str(tmp_path / "out")]) == 0
    assert ("no facts, so nothing can be derived" in capsys.readouterr().err) is is_idle
    assert bool((tmp_path / "out" / "p.csv").read_text()) is not is_idle


def test_failed_expressions_have_the_names_of_the_program() -> None:
    kb = KnowledgeBase(
        '.decl s(x : symbol)\n.decl p(n : number)\n.decl q(x : symbol)\ns("a").\n'
        'p(n) :- n = count : { s(text), to_number(text) > 0 }.\nq(x) :- s(x), 1 = to_number(cat(x, "1")).'
    )
    kb.materialise()
    found = sorted(map(str, kb.report.failures))
    assert len(found) == 2 and found[0].endswith("for text = a") and found[1].endswith("for x = a"), found


if __name__ == "__main__":
    import os

    os.chdir(FOLDER)
    for program in PROGRAMS:
        program.with_suffix(".stderr").write_text(message(program), encoding="utf-8")
