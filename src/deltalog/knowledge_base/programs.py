"""Files that programs name, in every language.

load_imports     inputs that are read with a program: `@input`, `@import`
load_inputs      inputs that are read from folders: `.input`
write_outputs    outputs to a place that the program names, or a folder: `@output`, `.output`
write_exports    outputs to a folder of exports: `@export`
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.core.rules import Atom, Constant, Pred, Rule
from deltalog.core.terms import BlankNode, Value
from deltalog.evaluation.encode_facts import encode_facts_of
from deltalog.evaluation.facts import of_predicate
from deltalog.evaluation.state import ChangeRequest
from deltalog.formats.files import local_path
from deltalog.knowledge_base import changes
from deltalog.knowledge_base.kept_programs import PROGRAMS
from deltalog.knowledge_base.outputs import contents_of_outputs, contents_with
from deltalog.knowledge_base.session import Session
from deltalog.languages.protocol import FactSink, FactSource

if TYPE_CHECKING:
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.languages.protocol import ProgramFile


def _sink(session: Session) -> FactSink:
    """Where inputs put their facts."""
    add, load = partial(changes.add, session), partial(changes.load, session)
    return FactSink(add, load, partial(_number, session))


def _number(session: Session, pred: Pred, values: Iterable[Value]) -> None:
    """Gives values the next numbers in a relation, unless they have one."""
    given = session.state.explicit.get(pred)
    known = {row[0] for row in of_predicate(pred, given, session.backend)} if given is not None else set()
    fresh = dict.fromkeys(value for value in values if value not in known)
    numbered = [Atom(pred.name, (Constant(value), Constant(n))) for n, value in enumerate(fresh, len(known))]
    added = encode_facts_of([Rule(tuple(numbered), ())] if numbered else [], session.backend)
    session.replace_facts(ChangeRequest(session.state.rule_set, add=added))


def _source(session: Session, contents: Contents[Any]) -> FactSource:
    """Where outputs take facts from."""
    return FactSource(contents, partial(_exported, session))


def _exported(session: Session, *names: str) -> list[tuple[Value, ...]]:
    """The facts of a predicate. Invented values have the numbers after those of blank nodes that were imported."""
    from deltalog.evaluation.chase import ChasedMaterialisation

    if session.names().by_name.keys().isdisjoint(names):
        return []
    facts = contents_with(session, names[0]).facts(names[0])
    made = session.state.materialised
    ages = made.nulls if isinstance(made, ChasedMaterialisation) else {}
    invented = {null: BlankNode(str(session.imported_nulls + age)) for null, age in ages.items()}
    return sorted((tuple(invented.get(value, value) for value in row) for row in facts), key=repr)


def load_imports(session: Session) -> None:
    """Adds the facts of inputs that are read with their program."""
    sink = _sink(session)
    for file in (file for file in session.document.files if file.kind == "input" and file.at_once):
        file.load(sink)
    session.imported_nulls = next(sink.blank_nodes)


def load_inputs(
    session: Session, folders: Sequence[str | PathLike[str]], missing: str = "error", only_needed: bool = False
) -> None:
    """Adds the facts of inputs that are read from folders."""
    inputs = [file for file in session.document.files if file.kind == "input" and not file.at_once]
    skipped = [file for file in inputs if only_needed and not _is_needed(session, file)]
    session.skipped_inputs = tuple(dict.fromkeys(file.predicate or "" for file in skipped))
    places = [local_path(folder) for folder in folders]
    for file in (file for file in inputs if file.predicate not in session.skipped_inputs):
        file.load(_sink(session), places, missing if _is_needed(session, file) else "ignore")


def _is_needed(session: Session, file: ProgramFile) -> bool:
    """Whether an output needs an input; rules of other programs may, whatever its own says."""
    others = (rule for rule in session.rules if rule.span is not None and not rule.is_rewritten)
    several = len(session.state.kept.get(PROGRAMS, ())) > 1
    return file.needed or several or next(others, None) is not None


def check_outputs(session: Session) -> None:
    """ProgramError if an output names a predicate that there is not, or as many columns as it has not."""
    source = _source(session, session.contents())
    for file in _outputs(session):
        file.check(source)


def write_outputs(session: Session, folder: str | PathLike[str] | None) -> list[Path]:
    """Writes what programs name; the files that were written."""
    started = time.perf_counter()
    source = _source(session, contents_of_outputs(session))
    target = None if folder is None else local_path(folder)
    written = [file.write(source, target) for file in _outputs(session)]
    session.spent("write", started)
    return [path for path in written if path is not None]


def _outputs(session: Session) -> list[ProgramFile]:
    """Outputs but exports: first those that say where they are."""
    outputs = [file for file in session.document.files if file.kind != "input" and not file.is_export]
    return sorted(outputs, key=lambda file: file.pred is not None)


def write_exports(session: Session, folder: str | PathLike[str]) -> list[Path]:
    """Writes what programs export to a folder; all derived predicates if they say nothing. The files."""
    started = time.perf_counter()
    target = local_path(folder)
    target.mkdir(parents=True, exist_ok=True)
    source = _source(session, session.contents())
    exports = [file for file in session.document.files if file.kind != "input" and file.is_export]
    written = [file.write(source, target) for file in exports]
    session.spent("write", started)
    return [path for path in written if path is not None]
