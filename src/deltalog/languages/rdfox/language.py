"""RDFox's language."""

from __future__ import annotations

from deltalog.languages.protocol import Language, Unit, Written
from deltalog.languages.rdfox.write import RdfoxWriter
from deltalog.languages.writer import written


class Rdfox(Language):
    def write(self, unit: Unit) -> Written:
        return written(unit, RdfoxWriter)


LANGUAGE = Rdfox()
