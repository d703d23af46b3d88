"""The files of `@input` and `@output`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deltalog.core.errors import Diagnostic, ProgramError, UsageError
from deltalog.core.rules import Pred
from deltalog.formats.documents import Files
from deltalog.formats.named_file import NamedFile
from deltalog.languages.protocol import FactSink, FactSource, ProgramFile


class OwnFile(NamedFile, ProgramFile):
    """The file of an `@input` or an `@output`."""

    language = "deltalog"

    def load(self, sink: FactSink, folders: Sequence[Path] = (), missing: str = "error") -> None:
        if not self.place.exists():
            message = f"there is no file {self.place}"
            raise ProgramError([Diagnostic(message, self.span, "A path is relative to the folder of the program.")])
        sink.load(Files.named(self))

    def write(self, source: FactSource, folder: Path | None) -> Path | None:
        from deltalog.languages.deltalog.output_file import write_named

        contents = source.contents
        pred = contents.names().find(self.predicate or "")
        return write_named(self, pred, self._names(pred, contents.columns(pred)), contents)

    def check(self, source: FactSource) -> None:
        try:
            self._names(source.contents.names().find(self.predicate or ""), ())
        except UsageError as problem:
            raise ProgramError([Diagnostic(str(problem), self.span)]) from None

    def _names(self, pred: Pred, known: Sequence[str]) -> tuple[str, ...]:
        """The names of the columns that it writes."""
        if self.options.columns is None:
            return tuple(known)
        if len(self.options.columns) != pred.arity:
            raise UsageError(f"{pred.name} has {pred.arity} columns, and {len(self.options.columns)} names are given")
        return tuple(str(column.name or column.source) for column in self.options.columns)

    def replaces(self, other: OwnFile) -> Diagnostic | None:
        """The error that both write the same file, if they do not write the same."""
        if (other.predicate, other.options) == (self.predicate, self.options):
            return None
        message = f"another @output writes this file already, the one of {other.predicate}"
        return Diagnostic(message, self.span, "A file has one predicate; name another file.")
