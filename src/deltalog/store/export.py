"""A knowledge base as plain tables: a folder for each predicate, which Spark, DuckDB and pandas read.

    edge/part-0.parquet     the facts of edge
    predicates.tsv          folders and predicates, if some name of a predicate is no name for a folder

`deltalog.io.table_files` reads it back. N-Triples are one file for all predicates.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from deltalog.io.files import local_path
from deltalog.io.table_files import NAMES
from deltalog.io.write import whole

if TYPE_CHECKING:
    from deltalog.kb import KnowledgeBase


def export(
    kb: KnowledgeBase,
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

    if format == "nt":
        kb.write(folder, format, only=only, derived=derived)
    else:
        whole(local_path(folder), fill)


def _place(folder: Path, file: Path, format: str) -> Path:
    """Where a file of `KnowledgeBase.write` belongs."""
    if file.name == NAMES:
        return folder / NAMES
    table = folder / file.name.removesuffix(f".{format}")
    table.mkdir()
    return table / f"part-0.{format}"
