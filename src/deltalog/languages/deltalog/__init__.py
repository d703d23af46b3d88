"""deltalog's own language."""

from __future__ import annotations

from dataclasses import replace

from deltalog.languages.protocol import Language, ProgramUnit, ReadingContext, WrittenProgram


class Deltalog(Language):
    def read(self, text: str, reading: ReadingContext) -> ProgramUnit:
        from deltalog.languages.deltalog.named_file import OwnFile
        from deltalog.languages.deltalog.parser import parse_document

        unit = parse_document(text, reading.name, ready_made=reading.ready_made)
        files = (replace(file, folder=reading.folder) for file in unit.files if isinstance(file, OwnFile))
        return replace(unit, files=tuple(files))

    def write(self, unit: ProgramUnit) -> WrittenProgram:
        from deltalog.languages.deltalog.write import DeltalogWriter
        from deltalog.languages.writer import written

        return written(unit, DeltalogWriter)


LANGUAGE = Deltalog()
