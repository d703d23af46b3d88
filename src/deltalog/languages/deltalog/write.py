"""Our own language: everything can be said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltalog.core.rule_text import print_predicate, print_value, quoted
from deltalog.core.rules import Rule
from deltalog.core.table_options import ColumnChoice
from deltalog.languages import writer
from deltalog.languages.deltalog.named_file import OwnFile
from deltalog.languages.protocol import ProgramUnit


class DeltalogWriter(writer.Writer):
    language = "deltalog"

    def __init__(self, unit: ProgramUnit) -> None:
        super().__init__(unit)
        self.rules = writer.without_hidden(unit.rules)

    def before(self) -> list[str]:
        declared = _declared(self.unit.columns)
        return [*map(_directive, writer.own_files(self.unit, "input")), *declared]

    def after(self) -> list[str]:
        return list(map(_directive, writer.own_files(self.unit, "output")))

    def statement(self, rule: Rule) -> str:
        return str(rule)


def _directive(file: OwnFile) -> str:
    """The directive."""
    preposition = "from" if file.kind == "input" else "to"
    names = "" if file.predicate is None else f"{print_predicate(file.predicate)} {preposition} "
    options = ", ".join(f"{name} = {_option(name, value)}" for name, value in file.options.given.items())
    return f"@{file.kind} {names}{quoted(file.path)}{f' ({options})' if options else ''} ."


def _option(name: str, value: Any) -> str:
    if name == "columns":
        return f"[{', '.join(map(_column, value))}]"
    if name == "types" and value and isinstance(value[0], tuple):
        return f"[{', '.join(f'{print_value(key)} = {type}' for key, type in value)}]"
    if isinstance(value, tuple):
        return f"[{', '.join(map(print_value, value))}]"
    return print_value(value)


def _column(column: ColumnChoice) -> str:
    new = "" if column.name is None else f" AS {print_value(column.name)}"
    return f"{print_value(column.source)}{new}"


def _declared(declared: Mapping[Any, tuple[str, ...]]) -> list[str]:
    """@columns of all predicates that have names of columns."""
    named = ((pred, names) for pred, names in declared.items() if names)
    return [f"@columns {print_predicate(p.name)}({', '.join(map(print_value, names))}) ." for p, names in named]
