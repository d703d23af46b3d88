"""`deltalog check`: the errors and warnings of a program."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from deltalog.cli.options import add_language, add_programs, command_parser, counted


def parser() -> ArgumentParser:
    made = command_parser("check", "Report every error and warning of a program. Reads no data.")
    add_programs(made)
    add_language(made)
    return made


def run(options: Namespace) -> int:
    """Checks the programs; the exit code. Errors are raised."""
    from deltalog.io.table_settings import settings_beside
    from deltalog.program import analyse, read_rules

    settings_beside(options.programs)
    program = analyse(read_rules(options.programs, options.language))
    for warning in program.warnings:
        print(f"{warning}\n", file=sys.stderr)
    counts = [(len(program.rules), "rule"), (len(program.facts), "fact"), (len(program.hyper_nodes), "hyper-node")]
    rules, facts, hyper_nodes = (counted(n, noun) for n, noun in counts)
    print(f"{rules} and {facts} in {hyper_nodes}: no errors, {counted(len(program.warnings), 'warning')}")
    return 0
