"""JSON lines: a table with one JSON value per line.

    {"from": "a", "to": "b", "km": 12.5}      an object: its keys are the columns, in the order of the first line
    ["a", "b", 12.5]                          an array: its elements are the columns

All lines of a file have the same form and the same columns. Numbers without a fraction and an exponent are integers, of
any size; others are floats. Strings and booleans are themselves. What JSON has no type for is an object, as in
`deltalog.formats.json_values`: `{"iri": "http://example.org/a"}`, `{"text": "1.50", "datatype": "..."}`. Everything
else is an error with its line: a null or a missing key (a fact has a value for each argument), other objects and arrays
inside of a line, a key that occurs twice, NaN. Empty lines are skipped.

Facts are written as arrays.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, UsageError
from deltalog.core.limits import checked
from deltalog.core.table_options import ChosenColumn, TableOptions
from deltalog.core.terms import NO_VALUE, Value
from deltalog.formats.columns import Column, Columns
from deltalog.formats.csv_cells import MAX_DIGITS
from deltalog.formats.files import opened
from deltalog.formats.json_values import json_value, value_of
from deltalog.formats.text import BYTE_ORDER_MARK

BATCH = 1 << 16  # rows between two additions to the dictionary
Row = tuple[Value, ...]


class _BadLine(Exception):
    """What is wrong with a line."""


def read_jsonl(path: Path, dictionary: Dictionary) -> list[Column] | None:
    """The columns of a file of JSON lines; None if there is no line."""
    terms = Dictionary()
    with opened(path) as stream:
        parts = list(_batches(stream, path, terms))
    if not parts:
        return None
    ids = dictionary.merge(terms)
    return [ids[np.concatenate(column)] for column in checked(zip(*parts, strict=True))]


def jsonl_names(path: Path) -> tuple[str, ...]:
    """The names of the columns: the keys of the first line, if it is an object."""
    found = _first(path)
    return tuple(found) if isinstance(found, dict) else ()


def jsonl_width(path: Path) -> int:
    """The number of columns, as the first line has it."""
    return len(_first(path))


def _first(path: Path) -> dict[str, Any] | list[Any]:
    """The first line; an empty array if there is none, or a wrong one."""
    with opened(path) as stream:
        first = next((line for line in _lines(stream) if line.strip()), b"[]")
    try:
        found = _parsed(first)
    except _BadLine:
        return []
    return found if isinstance(found, dict | list) else []


def jsonl_columns(path: Path, options: TableOptions, more: Sequence[str], width: int) -> list[ChosenColumn]:
    """The chosen columns of a file of JSON lines, and of those that it has more in folders of partitions."""
    keys = jsonl_names(path)
    try:
        return TableOptions(columns=options.columns).chosen((*keys, *more) if keys else None, width)
    except UsageError as problem:
        raise DataError(f"{path}: {problem}") from None


def _batches(stream: BinaryIO, path: Path, terms: Dictionary) -> Iterator[list[Column]]:
    table, rows = _Table(), list[Row]()
    for number, line in enumerate(checked(_lines(stream)), 1):
        if not line.strip():
            continue
        try:
            rows.append(table.row(_parsed(line)))
        except _BadLine as problem:
            raise DataError(f"{path}:{number}: {problem}\n  {line.decode(errors='replace').strip():.200}") from None
        if len(rows) == BATCH:
            yield _encoded(rows, terms)
            rows = []
    if rows:
        yield _encoded(rows, terms)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    buffered = io.BufferedReader(stream) if isinstance(stream, io.RawIOBase) else stream
    for number, line in enumerate(buffered):
        yield line.removeprefix(BYTE_ORDER_MARK) if number == 0 else line


def _encoded(rows: Sequence[Row], terms: Dictionary) -> list[Column]:
    return [terms.encode(column) for column in checked(zip(*rows, strict=True))]


class _Table:
    """The columns, which the first line says."""

    def __init__(self) -> None:
        self.columns: tuple[str, ...] | int | None = None

    def row(self, found: Any) -> Row:
        if isinstance(found, dict):
            return tuple(_value(found[name], f"the value of {name!r}") for name in self._keys(found))
        if isinstance(found, list):
            return tuple(_value(value, f"value {i}") for i, value in enumerate(self._elements(found), 1))
        raise _BadLine('expected an object like {"a": 1}, or an array like ["x", 1]')

    def _keys(self, found: dict[str, Any]) -> tuple[str, ...]:
        if self.columns is None:
            self.columns = tuple(found)
        if isinstance(self.columns, int):
            raise _BadLine("expected an array, as in the first line, and not an object")
        if found.keys() != set(self.columns):
            missing = [name for name in self.columns if name not in found]
            other = [name for name in found if name not in self.columns]
            raise _BadLine(
                (f"there is no value of {missing[0]!r}" if missing else f"there is another key, {other[0]!r}")
                + "; every line has the keys of the first one, and a fact has a value for each"
            )
        return self.columns

    def _elements(self, found: list[Any]) -> list[Any]:
        if self.columns is None:
            self.columns = len(found)
        if not isinstance(self.columns, int):
            raise _BadLine("expected an object, as in the first line, and not an array")
        if len(found) != self.columns:
            raise _BadLine(f"expected {self.columns} values, as in the first line, and not {len(found)}")
        return found


def _value(found: Any, place: str) -> Value:
    if found is None:
        raise _BadLine(f"{place} is null: {NO_VALUE}")
    if isinstance(found, float) and not math.isfinite(found):
        raise _BadLine(f"{place} is a number too large for a float")
    try:
        return value_of(found)
    except UsageError:
        raise _BadLine(
            f"{place} is an object or an array; make a file of its own for what is inside, or write it as "
            '{"iri": ...}, {"blank": ...} or {"text": ..., "datatype": ...}'
        ) from None


# Parsing.


def _parsed(line: bytes) -> Any:
    try:
        return _DECODER.decode(line.decode())
    except UnicodeDecodeError:
        raise _BadLine("expected UTF-8 text") from None
    except json.JSONDecodeError as problem:
        raise _BadLine(f"expected JSON: {problem.msg} at column {problem.colno}") from None
    except RecursionError:
        raise _BadLine("too many brackets are in each other") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _BadLine("a key occurs twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _BadLine(f"an integer of more than {MAX_DIGITS - 1} digits")
    return int(digits)


def _constant(name: str) -> Any:
    raise _BadLine(f'{name} is no JSON; write {{"text": "{name}", "datatype": "...#double"}}')


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant)


# Writing.


def write_jsonl(stream: BinaryIO, columns: Columns, dictionary: Dictionary) -> None:
    """Write rows as arrays, one per line; for no columns, the one empty row."""
    for start in range(0, len(columns[0]) if columns else 1, BATCH):
        part = [dictionary.decode(np.asarray(column)[start : start + BATCH]) for column in columns]
        lines = (_line(row) for row in zip(*part, strict=True)) if part else ["[]\n"]
        try:
            stream.write("".join(lines).encode())
        except UnicodeEncodeError:
            raise DataError("half a surrogate pair is no character, and cannot be written") from None


def _line(row: Sequence[Value]) -> str:
    return json.dumps([_json(value) for value in row], ensure_ascii=False) + "\n"


def _json(value: Value) -> Any:
    """As `json_value`, but numbers as they are: readers of lines keep integers and floats apart."""
    if type(value) is float and math.isfinite(value):
        return value
    return value if type(value) is int and abs(value) < 10 ** (MAX_DIGITS - 1) else json_value(value)
