"""`@input` and `@output` in other languages, and as our own language writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from deltalog.core.errors import Diagnostic
from deltalog.core.rule_text import print_predicate, print_value, quoted
from deltalog.core.table_options import ColumnChoice
from deltalog.languages.convert.writer import CannotSay
from deltalog.languages.deltalog.file_directives import NamedFile

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".facts": "\t"}
_NEMO_TYPES = {"string": "string", "int": "int", "float": "double"}
_FORMS = ("delimiter", "header", "columns", "types")


def said(
    files: Iterable[NamedFile], kind: str, say: Callable[[NamedFile], str], lost: list[Diagnostic]
) -> list[tuple[NamedFile, str]]:
    """The files of a kind in another language; what cannot be said is added to `lost`."""
    found = []
    for file in (file for file in files if file.kind == kind):
        try:
            found.append((file, say(file)))
        except CannotSay as problem:
            lost.append(Diagnostic(problem.message, file.span, problem.hint))
    return found


def _delimiter(file: NamedFile) -> str:
    """The delimiter of a table of text that other languages read and write, too."""
    ending = Path(file.path.removesuffix(".gz")).suffix.lower()
    if ending not in _DELIMITERS:
        raise CannotSay(f"{file.path} is not a table of text, and only these can be named there", "Name a .csv file.")
    others = [name for name in file.options.given if name not in _FORMS]
    if others or file.options.header == "auto":
        option = others[0] if others else "header = auto"
        raise CannotSay(f"the option `{option}` cannot be said there", "Write the table anew as plain CSV.")
    return file.options.delimiter or _DELIMITERS[ending]


def souffle(file: NamedFile) -> str:
    """The parameters of `.input` or `.output`."""
    options = file.options
    given = {"filename": file.path, "delimiter": {"\t": "\\t"}.get(_delimiter(file), _delimiter(file))}
    if options.header:
        given["headers"] = "true"
    if file.kind == "input" and options.columns is not None:
        if not all(isinstance(column.source, int) for column in options.columns) and options.header:
            raise CannotSay("columns of Soufflé are chosen by number", "Choose columns by their numbers, from 1 on.")
        if all(isinstance(column.source, int) for column in options.columns):
            given["columns"] = ":".join(str(int(column.source) - 1) for column in options.columns)
    return ", ".join(["IO=file", *(f'{name}="{value}"' for name, value in given.items())])


def nemo(file: NamedFile) -> str:
    """`csv{...}` of @import or @export."""
    options, delimiter = file.options, _delimiter(file)
    format = {",": "csv", "\t": "tsv"}.get(delimiter, "dsv")
    given = [f'resource = "{file.path}"']
    if format == "dsv":
        given.append(f'delimiter = "{delimiter}"')
    if file.kind == "output":
        if options.header:
            raise CannotSay("files that Nemo writes have no header")
        return f"{format}{{{', '.join(given)}}}"
    if options.columns is not None and options.header:
        raise CannotSay("Nemo chooses no columns by name", "Write a table with these columns alone.")
    types = options.types or ()
    if not types or any(not isinstance(each, str) or each not in _NEMO_TYPES for each in types):
        hint = "Give the types of all columns: types = [string, int, float]"
        raise CannotSay("cells without a type have other values in Nemo", hint)
    if options.header:
        given.append("ignore_headers = true")
    given.append(f"format = ({', '.join(_NEMO_TYPES[str(each)] for each in types)})")
    return f"{format}{{{', '.join(given)}}}"


# Our own language.


def deltalog(file: NamedFile) -> str:
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


def columns(declared: Mapping[Any, tuple[str, ...]]) -> list[str]:
    """@columns of all predicates that have names of columns."""
    named = ((pred, names) for pred, names in declared.items() if names)
    return [f"@columns {print_predicate(p.name)}({', '.join(map(print_value, names))}) ." for p, names in named]
