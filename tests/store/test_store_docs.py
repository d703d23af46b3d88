"""What docs/store.md shows is what happens: its commands run in a folder that has the examples.

(`tests/test_readme.py` runs the Python of all pages.)
"""

from __future__ import annotations

from pathlib import Path

from documentation import blocks, check_console, page, with_examples

from deltalog.extensions.store.catalog import SCHEMA

PAGE = page("docs/store.md")


def test_commands_of_the_page(tmp_path: Path) -> None:
    check_console(PAGE, with_examples(tmp_path))


def test_the_page_has_the_schema() -> None:
    (schema,) = blocks("sql", PAGE)
    assert schema.split() == SCHEMA.split()
