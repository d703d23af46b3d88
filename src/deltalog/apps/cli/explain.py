"""`deltalog explain`: why a fact holds, or why it does not."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.apps.cli.options import (
    add_data,
    add_language,
    add_limits,
    command_parser,
    positive,
    version,
    warnings_shown,
    wrong_usage,
)
from deltalog.apps.cli.terminal import has_colour, print_text, terminal_width, write_text

if TYPE_CHECKING:
    from deltalog.extensions.explain.model import Explanation

FORMATS = ("text", "json", "svg", "html", "mermaid")
ENDINGS = {".txt": "text", ".json": "json", ".svg": "svg", ".html": "html", ".htm": "html", ".mmd": "mermaid"}


def parser() -> ArgumentParser:
    what = "Print a proof of a fact such as 'path(a, d)', of least height; or why the fact does not hold."
    made = command_parser("explain", what)
    add = made.add_argument
    add("programs", metavar="STORE|PROGRAM", type=Path, nargs="+", help="a store, or files of rules")
    add("fact", metavar="FACT", help="the fact, in the rule language, with the prefixes of the program")
    add_data(made)
    add_language(made)
    add("--at", metavar="VERSION", type=version, help="a version of the store (default: the newest)")
    formats = "the format (default: that of the ending of --out, or text)"
    add("--format", choices=FORMATS, help=formats)
    add("--all", metavar="N", type=positive, default=1, help="up to N different proofs (default: 1)")
    depth = "show the proof to this depth (default: all of it); for a fact that does not hold, explain premises that "
    add("--depth", metavar="N", type=positive, help=depth + "fail in turn, to this depth (default: 1)")
    steps = "show at most about this many facts of the proof; a note says how many are hidden (default: by format; "
    add("--steps", metavar="N", type=positive, help=steps + "json: all)")
    add("--out", metavar="FILE", type=Path, help="write to this file instead of standard output")
    add_limits(made)
    return made


def run(options: Namespace) -> int:
    """Prints or writes the explanation; the exit code."""
    from deltalog.apps.cli.open_store import mismatch, open_programs_or_store

    if wrong := mismatch(options.programs, options):
        return wrong_usage("explain", wrong)
    form = options.format or _format_of(options.out)
    with warnings_shown():
        kb = open_programs_or_store(options.programs, options)
        explained = kb.explain(options.fact, all=options.all, depth=options.depth)
    text = _rendered(explained, form, options)
    if options.out is None:
        print_text(text)
    else:
        write_text(options.out, text)
        answer = "holds" if explained.holds else "does not hold"
        print(f"the fact {answer}; the explanation is in {options.out}", file=sys.stderr)
    return 0


def _format_of(out: Path | None) -> str:
    return "text" if out is None else ENDINGS.get(out.suffix.lower(), "text")


def _rendered(explained: Explanation, form: str, options: Namespace) -> str:
    shown: dict[str, Any] = {} if options.steps is None else {"steps": options.steps}
    match form:
        case "json":
            return json.dumps(explained.to_dict(**shown), indent=2) + "\n"
        case "svg":
            return explained.to_svg(**shown)
        case "html":
            return explained.to_html(**shown)
        case "mermaid":
            return explained.to_mermaid(**shown)
        case _:
            return explained.text(**shown, **({} if options.out is not None else _terminal())) + "\n"


def _terminal() -> dict[str, Any]:
    """Colour and width, if standard output is a terminal."""
    width = terminal_width(sys.stdout)
    return {} if width is None else {"colour": has_colour(), "width": width}
