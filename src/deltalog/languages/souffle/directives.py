"""What a program says about files: `.input`, `.output`, `.printsize` and `.limitsize`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltalog.core.rules import Pred

if TYPE_CHECKING:
    from deltalog.core.rules import HiddenName
    from deltalog.languages.souffle.types import Types


@dataclass(frozen=True)
class Directive:
    """`.input`, `.output` or `.printsize` of a relation, with the attributes of the relation."""

    kind: str
    relation: str
    parameters: Mapping[str, str]
    attributes: tuple[tuple[str, str], ...]  # names and types
    types: Types
    folder: Path  # of the program
    place: str
    ordinals: HiddenName | None = None  # the relation of the numbers of symbols, if the program uses `ord`
    needed: bool = True  # by an output of the program, or there is none

    @property
    def pred(self) -> Pred:
        return Pred(self.relation, len(self.attributes))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the relation."""
        return tuple(name for name, _ in self.attributes)

    @property
    def names_file(self) -> bool:
        """Whether it is an output to a file."""
        return self.kind == "output" and self.parameters.get("IO", "file") in ("file", "jsonfile", "sqlite")

    @property
    def shown(self) -> str:
        """The name of the relation in files and on standard output."""
        return self.parameters.get("name", self.relation)

    @property
    def database(self) -> str:
        """The file of a SQLite database; `dbname` is its older name."""
        given = self.parameters
        return given.get("filename") or given.get("dbname") or f"{self.shown}.sqlite"
