"""Facts as JSON, for `IO=json` and `IO=jsonfile`: an array of tuples, each an array or (`format=object`) an object with
the names of attributes. A record is written in the same way, and `nil` is null. As in Soufflé, algebraic data types
have no JSON. Infinity and NaN are written as Python and JavaScript write them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from deltalog.core.errors import DataError
from deltalog.core.terms import Value
from deltalog.functions.souffle_functors import NIL, fields_of, record, single
from deltalog.languages.souffle.directives import Directive
from deltalog.languages.souffle.types import Types
from deltalog.languages.souffle.values import RANGES, float_text

Attributes = Sequence[tuple[str, str]]  # names and types


def json_lines(directive: Directive, facts: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """The facts as the lines of a JSON text."""
    objects = directive.parameters.get("format") == "object"
    _refuse_branches(directive)
    before = "["
    for row in facts:
        yield before + _tuple_text(directive.types, directive.attributes, row, objects)
        before = ",\n"
    yield "]\n" if before != "[" else "[]\n"


def _refuse_branches(directive: Directive) -> None:
    reached = [type_ for _, type_ in directive.attributes]
    for type_ in reached:
        structure = directive.types.structure(type_)
        if structure is not None and structure.kind == "adt":
            message = f"IO={directive.parameters['IO']} has no form for algebraic data types such as {type_}"
            raise DataError(f"{directive.place}: {message}; use IO=file")
        if structure is not None:
            reached += [each.type for each in structure.attributes if each.type not in reached]


def _tuple_text(types: Types, columns: Attributes, row: Sequence[Value], objects: bool) -> str:
    cells = [
        (f"{json.dumps(name)}: " if objects else "") + _value_text(types, type_, value, objects)
        for (name, type_), value in zip(columns, row, strict=True)
    ]
    return ("{%s}" if objects else "[%s]") % ", ".join(cells)


def _value_text(types: Types, type_: str, value: Value, objects: bool) -> str:
    match types.base(type_):
        case "symbol":
            return json.dumps(value, ensure_ascii=False)
        case "float":
            assert isinstance(value, float)
            return float_text(value) if math.isfinite(value) else json.dumps(value)
        case "record":
            return "null" if value == NIL else _tuple_text(types, _fields(types, type_), fields_of(value), objects)
    return str(value)


def _fields(types: Types, type_: str) -> Attributes:
    structure = types.structure(type_)
    assert structure is not None
    return [(each.name, each.type) for each in structure.attributes]


def json_rows(directive: Directive, text: str, name: str) -> Iterator[tuple[Value, ...]]:
    """The facts of a JSON text."""
    _refuse_branches(directive)
    try:
        tuples = json.loads(text)
        if not isinstance(tuples, list):
            raise ValueError("an array of tuples is expected")
        for each in tuples:
            yield tuple(_read_tuple(directive.types, directive.attributes, each))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name}: {error} (relation {directive.predicate})") from None


def _read_tuple(types: Types, columns: Attributes, found: Any) -> Iterator[Value]:
    cells = [found.get(name) for name, _ in columns] if isinstance(found, dict) else found
    if not isinstance(cells, list) or len(cells) != len(columns):
        raise ValueError(f"{len(columns)} values expected in {json.dumps(found)}")
    for (_, type_), cell in zip(columns, cells, strict=True):
        yield _read_value(types, type_, cell)


def _read_value(types: Types, type_: str, cell: Any) -> Value:
    base = types.base(type_)
    if base == "record":
        return NIL if cell is None else record(*_read_tuple(types, _fields(types, type_), cell))
    if base == "symbol" and isinstance(cell, str):
        cell.encode()  # a half of a surrogate pair is no text
        return cell
    if base == "float" and type(cell) in (int, float):
        return single(float(cell))
    if base in RANGES and type(cell) is int and RANGES[base][0] <= cell <= RANGES[base][1]:
        return cell
    raise ValueError(f"{json.dumps(cell)} is no {base}")
