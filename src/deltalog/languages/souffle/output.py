"""Writing what `.output` and `.printsize` directives name, as Soufflé does: `relation.csv`, with tabs."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from deltalog.core.errors import DataError
from deltalog.languages.souffle.directives import Directive
from deltalog.languages.souffle.json_files import json_lines
from deltalog.languages.souffle.values import printer

LINE = "==============="


def write_output(directive: Directive, facts: Any, folder: Path | None) -> Path | None:
    """Writes the facts of a relation; the file, if it is one."""
    kind = directive.parameters.get("IO", "file")
    if directive.kind == "printsize" or (directive.kind == "output" and kind == "stdoutprintsize"):
        print(f"{directive.shown}\t{len(facts)}")
    elif kind == "json" or (kind == "jsonfile" and str(folder) == "-"):
        sys.stdout.writelines(json_lines(directive, facts))
    elif kind == "stdout":
        _print(directive, facts, sys.stdout)
    elif str(folder) == "-":  # with the names of the columns
        headers = {"headers": "true", **directive.parameters}
        _print(replace(directive, parameters=headers), facts, sys.stdout)
    elif kind == "sqlite":
        return None if folder is None else _to_sqlite(directive, facts, folder)
    elif kind not in ("file", "jsonfile"):
        known = "file, stdout, stdoutprintsize, sqlite, json and jsonfile"
        raise DataError(f"{directive.place}: cannot write IO={kind}; there are {known}")
    elif folder is not None:
        return _to_file(directive, facts, folder, kind)
    return None


def _print(directive: Directive, facts: Any, out: TextIO) -> None:
    out.write(f"---------------\n{directive.shown}\n")
    out.writelines(_header(directive))
    out.write(f"{LINE}\n")
    out.writelines(lines(directive, facts))
    out.write(f"{LINE}\n")


def _to_file(directive: Directive, facts: Any, folder: Path, kind: str) -> Path:
    packed = kind == "file" and directive.parameters.get("compress", "false") != "false"
    ending = "json" if kind == "jsonfile" else "csv.gz" if packed else "csv"
    folder = Path(directive.parameters.get("output-dir", folder))
    path = folder / directive.parameters.get("filename", f"{directive.shown}.{ending}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", encoding="utf-8") if packed else path.open("w", encoding="utf-8") as file:
            if kind == "jsonfile":
                file.writelines(json_lines(directive, facts))
            else:
                file.writelines(_header(directive))
                file.writelines(lines(directive, facts))
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def _delimiter(directive: Directive) -> str:
    return directive.parameters.get("delimiter", "," if _quotes(directive) else "\t")


def _quotes(directive: Directive) -> bool:
    return directive.parameters.get("rfc4180") == "true"


def _header(directive: Directive) -> Iterator[str]:
    if directive.parameters.get("headers") == "true":
        names = _delimiter(directive).join(name for name, _ in directive.attributes)
        yield directive.parameters.get("attributeNames", names) + "\n"


def lines(directive: Directive, facts: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """The facts as lines."""
    if not directive.attributes:
        yield from ("()\n" for _ in facts)
        return
    delimiter = _delimiter(directive)
    printers = [printer(directive.types, type_, _quotes(directive)) for _, type_ in directive.attributes]
    if _quotes(directive):
        quoted = [directive.types.base(type_) in ("symbol", "record", "adt") for _, type_ in directive.attributes]
        for row in facts:
            cells = (show(value) for show, value in zip(printers, row, strict=True))
            yield delimiter.join(_quoted(c) if q else c for c, q in zip(cells, quoted, strict=True)) + "\n"
    elif all(show is str for show in printers):
        for row in facts:
            yield delimiter.join(map(str, row)) + "\n"
    else:
        for row in facts:
            yield delimiter.join(show(value) for show, value in zip(printers, row, strict=True)) + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def _to_sqlite(directive: Directive, facts: Any, folder: Path) -> Path:
    import sqlite3

    path = Path(directive.parameters.get("output-dir", folder)) / directive.database
    table = directive.shown.replace('"', '""')
    printers = [printer(directive.types, type_) for _, type_ in directive.attributes]
    sql = {"number": "INTEGER", "unsigned": "INTEGER", "float": "REAL"}
    kinds = [sql.get(str(directive.types.base(type_)), "TEXT") for _, type_ in directive.attributes]
    columns = ", ".join(f'"{i}" {kind}' for i, kind in enumerate(kinds))
    rows = (
        tuple(show(v) if kind == "TEXT" else v for show, v, kind in zip(printers, row, kinds, strict=True))
        for row in facts
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")  # many relations would each wait for the disk
            connection.execute(f'DROP TABLE IF EXISTS "{table}"')
            connection.execute(f'CREATE TABLE "{table}" ({columns})')
            connection.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(kinds))})', rows)
    except (sqlite3.Error, OSError) as error:
        raise DataError(f"{path}: {error} (relation {directive.predicate})") from None
    return path
