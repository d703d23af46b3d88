"""`deltalog check`: the errors and warnings of a program; with --data, also how rules and data fit together."""

from __future__ import annotations

import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from deltalog.cli.options import (
    add_data,
    add_language,
    add_programs,
    command_parser,
    counted,
    load_data,
    preprocessing_of,
)
from deltalog.model.errors import DeltalogWarning, Diagnostic


def parser() -> ArgumentParser:
    made = command_parser("check", "Report every error and warning of a program; with --data, also of its data.")
    add_programs(made)
    add_data(made)
    add_language(made)
    return made


def run(options: Namespace) -> int:
    """Checks the programs; the exit code. Errors are raised."""
    from deltalog.io.table_settings import settings_beside
    from deltalog.program import analyse, read_rules
    from deltalog.program.load_program import as_preprocessing

    settings_beside(options.programs)
    given = as_preprocessing(**preprocessing_of(options))
    program = analyse(read_rules(options.programs, options.language, preprocessing=given))
    found = _with_data(options) if options.data else program.warnings
    for warning in found:
        print(f"{warning}\n", file=sys.stderr)
    counts = [(len(program.rules), "rule"), (len(program.facts), "fact"), (len(program.hyper_nodes), "hyper-node")]
    rules, facts, hyper_nodes = (counted(n, noun) for n, noun in counts)
    print(f"{rules} and {facts} in {hyper_nodes}: no errors, {counted(len(found), 'warning')}")
    return 0


def _with_data(options: Namespace) -> Sequence[Diagnostic]:
    """The warnings of rules, and of how they fit the data."""
    from deltalog.kb import KnowledgeBase

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeltalogWarning)  # they come all at once
        kb = KnowledgeBase(options.programs, language=options.language, **preprocessing_of(options))
        load_data(kb, options)
    return kb.warnings
