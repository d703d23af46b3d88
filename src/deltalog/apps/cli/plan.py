"""`deltalog plan`: how a program, or a goal, would be evaluated."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from deltalog.apps.cli.options import (
    add_cyclic,
    add_data,
    add_language,
    add_programs,
    add_schemes,
    command_parser,
    load_data,
    warnings_shown,
)
from deltalog.apps.cli.terminal import write_text


def parser() -> ArgumentParser:
    made = command_parser(
        "plan", "Show hyper-nodes, join orders, indexes and decompositions; with --data, as planned for these facts."
    )
    add_programs(made)
    add_data(made)
    add_language(made)
    made.add_argument("--goal", metavar="GOAL", help="show the magic-sets program of this goal instead")
    add_cyclic(made)
    add_schemes(made)
    drawing = "also draw the dependency graph and the decompositions into this file"
    made.add_argument("--svg", metavar="FILE", type=Path, help=drawing)
    return made


def run(options: Namespace) -> int:
    """Prints the plan, and draws it with --svg; the exit code."""
    from deltalog.apps.cli.open_store import knowledge_base

    with warnings_shown():
        kb = knowledge_base(options.programs, options)
        load_data(kb, options)
        plan = kb.plan() if options.goal is None else kb.plan_goal(options.goal)
    if options.svg is not None:  # before anything is printed: a reader such as `head` may close the pipe
        write_text(options.svg, kb.draw())
    print(plan, flush=True)
    if options.svg is not None:
        print(f"the dependency graph is in {options.svg}", file=sys.stderr)
    return 0
