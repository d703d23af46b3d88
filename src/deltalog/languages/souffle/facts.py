"""Reading the facts that an `.input` directive names: by Arrow where cells are plain, else line by line.

Cells are read by the types of the relation's attributes: `7` in a column of symbols is a string.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalog.core.errors import DataError
from deltalog.core.limits import checked
from deltalog.core.terms import Value
from deltalog.languages.souffle.directives import Directive
from deltalog.languages.souffle.json_files import json_rows
from deltalog.languages.souffle.values import reader

_ARROW = {"symbol": "string", "number": "int64", "unsigned": "int64", "float": "float64"}
_NARROW = {"number": "int32", "unsigned": "uint32", "float": "float32"}
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"


def read_input(directive: Directive, folders: Sequence[Path], missing: str = "error") -> Any:
    """Rows or an Arrow table; None if there is nothing."""
    kind = directive.parameters.get("IO", "file")
    if kind == "sqlite":
        return _from_sqlite(directive, folders) or None
    if kind == "stdin":
        return list(_rows(directive, sys.stdin.read(), "standard input")) or None
    if kind == "json":
        return list(json_rows(directive, sys.stdin.read(), "standard input")) or None
    if kind not in ("file", "jsonfile"):
        known = "file, stdin, sqlite, json and jsonfile"
        raise DataError(f"{directive.place}: cannot read IO={kind}; there are {known}")
    ending = "json" if kind == "jsonfile" else "facts"
    path = find(directive, folders, f"{directive.shown}.{ending}", missing)
    return None if path is None else _from_file(directive, path, kind)


def symbols(directive: Directive, facts: Any) -> Iterator[str]:
    """The symbols of facts that were read, row by row."""
    places = [i for i, (_, type_) in enumerate(directive.attributes) if directive.types.base(type_) == "symbol"]
    if not isinstance(facts, list):
        facts = zip(*(column.to_pylist() for column in facts.columns), strict=True)
    return (row[place] for row in facts for place in places)


def find(directive: Directive, folders: Sequence[Path], default: str, missing: str) -> Path | None:
    """The file that a directive names, in the first folder that has it; by default in the program's."""
    name = directive.parameters.get("filename", default)
    places = [folder / name for folder in _folders(directive, folders)]
    found = next((path for path in places if path.exists()), None)
    if found is None and missing == "error":
        where = " or ".join(str(path) for path in places)
        hint = "--facts DIR names the folder of the facts" if not folders else "check the folder of the facts"
        raise DataError(f"{directive.place}: there is no file {where} for {directive.predicate}; {hint}")
    return found


def _folders(directive: Directive, folders: Sequence[Path]) -> Sequence[Path]:
    given = directive.parameters.get("fact-dir")
    return [Path(given)] if given is not None else folders or [directive.folder]


@dataclass(frozen=True)
class _Format:
    """How the lines of a file are to be read."""

    delimiter: str
    quoted: bool
    header: bool
    columns: tuple[int, ...]

    @classmethod
    def of(cls, directive: Directive) -> _Format:
        given = directive.parameters
        quoted = given.get("rfc4180") == "true"
        columns = (
            tuple(_column(directive, each) for each in given["columns"].split(":")) if given.get("columns") else ()
        )
        delimiter = given.get("delimiter", "," if quoted else "\t")
        return cls(delimiter, quoted, given.get("headers") == "true", columns)


def _column(directive: Directive, text: str) -> int:
    if not text.strip().isdecimal():
        raise DataError(f'{directive.place}: {text!r} is no number of a column; write columns="0:2"')
    return int(text)


def _bytes(path: Path) -> bytes:
    """What is in a file, without compression and byte order mark."""
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if data.startswith(GZIP) else data).removeprefix(BOM)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: cannot be decompressed: {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _from_file(directive: Directive, path: Path, kind: str) -> Any:
    data = _bytes(path)
    if not data:
        return None
    table = _by_arrow(directive, data) if kind == "file" else None
    if table is not None:
        return table
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start})") from None
    read = json_rows if kind == "jsonfile" else _rows
    return list(read(directive, text, str(path))) or None


def _by_arrow(directive: Directive, data: bytes) -> Any:
    """An Arrow table, where all columns are plain and every line has as many cells as there are attributes."""
    format = _Format.of(directive)
    bases = [directive.types.base(type_) for _, type_ in directive.attributes]
    plain = bool(bases) and all(base in _ARROW for base in bases) and not format.columns and not format.quoted
    if not plain or len(format.delimiter) != 1 or b"\r" in data or (not data.isascii() and "float" in bases):
        return None
    import pyarrow
    from pyarrow import csv

    names = [f"c{i}" for i in range(len(bases))]
    reading = csv.ReadOptions(column_names=names, skip_rows=int(format.header))
    parsing = csv.ParseOptions(delimiter=format.delimiter, quote_char=False, ignore_empty_lines=False)
    types = {name: _ARROW[base] for name, base in zip(names, bases, strict=True) if base}
    converting = csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False)
    try:
        table = csv.read_csv(pyarrow.BufferReader(data), reading, parsing, converting)
        narrow = [(name, _NARROW.get(str(base), "string")) for name, base in zip(names, bases, strict=True)]
        wide = [(name, _ARROW[str(base)]) for name, base in zip(names, bases, strict=True)]
        return table.cast(pyarrow.schema(_fields(narrow))).cast(pyarrow.schema(_fields(wide)))
    except pyarrow.ArrowInvalid:  # the other way says what is wrong, or takes other notations of numbers
        return None


