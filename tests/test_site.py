"""The site is built from the pages without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deltalog.cli.main import COMMANDS

pytest.importorskip("sphinx")
ROOT = Path(__file__).parent.parent


def test_the_site(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(tmp_path)]
    run = subprocess.run(build, cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr
    commands = (tmp_path / "cli.html").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"usage: deltalog {name}" not in commands] == []
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert pages <= {page.stem for page in tmp_path.glob("*.html")}
