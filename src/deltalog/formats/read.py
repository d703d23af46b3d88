"""From files and folders to facts.

A file's extension determines its format (see `deltalog.formats.files`). RDF files contain their predicates; the predicate of
a table (CSV, TSV, `.facts`, Parquet, JSON lines) is that of its place (see `deltalog.formats.table_files`): the file's name,
or the name of a folder that Spark wrote. A folder is read with all folders in it, in the order of names; hidden files
and files with other extensions are skipped (`deltalog.formats.table_survey` warns of the latter). A file that is named
directly must have a known extension.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import Pred
from deltalog.core.table_options import TableOptions
from deltalog.core.user_warnings import warn
from deltalog.core.watching import FileRead, watcher
from deltalog.formats.columns import Column, FactColumns, together
from deltalog.formats.documents import DEFAULT, Reading
from deltalog.formats.files import name_of
from deltalog.formats.formats import COMPRESSIONS, INPUT_FORMATS
from deltalog.formats.table_files import NAMES, TableFile, TableFiles, is_ignored, is_part, names_of

CATALOG, SNAPSHOTS = "catalog.db", "snapshots"  # what a store has (`deltalog.extensions.store`)


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
    format = name_of(path).format
    match format:
        case "ntriples":
            from deltalog.formats.ntriples import read_ntriples

            return read_ntriples(path, dictionary, reading)
        case "turtle" | "trig" | "xml" | "jsonld":
            from deltalog.formats.rdf import read_rdf

            return read_rdf(path, dictionary, format, reading)
        case "csv" | "tsv" | "parquet" | "jsonl":
            table = table_of(path).renamed(reading.tables.predicate)
            columns = _read_table(path, dictionary, format, reading.tables.of(table.predicate), table)
            return table_facts(path, table, columns, dictionary, reading)
        case _:
            raise _unknown(path)


def table_facts(
    path: Path, table: TableFile, columns: list[Column] | None, dictionary: Dictionary, reading: Reading
) -> FactColumns:
    """The facts of a table; DataError if the subject of a triple is a literal. In a folder that deltalog wrote, such
    facts may have been derived: there it is a warning."""
    if columns is None:
        return {}
    pred = Pred(table.predicate, len(columns))
    problem = reading.subjects and reading.subjects.problem(pred, columns, dictionary)
    if problem and not table.listed:
        raise DataError(f"{path}: {problem}")
    if problem:
        warn(f"{path}: {problem}")
    if reading.subjects is not None:
        reading.subjects.warn_of_names({pred: columns}, dictionary)
    return {pred: columns}


def _read_table(
    path: Path, dictionary: Dictionary, format: str, options: TableOptions, table: TableFile
) -> list[Column] | None:
    """The columns of a table and of its partition; None if it has no row at all."""
    columns: list[Column] | None
    if format == "jsonl":
        return _read_jsonl(path, dictionary, options, table)
    if options.matter_for(format):
        from deltalog.formats.table_reader import read_parquet_table, read_text_table

        if format == "parquet":
            return read_parquet_table(path, dictionary, options, table)
        return read_text_table(path, dictionary, format, options, table)
    if format == "parquet":
        from deltalog.formats.frames import read_parquet

        columns = read_parquet(path, dictionary, table.names)
    else:
        from deltalog.formats.tables import read_table

        columns = read_table(path, dictionary, format)
    return None if columns is None else table.with_partition(columns, dictionary)


def _read_jsonl(path: Path, dictionary: Dictionary, options: TableOptions, table: TableFile) -> list[Column] | None:
    """The columns of JSON lines; of the options, `columns` alone matters."""
    from deltalog.formats.jsonl import jsonl_columns, read_jsonl

    found = read_jsonl(path, dictionary)
    if found is None:
        return None
    columns = table.with_partition(found, dictionary)
    return [columns[column.place] for column in jsonl_columns(path, options, table.partition_names, len(columns))]


class ListedFiles(NamedTuple):
    """The files of facts in a folder, or the one file that was named; and those that are skipped."""

    files: list[Path]
    skipped: list[Path]


def files_of(path: Path) -> Iterator[Path]:
    """The files of facts in a folder, or the one file that was named."""
    yield from listed_files(path).files


def listed_files(path: Path) -> ListedFiles:
    """What is read of a file or a folder, and what is not."""
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        if not name_of(path).format:
            raise _unknown(path)
        return ListedFiles([path], [])
    if (path / CATALOG).is_file() and (path / SNAPSHOTS).is_dir():
        raise DataError(
            f"{path} is a store, not a folder of facts; `deltalog query` and KnowledgeBase.open open it, and "
            "`deltalog store export` writes its facts as tables"
        )
    listed = ListedFiles([], [])
    for file in sorted(path.rglob("*")):
        if not file.is_file() or is_ignored(file, path) or (file.name == NAMES and names_of(file.parent)):
            continue
        (listed.files if name_of(file).format else listed.skipped).append(file)
    if unread := next(filter(is_part, listed.skipped), None):
        raise _unknown(unread)
    return listed


def _unknown(path: Path) -> DataError:
    endings, compressions = " ".join(INPUT_FORMATS), " ".join(COMPRESSIONS)
    return DataError(
        f"{path}: the ending of the name does not say what the file is; "
        f"deltalog reads {endings}, and each of them with {compressions}"
    )
