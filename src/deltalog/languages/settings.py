"""The languages that programs may be in; "auto" decides by the text and by the name of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LANGUAGES = ("auto", "deltalog", "souffle", "nemo", "rif")


@dataclass(frozen=True)
class Preprocessing:
    """What the preprocessor of a language is given: folders of included files, besides those of the files that include
    them, and the values of macros."""

    folders: tuple[Path, ...] = ()
    macros: Mapping[str, str] = field(default_factory=dict)
