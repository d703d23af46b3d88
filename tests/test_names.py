"""One name, one meaning: no two modules define a public class or type alias of the same name.

The trees and parsers of other languages have the words of their language: an atom of Nemo is an atom, but not ours.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "deltalog"
OTHER_LANGUAGES = ("nemo", "souffle", "rif")


def types(tree: ast.Module) -> Iterator[str]:
    """The public classes and type aliases of a module; type variables are local to it."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and not _is_type_variable(node.value):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _is_type_variable(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) in ("TypeVar", "ParamSpec")


def test_types_have_one_definition() -> None:
    found = defaultdict[str, list[str]](list)
    for path in sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name not in OTHER_LANGUAGES):
        for name in types(ast.parse(path.read_text())):
            if name[0].isupper() and not name.isupper():  # not a constant
                found[name].append(str(path.relative_to(PACKAGE)))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
