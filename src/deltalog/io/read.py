"""From files and folders to facts.

A file's extension determines its format (see `deltalog.io.files`). RDF files contain their predicates; for a table
(CSV, TSV, `.facts`, Parquet) the file's name without its endings is the predicate, unless a `predicates.tsv` beside it,
as `deltalog.io.write` makes one, gives that name another: its rows are `file name <tab> predicate`. A folder is read
with all folders in it, in the order of names; hidden files and files with other extensions are skipped. A file that is
named directly must have a known extension.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from deltalog.io.columns import FactColumns, together
from deltalog.io.documents import DEFAULT, Reading
from deltalog.io.files import name_of
from deltalog.io.formats import COMPRESSIONS, INPUT_FORMATS
from deltalog.model.dictionary import Dictionary
from deltalog.model.errors import DataError
from deltalog.syntax.ast import Pred

NAMES = "predicates.tsv"


def read(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    dictionary: Dictionary,
    reading: Reading = DEFAULT,
) -> FactColumns:
    """The facts of files and folders, with their values in the dictionary; DataError for what cannot be read."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    files = [file for path in paths for file in files_of(Path(path))]
    return together([read_file(file, dictionary, reading) for file in files])


def read_file(path: Path, dictionary: Dictionary, reading: Reading = DEFAULT) -> FactColumns:
    """The facts of one file."""
    stem, format, _ = name_of(path)
    match format:
        case "ntriples":
            from deltalog.io.ntriples import read_ntriples

            return read_ntriples(path, dictionary, reading)
        case "turtle" | "xml":
            from deltalog.io.rdf import read_rdf

            return read_rdf(path, dictionary, format, reading)
        case "csv" | "tsv":
            from deltalog.io.tables import read_table

            columns = read_table(path, dictionary, format)
        case "parquet":
            from deltalog.io.frames import read_parquet

            columns = read_parquet(path, dictionary)
        case _:
            raise _unknown(path)
    name = names_of(path.parent).get(stem, stem)
    return {} if columns is None else {Pred(name, len(columns)): columns}


def names_of(folder: Path) -> dict[str, str]:
    """What the `predicates.tsv` of a folder says: predicates by file names, both without endings.

    Nothing, if there is none, or if it does not name files of its folder: then it is a table like any other.
    """
    table = folder / NAMES
    if not table.is_file():
        return {}
    from deltalog.io.tables import read_table

    dictionary = Dictionary()
    columns = [list(map(str, dictionary.decode(column))) for column in read_table(table, dictionary, "tsv") or []]
    beside = {name_of(file).stem for file in folder.iterdir()}
    return dict(zip(*columns, strict=True)) if len(columns) == 2 and beside.issuperset(columns[0]) else {}


def files_of(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        if not name_of(path).format:
            raise _unknown(path)
        yield path
        return
    for file in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        maps_names = file.name == NAMES and names_of(file.parent)
        if not hidden and file.is_file() and name_of(file).format and not maps_names:
            yield file


def _unknown(path: Path) -> DataError:
    endings, compressions = " ".join(INPUT_FORMATS), " ".join(COMPRESSIONS)
    return DataError(
        f"{path}: the ending of the name does not say what the file is; "
        f"deltalog reads {endings}, and each of them with {compressions}"
    )
