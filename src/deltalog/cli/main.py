"""The command line: options in, KnowledgeBase, results out. Messages go to standard error.

Exit codes: 0 done, 1 an error in the input, 2 wrong usage, 3 a limit was hit and the answer is incomplete.

Each command has a parser of its own and loads what it needs when it runs: `--version`, `--help` and wrong usage answer
at once. (The standard library's argparse: typer loads pydantic nowadays, and takes a quarter of a second for it.)
"""

from __future__ import annotations

import errno
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deltalog import __version__
from deltalog.concurrency.interrupts import end_process, interrupted, raise_interrupts, was_interrupted
from deltalog.model.errors import DeltalogError, LimitReached, ProgramError, UsageError

if TYPE_CHECKING:
    from deltalog.kb import KnowledgeBase
    from deltalog.query.goal_session import Answers
    from deltalog.query.sparql.solutions import Solutions

T = TypeVar("T")
ERROR, USAGE, LIMIT_HIT = 1, 2, 3
DEBUG = "DELTALOG_DEBUG"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # without a file's name: of standard output

OVERVIEW = """\
usage: deltalog COMMAND ...

Datalog over RDF, CSV and Parquet: derives everything that follows from rules and facts.

  deltalog run PROGRAM... [--data PATH]... [--out DIR]    derive, write and count
  deltalog check PROGRAM...                               errors and warnings, no data
  deltalog plan PROGRAM... [--data PATH]... [--svg FILE]  how it would be evaluated; --goal: how a goal would be
  deltalog query PROGRAM GOAL [--data PATH]...            the answers of a goal or of SPARQL, deriving what they need
  deltalog selector train|evaluate PROGRAM...             learn which method answers goals faster
  deltalog bench [NAME]...                                measure it, from a checkout of the project

`deltalog COMMAND --help` says more about each; `deltalog --version` shows the version.
"""

