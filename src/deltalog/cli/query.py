"""`deltalog query`: the answers of a goal or of a SPARQL query."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.cli.options import add_data, command_parser, count, load_data, memory, seconds
from deltalog.model.errors import UsageError

if TYPE_CHECKING:
    from deltalog.kb import KnowledgeBase
    from deltalog.query.goal_session import Answers
    from deltalog.query.sparql.solutions import Solutions


def parser() -> ArgumentParser:
    what = "Print the answers of a goal such as 'path(a, ?x)', or of SPARQL, as rows: variable by variable."
    made = command_parser("query", what)
    made.add_argument("program", metavar="PROGRAM", type=Path, help="a file of rules")
    goals = "one or more atoms and conditions, separated by commas; or a SELECT or an ASK in SPARQL"
    made.add_argument("goal", metavar="GOAL", help=goals)
    add_data(made)
    methods = "magic and qsqr derive what the goal needs, materialised everything first (default: auto, which chooses)"
    made.add_argument("--method", choices=("auto", "materialised", "magic", "qsqr"), default="auto", help=methods)
    made.add_argument("--format", choices=("csv", "tsv"), default="csv", help="the form of the rows (default: csv)")
    made.add_argument("--timeout", metavar="S", type=seconds, help="give up after so many seconds")
    made.add_argument("--max-facts", metavar="N", type=count, help="give up when more facts are derived than this")
    made.add_argument("--memory", metavar="SIZE", type=memory, help="give up when the process holds more than this")
    made.add_argument("--why", action="store_true", help="say on standard error which method ran, why, and how long")
    made.add_argument("--selector", metavar="FILE", type=Path, help="the model that chooses, instead of the default")
    learn = (
        "ask by magic and qsqr, too, and note in this file which was faster, for `deltalog selector train --examples`"
    )
    made.add_argument("--learn", metavar="FILE", type=Path, help=learn)
    return made


def run(options: Namespace) -> int:
    """Prints the answers, or true or false where there are no variables; the exit code."""
    from deltalog.kb import KnowledgeBase

    kb = KnowledgeBase(options.program, timeout=options.timeout, max_facts=options.max_facts, memory=options.memory)
    load_data(kb, options)
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
    """What --learn and --why ask for."""
    if options.learn is not None:
        from deltalog.query.training_goals import write_examples

        write_examples([kb.learn(options.goal)], options.learn)
    if options.why:
        print(f"{answers.method} ({answers.reason}), {answers.seconds * 1000:.1f} ms", file=sys.stderr)
