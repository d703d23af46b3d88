"""`deltalog query`: the answers of a goal or of a SPARQL query.

On a terminal they are a table with a header, and triples Turtle. Elsewhere they are rows without a header, in the cells
that `--data` reads, and triples N-Triples; so they are for a goal with `--format csv` or `tsv`. For SPARQL, these and
the other formats are the W3C's (`deltalog.query.sparql.results`).
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.cli.options import add_data, add_limits, command_parser, version, warnings_shown, wrong_usage
from deltalog.model.errors import UsageError

if TYPE_CHECKING:
    from deltalog.kb import KnowledgeBase
    from deltalog.query.goal_evaluator import Answers
    from deltalog.query.sparql.solutions import Solutions

DELIMITERS = {"csv": ",", "tsv": "\t"}


def parser() -> ArgumentParser:
    what = "Print the answers of a goal such as 'path(a, ?x)', or of SPARQL, as rows: variable by variable."
    made = command_parser("query", what)
    add = made.add_argument
    add("program", metavar="PROGRAM|STORE", type=Path, help="a file of rules, or the folder of a store")
    goals = (
        "one or more atoms and conditions, separated by commas; or a query in SPARQL. "
        "@FILE reads it from a file, - from standard input"
    )
    add("goal", metavar="GOAL", nargs="?", help=goals)
    add("--file", metavar="FILE", type=Path, help="read the goal or the query from this file")
    add_data(made)
    add("--at", metavar="VERSION", type=version, help="ask this version of the store (default: the newest)")
    methods = "magic and qsqr derive only what the goal needs, materialised derives everything first (default: auto)"
    add("--method", choices=("auto", "materialised", "magic", "qsqr"), default="auto", help=methods)
    formats = (
        "the format of the answers (default: a table or Turtle on a terminal, otherwise csv without a header or nt); "
        "nt and ttl are for CONSTRUCT and DESCRIBE"
    )
    add("--format", choices=("table", "csv", "tsv", "json", "xml", "nt", "ttl"), help=formats)
    add_limits(made)
    add("--why", action="store_true", help="print the method, the reason for it and its time on standard error")
    add("--selector", metavar="FILE", type=Path, help="the model that chooses the method, instead of the default")
    learn = "also time magic and qsqr, and append the result to this file, for `deltalog selector train --examples`"
    add("--learn", metavar="FILE", type=Path, help=learn)
    return made


def run(options: Namespace) -> int:
    """Prints the answers; the exit code."""
    from deltalog.cli.open_store import mismatch, open_programs_or_store

    if wrong := mismatch([options.program], options) or _wrong_goal(options):
        return wrong_usage("query", wrong)
    goal = _goal(options)
    with warnings_shown(), open_programs_or_store([options.program], options) as kb:
        return _answer(kb, goal, options)


def _wrong_goal(options: Namespace) -> str | None:
    if (options.goal is None) is (options.file is None):
        return "give a goal or a query: as an argument, as @FILE, by --file FILE, or - for standard input"
    return None


def _goal(options: Namespace) -> str:
    """The text of the goal, wherever it is."""
    given = options.goal
    if given == "-":
        return sys.stdin.read()
    if given is not None and not given.startswith("@"):
        return str(given)
    path = options.file if given is None else Path(given[1:])
    try:
        return str(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"cannot read {path}: {getattr(problem, 'strerror', None) or problem}") from None


def _answer(kb: KnowledgeBase, goal: str, options: Namespace) -> int:
    """Prints the answers, or true or false where there are no variables; the exit code."""
    from deltalog.query.sparql.parse import is_sparql

    if options.selector is not None:
        kb.selector = options.selector
    in_sparql = is_sparql(goal)
    if in_sparql and options.learn is not None:
        raise UsageError("--learn is for goals such as 'path(a, ?x)', not for SPARQL")
    answers: Answers[Any] | Solutions = (kb.solve if in_sparql else kb.query)(goal, options.method)
    _show_how(kb, goal, answers, options)
    _print(answers, options.format, in_sparql)
    return 0


def _print(answers: Answers[Any] | Solutions, format: str | None, in_sparql: bool) -> None:
    from deltalog.query.sparql.results import write

    has_triples = in_sparql and answers.form.is_graph  # type: ignore[union-attr]
    if format is None and sys.stdout.isatty():
        format = "ttl" if has_triples else "table"
    elif format is None and has_triples:
        format = "nt"
    if format is not None and (in_sparql or format not in DELIMITERS):
        write(answers if answers.columns else len(answers) > 0, format, sys.stdout)
    elif not answers.columns:
        print("true" if len(answers) else "false")
    else:
        for line in answers.lines(DELIMITERS[format or "csv"]):
            print(line)


def _show_how(kb: KnowledgeBase, goal: str, answers: Answers[Any] | Solutions, options: Namespace) -> None:
    """The outputs of --learn and --why."""
    if options.learn is not None:
        from deltalog.query.training_goals import write_examples

        write_examples([kb.learn(goal)], options.learn)
    if options.why:
        print(f"{answers.method} ({answers.reason}), {answers.seconds * 1000:.1f} ms", file=sys.stderr)
