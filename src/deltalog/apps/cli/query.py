"""`deltalog query`: the answers of goals or of a SPARQL query.

On a terminal they are a table with a header, and triples Turtle. Elsewhere they are rows without a header, in the cells
that `--data` reads, and triples N-Triples. `deltalog.apps.cli.query_output` has the other formats.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.apps.cli.options import (
    add_data,
    add_evaluation,
    add_language,
    add_limits,
    add_ontology,
    add_verbose,
    command_parser,
    local,
    sort_out_ontologies,
    version,
    warnings_shown,
    wrong_usage,
)
from deltalog.apps.cli.query_output import FORMATS, format_of
from deltalog.core.errors import UsageError

if TYPE_CHECKING:
    from deltalog.apps.cli.progress import Progress
    from deltalog.evaluation.goals.goal_evaluator import Answers
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.languages.sparql.solutions import Solutions

DESCRIPTION = """\
Print the answers of a goal such as 'path(a, ?x)', or of SPARQL, as rows: variable by variable.

  deltalog query rules.dl 'path(a, ?x)' --data edges.csv      the last argument is the goal
  deltalog query rules.dl more.dl --file goals.txt            several programs; goals of a file
  deltalog query store 'SELECT * { ?x :knows ?y }' --format json
"""


def parser() -> ArgumentParser:
    made = command_parser("query", DESCRIPTION)
    add = made.add_argument
    words = (
        "files of rules, or the folder of a store; and after them, unless there is --file, the goal: one or more atoms "
        "and conditions, separated by commas; or a query in SPARQL. @FILE reads it from a file, - from standard input, "
        "where several goals may stand, each of which ends with a dot or with its line"
    )
    add("words", metavar="PROGRAM|STORE... GOAL", nargs="*", help=words)
    add("--file", metavar="FILE", type=Path, help="read the goals or the query from this file")
    add_data(made)
    add("--at", metavar="VERSION", type=version, help="ask this version of the store (default: the newest)")
    methods = "magic and qsqr derive only what the goal needs, materialised derives everything first (default: auto)"
    add("--method", choices=("auto", "materialised", "magic", "qsqr"), default="auto", help=methods)
    formats = (
        "the format of the answers (default: that of the ending of --out; else a table or Turtle on a terminal, "
        "otherwise csv without a header or nt); nt and ttl are for CONSTRUCT and DESCRIBE"
    )
    add("--format", choices=FORMATS, help=formats)
    add("--out", metavar="FILE", type=local, help="write to this file instead of standard output")
    add_ontology(made)
    add_language(made)
    add_evaluation(made)
    add_limits(made)
    add_verbose(made, "the method, the reason for it, its time, and the files that are read,", "--why")
    add("--selector", metavar="FILE", type=Path, help="the model that chooses the method, instead of the default")
    learn = "also time magic and qsqr, and append the result to this file, for `deltalog selector train --examples`"
    add("--learn", metavar="FILE", type=Path, help=learn)
    return made


def run(options: Namespace) -> int:
    """Prints the answers; the exit code."""
    from deltalog.apps.cli.open_store import mismatch

    if wrong := _take_words(options):
        return wrong_usage("query", wrong)
    sort_out_ontologies(options)
    if wrong := mismatch(options.programs, options) or _wrong_options(options):
        return wrong_usage("query", wrong)
    from deltalog.apps.cli.progress import Progress, log_messages
    from deltalog.core.watching import watching

    text = _text(options)
    progress = Progress(lines=False, verbose=options.verbose)
    with (
        progress,
        watching(progress),
        log_messages(progress.detail),
        warnings_shown(),
        _opened(options, progress) as kb,
    ):
        return _answer(kb, text, options, progress)


def _take_words(options: Namespace) -> str:
    """Which arguments are programs, and which is the goal; what is wrong with them, if anything."""
    *programs, last = options.words or [""]
    options.goal = None
    if options.file is None:
        options.goal, programs = last, programs
    else:
        programs = options.words
        if any(not Path(word).exists() and not word.startswith("@") for word in programs):
            return "give either a goal or --file FILE, and existing programs"
    options.programs = [Path(word) for word in programs]
    if programs or options.ontology or options.profile:
        return ""
    return (
        "give a program, or a store, and a goal or a query: as an argument, as @FILE, by --file FILE, "
        "or - for standard input"
    )


def _wrong_options(options: Namespace) -> str:
    from deltalog.apps.cli.open_store import is_store

    if is_store(options.programs) and options.engine in ("spark", "naive"):
        return f"--engine {options.engine} goes with a program; a store is opened by the local engine"
    return ""


def _text(options: Namespace) -> str:
    """The text of the goals or the query, wherever it is."""
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


def _opened(options: Namespace, progress: Progress) -> KnowledgeBase:
    from deltalog.apps.cli.choose_engine import choose_engine, prepare_spark
    from deltalog.apps.cli.open_store import is_store, open_programs_or_store

    if is_store(options.programs):
        return open_programs_or_store(options.programs, options)
    choice = choose_engine(options.engine, options.master, options.data, options.memory)
    progress.detail(f"engine {choice.engine}: {choice.reason}")
    if choice.engine in ("spark", "auto"):
        prepare_spark(choice, options.data, progress.say)
    return open_programs_or_store(options.programs, options, engine=choice.engine)


def _answer(kb: KnowledgeBase, text: str, options: Namespace, progress: Progress) -> int:
    """Prints the answers, or true or false where there are no variables; the exit code."""
    from deltalog.apps.cli.query_output import GoalAnswers, output
    from deltalog.evaluation.failed_expressions import warning_of_failures
    from deltalog.languages.sparql.parse import is_sparql

    if options.selector is not None:
        kb.training.selector = options.selector
    in_sparql = is_sparql(text)
    if in_sparql and options.learn is not None:
        raise UsageError("--learn is for goals such as 'path(a, ?x)', not for SPARQL")
    goals = [text] if in_sparql else _goals(kb, text)
    format = format_of(options.format, options.out)
    answered = []
    for goal in goals:
        answers: Answers[Any] | Solutions = (kb.solve if in_sparql else kb.query)(goal, options.method)
        _show_how(kb, goal, answers, options, progress)
        answered.append(GoalAnswers(" ".join(goal.split()), answers, kb.prefixes))
    with output(options.out, progress.end) as stream:
        stream.write_all(answered, format)
    for each in answered:
        where = "" if len(answered) == 1 else f" of {each.goal}"
        if warning := warning_of_failures(each.answers.failures, f"; answers{where} may be missing"):
            print(warning, file=sys.stderr)
    return 0


def _goals(kb: KnowledgeBase, text: str) -> list[str]:
    """The goals of a text, whose prefixes are those of the program and its own."""
    from deltalog.knowledge_base.calls import session_of
    from deltalog.languages.deltalog.parser import split_goals

    found = split_goals(text, "<goal>", kb.prefixes)
    session = session_of(kb)
    session.state = replace(session.state, prefixes=dict(found.prefixes))
    return list(found.texts) or [text]


def _show_how(
    kb: KnowledgeBase, goal: str, answers: Answers[Any] | Solutions, options: Namespace, progress: Progress
) -> None:
    """The outputs of --learn and --verbose."""
    if options.learn is not None:
        from deltalog.knowledge_base.training_goals import write_examples

        write_examples([kb.training.learn(goal)], options.learn)
    progress.detail(f"{answers.method} ({answers.reason}), {answers.seconds * 1000:.1f} ms")
