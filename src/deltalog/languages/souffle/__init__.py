"""Soufflé's language: text to our rules, and what its directives say about files.

    text -> tokens (preprocessed) -> parser -> tree -> components -> inlining -> types -> lowering -> Rule

Nothing of it is known to an engine: a program becomes ordinary rules, with the functions of
`deltalog.functions.souffle_functors` for arithmetic of 32 bits, strings and records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deltalog.core.errors import Diagnostic
from deltalog.languages.protocol import Language, ProgramUnit, ReadingContext, WrittenProgram
from deltalog.languages.souffle.program_text import ProgramText

_WORDS = "decl|type|comp|init|input|output|printsize|include|functor|number_type|symbol_type|pragma"
_HASH = r"""include\s*["<]|pragma\s+once\s*$|(?:ifdef|ifndef)\s+\w+\s*$"""  # more than words, as in a comment
_DIRECTIVE = re.compile(rf"^\s*\.(?:{_WORDS})\s|^\s*#\s*(?:{_HASH})", re.M)


class Souffle(Language):
    def read(self, text: str, reading: ReadingContext) -> ProgramUnit:
        from deltalog.languages.souffle.program import read_program

        place, may_include = (Path(), reading.includes) if reading.folder is None else (reading.folder, True)
        return read_program(text, reading.name, place, may_include, reading.preprocessing).unit

    def write(self, unit: ProgramUnit) -> WrittenProgram:
        """A program of this language is its text."""
        from deltalog.languages.souffle.write import SouffleWriter
        from deltalog.languages.writer import written

        if set(unit.languages) == {"souffle"}:
            texts = (each.text for each in unit.programs if isinstance(each, ProgramText))
            return WrittenProgram("".join(f"{text.rstrip()}\n" for text in texts))
        return written(unit, SouffleWriter)

    def detects(self, text: str) -> bool:
        """Whether a text has directives of Soufflé, or of its preprocessor."""
        return _DIRECTIVE.search(text) is not None

    def plain(self, unit: ProgramUnit, lost: list[Diagnostic], notes: list[Diagnostic]) -> ProgramUnit:
        from deltalog.languages.souffle.core_functions import with_core_functions

        return with_core_functions(unit, lost, notes)

    def stored(self, saved: Mapping[str, Any]) -> ProgramText:
        return ProgramText.of_json(saved)


LANGUAGE = Souffle()
