"""`deltalog plan`: how a program, or a goal, would be evaluated."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from deltalog.cli.options import (
    add_cyclic,
    add_data,
    add_programs,
    add_schemes,
    command_parser,
    load_data,
    warnings_shown,
)
from deltalog.model.errors import UsageError


def parser() -> ArgumentParser:
    made = command_parser(
        "plan", "Show hyper-nodes, join orders, indexes and decompositions; with --data, as planned for these facts."
    )
    add_programs(made)
    add_data(made)
    made.add_argument("--goal", metavar="GOAL", help="show the magic-sets program of this goal instead")
    add_cyclic(made)
    add_schemes(made)
    drawing = "also draw the dependency graph and the decompositions into this file"
    made.add_argument("--svg", metavar="FILE", type=Path, help=drawing)
    return made


def run(options: Namespace) -> int:
    """Prints the plan, and draws it with --svg; the exit code."""
    from deltalog.kb import KnowledgeBase

    with warnings_shown():
        kb = KnowledgeBase(options.programs, cyclic=options.cyclic, schemes=options.schemes)
        load_data(kb, options)
        print(kb.plan() if options.goal is None else kb.plan_goal(options.goal), flush=True)
    if options.svg is not None:
        _write(options.svg, kb.draw())
        print(f"the dependency graph is in {options.svg}", file=sys.stderr)
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
