"""RDFox's language, which programs can be written in."""

from __future__ import annotations

from deltalog.languages.protocol import Language, ProgramUnit, WrittenProgram


class Rdfox(Language):
    def write(self, unit: ProgramUnit) -> WrittenProgram:
        from deltalog.languages.rdfox.write import RdfoxWriter
        from deltalog.languages.writer import written

        return written(unit, RdfoxWriter)


LANGUAGE = Rdfox()
