"""A file that a program names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from deltalog.core.rules import Span
from deltalog.core.table_options import TableOptions


@dataclass(frozen=True)
class NamedFile:
    """What a program says of a file: facts are read from it (`kind` is "input"), or written to it ("output").

    `predicate` is None for files of RDF, which have their predicates. A relative path is one from the program's folder,
    or from the current one if the program is a text.
    """

    kind: str
    predicate: str | None
    path: str
    options: TableOptions
    span: Span = field(compare=False, repr=False)
    folder: Path | None = None

    @property
    def place(self) -> Path:
        return Path(self.path) if self.folder is None else self.folder / self.path
