"""Nemo's language."""

from __future__ import annotations

from deltalog.languages.protocol import Language, Reading, Unit, Written


class Nemo(Language):
    def read(self, text: str, reading: Reading) -> Unit:
        from deltalog.languages.nemo.lower import read_nemo

        return read_nemo(text, reading.name, reading.folder)

    def write(self, unit: Unit) -> Written:
        from deltalog.languages.nemo.write import NemoWriter
        from deltalog.languages.writer import written

        return written(unit, NemoWriter)


LANGUAGE = Nemo()
