"""The commands of docs/explain.md print what the page shows (its Python is run by test_readme.py)."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest

from deltalog.cli.main import main

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_commands(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, wanted = part.partition("\n")
        capsys.readouterr()
        main(shlex.split(command)[1:])
        said = capsys.readouterr()
        found = said.err + said.out
        assert doctest.OutputChecker().check_output(wanted, found, doctest.ELLIPSIS), f"$ {command}\n{found}"
    for drawing in tmp_path.glob("*.svg"):
        assert drawing.read_text("utf-8") == (ROOT / "docs" / drawing.name).read_text("utf-8"), "draw it again"
