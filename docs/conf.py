"""The site: `./uvw run sphinx-build -W docs build/site`. Pages are Markdown; the references are made from the code, and
the page of the notebook from the notebook."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from deltalog import __version__
from deltalog.apps.cli.main import COMMANDS

project = "deltalog"
author = "the deltalog developers"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"deltalog {__version__}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
default_role = "code"  # of docstrings
exclude_patterns = ["build"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True, "exclude-members": "with_traceback, add_note"}
nitpicky = False
# Code blocks of rules: there is no lexer for them, and Prolog's stumbles over IRIs.
suppress_warnings = ["misc.highlighting_failure", "myst.xref_missing"]


def command_page() -> str:
    """The reference of the command line, from its parsers."""
    parts = ["# The command line\n", "`deltalog COMMAND --help` prints the same.\n"]
    for name in COMMANDS:
        parser = import_module(f"deltalog.apps.cli.{name}").parser()
        parts.append(f"## deltalog {name}\n\n```text\n{parser.format_help().strip()}\n```\n")
    return "\n".join(parts)


def notebook_page(path: Path) -> str:
    """A notebook as a page: its texts, its code, and the outputs that are stored in it."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell_parts(cell))


def _cell_parts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    return [f"```python\n{source}\n```", *(_output(output) for output in cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return "```{raw} html\n" + "".join(data["text/html"]) + "\n```"
    return "```text\n" + "".join(output.get("text") or data["text/plain"]) + "\n```"


def outside_links(text: str) -> str:
    """Links out of the folder of the pages, to files of the repository, as plain text; pictures stay."""
    return re.sub(r"(?<!!)\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", text)


def setup(app: Any) -> None:
    app.connect("source-read", lambda app, name, source: source.__setitem__(0, _source(name, source[0])))


def _source(name: str, text: str) -> str:
    if name == "cli":
        return command_page()
    if name == "notebook":
        return notebook_page(Path(__file__).parent.parent / "examples" / "packages" / "packages.ipynb")
    return outside_links(text)
