"""The predicate of a table's file, by its place.

A file has the predicate of its name without endings, unless a `predicates.tsv` beside it, as `deltalog.formats.write` makes
one, gives that name another.

A folder that Spark wrote is one table: it has files `part-0...`, or a file `_SUCCESS`. Its predicate is the folder's
name, unless a `predicates.tsv` beside it gives that name another, and folders `k=v` in it are partitions, whose values
are columns after those of the files. As in Spark, the values of a partition column are integers, floats, dates or
strings, whatever all of them can be, and columns of Parquet files are taken by name, in the order of the first file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.terms import Value
from deltalog.formats.columns import Column
from deltalog.formats.files import name_of

NAMES = "predicates.tsv"
SUCCESS, DELTA = "_SUCCESS", "_delta_log"
INTERNAL = (DELTA, "_spark_metadata", "_temporary")  # folders
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"  # Spark's name for null
_PART = re.compile(r"part-(?:[mr]-)?[0-9]")
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_FLOAT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class TableFile(NamedTuple):
    """The predicate of a table's file, the values of its partition, and the names of the table's columns if they are
    known: Parquet files of one folder have them in any order. `listed`: a `predicates.tsv` names the predicate."""

    predicate: str
    partition: tuple[Value, ...] = ()
    names: tuple[str, ...] = ()
    partition_names: tuple[str, ...] = ()
    listed: bool = False

    def renamed(self, predicate: str | None) -> TableFile:
        """The same file, of another predicate if one is asked for."""
        return self if predicate is None else self._replace(predicate=predicate, listed=False)

    def with_partition(self, columns: list[Column], dictionary: Dictionary) -> list[Column]:
        """The columns of the file, and those of its partition."""
        rows = len(columns[0]) if columns else 0
        return [*columns, *(np.full(rows, dictionary.encode([value])[0], np.uint32) for value in self.partition)]


class TableFiles:
    """The predicates of files; what a folder says is read once."""

    def __init__(self) -> None:
        self._names: dict[Path, dict[str, str]] = {}
        self._types: dict[Path, list[Callable[[str], Value]]] = {}
        self._columns: dict[Path, tuple[str, ...]] = {}

    def of(self, file: Path) -> TableFile:
        folder, partitions = _dataset(file)
        if is_written_by_spark(folder, file):
            partition = self._partition(file, folder, partitions)
            names, keys = self._names_of_columns(file, folder), tuple(map(_partition_key, partitions))
            place = folder.absolute()
            return TableFile(self._predicate(place), partition, names, keys, self._is_listed(place))
        return TableFile(self._predicate(file), listed=self._is_listed(file))

    def _predicate(self, place: Path) -> str:
        """The predicate of a file, or of a folder that is a table."""
        stem, folder = name_of(place).stem, place.parent
        if folder not in self._names:
            self._names[folder] = names_of(folder)
        return self._names[folder].get(stem, stem)

    def _is_listed(self, place: Path) -> bool:
        return name_of(place).stem in self._names[place.parent]

    def _names_of_columns(self, file: Path, folder: Path) -> tuple[str, ...]:
        """The columns of a folder's Parquet files: those of the first one."""
        if name_of(file).format != "parquet":
            return ()
        if folder not in self._columns:
            from deltalog.formats.frames import parquet_names

            self._columns[folder] = parquet_names(file)
        return self._columns[folder]

    def _partition(self, file: Path, folder: Path, partitions: Sequence[str]) -> tuple[Value, ...]:
        if not partitions:
            return ()
        if folder not in self._types:
            self._types[folder] = _types(folder, len(partitions))
        values = [_partition_value(part) for part in partitions]
        if NO_PARTITION in values:
            column = partitions[values.index(NO_PARTITION)].partition("=")[0]
            raise DataError(f"{file}: the partition column {column!r} is null; a fact has a value for each argument")
        if len(values) != len(self._types[folder]):
            raise DataError(f"{file}: other files of {folder} have {len(self._types[folder])} partition columns")
        return tuple(make(value) for make, value in zip(self._types[folder], values, strict=True))


def is_written_by_spark(folder: Path, file: Path) -> bool:
    """Whether a file in a folder, or in partitions of it, is a part of a table that Spark wrote."""
    if (folder / DELTA).is_dir():
        raise DataError(
            f"{folder}: this is a Delta table, and its files also have rows that are deleted; read it by a pipeline "
            'with format = "delta" (docs/pipelines.md)'
        )
    return is_part(file) or (folder / SUCCESS).exists()


def is_part(file: Path) -> bool:
    """Whether a file has the name of a part that a task of Spark wrote."""
    return _PART.match(file.name) is not None


def is_ignored(file: Path, inside: Path) -> bool:
    """Whether a file in a folder is hidden, or one of Spark's own."""
    *folders, name = file.relative_to(inside).parts
    if any(part.startswith(".") for part in (*folders, name)):
        return True
    if not set(INTERNAL).isdisjoint(folders):
        return True
    return name.startswith("_") and is_written_by_spark(_dataset(file)[0], file)


def names_of(folder: Path) -> dict[str, str]:
    """What the `predicates.tsv` of a folder says: predicates by file names, both without endings.

    Nothing, if there is none, or if it does not name files of its folder: then it is a table like any other.
    """
    table = folder / NAMES
    if not table.is_file():
        return {}
    from deltalog.formats.tables import read_table

    dictionary = Dictionary()
    columns = [list(map(str, dictionary.decode(column))) for column in read_table(table, dictionary, "tsv") or []]
    beside = {name_of(file).stem for file in folder.iterdir()}
    return dict(zip(*columns, strict=True)) if len(columns) == 2 and beside.issuperset(columns[0]) else {}


def _dataset(file: Path) -> tuple[Path, list[str]]:
    """The folder of a table, and the folders `k=v` from there to a file."""
    folder, partitions = file.parent, []
    while "=" in folder.name:
        partitions.append(folder.name)
        folder = folder.parent
    return folder, partitions[::-1]


def _types(folder: Path, depth: int) -> list[Callable[[str], Value]]:
    """What the values of each partition column of a table become."""
    columns: list[set[str]] = [set() for _ in range(depth)]
    level = [folder]
    for found in columns:
        level = [inner for outer in level for inner in _partition_folders(outer)]
        found |= {_partition_value(inner.name) for inner in level} - {NO_PARTITION}
    return [_type(values) for values in columns]


def _partition_folders(folder: Path) -> Iterator[Path]:
    return (inner for inner in folder.iterdir() if "=" in inner.name and inner.is_dir())


def _partition_key(folder: str) -> str:
    return unquote(folder.partition("=")[0])


def _partition_value(folder: str) -> str:
    return unquote(folder.partition("=")[2])


def _type(values: set[str]) -> Callable[[str], Value]:
    if all(map(_INTEGER.fullmatch, values)):
        return int
    if all(map(_FLOAT.fullmatch, values)):
        return float
    return date.fromisoformat if all(map(_is_date, values)) else str


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False
