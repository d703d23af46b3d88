"""Everything that docs/pipelines.md shows: files, commands with their output, Python, and pieces of pipeline files (and
the one of the README).

A block that begins with `# file: NAME` is a file; the table of CSV is `links.csv`. Commands run in this process, so
that they use the session of the tests. `...` stands for anything, as in doctest.
"""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from deltalog.cli.main import main
from deltalog.spark.spec import read_spec

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+\n# file: (\S+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
REST = 'program = "p(X) :- q(X)."\n'


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page."""
    for name, text in {**FILES, "links.csv": blocks("csv")[0]}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands(folder: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("console")
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, wanted = part.partition("\n")
        capsys.readouterr()
        main(shlex.split(command)[1:])
        said = capsys.readouterr()
        found = said.err + said.out
        assert doctest.OutputChecker().check_output(wanted, found, doctest.ELLIPSIS), f"$ {command}\n{found}"
    assert (folder / "out" / "path" / "_SUCCESS").exists()
    assert (folder / "report" / "report.html").exists()


def test_python(folder: Path, spark: Any) -> None:
    (block,) = blocks("python")
    exec(block, {"spark": spark})


@pytest.mark.parametrize("block", [block for block in blocks("toml", PAGE + README) if "# file:" not in block])
def test_pieces(block: str, tmp_path: Path) -> None:
    """They are right, whatever the rest of the file is."""
    file = tmp_path / "pipeline.toml"
    sinks = "" if "[sinks" in block else '[sinks.other]\npath = "other"\n'
    file.write_text(("" if "rules =" in block else REST) + sinks + block, encoding="utf-8")
    read = read_spec(file)
    assert read.sources or read.sinks or read.constraints
