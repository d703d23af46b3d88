"""The size and the shape of the package: `python -m benchmarks.house [FOLDER OF A CHECKOUT ...]` prints a table.

With several checkouts there is a column for each, so that a change of the structure can be compared before and after.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

LANGUAGES = re.compile(r"souffl|nemo|\brif\b|sparql|rdfox", re.IGNORECASE)
FACADES = ("kb.py", "knowledge_base/facade.py", "knowledge_base.py")  # where KnowledgeBase is, and was
BELOW_LANGUAGES = ("core", "program", "evaluation")


class Checkout:
    """The sources of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root, self.package = root, root / "src" / "deltalog"
        self.files = {path.relative_to(self.package): path.read_text() for path in self.package.rglob("*.py")}
        self.trees = {path: ast.parse(text) for path, text in self.files.items()}

    @property
    def modules(self) -> int:
        return len(self.files)

    @property
    def lines(self) -> int:
        return sum(text.count("\n") for text in self.files.values())

    @property
    def median_function(self) -> float:
        nodes = (node for tree in self.trees.values() for node in ast.walk(tree))
        functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        return median((node.end_lineno or node.lineno) - node.lineno + 1 for node in functions)

    @property
    def folders(self) -> int:
        return len({path.parts[0] for path in self.files if len(path.parts) > 1})

    @property
    def package_cycles(self) -> int:
        """Pairs of folders that import each other, types included."""
        edges = {
            (path.parts[0], target) for path in self.files if len(path.parts) > 1 for target in self._targets(path)
        }
        return sum(a < b and (b, a) in edges for a, b in edges)

    def _targets(self, path: Path) -> Iterator[str]:
        for node in ast.walk(self.trees[path]):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            parts = (module or "").split(".")
            if parts[0] == "deltalog" and len(parts) > 1 and (self.package / parts[1]).is_dir():
                yield parts[1]

    @property
    def private_accesses(self) -> int:
        """`kb._x` outside of the modules of KnowledgeBase, in the package and in tests."""
        tests = (path.read_text() for path in (self.root / "tests").rglob("*.py"))
        outside = (text for path, text in self.files.items() if not _is_facade(path))
        return sum(len(re.findall(r"\bkb\._(?!repr_|ipython_)[a-z]", text)) for text in (*outside, *tests))

    @property
    def languages_named_below(self) -> int:
        """Modules of core, program and evaluation that have the name of a language in them."""
        return sum(path.parts[0] in BELOW_LANGUAGES and bool(LANGUAGES.search(t)) for path, t in self.files.items())

    @property
    def facade_lines(self) -> int:
        return next((self.files[Path(name)].count("\n") for name in FACADES if Path(name) in self.files), 0)

    @property
    def method_lines(self) -> int:
        """Lines of the base classes of KnowledgeBase."""
        return sum(text.count("\n") for path, text in self.files.items() if path.name.endswith("methods.py"))

    @property
    def parameters(self) -> int:
        made = (node for node in self._class("KnowledgeBase").body if getattr(node, "name", "") == "__init__")
        arguments = next(node.args for node in made if isinstance(node, ast.FunctionDef))
        return len(arguments.args) + len(arguments.kwonlyargs) - 1

    @property
    def tuning_fields(self) -> int:
        return sum(isinstance(node, ast.AnnAssign) for node in self._class("Tuning").body)

    def _class(self, name: str) -> ast.ClassDef:
        nodes = (node for tree in self.trees.values() for node in tree.body)
        return next(node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name)


def _is_facade(path: Path) -> bool:
    return path.parts[0] == "knowledge_base" or path.name in ("kb.py", "frozen.py") or path.name.endswith("methods.py")


ROWS: dict[str, Callable[[Checkout], float]] = {
    "modules": lambda c: c.modules,
    "lines": lambda c: c.lines,
    "lines of a function (median)": lambda c: c.median_function,
    "folders": lambda c: c.folders,
    "pairs of folders that import each other": lambda c: c.package_cycles,
    "kb._ outside of the facade": lambda c: c.private_accesses,
    "modules of core, program, evaluation that name a language": lambda c: c.languages_named_below,
    "lines of KnowledgeBase": lambda c: c.facade_lines,
    "lines of its base classes": lambda c: c.method_lines,
    "parameters of KnowledgeBase": lambda c: c.parameters,
    "fields of Tuning": lambda c: c.tuning_fields,
}


def main(folders: list[str]) -> None:
    checkouts = [Checkout(Path(folder)) for folder in folders or ["."]]
    width = max(map(len, ROWS))
    for name, figure in ROWS.items():
        print(f"{name:{width}}", *(f"{figure(each):>10,g}" for each in checkouts))


if __name__ == "__main__":
    main(sys.argv[1:])
