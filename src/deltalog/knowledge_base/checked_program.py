"""The program of a new knowledge base, read and checked before anything heavy is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deltalog.core.table_options import TableSettings
from deltalog.formats.table_settings import settings_beside
from deltalog.languages.load_program import Sources, as_sources, read_documents
from deltalog.languages.protocol import Preprocessing, ProgramUnit
from deltalog.program import Program, analyse
from deltalog.program.stages import check_stages


@dataclass(frozen=True)
class CheckedProgram:
    """The texts and files of a program, what they say, and how tables beside them are read."""

    sources: list[str | Path]
    unit: ProgramUnit
    program: Program
    table_settings: TableSettings

    @classmethod
    def of(cls, program: Sources, language: str, preprocessing: Preprocessing) -> CheckedProgram:
        sources = as_sources(program)
        unit = read_documents(sources, language, preprocessing=preprocessing)
        table_settings, analysed = settings_beside(sources), analyse(unit.rules)
        check_stages(analysed.rules, unit.stages)
        return cls(sources, unit, analysed, table_settings)
