"""The Spark engine says where its code runs: each module in its first line, and docs/spark.md in one table."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "deltalog" / "engines" / "spark"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.name not in ("__init__.py", "backend.py")]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_says_where_it_runs(path: Path) -> None:
    first = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]
    assert re.match(r"(Driver|Executors|JVM)\b.*:", first), first


def test_the_page_names_modules_that_exist() -> None:
    section = (ROOT / "docs" / "spark.md").read_text().split("## What runs where")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z_/]+\.py)`", section))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (PACKAGE / name).is_file()] == []
