"""Files that programs name, in every language.

load_imports     files that programs read by `@input`, or by Nemo's `@import`
load_inputs      files that Soufflé programs read, in the folders of their facts
write_outputs    files that programs write by `@output`, or by Soufflé's `.output`
write_exports    files that Nemo programs write
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.core.errors import Diagnostic, ProgramError, UsageError
from deltalog.core.rules import Atom, Constant, Pred, Rule
from deltalog.core.terms import BlankNode, Value
from deltalog.evaluation.facts import Facts
from deltalog.evaluation.state import Request
from deltalog.formats.documents import Files
from deltalog.formats.files import local_path
from deltalog.formats.named_file import NamedFile
from deltalog.knowledge_base import changes
from deltalog.knowledge_base.kept_programs import PROGRAMS
from deltalog.knowledge_base.outputs import contents_of_outputs, contents_with
from deltalog.knowledge_base.session import Session

if TYPE_CHECKING:
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.languages.souffle.directives import Directive


def load_imports(session: Session) -> None:
    """Adds the facts that programs name by @input, and Nemo programs by @import."""
    for file in (file for file in session.document.files if file.kind == "input"):
        if not file.place.exists():
            message = f"there is no file {file.place}"
            raise ProgramError([Diagnostic(message, file.span, "A path is relative to the folder of the program.")])
        changes.load(session, Files.named(file))
    if not session.document.nemo:
        return
    from deltalog.languages.nemo.files import read_import

    nulls = count()
    for use in (use for program in session.document.nemo for use in program.imports):
        rows = read_import(use, nulls)
        if rows:
            changes.add(session, use.predicate, rows)
    session.imported_nulls = next(nulls)


def load_inputs(
    session: Session, folders: Sequence[str | PathLike[str]], missing: str = "error", only_needed: bool = False
) -> None:
    """Adds the facts that `.input` directives of Soufflé programs name."""
    from deltalog.languages.souffle.facts import read_input

    inputs = [directive for directive in session.document.directives if directive.kind == "input"]
    skipped = [use.relation for use in inputs if only_needed and not _is_needed(session, use)]
    session.skipped_inputs = tuple(dict.fromkeys(skipped))
    for directive in inputs:
        if directive.relation not in skipped:
            missing_here = missing if _is_needed(session, directive) else "ignore"
            facts = read_input(directive, [local_path(folder) for folder in folders], missing_here)
            if facts is not None:
                changes.add(session, directive.relation, facts)
                _number_symbols(session, directive, facts)


def _is_needed(session: Session, directive: Directive) -> bool:
    """Whether an output needs a relation; rules of other programs may, whatever its own says."""
    others = (rule for rule in session.rules if rule.span is not None and not rule.span.source.rewritten)
    several = len(session.state.kept.get(PROGRAMS, ())) > 1
    return directive.needed or several or next(others, None) is not None


def _number_symbols(session: Session, directive: Directive, facts: Any) -> None:
    """Gives the symbols of an input the next numbers, if the program asks for them."""
    from deltalog.evaluation.encode_facts import encode_facts_of
    from deltalog.evaluation.facts import of_predicate
    from deltalog.languages.souffle.facts import symbols

    if directive.ordinals is None:
        return
    pred, backend = Pred(directive.ordinals, 2), session.backend
    given = session.state.explicit.get(pred)
    known = {row[0] for row in of_predicate(pred, given, backend)} if given is not None else set()
    fresh = dict.fromkeys(symbol for symbol in symbols(directive, facts) if symbol not in known)
    numbered = [Atom(pred.name, (Constant(text), Constant(n))) for n, text in enumerate(fresh, len(known))]
    added = encode_facts_of([Rule(tuple(numbered), ())] if numbered else [], backend)
    session.replace_facts(Request(session.state.rule_set, add=added))


def check_outputs(session: Session) -> None:
    """ProgramError if an @output names a predicate that there is not, or as many columns as it has not."""
    contents = session.contents()
    for file in (file for file in session.document.files if file.kind == "output"):
        try:
            pred = contents.names().find(file.predicate or "")
            output_names(pred, file, ())
        except UsageError as problem:
            raise ProgramError([Diagnostic(str(problem), file.span)]) from None


def write_outputs(session: Session, folder: str | PathLike[str] | None) -> list[Path]:
    """Writes what programs name; the files that were written."""
    from deltalog.languages.souffle.output import write_output

    started = time.perf_counter()
    contents = contents_of_outputs(session)
    target = None if folder is None else local_path(folder)
    document = session.document
    named = [_write_named(session, file, contents) for file in document.files if file.kind == "output"]
    written = [write_output(directive, _relation(contents, directive), target) for directive in document.directives]
    session.spent("write", started)
    return [*named, *(path for path in written if path is not None)]


def output_names(pred: Pred, file: NamedFile, known: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns that an @output writes."""
    if file.options.columns is None:
        return tuple(known)
    if len(file.options.columns) != pred.arity:
        raise UsageError(f"{pred.name} has {pred.arity} columns, and {len(file.options.columns)} names are given")
    return tuple(str(column.name or column.source) for column in file.options.columns)


def _write_named(session: Session, file: NamedFile, contents: Contents[Any]) -> Path:
    """Writes the file of an @output."""
    from deltalog.languages.named_output import write_named

    pred = contents.names().find(file.predicate or "")
    names = output_names(pred, file, session.columns.known(pred))
    return write_named(file, pred, contents.table(pred), names, session.backend, session.prefixes)


def _relation(contents: Contents[Any], directive: Directive) -> Facts[Any]:
    """The facts of a relation that a program declares."""
    pred = Pred(directive.relation, len(directive.attributes))
    return contents.view(pred, contents.table(pred))


def write_exports(session: Session, folder: str | PathLike[str]) -> list[Path]:
    """Writes what Nemo programs export to a folder; all derived predicates if they say nothing. The files."""
    from deltalog.languages.nemo.files import exports_of, write_export

    started = time.perf_counter()
    target = local_path(folder)
    target.mkdir(parents=True, exist_ok=True)
    known = set(session.names().by_name)
    written: list[Path] = []
    for use in (use for program in session.document.nemo for use in exports_of(program)):
        name = use.predicate if use.arity is None else f"{use.predicate}/{use.arity}"
        is_known = not known.isdisjoint((name, use.predicate))
        written.append(write_export(use, _exported(session, name) if is_known else [], target))
    session.spent("write", started)
    return written


def _exported(session: Session, name: str) -> list[tuple[Value, ...]]:
    """The facts of a predicate, with invented values as Nemo calls them: by their numbers."""
    from deltalog.evaluation.chase import ChasedMaterialisation

    facts, made = contents_with(session, name).facts(name), session.state.materialised
    ages = made.nulls if isinstance(made, ChasedMaterialisation) else {}
    names = {null: BlankNode(str(session.imported_nulls + age)) for null, age in ages.items()}
    return sorted((tuple(names.get(value, value) for value in row) for row in facts), key=repr)
