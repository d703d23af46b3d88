"""The command line: options in, KnowledgeBase, results out. Messages go to standard error.

Exit codes: 0 done, 1 an error in the input, 2 wrong usage, 3 a limit was hit and the answer is incomplete.

Each command is a module of its own with a `parser` and a `run`, which loads what it needs when it runs: `--version`,
`--help` and wrong usage answer at once. (The standard library's argparse: typer loads pydantic nowadays, and takes a
quarter of a second for it.)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from deltalog import __version__
from deltalog.apps.cli.options import ERROR, LIMIT_HIT, USAGE, spelled_out
from deltalog.apps.cli.standard_streams import BrokenOutput, discard_output, prepare_streams
from deltalog.apps.cli.terminal import print_text
from deltalog.core.concurrency.interrupts import end_process, interrupted, raise_interrupts, was_interrupted
from deltalog.core.errors import DeltalogError, LimitReached, ProgramError

COMMANDS = (  # modules of this package
    *(
        "run",
        "check",
        "plan",
        "query",
        "explain",
        "convert",
        "ontology",
        "update",
        "log",
        "store",
        "serve",
        "pipeline",
        "selector",
        "bench",
    ),
)
DEBUG = "DELTALOG_DEBUG"

OVERVIEW = """\
usage: deltalog COMMAND ...

Datalog over RDF, CSV and Parquet: derives everything that follows from rules and facts.

  deltalog run PROGRAM... [--data PATH]... [--out DIR]    derive, write and count; --store: keep in a store
  deltalog check PROGRAM...                               errors and warnings, no data
  deltalog plan PROGRAM... [--data PATH]... [--svg FILE]  how it would be evaluated; --goal: how a goal would be
  deltalog query PROGRAM GOAL [--data PATH]...            the answers of a goal or of SPARQL, deriving what they need
  deltalog query STORE GOAL [--at VERSION]                the same from a store
  deltalog explain PROGRAM... FACT [--data PATH]...       why a fact holds, or why it does not
  deltalog explain STORE FACT [--at VERSION]              the same from a store
  deltalog update STORE [--add PATH]... [--remove PATH]...  change facts and rules of a store; --sparql: by a request
  deltalog log STORE                                      the versions of a store
  deltalog store verify|compact|export|rules STORE        check, repair, compact, export; list the rules
  deltalog serve STORE|PROGRAM... [--data PATH]...        answer SPARQL, goals and changes over HTTP
  deltalog convert PROGRAM... --to LANGUAGE               the program for Soufflé, Nemo, RDFox or deltalog
  deltalog ontology FILE... [--out RULES]                 the rules that ontologies become, and what is lost
  deltalog pipeline run|check FILE                        sources, rules and sinks on Spark, from a TOML file
  deltalog selector train|evaluate PROGRAM...             learn which method answers goals faster
  deltalog bench [NAME]...                                run the benchmarks, from a checkout of the project

`deltalog COMMAND --help` says more about each; `deltalog --version` shows the version.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point; the exit code. Without arguments, those of the process, which is ours then."""
    if arguments is not None:
        return _answer(list(arguments))
    prepare_streams()
    raise_interrupts()
    return end_process(_answer(sys.argv[1:]))


def _answer(words: list[str]) -> int:
    return _guarded(lambda: _dispatch(words))


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        if words:
            print_text(OVERVIEW)
            return 0
        print(OVERVIEW, end="", file=sys.stderr)
        return USAGE
    if words[0] in ("--version", "-V"):
        print(f"deltalog {__version__}")
        return 0
    if words[0] not in COMMANDS:
        print(f"deltalog: {_unknown_command(words[0])}", file=sys.stderr)
        return USAGE
    return _run(words[0], words[1:])


def _run(name: str, words: list[str]) -> int:
    command = import_module(f"deltalog.apps.cli.{name}")
    return int(command.run(command.parser().parse_intermixed_args(spelled_out(words))))


def _unknown_command(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, 1)
    hint = f"did you mean `deltalog {near[0]}`?" if near else "`deltalog --help` lists them"
    return f"unknown command {word!r}; {hint}"


def _guarded(command: Callable[[], int]) -> int:
    """Runs a command; whatever it raises becomes one readable message and an exit code."""
    try:
        code = _uninterrupted(command)
        sys.stdout.flush()  # here, where an error has a message
        return code
    except ProgramError as error:
        print(error, file=sys.stderr)
    except LimitReached as error:
        print(f"error: {error}", file=sys.stderr)
        return LIMIT_HIT
    except DeltalogError as error:
        print(f"error: {error}", file=sys.stderr)
    except KeyboardInterrupt as interrupt:
        print(f"interrupted; {str(interrupt) or 'nothing was written'}", file=sys.stderr)
        return interrupted()
    except BrokenPipeError:
        discard_output()
    except BrokenOutput as error:
        discard_output()
        print(f"error: standard output cannot be written ({error.strerror})", file=sys.stderr)
    except UnicodeEncodeError as error:
        discard_output()
        print(_not_encoded(error), file=sys.stderr)
    except MemoryError:
        print("error: out of memory; --memory sets a limit and keeps the facts derived so far", file=sys.stderr)
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        what = f"{type(error).__name__}: {error}"
        print(f"error: internal error ({what}); set {DEBUG}=1 for a traceback", file=sys.stderr)
    return ERROR


def _not_encoded(error: UnicodeEncodeError) -> str:
    text = ascii(error.object[error.start : error.end])
    return (
        f"error: the encoding of standard output, {error.encoding}, does not have {text}; "
        "set PYTHONIOENCODING=utf-8, or write to a file"
    )


def _uninterrupted(command: Callable[[], int]) -> int:
    try:
        return command()
    except SystemExit:  # of argparse, after it has printed help
        sys.stdout.flush()
        raise
    except Exception:
        if was_interrupted():
            raise KeyboardInterrupt from None
        raise
