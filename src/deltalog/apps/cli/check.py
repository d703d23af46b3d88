"""`deltalog check`: the errors and warnings of a program; with --data, also how rules and data fit together."""

from __future__ import annotations

import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from deltalog.apps.cli.options import (
    add_data,
    add_language,
    add_programs,
    command_parser,
    counted,
    load_data,
    preprocessing_of,
)
from deltalog.core.errors import DeltalogWarning, Diagnostic


def parser() -> ArgumentParser:
    made = command_parser("check", "Report every error and warning of a program; with --data, also of its data.")
    add_programs(made)
    add_data(made)
    add_language(made)
    return made


def run(options: Namespace) -> int:
    """Checks the programs; the exit code. Errors are raised."""
    from deltalog.formats.table_settings import settings_beside
    from deltalog.languages.load_program import as_preprocessing
    from deltalog.program import analyse, read_documents

    settings_beside(options.programs)
    given = as_preprocessing(**preprocessing_of(options))
    document = read_documents(options.programs, options.language, preprocessing=given)
    program = analyse(document.rules)
    found = _with_data(options) if options.data else (*document.warnings, *program.warnings)
    for warning in found:
        print(f"{warning}\n", file=sys.stderr)
    ordered = [rule for stage in document.stages for rule in (*stage.rules, *stage.procedures.dominance)]
    given_facts = sum(rule.is_fact for rule in ordered)
    rules = counted(len(program.rules) + len(ordered) - given_facts, "rule")
    facts = counted(len(program.facts) + given_facts, "fact")
    hyper_nodes = counted(len(program.hyper_nodes) + len(document.stages), "hyper-node")
    print(f"{rules} and {facts} in {hyper_nodes}: no errors, {counted(len(found), 'warning')}")
    return 0


def _with_data(options: Namespace) -> Sequence[Diagnostic]:
    """The warnings of rules, and of how they fit the data."""
    from deltalog.knowledge_base.facade import KnowledgeBase

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeltalogWarning)  # they come all at once
        kb = KnowledgeBase(options.programs, language=options.language, **preprocessing_of(options))
        load_data(kb, options)
    return kb.warnings
