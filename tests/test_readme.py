"""What the README and the examples show is what happens.

Every `console` block is run in a shell, in a folder that has the examples; every `python` block with prompts is a
doctest. `...` stands for anything, as in doctest. The two commands of the first screen are run by whoever reads it, and
by `.ci/run`; here the first of them is run in the environment that is there already.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deltalog.cli.main import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
ONTOLOGIES = (ROOT / "docs" / "ontologies.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
COMING_FROM = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
LANGUAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
FIRST_SCREEN = README.split("\n## ")[0]
EXAMPLES = {
    "university": ("rules.dlog", "data.ttl"),
    "graph": ("rules.dl", "data"),
    "museum": ("rules.dlog", "museum.ttl"),
    "wind_farm": ("wind.rules", "farm.ttl"),
}


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def sessions(block: str) -> list[tuple[str, str]]:
    """Commands and what they print."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", folder / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"cwd": folder, "env": {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}}


@pytest.mark.parametrize(
    "block",
    [block for page in (README, ONTOLOGIES, TUTORIAL, RESULTS) for block in blocks("console", page)],
    ids=lambda block: block[2:30].partition("\n")[0],
)
def test_console(block: str, shell: dict[str, object]) -> None:
    for command, wanted in sessions(block):
        run = subprocess.run(  # type: ignore[call-overload]
            command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, **shell
        )
        said = run.stdout.replace("compiling kernels; this happens once and takes up to a minute\n", "")
        assert doctest.OutputChecker().check_output(wanted, said, doctest.ELLIPSIS), f"$ {command}\n{said}"


def test_python() -> None:
    text = "\n".join(blocks("python"))
    test = doctest.DocTestParser().get_doctest(text, {}, "README", "README.md", 0)
    assert len(test.examples) >= 10
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


def test_python_in_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = "\n".join(block for block in blocks("python", page.read_text(encoding="utf-8")) if ">>> " in block)
        test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
        assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0, page


def test_the_language_block_is_a_program(tmp_path: Path) -> None:
    program = tmp_path / "readme.dl"
    program.write_text("\n".join(blocks("prolog")), encoding="utf-8")
    assert main(["check", str(program)]) == 0


@pytest.mark.parametrize("block", blocks("prolog", LANGUAGE) + blocks("prolog", COMING_FROM))
def test_the_language_page_shows_programs(block: str, tmp_path: Path) -> None:
    program = tmp_path / "page.dl"
    program.write_text(f"PREFIX : <http://example.org/>\n{block}", encoding="utf-8")
    assert main(["check", str(program)]) == 0


def test_the_first_screen_has_two_commands() -> None:
    run, test = (block.strip() for block in blocks("sh", FIRST_SCREEN))
    assert run.startswith("./uvw run deltalog run examples/")
    assert test == "./uvw run pytest -n auto"
    assert len(FIRST_SCREEN.splitlines()) < 35
    assert "grep -m1 -E '^\\./uvw run pytest' README.md" in (ROOT / ".ci" / "run").read_text()


def test_the_first_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command = blocks("sh", FIRST_SCREEN)[0].split()
    monkeypatch.chdir(ROOT)
    assert main(command[command.index("deltalog") + 1 :]) == 0
    assert "87 facts (53 derived)" in capsys.readouterr().err


def test_links_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        targets = re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8"))
        assert [target for target in targets if not (page.parent / target).exists()] == [], page


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, tmp_path: Path) -> None:
    folder = ROOT / "examples" / name
    program, data = EXAMPLES[name]
    out = tmp_path / "out"
    arguments = ["run", str(folder / program), "--data", str(folder / data), "--derived", "--quiet", "--out", str(out)]
    assert main(arguments) == 0
    found = {path.name: sorted(path.read_text(encoding="utf-8").splitlines()) for path in out.iterdir()}
    expected = (folder / "expected").iterdir()
    assert found == {path.name: sorted(path.read_text(encoding="utf-8").splitlines()) for path in expected}
