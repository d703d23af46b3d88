"""The languages that there are: one line for each folder of `deltalog.languages`.

A language is found by its name, by the ending of a file's name, or by what a text has in it. Its folder is imported
when it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from deltalog.core.errors import UsageError
from deltalog.languages.protocol import Language, ProgramUnit, WrittenProgram

OWN = "deltalog"


@dataclass(frozen=True)
class LanguageRow:
    """A language: `deltalog.languages.NAME` has it as LANGUAGE. `out` is what a folder for output gets: all
    facts, what `directives` name, or what a program `exports`."""

    name: str
    title: str
    endings: tuple[str, ...] = ()  # of the names of files
    is_detected: bool = False
    reads: bool = True
    writes: bool = True
    out: str = "facts"

    @property
    def is_installed(self) -> bool:
        return find_spec(f"deltalog.languages.{self.name}") is not None

    @property
    def language(self) -> Language:
        """UsageError if it is not installed."""
        require(self.name)
        return cast(Language, import_module(f"deltalog.languages.{self.name}").LANGUAGE)


TABLE = (
    LanguageRow(OWN, "deltalog's own language"),
    LanguageRow("souffle", "Soufflé's language", is_detected=True, out="directives"),
    LanguageRow("nemo", "Nemo's language", (".rls",), out="exports"),
    LanguageRow("rif", "RIF Core", (".rif",), writes=False),
    LanguageRow("rdfox", "RDFox's language", reads=False),
    LanguageRow("sparql", "SPARQL", reads=False, writes=False),  # of queries
)
LANGUAGES = ("auto", *(row.name for row in TABLE if row.reads))
TARGETS = tuple(row.name for row in TABLE if row.writes)


def row_of(name: str) -> LanguageRow:
    return next(row for row in TABLE if row.name == name)


def converted(unit: ProgramUnit, target: str) -> WrittenProgram:
    """A program in another language."""
    return row_of(target).language.write(unit)


def require(name: str) -> None:
    """UsageError if the folder of a language is missing."""
    if not row_of(name).is_installed:
        raise UsageError(f"{row_of(name).title} is not installed: the package deltalog.languages.{name} is missing")


def find_row(source: str | Path, text: str, language: str = "auto") -> LanguageRow:
    """The language of a source with this text: the one that is asked for, or that the source tells."""
    if language != "auto":
        return row_of(language)
    ending = source.suffix if isinstance(source, Path) else ""
    by_ending = (row for row in TABLE if ending in row.endings)
    return next(by_ending, None) or next((row for row in TABLE if _is_detected(row, text)), TABLE[0])


def _is_detected(row: LanguageRow, text: str) -> bool:
    return row.is_detected and row.is_installed and row.language.detects(text)
