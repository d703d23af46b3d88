"""What a program says about files: `.input`, `.output` and `.printsize`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Pred
from deltalog.languages.protocol import FactSink, FactSource, ProgramFile

if TYPE_CHECKING:
    from deltalog.core.rules import HiddenName
    from deltalog.languages.souffle.types import Types

_FILES = "Name the file in the program that is made, or give it with --data."


@dataclass(frozen=True)
class Directive(ProgramFile):
    """`.input`, `.output` or `.printsize` of a relation, with the attributes of the relation."""

    language = "souffle"
    at_once = False
    kind: str
    predicate: str
    parameters: Mapping[str, str]
    attributes: tuple[tuple[str, str], ...]  # names and types
    types: Types
    folder: Path  # of the program
    place: str
    ordinals: HiddenName | None = None  # the relation of the numbers of symbols, if the program uses `ord`
    needed: bool = True  # by an output of the program, or there is none

    def load(self, sink: FactSink, folders: Sequence[Path] = (), missing: str = "error") -> None:
        from deltalog.languages.souffle.facts import read_input, symbols

        facts = read_input(self, folders, missing)
        if facts is None:
            return
        sink.add(self.predicate, facts)
        if self.ordinals is not None:
            sink.number(Pred(self.ordinals, 2), symbols(self, facts))

    def write(self, source: FactSource, folder: Path | None) -> Path | None:
        from deltalog.languages.souffle.output import write_output

        return write_output(self, source.contents.view(self.pred, source.contents.table(self.pred)), folder)

    def refused(self, message: str, hint: str) -> Diagnostic | None:
        said = f"{message}: .{self.kind} {self.predicate} at {self.place}"
        return None if self.kind == "printsize" else Diagnostic(said, None, hint)

    @property
    def left_out(self) -> Diagnostic | None:
        """Its cells have the types of declarations. Without an output, more is written; without an input, facts are
        missing."""
        severity = {"input": "error", "output": "note"}.get(self.kind)
        message = f".{self.kind} {self.predicate} at {self.place} is left out"
        return None if severity is None else Diagnostic(message, None, _FILES, severity)

    @property
    def pred(self) -> Pred:
        return Pred(self.predicate, len(self.attributes))

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
        return self.parameters.get("name", self.predicate)

    @property
    def database(self) -> str:
        """The file of a SQLite database; `dbname` is its older name."""
        given = self.parameters
        return given.get("filename") or given.get("dbname") or f"{self.shown}.sqlite"