def _fields(columns: Sequence[tuple[str, str]]) -> list[Any]:
    import pyarrow

    made = {"string": pyarrow.string, "int32": pyarrow.int32, "uint32": pyarrow.uint32, "float32": pyarrow.float32}
    made |= {"int64": pyarrow.int64, "float64": pyarrow.float64}
    return [pyarrow.field(name, made[type_]()) for name, type_ in columns]


def _rows(directive: Directive, text: str, name: str) -> Iterator[tuple[Value, ...]]:
    format = _Format.of(directive)
    readers = [reader(directive.types, type_) for _, type_ in directive.attributes]
    for number, line in checked(_lines(text, format.quoted)):
        if number == 1 and format.header:
            continue
        if not readers:
            yield ()
            continue
        try:
            cells = list(_cells(line.removesuffix("\r"), format))
            if format.columns and max(format.columns) >= len(cells):
                raise ValueError(f"there is no column {max(format.columns)}")
            chosen = [cells[at] for at in format.columns] if format.columns else cells[: len(readers)]
            if len(chosen) != len(readers):
                raise ValueError(f"{len(readers)} values expected, {len(chosen)} found")
            yield tuple(read(cell) for read, cell in zip(readers, chosen, strict=True))
        except ValueError as error:
            raise DataError(f"{name}:{number}: {error} (relation {directive.predicate})") from None


def _lines(text: str, quoted: bool) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; a line that ends inside of quotes goes on."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    whole: list[str] = []
    is_open = False
    for number, line in enumerate(lines, 1):
        whole.append(line)
        is_open ^= quoted and bool(line.count('"') % 2)
        if not is_open or number == len(lines):
            yield number - len(whole) + 1, "\n".join(whole)
            whole = []


def _cells(line: str, format: _Format) -> Iterator[str]:
    if format.quoted:
        yield from _quoted_cells(line, format.delimiter)
    elif "," in format.delimiter and ("[" in line or "(" in line):
        yield from _outside_of_brackets(line, format.delimiter)
    else:
        yield from line.split(format.delimiter)


def _outside_of_brackets(line: str, delimiter: str) -> Iterator[str]:
    """Cells where records may contain the delimiter."""
    depth = start = at = 0
    while at < len(line):
        depth += line[at] in "[("
        depth -= line[at] in "])"
        if depth == 0 and line.startswith(delimiter, at):
            yield line[start:at]
            at = start = at + len(delimiter)
        else:
            at += 1
    yield line[start:]


def _quoted_cells(line: str, delimiter: str) -> Iterator[str]:
    """Cells by RFC 4180."""
    at = 0
    while True:
        if line.startswith('"', at):
            end = at + 1
            while (end := line.find('"', end)) >= 0 and line.startswith('""', end):
                end += 2
            if end < 0:
                raise ValueError("a quote is not closed")
            yield line[at + 1 : end].replace('""', '"')
            at = end + 1
        else:
            end = line.find(delimiter, at)
            yield line[at:] if end < 0 else line[at:end]
            at = len(line) if end < 0 else end
        if at >= len(line):
            return
        if not line.startswith(delimiter, at):
            raise ValueError("a delimiter is expected after a quoted value")
        at += len(delimiter)


def _from_sqlite(directive: Directive, folders: Sequence[Path]) -> list[tuple[Value, ...]]:
    import sqlite3

    places = [folder / directive.database for folder in _folders(directive, folders)]
    path = next((each for each in places if each.exists()), None)
    if path is None:
        raise DataError(f"{directive.place}: there is no database {places[0]} for {directive.predicate}")
    readers = [reader(directive.types, type_) for _, type_ in directive.attributes]
    quoted = directive.shown.replace('"', '""')
    try:
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute(f'SELECT * FROM "{quoted}"').fetchall()
        if rows and len(rows[0]) != len(readers):
            raise ValueError(f"{len(readers)} columns expected, {len(rows[0])} found")
        return [tuple(read(_cell(cell)) for read, cell in zip(readers, row, strict=True)) for row in rows]
    except (sqlite3.Error, ValueError) as error:
        raise DataError(f"{path}: {error} (relation {directive.predicate})") from None


def _cell(cell: object) -> str:
    """The text of a cell of a database; one without a value is empty, as in Soufflé."""
    return "" if cell is None else str(cell)
