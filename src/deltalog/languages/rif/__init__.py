"""RIF Core: documents of RIF/XML to our rules.

    text -> elements with their places (elements) -> rules (read_document), with expressions for built-ins (built_ins)

Nothing of it is known to an engine. Frames and memberships are triples, so rules of RIF apply to RDF data.
"""

from __future__ import annotations

from deltalog.languages.protocol import Language, ProgramUnit, ReadingContext


class Rif(Language):
    def read(self, text: str, reading: ReadingContext) -> ProgramUnit:
        from deltalog.languages.rif.read_document import read_rif

        return ProgramUnit(read_rif(text, reading.name), languages=("rif",))


LANGUAGE = Rif()
