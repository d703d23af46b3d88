"""What the README and the pages of the site show is what happens.

Every `console` block is run in a folder that has the examples; every `python` block with prompts is a doctest. The two
commands of the first screen are run by whoever reads it, and by `.ci/run`; here the first of them is run in the
environment that is there already. (Pages with tests of their own: explain, pipelines, server, store.)
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from documentation import ROOT, blocks, check_console, page, with_examples

from deltalog.apps.cli.main import main

README = page("README.md")
FIRST_SCREEN = README.split("\n## ")[0]
PAGES = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
ELSEWHERE = {f"docs/{name}.md" for name in ("explain", "pipelines", "server", "store", "tutorial")}


@pytest.mark.parametrize("name", [name for name in ["README.md", *PAGES] if name not in ELSEWHERE])
def test_console(name: str, tmp_path: Path) -> None:
    if "```console" in (text := page(name)):
        check_console(text, with_examples(tmp_path))


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are those of the example."""
    check_console(page("docs/tutorial.md"), tmp_path)
    monkeypatch.chdir(tmp_path)
    check_python("docs/tutorial.md")
    for name in ("museum.ttl", "rules.dlog"):
        assert (tmp_path / name).read_text(encoding="utf-8") == page(f"examples/museum/{name}")


@pytest.mark.parametrize("name", ["README.md", *(name for name in PAGES if name != "docs/tutorial.md")])
def test_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    check_python(name)


def check_python(name: str) -> None:
    text = "\n".join(block for block in blocks("python", page(name)) if ">>> " in block)
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


def test_the_language_block_is_a_program(tmp_path: Path) -> None:
    program = tmp_path / "readme.dl"
    program.write_text("\n".join(blocks("prolog", README)), encoding="utf-8")
    assert main(["check", str(program)]) == 0


@pytest.mark.parametrize(
    "block",
    [block for name in ("language", "coming-from", "rdf") for block in blocks("prolog", page(f"docs/{name}.md"))],
)
def test_the_language_page_shows_programs(block: str, tmp_path: Path) -> None:
    program = tmp_path / "page.dl"
    program.write_text(f"PREFIX : <http://example.org/>\n{block}", encoding="utf-8")
    assert main(["check", str(program)]) == 0


def test_the_first_screen_has_two_commands() -> None:
    run, test = (block.strip() for block in blocks("sh", FIRST_SCREEN))
    assert run.startswith("./uvw run --no-dev deltalog run examples/")
    assert test == "./uvw run pytest -n auto"
    assert len(FIRST_SCREEN.splitlines()) < 35
    assert "grep -m1 -E '^\\./uvw run pytest' README.md" in (ROOT / ".ci" / "run").read_text()


def test_the_first_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command = blocks("sh", FIRST_SCREEN)[0].split()
    monkeypatch.chdir(ROOT)
    assert main(command[command.index("deltalog") + 1 :]) == 0
    assert "87 facts (53 derived)" in capsys.readouterr().err


def test_links_lead_somewhere() -> None:
    pages = ["README.md", "CONTRIBUTING.md", *PAGES, *(f"examples/{name}" for name in example_pages())]
    for name in pages:
        targets = re.findall(r"\]\((?!http)([^)#]+)", page(name))
        assert [target for target in targets if not ((ROOT / name).parent / target).exists()] == [], name


def example_pages() -> list[str]:
    return [str(path.relative_to(ROOT / "examples")) for path in (ROOT / "examples").rglob("README.md")]
