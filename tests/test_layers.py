"""The shape of the package: imports point one way, importing it is light, and the architecture page is true."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deltalog.languages.registry import OWN, TABLE

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "deltalog"

# From the bottom up: a folder imports from itself and from those before it, type imports included.
LAYERS = (
    "kernels",
    "core",
    "functions",
    "formats",
    "program",
    "evaluation",
    "engines",
    "languages",
    "extensions",
    "knowledge_base",
    "apps",
    "spark",  # the public names of `apps.pipelines`
    "__main__",
)
NAMES_OF_LANGUAGES = re.compile(r"souffl|nemo|\brif\b|sparql|rdfox", re.IGNORECASE)
HEAVY = ("numba", "pyspark", "pyarrow", "pandas", "polars", "lark", "numpy", "pyoxigraph", "rich", "typer", "sklearn")


def modules() -> list[str]:
    """Every module below deltalog, by its dotted name without `deltalog.`; packages by their own name."""
    paths = (path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py"))
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return sorted(name for name in names if name != "__init__")


def path_of(module: str) -> Path:
    base = PACKAGE.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def layer(module: str) -> int:
    """The height of a module's folder."""
    return LAYERS.index(module.split(".")[0])


def imports(module: str) -> Iterator[str]:
    """The modules of deltalog that a module imports anywhere."""
    tree = ast.parse(path_of(module).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name.removeprefix("deltalog.") for a in node.names if a.name.startswith("deltalog."))
        elif isinstance(node, ast.ImportFrom):
            yield from _imported_from(module, node)


def _imported_from(module: str, node: ast.ImportFrom) -> Iterator[str]:
    assert node.level == 0, f"deltalog.{module} imports relatively; write the full name"
    origin = node.module or ""
    if origin == "deltalog":
        yield from (alias.name for alias in node.names if path_of(alias.name).exists())
    elif origin.startswith("deltalog."):
        package = origin.removeprefix("deltalog.")
        for name in (f"{package}.{alias.name}" for alias in node.names):
            yield name if path_of(name).exists() else package


@pytest.mark.parametrize("module", modules())
def test_imports_point_one_way(module: str) -> None:
    height = layer(module)
    assert not {imported for imported in imports(module) if layer(imported) > height}


@pytest.mark.parametrize("module", modules())
def test_what_is_below_languages_names_none(module: str) -> None:
    if module.split(".")[0] in ("core", "program", "evaluation"):
        assert not NAMES_OF_LANGUAGES.findall(path_of(module).read_text())


@pytest.mark.parametrize("module", modules())
def test_languages_are_reached_by_their_table(module: str) -> None:
    """Only SPARQL has callers: it is asked, and no program is in it."""
    apart = {f"languages.{row.name}" for row in TABLE if row.name not in (OWN, "sparql")}
    used = {".".join(imported.split(".")[:2]) for imported in imports(module)} & apart
    assert used <= {".".join(module.split(".")[:2])}


def test_kernels_know_nothing_of_datalog() -> None:
    for module in modules():
        if module.startswith("kernels"):
            assert all(imported.startswith("kernels") for imported in imports(module)), module


def test_importing_deltalog_is_light() -> None:
    code = f"import sys, deltalog; dir(deltalog); print(sorted(sys.modules.keys() & set({HEAVY!r})))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("page", ["architecture", "papers"])
def test_a_page_names_what_exists(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    paths = re.findall(r"(?<![\w/.-])(?:src|tests|docs|benchmarks|examples)/[\w./*-]*", text)
    assert len(paths) >= 10, "the page names hardly any path"
    missing = [path for path in paths if not list(ROOT.glob(path.rstrip("./")))]
    assert not missing


def test_the_architecture_page_has_every_layer() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `src/deltalog/(\w+)", text, re.MULTILINE)
    assert rows == [name for name in LAYERS if name != "__main__"]


@pytest.mark.parametrize("module", modules())
def test_threads_and_cached_values_have_one_owner(module: str) -> None:
    """`functools.cached_property` of Python 3.11 holds a lock that forks inherit; pools can wait for themselves."""
    text = path_of(module).read_text()
    assert "functools import cached_property" not in text, "import it from deltalog.core.concurrency.cached"
    assert "ThreadPoolExecutor(" not in text or module in ("engines.local.workers", "formats.ntriples")
