"""What docs/store.md shows is what happens: commands run in a shell, in a folder that has the examples.

(`tests/test_readme.py` runs the Python of all pages.)
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from deltalog.store.catalog import SCHEMA

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "store.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_commands_of_the_page(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, wanted = part.partition("\n")
            run = subprocess.run(
                command,
                shell=True,
                text=True,
                cwd=tmp_path,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=120,
            )
            said = run.stdout
            assert doctest.OutputChecker().check_output(wanted, said, doctest.ELLIPSIS), f"$ {command}\n{said}"


def test_the_page_has_the_schema() -> None:
    (schema,) = blocks("sql")
    assert schema.split() == SCHEMA.split()
