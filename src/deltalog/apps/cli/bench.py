"""`deltalog bench`: the options, and where the benchmarks are.

The benchmarks themselves are the folder `benchmarks` of a checkout. They are not part of the installed package: they
need peers, generators and room, and who only reasons needs none of it.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from importlib import import_module
from pathlib import Path

from deltalog.apps.cli.options import USAGE, command_parser
from deltalog.core.errors import UsageError

DESCRIPTION = """\
Measure deltalog, and peers that are installed, on the benchmarks of this checkout.

  deltalog bench                                  a small set, in about three minutes
  deltalog bench --full --json new.json           all of them at full size, in about an hour at most
  deltalog bench lubm_l --sizes 1,5,10            one of them, at sizes of its own
  deltalog bench --compare old.json               report what got slower beyond the noise
  deltalog bench --list                           list benchmarks, sizes, tasks and ways
"""
EPILOG = "Exit codes: 0 done; 1 a wrong answer, a way that failed, or slower than --compare; 2 wrong usage."


def parser() -> ArgumentParser:
    made = command_parser("bench", DESCRIPTION, EPILOG)
    add = made.add_argument
    add("names", metavar="NAME", nargs="*", help="benchmarks (default: the small set, or all with --full)")
    add("--list", action="store_true", help="list benchmarks, sizes, tasks and ways, and measure nothing")
    add("--full", action="store_true", help="all benchmarks and tasks, at full size")
    add(
        "--sizes",
        metavar="SIZES",
        type=_words,
        default=[],
        help="sizes, with commas: small, full, or a benchmark's own",
    )
    add("--tasks", metavar="TASKS", type=_words, default=[], help="tasks, with commas, such as load,materialise,query")
    add(
        "--ways",
        metavar="WAYS",
        type=_words,
        default=[],
        help="ways to run them, with commas, for all tasks, such as deltalog,duckdb",
    )
    add("--repeat", metavar="N", type=_positive, default=1, help="processes for each measurement (default: 1)")
    add("--timeout", metavar="S", type=float, default=45.0, help="seconds for each process (default: 45)")
    add(
        "--budget",
        metavar="S",
        type=float,
        default=3600.0,
        help="start no benchmark after this many seconds; the rest is shown as skipped (default: 3600)",
    )
    add("--json", metavar="FILE", type=Path, help="write the results to this file")
    add("--report", metavar="DIR", type=Path, help="write a page with plots to this folder, as HTML and as Markdown")
    add("--compare", metavar="FILE", type=Path, help="report what got slower than in this file of results")
    return made


def run(options: Namespace) -> int:
    """Hand over to the checkout's benchmarks; the exit code."""
    root = checkout()
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        code: int = import_module("benchmarks.run").bench(options)
    except UsageError as error:
        print(f"deltalog bench: error: {error}", file=sys.stderr)
        return USAGE
    return code


def checkout() -> Path:
    """The folder that has `benchmarks`: the one that this package runs from, or the present one."""
    for folder in (Path(__file__).parents[4], Path.cwd()):
        if (folder / "benchmarks" / "registry.py").is_file():
            return folder
    raise UsageError(
        "the benchmarks are not part of the installed package; get a checkout of the project "
        "and run `uv run deltalog bench` in its folder"
    )


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not a number of times; write it like 3")
    return int(text)
