"""Nemo's language: text to our rules, and what its directives say about files.

    text -> words (lexer) -> statements (parser, tree) -> rules and directives (lower)

Nothing of it is known to an engine: a program becomes ordinary rules, with the functions of
`deltalog.functions.nemo_functions` where Nemo's mean something else than ours. Existential rules become rules with
SKOLEM that are marked as such (`deltalog.core.existential`), and are evaluated by `deltalog.evaluation.chase`.
"""

from __future__ import annotations

from deltalog.languages.protocol import Language, ProgramUnit, ReadingContext, WrittenProgram


class Nemo(Language):
    def read(self, text: str, reading: ReadingContext) -> ProgramUnit:
        from deltalog.languages.nemo.lower import read_nemo

        return read_nemo(text, reading.name, reading.folder)

    def write(self, unit: ProgramUnit) -> WrittenProgram:
        from deltalog.languages.nemo.write import NemoWriter
        from deltalog.languages.writer import written

        return written(unit, NemoWriter)


LANGUAGE = Nemo()
