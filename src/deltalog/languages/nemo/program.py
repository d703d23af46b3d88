"""A Nemo program: rules, and the files that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deltalog.core.rules import Rule, Span
from deltalog.core.terms import Value


@dataclass(frozen=True)
class FileUse:
    """`@import` or `@export` of a predicate; `arity` is that of its atoms in the program, if there are any."""

    kind: str
    predicate: str
    format: str
    parameters: Mapping[str, Value]
    span: Span
    arity: int | None = None
    folder: Path | None = None  # of the program, if it is a file


@dataclass(frozen=True)
class NemoProgram:
    rules: tuple[Rule, ...]
    prefixes: Mapping[str, str]
    imports: tuple[FileUse, ...] = ()
    exports: tuple[FileUse, ...] = ()
    outputs: tuple[str, ...] = ()
