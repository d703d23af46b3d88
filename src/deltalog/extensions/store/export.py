"""A knowledge base as plain tables: a folder for each predicate, which Spark, DuckDB and pandas read.

    edge/part-0.parquet     the facts of edge
    predicates.tsv          folders and predicates, if some name of a predicate is no name for a folder

`deltalog.formats.table_files` reads it back. N-Triples and N-Quads are one file for all predicates.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from deltalog.core.errors import DataError
from deltalog.formats.files import local_path
from deltalog.formats.formats import TRIPLE_FORMATS
from deltalog.formats.table_files import NAMES
from deltalog.formats.write import whole

TABLES = "tables"


class Writes(Protocol):
    """A knowledge base, as far as it writes its facts to a folder."""

    def write(
        self, folder: str | PathLike[str], format: str = ..., *, only: Iterable[str] = ..., derived: bool = ...
    ) -> Any: ...


def export(
    kb: Writes,
    folder: str | PathLike[str],
    format: str = "parquet",
    *,
    only: Iterable[str] = (),
    derived: bool = False,
) -> None:
    """Writes facts to a folder that is new or empty; the options are those of `KnowledgeBase.write`."""

    def fill(inside: Path) -> None:
        flat = inside / ".files"
        kb.write(flat, format, only=only, derived=derived)
        for file in flat.iterdir():
            file.rename(_place(inside, file, format))
        flat.rmdir()

    if format in TRIPLE_FORMATS:
        kb.write(folder, format, only=only, derived=derived)
    else:
        whole(local_path(folder), fill)


def export_inside(
    kb: Writes, store: Path, format: str = "parquet", *, only: Iterable[str] = (), derived: bool = False
) -> Path:
    """Writes facts to the folder `tables` of a store, in place of what was there; the folder."""
    tables = store / TABLES
    try:
        aside = Path(tempfile.mkdtemp(prefix=f".{TABLES}-", dir=store))
        try:
            export(kb, aside / "new", format, only=only, derived=derived)
            if tables.exists() or tables.is_symlink():
                tables.rename(aside / "old")
            (aside / "new").rename(tables)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as problem:
        raise DataError(
            f"{tables}: cannot be written ({problem.strerror or problem}); --out names another folder"
        ) from None
    return tables


def _place(folder: Path, file: Path, format: str) -> Path:
    """Where a file of `KnowledgeBase.write` belongs."""
    if file.name == NAMES:
        return folder / NAMES
    table = folder / file.name.removesuffix(f".{format}")
    table.mkdir()
    return table / f"part-0.{format}"
