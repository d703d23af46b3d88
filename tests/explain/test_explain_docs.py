"""The commands of docs/explain.md print what the page shows (its Python is run by test_readme.py)."""

from __future__ import annotations

from pathlib import Path

from documentation import ROOT, check_console, page, with_examples


def test_commands(tmp_path: Path) -> None:
    check_console(page("docs/explain.md"), with_examples(tmp_path))
    for drawing in tmp_path.glob("*.svg"):
        assert drawing.read_text("utf-8") == (ROOT / "docs" / drawing.name).read_text("utf-8"), "draw it again"
