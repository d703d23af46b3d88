"""`deltalog convert`: a program in another language, and what cannot be expressed in it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from deltalog.apps.cli.options import ERROR, add_language, add_programs, command_parser, counted, preprocessing_of
from deltalog.languages.registry import TARGETS, converted


def parser() -> ArgumentParser:
    made = command_parser(
        "convert",
        "Print programs in another language. Parts that it cannot express are left out, and listed on standard error.",
        "Exit codes: 0 everything was converted; 1 an error in the input, or parts are left out; 2 wrong usage.",
    )
    add_programs(made)
    add_language(made)
    made.add_argument("--to", choices=TARGETS, required=True, help="the language to print")
    return made


def run(options: Namespace) -> int:
    """Runs it; the exit code."""
    from deltalog.languages.load_program import as_preprocessing, read_documents
    from deltalog.program.program import analyse

    given = as_preprocessing(**preprocessing_of(options))
    document = read_documents(options.programs, options.language, preprocessing=given)
    analyse(document.rules)  # a wrong program is refused
    result = converted(document, options.to)
    print(result.text, end="")
    for note in result.notes:
        print(f"{note}\n", file=sys.stderr)
    if not result.lost:
        return 0
    for diagnostic in result.lost:
        print(f"{diagnostic}\n", file=sys.stderr)
    print(f"{counted(len(result.lost), 'part')} of the program cannot be expressed in {options.to}", file=sys.stderr)
    return ERROR