EXIT_CODES = "Exit codes: 0 done; 1 an error in the input; 2 wrong usage; 3 a limit was hit, the answer is incomplete."


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point; the exit code. Without arguments, those of the process, which is ours then."""
    if arguments is not None:
        return _answer(list(arguments))
    raise_interrupts()
    return end_process(_answer(sys.argv[1:]))


def _answer(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(OVERVIEW, end="", file=sys.stdout if words else sys.stderr)
        return 0 if words else USAGE
    if words[0] in ("--version", "-V"):
        print(f"deltalog {__version__}")
        return 0
    command = COMMANDS.get(words[0])
    if command is None:
        print(f"deltalog: {_unknown_command(words[0])}", file=sys.stderr)
        return USAGE
    parser, action = command
    options = parser().parse_intermixed_args(words[1:])
    return _guarded(lambda: action(options))


def _unknown_command(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, 1)
    hint = f"did you mean `deltalog {near[0]}`?" if near else "`deltalog --help` lists them"
    return f"there is no command {word!r}; {hint}"


def _run_parser() -> ArgumentParser:
    parser = _parser("run", "Derive everything that follows from the rules and the facts; write it, and count it.")
    _add_programs(parser)
    _add_data(parser)
    add = parser.add_argument
    add("--out", metavar="DIR", type=Path, help="write the facts to this folder, which is new or empty")
    add("--format", choices=("csv", "tsv", "nt", "parquet"), default="csv", help="the form of --out (default: csv)")
    add("--only", metavar="PRED", action="append", default=[], help="write only this predicate; may be repeated")
    add("--derived", action="store_true", help="write only facts that were not in the input")
    engines = ("auto", "local", "spark", "naive")
    add(
        "--engine",
        choices=engines,
        default="auto",
        help="where to reason; auto is local while the data should fit in memory, and spark beyond. Spark also reads "
        "and writes if a master is named (by --master, spark-submit, PYSPARK_SUBMIT_ARGS, spark-defaults.conf or "
        "MASTER), if the input is above 8 GB, and with spark; otherwise, and with local, no JVM is started",
    )
    add(
        "--master",
        metavar="URL",
        help="the Spark master, such as local[4] or spark://host:7077: Spark reads and writes, and with --engine auto "
        "its driver reasons while that fits in memory",
    )
    _add_schemes(parser)
    add("--memory", metavar="SIZE", type=_memory, help="stop when the process holds more than this, such as 8GB")
    add("--timeout", metavar="S", type=_seconds, help="stop the evaluation after so many seconds")
    add("--max-facts", metavar="N", type=_count, help="stop when there are more facts than this")
    add("--store", metavar="DIR", type=Path, help="keep the materialisation (not in this version yet)")
    _add_cyclic(parser)
    add("--json", action="store_true", help="print the report as one JSON object on standard output")
    add("-q", "--quiet", action="store_true", help="no progress and no table")
    return parser


def _add_cyclic(parser: ArgumentParser) -> None:
    ways = "rules with cyclic bodies: standard joins, hypertree decompositions for all rules, or (default) combined, "
    ways += "which decomposes cyclic ones where that pays"
    parser.add_argument("--cyclic", choices=("combined", "standard", "hypertree"), default="combined", help=ways)


def _add_schemes(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--schemes",
        choices=("auto", "standard", "module", "scheme"),
        default="auto",
        help="how transitive, symmetric and inverse relations and unions are kept: as all others (standard), as tables "
        "with rules of their own (module), by their structure (scheme), or so where it saves something (auto)",
    )


def _run(options: Namespace) -> int:
    from deltalog.cli.run import RunOptions, run_program

    if options.store is not None:
        print("deltalog run: error: --store is not part of this version yet; use --out", file=sys.stderr)
        return USAGE
    return run_program(
        RunOptions(
            programs=options.programs,
            data=options.data,
            reading=reading_of(options),
            out=options.out,
            format=options.format,
            only=options.only,
            derived=options.derived,
            engine=options.engine,
            master=options.master,
            schemes=options.schemes,
            memory=options.memory,
            timeout=options.timeout,
            max_facts=options.max_facts,
            cyclic=options.cyclic,
            json=options.json,
            quiet=options.quiet,
        )
    )


def _check_parser() -> ArgumentParser:
    parser = _parser("check", "Report every error and warning of a program. Reads no data.")
    _add_programs(parser)
    return parser


def _check(options: Namespace) -> int:
    from deltalog.program import analyse, read_rules

    program = analyse(read_rules(options.programs))
    for warning in program.warnings:
        print(f"{warning}\n", file=sys.stderr)
    counts = [(len(program.rules), "rule"), (len(program.facts), "fact"), (len(program.hyper_nodes), "hyper-node")]
    rules, facts, hyper_nodes = (_counted(n, noun) for n, noun in counts)
    print(f"{rules} and {facts} in {hyper_nodes}: no errors, {_counted(len(program.warnings), 'warning')}")
    return 0


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _plan_parser() -> ArgumentParser:
    parser = _parser(
        "plan", "Show hyper-nodes, join orders, indexes and decompositions; with --data, as planned for these facts."
    )
    _add_programs(parser)
    _add_data(parser)
    parser.add_argument("--goal", metavar="GOAL", help="show the rules that magic sets makes for this goal instead")
    _add_cyclic(parser)
    _add_schemes(parser)
    drawing = "also draw the dependency graph and the decompositions into this file"
    parser.add_argument("--svg", metavar="FILE", type=Path, help=drawing)
    return parser


def _plan(options: Namespace) -> int:
    from deltalog.kb import KnowledgeBase

    kb = KnowledgeBase(options.programs, cyclic=options.cyclic, schemes=options.schemes)
    if options.data:
        kb.load(*options.data, **reading_of(options))
    print(kb.plan() if options.goal is None else kb.plan_goal(options.goal), flush=True)
    if options.svg is not None:
        _write(options.svg, kb.draw())
        print(f"the dependency graph is in {options.svg}", file=sys.stderr)
    return 0


def _query_parser() -> ArgumentParser:
    what = "Print the answers of a goal such as 'path(a, ?x)', or of SPARQL, as rows: variable by variable."
    parser = _parser("query", what)
    parser.add_argument("program", metavar="PROGRAM", type=Path, help="a file of rules")
    goals = "one or more atoms and conditions, separated by commas; or a SELECT or an ASK in SPARQL"
    parser.add_argument("goal", metavar="GOAL", help=goals)
    _add_data(parser)
    methods = "magic and qsqr derive what the goal needs, materialised everything first (default: auto, which chooses)"
    parser.add_argument("--method", choices=("auto", "materialised", "magic", "qsqr"), default="auto", help=methods)
    parser.add_argument("--format", choices=("csv", "tsv"), default="csv", help="the form of the rows (default: csv)")
    parser.add_argument("--timeout", metavar="S", type=_seconds, help="give up after so many seconds")
    parser.add_argument("--max-facts", metavar="N", type=_count, help="give up when more facts are derived than this")
    parser.add_argument("--memory", metavar="SIZE", type=_memory, help="give up when the process holds more than this")
    parser.add_argument("--why", action="store_true", help="say on standard error which method ran, why, and how long")
    parser.add_argument("--selector", metavar="FILE", type=Path, help="the model that chooses, instead of the default")
    learn = (
        "ask by magic and qsqr, too, and note in this file which was faster, for `deltalog selector train --examples`"
    )
    parser.add_argument("--learn", metavar="FILE", type=Path, help=learn)
    return parser


def _query(options: Namespace) -> int:
    from deltalog.kb import KnowledgeBase

    kb = KnowledgeBase(options.program, timeout=options.timeout, max_facts=options.max_facts, memory=options.memory)
    if options.data:
        kb.load(*options.data, **reading_of(options))
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


def _selector_parser() -> ArgumentParser:
    from deltalog.cli.selector import add_options

    parser = _parser("selector", "Train the choice between magic sets and QSQ-R for a program, or see how good it is.")
    parser.add_argument("action", choices=("train", "evaluate"), help="make a model; or judge one, and all classifiers")
    _add_programs(parser)
    _add_data(parser)
    add_options(parser, _count, _seconds)
    out = "the file of the model (train; default: selector.json), or a folder for tables and plots (evaluate)"
    parser.add_argument("--out", metavar="PATH", type=Path, help=out)
    parser.add_argument("--model", metavar="FILE", type=Path, help="the model to judge (default: the one in use)")
    return parser


def _selector(options: Namespace) -> int:
    from deltalog.cli.selector import evaluate, train
    from deltalog.kb import KnowledgeBase

    kb = KnowledgeBase(options.programs)
    if options.data:
        kb.load(*options.data, **reading_of(options))
    if options.action == "evaluate":
        return evaluate(kb, options)
    options.out = options.out or Path("selector.json")
    return train(kb, options, options.programs)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _bench_parser() -> ArgumentParser:
    from deltalog.cli.bench import parser

    return parser()


def _bench(options: Namespace) -> int:
    from deltalog.cli.bench import run

    return run(options)


COMMANDS: dict[str, tuple[Callable[[], ArgumentParser], Callable[[Namespace], int]]] = {
    "run": (_run_parser, _run),
    "check": (_check_parser, _check),
    "plan": (_plan_parser, _plan),
    "query": (_query_parser, _query),
    "selector": (_selector_parser, _selector),
    "bench": (_bench_parser, _bench),
}


def _parser(command: str, description: str) -> ArgumentParser:
    return ArgumentParser(
        prog=f"deltalog {command}",
        description=description,
        epilog=EXIT_CODES,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _add_programs(parser: ArgumentParser) -> None:
    parser.add_argument("programs", metavar="PROGRAM", type=Path, nargs="+", help="a file of rules")


def _add_data(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        metavar="PATH",
        type=Path,
        action="append",
        default=[],
        help="a file or folder of facts: .nt .nq .ttl .rdf .csv .tsv .facts .parquet, also .gz .bz2 .zst; "
        "the name of a table's file is the predicate; may be repeated",
    )

    add = parser.add_argument
    base = "the IRI that relative IRIs in Turtle and RDF/XML are relative to (default: that of the file, file:///...)"
    add("--base", metavar="IRI", type=_base, help=base)
    shared = "a blank-node label is one node in all RDF files, not one in each: for the parts of one document"
    add("--shared-blank-nodes", action="store_true", help=shared)
    strict = "refuse relative IRIs, bare numbers and booleans in N-Triples and N-Quads, as the standard does"
    add("--strict", action="store_true", help=strict)


def reading_of(options: Namespace) -> dict[str, Any]:
    """The options of `KnowledgeBase.load`."""
    return {name: getattr(options, name) for name in ("base", "shared_blank_nodes", "strict")}


def _base(text: str) -> str:
    from deltalog.io.documents import Reading

    return _checked(lambda text: Reading(text).base or text, text)


def _memory(text: str) -> int:
    from deltalog.model.limits import memory_bytes

    return _checked(memory_bytes, text)


def _seconds(text: str) -> float:
    from deltalog.model.limits import seconds

    try:
        return _checked(seconds, float(text))
    except ValueError:
        return _checked(seconds, text)


def _count(text: str) -> int:
    from deltalog.model.limits import count

    is_number = text.isascii() and text.replace("_", "").isdigit()
    return _checked(count, int(text.replace("_", "")) if is_number else text)


def _checked(check: Callable[[Any], T], value: Any) -> T:
    """The value of an option, if it passes the check."""
    try:
        return check(value)
    except UsageError as error:
        raise ArgumentTypeError(str(error)) from None


def _guarded(command: Callable[[], int]) -> int:
    """Runs a command; whatever it raises becomes one readable message and an exit code."""
    try:
        code = _uninterrupted(command)
        sys.stdout.flush()
        return code
    except ProgramError as error:
        print(error, file=sys.stderr)
    except LimitReached as error:
        print(f"error: {error}", file=sys.stderr)
        return LIMIT_HIT
    except DeltalogError as error:
        print(f"error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        return interrupted()
    except BrokenPipeError:
        _drop_output()
    except MemoryError:
        print("error: there is not enough memory; --memory stops earlier, with the facts so far", file=sys.stderr)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
            _drop_output()
            print(f"error: standard output cannot be written ({error.strerror or error})", file=sys.stderr)
            return ERROR
        if os.environ.get(DEBUG):
            raise
        what = f"{type(error).__name__}: {error}"
        print(f"error: this should not have happened ({what}); {DEBUG}=1 shows where it did", file=sys.stderr)
    return ERROR


def _drop_output() -> None:
    """What is left in the buffer of standard output goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _uninterrupted(command: Callable[[], int]) -> int:
    try:
        return command()
    except Exception:
        if was_interrupted():
            raise KeyboardInterrupt from None
        raise
