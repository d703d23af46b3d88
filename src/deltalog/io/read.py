"""From files and folders to facts.

A file's extension determines its format (see `deltalog.io.files`). RDF files contain their predicates; the predicate of
a table (CSV, TSV, `.facts`, Parquet) is that of its place (see `deltalog.io.table_files`): the file's name, or the name
of a folder that Spark wrote. A folder is read with all folders in it, in the order of names; hidden files and files
with other extensions are skipped. A file that is named directly must have a known extension.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from deltalog.io.columns import FactColumns, together
from deltalog.io.documents import DEFAULT, Reading
from deltalog.io.files import name_of
from deltalog.io.formats import COMPRESSIONS, INPUT_FORMATS
from deltalog.io.table_files import NAMES, TableFile, TableFiles, is_ignored, is_part, names_of
from deltalog.model.dictionary import Dictionary
from deltalog.model.errors import DataError
from deltalog.model.watching import FileRead, watcher
from deltalog.syntax.ast import Pred

CATALOG, SNAPSHOTS = "catalog.db", "snapshots"  # what a store has (`deltalog.store`)


def read(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    dictionary: Dictionary,
    reading: Reading = DEFAULT,
) -> FactColumns:
    """The facts of files and folders, with their values in the dictionary; DataError for what cannot be read."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    files, tables = [file for path in paths for file in files_of(Path(path))], TableFiles()
    watcher().reading(files)
    return together([_watched(file, lambda file: read_file(file, dictionary, reading, tables.of)) for file in files])


def _watched(path: Path, read: Callable[[Path], FactColumns]) -> FactColumns:
    """Reads a file, and tells whoever watches."""
    started = time.perf_counter()
    found = read(path)
    facts = sum(len(columns[0]) if columns else 0 for columns in found.values())
    watcher().read(FileRead(path, path.stat().st_size, facts, time.perf_counter() - started))
    return found


def read_file(
    path: Path, dictionary: Dictionary, reading: Reading, table_of: Callable[[Path], TableFile]
) -> FactColumns:
    """The facts of one file; `table_of` tells what table a file is of."""
    format, table = name_of(path).format, None
    match format:
        case "ntriples":
            from deltalog.io.ntriples import read_ntriples

            return read_ntriples(path, dictionary, reading)
        case "turtle" | "trig" | "xml":
            from deltalog.io.rdf import read_rdf

            return read_rdf(path, dictionary, format, reading)
        case "csv" | "tsv":
            from deltalog.io.tables import read_table

            columns = read_table(path, dictionary, format)
        case "parquet":
            from deltalog.io.frames import read_parquet

            table = table_of(path)
            columns = read_parquet(path, dictionary, table.names)
        case _:
            raise _unknown(path)
    if columns is None:
        return {}
    table = table or table_of(path)
    columns = table.with_partition(columns, dictionary)
    return {Pred(table.predicate, len(columns)): columns}


def files_of(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        if not name_of(path).format:
            raise _unknown(path)
        yield path
        return
    if (path / CATALOG).is_file() and (path / SNAPSHOTS).is_dir():
        raise DataError(
            f"{path} is a store, not a folder of facts; `deltalog query` and KnowledgeBase.open open it, and "
            "`deltalog store export` writes its facts as tables"
        )
    unread = None
    for file in sorted(path.rglob("*")):
        if not file.is_file() or is_ignored(file, path) or (file.name == NAMES and names_of(file.parent)):
            continue
        if name_of(file).format:
            yield file
        elif is_part(file):
            unread = file
    if unread is not None:
        raise _unknown(unread)


def _unknown(path: Path) -> DataError:
    endings, compressions = " ".join(INPUT_FORMATS), " ".join(COMPRESSIONS)
    return DataError(
        f"{path}: the ending of the name does not say what the file is; "
        f"deltalog reads {endings}, and each of them with {compressions}"
    )
