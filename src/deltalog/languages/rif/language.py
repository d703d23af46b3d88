"""RIF Core in its XML syntax."""

from __future__ import annotations

from deltalog.languages.protocol import Language, Reading, Unit
from deltalog.languages.rif.read_document import read_rif


class Rif(Language):
    def read(self, text: str, reading: Reading) -> Unit:
        return Unit(read_rif(text, reading.name), languages=("rif",))


LANGUAGE = Rif()
