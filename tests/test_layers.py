"""The shape of the package: imports point one way, importing it is light, and the architecture page is true."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "deltalog"

# From the bottom up. A module imports from its own layer and from the ones above it in this list; where a line has
# several names, they do not import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "model.errors",
        "model.datetimes",
        "model.iri_references",
        "model.arrays",
        "model.tuning",
        "concurrency",
        "kernels",
    ),
    ("model.user_warnings", "model.arguments"),
    ("model.terms", "model.limits", "model.equality_classes", "model.extras", "model.watching", "io.entities"),
    ("model.table_options",),
    ("expressions.backtracking",),
    ("syntax", "expressions.regular_expressions", "expressions.fresh_values", "expressions.datatypes"),
    ("expressions.sparql_operators",),
    ("expressions.nemo_functions", "expressions.souffle_functors", "expressions.failures"),
    ("expressions.scalar", "model.dictionary", "model.naming"),
    ("nemo", "souffle", "rif"),
    ("program",),
    ("plan", "io"),
    ("model.html_table", "model.text_table", "model.shown_text", "model.detached_rows"),
    ("backends.codec", "backends.capabilities"),
    ("backends.base",),
    ("model.facts",),
    ("model.change",),
    ("backends.local", "engine"),
    ("maintenance",),
    ("equality",),
    ("chase",),
    ("staged",),
    ("backends.spark",),
    ("backends.create",),
    ("query",),
    ("explain",),
    ("ontology",),
    ("graphs", "other_languages", "column_methods"),
    ("store",),
    ("frozen", "progress_bar"),
    ("kb",),
    ("convert",),
    ("spark", "server"),
    ("cli",),
    ("__main__",),
)
HEAVY = ("numba", "pyspark", "pyarrow", "pandas", "polars", "lark", "numpy", "pyoxigraph", "rich", "typer", "sklearn")


def modules() -> list[str]:
    """Every module below deltalog, by its dotted name without `deltalog.`; packages by their own name."""
    paths = (path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py"))
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return sorted(name for name in names if name != "__init__")


def path_of(module: str) -> Path:
    base = PACKAGE.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def layer(module: str) -> tuple[int, str]:
    """The height of a module's layer and the name it goes by there."""
    for height, names in enumerate(LAYERS):
        for name in names:
            if module == name or module.startswith(name + "."):
                return height, name
    raise AssertionError(f"deltalog.{module} is in no layer: add it to LAYERS and to docs/architecture.md")


def imports(module: str) -> Iterator[str]:
    """The modules of deltalog that a module imports anywhere, except for type checking only."""
    tree = ast.parse(path_of(module).read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
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


def is_package_of_layers(module: str) -> bool:
    """A package whose modules are in several layers (`model`) is no layer itself, and imports nothing."""
    return any(name.startswith(module + ".") for names in LAYERS for name in names)


@pytest.mark.parametrize("module", modules())
def test_imports_point_one_way(module: str) -> None:
    if is_package_of_layers(module):
        assert not list(imports(module))
        return
    height, name = layer(module)
    for imported in imports(module):
        imported_height, imported_name = layer(imported)
        assert imported_name == name or imported_height < height, f"deltalog.{module} imports deltalog.{imported}"


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
    unmentioned = [name for names in LAYERS[:-1] for name in names if f"deltalog/{name.replace('.', '/')}" not in text]
    assert not [name for name in unmentioned if path_of(name).exists()]


@pytest.mark.parametrize("module", modules())
def test_threads_and_cached_values_have_one_owner(module: str) -> None:
    """`functools.cached_property` of Python 3.11 holds a lock that forks inherit; pools can wait for themselves."""
    text = path_of(module).read_text()
    assert "functools import cached_property" not in text, "import it from deltalog.core.concurrency.cached"
    assert "ThreadPoolExecutor(" not in text or module in ("backends.local.workers", "io.ntriples")
