"""Runs a notebook without Jupyter: the outputs of its code cells, as Jupyter stores them.

`python tests/notebook.py FILE` stores them in the file, for GitHub and for the test that compares them.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def run_notebook(path: Path) -> list[list[Output]]:
    """The outputs of each code cell, in the folder of the notebook."""
    cells, names = code_cells(path), {}
    with contextlib.chdir(path.parent):
        return [run_cell("".join(cell["source"]), number, names) for number, cell in enumerate(cells, 1)]


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run_cell(source: str, number: int, names: dict[str, Any]) -> list[Output]:
    """Runs the statements of a cell; if the last one is an expression, its value is an output."""
    tree, value = ast.parse(source), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    text = printed.getvalue()
    stream = [{"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}] if text else []
    return stream if value is None else [*stream, result(value, number)]


def result(value: Any, number: int) -> Output:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}


def store_outputs(path: Path) -> None:
    notebook, outputs = json.loads(path.read_text(encoding="utf-8")), run_notebook(path)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, found) in enumerate(zip(cells, outputs, strict=True), 1):
        cell.update(execution_count=number, outputs=found)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store_outputs(Path(sys.argv[1]))
