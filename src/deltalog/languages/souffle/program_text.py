"""The texts that a Soufflé program was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from deltalog.languages.protocol import ProgramUnit


@dataclass(frozen=True)
class IncludedText:
    """A file as it was included. `file` is its number: a file may have several names, and be included several times."""

    name: str
    file: int
    text: str


@dataclass(frozen=True)
class ProgramText:
    """The text of a program, what it includes, in the order in which it does, and the macros that were given to it.
    `name` is that of the file, or what a text without one is called; the names of hidden relations depend on it."""

    language: ClassVar[str] = "souffle"
    name: str
    text: str
    included: tuple[IncludedText, ...] = ()
    macros: tuple[tuple[str, str], ...] = ()

    @property
    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "text": self.text,
            "included": [asdict(each) for each in self.included],
            "macros": dict(self.macros),
        }

    def read_again(self) -> ProgramUnit:
        """Without its files."""
        from deltalog.languages.souffle.program import read_again

        return read_again(self).unit

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> ProgramText:
        included = tuple(IncludedText(each["name"], each["file"], each["text"]) for each in stored["included"])
        return cls(stored["name"], stored["text"], included, tuple(stored["macros"].items()))
