"""The table of languages, and a package without the folder of one of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deltalog.languages.registry import OWN, TABLE, LanguageRow, find_row, row_of

PACKAGE = Path(__file__).parent.parent / "src" / "deltalog"
CASES = [Path(__file__).parent / "cases" / f"{name}.dl" for name in ("negation/for_all", "aggregates/join_inside")]
# What works without the language: programs of our own, goals and stores.
CORE = """
import sys
from pathlib import Path
from deltalog import KnowledgeBase
for case in map(Path, sys.argv[1:]):
    kb, data = KnowledgeBase(case), case.with_suffix("") / "data"
    if data.exists():
        kb.load(data)
    kb.materialise()
    for wanted in case.with_suffix("").glob("*.csv"):
        found = (",".join(map(str, row)) for row in kb.facts(wanted.stem))
        assert sorted(found) == sorted(wanted.read_text().splitlines()), wanted
kb = KnowledgeBase("path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z). edge(a, b). edge(b, c).")
assert set(kb.query("path(a, ?x)")) == {("b",), ("c",)}
kb.save("store")
kb.close()
print(len(KnowledgeBase.open("store").facts("path")))
"""


def test_every_folder_is_in_the_table() -> None:
    folders = {path.parent.name for path in (PACKAGE / "languages").glob("*/__init__.py")}
    assert {row.name for row in TABLE} == folders


@pytest.mark.parametrize(
    ("source", "text", "name"),
    [
        ("p(1).", "p(1).", "deltalog"),
        (".decl p(x : number)", ".decl p(x : number)", "souffle"),
        (Path("a.rls"), "p(1) .", "nemo"),
        (Path("a.rif"), "<Document/>", "rif"),
        (Path("a.dl"), "#ifdef A\n", "souffle"),
    ],
)
def test_languages_are_found(source: str | Path, text: str, name: str) -> None:
    assert find_row(source, text) == row_of(name)
    assert find_row(source, text, "rif") == row_of("rif")


@pytest.mark.parametrize("row", [row for row in TABLE if row.name != OWN], ids=lambda row: row.name)
def test_a_package_without_a_language(row: LanguageRow, tmp_path: Path) -> None:
    def left_out(folder: str, names: list[str]) -> list[str]:
        return [
            name for name in names if name == "__pycache__" or Path(folder, name) == PACKAGE / "languages" / row.name
        ]

    shutil.copytree(PACKAGE, tmp_path / "deltalog", copy_function=os.symlink, ignore=left_out)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "DELTALOG_KERNELS": "interpret"}

    def python(code: str, *arguments: object) -> str:
        words = [sys.executable, "-c", code, *map(str, arguments)]
        run = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert python(CORE, *CASES) == "3\n"
    missing = f"is not installed: the package deltalog.languages.{row.name} is missing"
    assert missing in python(_use_of(row))


def _use_of(row: LanguageRow) -> str:
    """Code that needs a language, and prints the error."""
    uses = {
        True: f"KnowledgeBase('', language={row.name!r})",
        row.name == "sparql": "KnowledgeBase('').sparql('ASK {}')",
        row.writes and not row.reads: f"registry.converted(ProgramUnit(()), {row.name!r})",
    }
    return f"""
from deltalog import KnowledgeBase, UsageError
from deltalog.languages import registry
from deltalog.languages.protocol import ProgramUnit
try:
    {uses[True]}
except UsageError as error:
    print(error)
"""
