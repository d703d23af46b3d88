"""What a language is to the rest of deltalog: it makes a `ProgramUnit` of a text, or a text of a unit.

A unit has rules and all else that a program says: inputs and outputs, names of columns, stages, prefixes. Whatever its
language, knowledge bases, stores, servers and pipelines see nothing else of it. An input or an output that a program
names is a `ProgramFile`, which reads into a `FactSink` and writes from a `FactSource`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Pred, Rule, Span
from deltalog.core.terms import Value
from deltalog.program.magic_request import MagicRequest
from deltalog.program.stages import OrderedStage

if TYPE_CHECKING:
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.formats.documents import Files


@dataclass(frozen=True)
class Preprocessing:
    """What the preprocessor of a language is given: folders of included files, besides those of the files that include
    them, and the values of macros."""

    folders: tuple[Path, ...] = ()
    macros: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadingContext:
    """How a text is read: its name in messages, its folder if it is a file, and whether it may include files."""

    name: str = "<text>"
    folder: Path | None = None
    includes: bool = True
    preprocessing: Preprocessing = Preprocessing()
    ready_made: bool = False  # it comes with deltalog


@dataclass(frozen=True)
class FactSink:
    """Where inputs put their facts. `number` gives values the next numbers in a relation of pairs, unless they have
    one; `blank_nodes` are the numbers of the next blank nodes, where these are numbered."""

    add: Callable[[str, Any], None]
    load: Callable[[Files], None]
    number: Callable[[Pred, Iterable[Value]], None]
    blank_nodes: Iterator[int] = field(default_factory=count)


@dataclass(frozen=True)
class FactSource:
    """Where outputs take facts from. `exported` has the facts of a predicate by the first of its names, if there are
    any under one of them, in order; invented values are blank nodes with numbers."""

    contents: Contents[Any]
    exported: Callable[..., list[tuple[Value, ...]]]


class ProgramFile:
    """An input or an output that a program names."""

    kind: str  # input, output, or another one of outputs
    predicate: str | None  # None for files that have several
    span: Span
    language: ClassVar[str]
    at_once: ClassVar[bool] = True  # an input that is read with the program, and not when it is asked for
    is_export: ClassVar[bool] = False  # an output for a folder of exports
    implied: bool = False  # an output that no directive names
    needed: bool = True  # an input that an output of the program depends on

    @property
    def pred(self) -> Pred | None:
        """The predicate, if the program declares it."""
        return None

    @property
    def names_file(self) -> bool:
        """Whether it is an output to a file."""
        return True

    def load(self, sink: FactSink, folders: Sequence[Path] = (), missing: str = "error") -> None:
        """Reads the facts, from a file in one of some folders if it is not the program that says where it is."""
        raise NotImplementedError

    def write(self, source: FactSource, folder: Path | None) -> Path | None:
        """Writes the facts; the file, if it is one."""
        raise NotImplementedError

    def check(self, source: FactSource) -> None:
        """ProgramError if an output does not fit the predicates that there are."""

    def refused(self, message: str, hint: str) -> Diagnostic | None:
        """An error at this place, where programs must not name files; None for outputs that they may."""
        return Diagnostic(message, self.span, hint)

    @property
    def left_out(self) -> Diagnostic | None:
        """What a program in another language lacks, because it cannot name this input or output."""
        return None


class KeptText(Protocol):
    """A program that is kept as it was written, because its rules have no other text."""

    @property
    def language(self) -> str: ...
    @property
    def as_json(self) -> dict[str, Any]: ...
    def read_again(self) -> ProgramUnit: ...


@dataclass(frozen=True)
class ProgramUnit:
    """What a text says, or several together: rules, prefixes, files and columns. `stages` are relations whose facts
    depend on the order of derivation, `warnings` those that rules do not tell, `programs` the texts that stores keep,
    `magic` what magic sets are requested for, and `languages` has the language of each text."""

    rules: tuple[Rule, ...]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    files: tuple[ProgramFile, ...] = ()
    columns: Mapping[Pred, tuple[str, ...]] = field(default_factory=dict)  # names that are declared
    stages: tuple[OrderedStage, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    programs: tuple[KeptText, ...] = ()
    magic: tuple[MagicRequest, ...] = ()
    languages: tuple[str, ...] = ()


_JOINED = ("rules", "files", "stages", "notes", "warnings", "programs", "magic", "languages")


def united(units: Sequence[ProgramUnit]) -> ProgramUnit:
    """One unit. The last declaration of a prefix wins, and the first one of columns."""
    prefixes = {name: iri for unit in units for name, iri in unit.prefixes.items()}
    columns = {pred: names for unit in reversed(units) for pred, names in unit.columns.items()}
    joined = {name: tuple(chain.from_iterable(getattr(unit, name) for unit in units)) for name in _JOINED}
    return ProgramUnit(prefixes=prefixes, columns=columns, **joined)


@dataclass(frozen=True)
class WrittenProgram:
    """The text of a program in another language, what it does not say, and what may mean something else there."""

    text: str
    lost: tuple[Diagnostic, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


class Language:
    """A language, which the package of its folder has as LANGUAGE. The table in `deltalog.languages.registry` says what
    of this it has."""

    def read(self, text: str, reading: ReadingContext) -> ProgramUnit:
        """SyntaxProblem has all errors, and rules that are right."""
        raise NotImplementedError

    def write(self, unit: ProgramUnit) -> WrittenProgram:
        raise NotImplementedError

    def detects(self, text: str) -> bool:
        """Whether a text is certainly in this language."""
        return False

    def plain(self, unit: ProgramUnit, lost: list[Diagnostic], notes: list[Diagnostic]) -> ProgramUnit:
        """For other languages: without functions that only this one has. What cannot be said, and what may mean
        something else, is added to `lost` and `notes`."""
        return unit

    def stored(self, saved: Mapping[str, Any]) -> KeptText:
        """A program as a store has it."""
        raise NotImplementedError
