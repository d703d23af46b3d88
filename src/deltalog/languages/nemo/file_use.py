"""The inputs and outputs of a Nemo program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Span
from deltalog.core.terms import Value
from deltalog.languages.protocol import FactSink, FactSource, ProgramFile


@dataclass(frozen=True)
class FileUse(ProgramFile):
    """A file of a predicate. `arity` is that of its atoms in the program, if there are any; `directive` is the one that
    names the predicate: import, export, output, or none where a program exports all that it derives."""

    language = "nemo"
    is_export = True
    predicate: str
    format: str
    parameters: Mapping[str, Value]
    span: Span
    arity: int | None = None
    folder: Path | None = None  # of the program, if it is a file
    directive: str = ""

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "input" if self.directive == "import" else "output"

    @property
    def implied(self) -> bool:  # type: ignore[override]
        return not self.directive

    @property
    def is_written(self) -> bool:
        """Whether the program says what file it is."""
        return self.directive in ("import", "export")

    def load(self, sink: FactSink, folders: Sequence[Path] = (), missing: str = "error") -> None:
        from deltalog.languages.nemo.files import read_import

        if rows := read_import(self, sink.blank_nodes):
            sink.add(self.predicate, rows)

    def write(self, source: FactSource, folder: Path | None) -> Path | None:
        from deltalog.languages.nemo.files import write_export

        assert folder is not None, "exports have a folder"
        names = (self.predicate,) if self.arity is None else (f"{self.predicate}/{self.arity}", self.predicate)
        return write_export(self, source.exported(*names), folder)

    def refused(self, message: str, hint: str) -> Diagnostic | None:
        return Diagnostic(message, self.span, hint) if self.is_written else None

    @property
    def left_out(self) -> Diagnostic | None:
        hint = "Name them by @input, with types of columns, or by @output."
        message = f"@{self.directive} reads and writes other cells"
        return Diagnostic(message, self.span, hint) if self.is_written else None
