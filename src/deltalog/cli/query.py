"""`deltalog query`: the answers of a goal or of a SPARQL query."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.cli.options import add_data, add_limits, command_parser, version, wrong_usage
from deltalog.model.errors import UsageError

if TYPE_CHECKING:
    from deltalog.kb import KnowledgeBase
    from deltalog.query.goal_evaluator import Answers
    from deltalog.query.sparql.solutions import Solutions


def parser() -> ArgumentParser:
    what = "Print the answers of a goal such as 'path(a, ?x)', or of SPARQL, as rows: variable by variable."
    made = command_parser("query", what)
    add = made.add_argument
    add("program", metavar="PROGRAM|STORE", type=Path, help="a file of rules, or the folder of a store")
    goals = "one or more atoms and conditions, separated by commas; or a SELECT or an ASK in SPARQL"
    add("goal", metavar="GOAL", help=goals)
    add_data(made)
    add("--at", metavar="VERSION", type=version, help="ask this version of the store (default: the newest)")
    methods = "magic and qsqr derive only what the goal needs, materialised derives everything first (default: auto)"
    add("--method", choices=("auto", "materialised", "magic", "qsqr"), default="auto", help=methods)
    add("--format", choices=("csv", "tsv"), default="csv", help="the format of the rows (default: csv)")
    add_limits(made)
    add("--why", action="store_true", help="print the method, the reason for it and its time on standard error")
    add("--selector", metavar="FILE", type=Path, help="the model that chooses the method, instead of the default")
    learn = "also time magic and qsqr, and append the result to this file, for `deltalog selector train --examples`"
    add("--learn", metavar="FILE", type=Path, help=learn)
    return made


def run(options: Namespace) -> int:
    """Prints the answers; the exit code."""
    from deltalog.cli.open_store import mismatch, open_programs_or_store

    if wrong := mismatch([options.program], options):
        return wrong_usage("query", wrong)
    with open_programs_or_store([options.program], options) as kb:
        return _answer(kb, options)


def _answer(kb: KnowledgeBase, options: Namespace) -> int:
    """Prints the answers, or true or false where there are no variables; the exit code."""
    from deltalog.query.sparql.parse import is_sparql

    if options.selector is not None:
        kb.selector = options.selector
    in_sparql = is_sparql(options.goal)
    if in_sparql and options.learn is not None:
        raise UsageError("--learn is for goals such as 'path(a, ?x)', not for SPARQL")
    answers: Answers[Any] | Solutions = (kb.solve if in_sparql else kb.query)(options.goal, options.method)
    _show_how(kb, answers, options)
    if not answers.columns:
        print("true" if len(answers) else "false")
        return 0
    for line in answers.lines({"csv": ",", "tsv": "\t"}[options.format]):
        print(line)
    return 0


def _show_how(kb: KnowledgeBase, answers: Answers[Any] | Solutions, options: Namespace) -> None:
    """The outputs of --learn and --why."""
    if options.learn is not None:
        from deltalog.query.training_goals import write_examples

        write_examples([kb.learn(options.goal)], options.learn)
    if options.why:
        print(f"{answers.method} ({answers.reason}), {answers.seconds * 1000:.1f} ms", file=sys.stderr)
