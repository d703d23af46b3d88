"""`.deltalog.toml`: how tables are read, in a file beside the program.

    [tables]                        # all tables
    header = true

    [tables.road]                   # those of a predicate
    delimiter = ";"
    columns = ["from", { column = "to_town", as = "to" }, { column = "km", type = "float" }]

It is looked for in one place: the folder of the first program that is a file. The options of a call, of the command
line and of `@input` come before it.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from deltalog.core.errors import UsageError
from deltalog.core.table_options import DEFAULT_TABLES, TableOptions, TableSettings, check_option, option_names

NAME = ".deltalog.toml"


def settings_beside(sources: Iterable[str | Path]) -> TableSettings:
    """The settings beside the first program that is a file."""
    first = next((source for source in sources if isinstance(source, Path)), None)
    path = None if first is None else first.parent / NAME
    if path is None or not path.is_file():
        return DEFAULT_TABLES
    logging.getLogger("deltalog").info("reading tables as %s says", path)
    return read_settings(path)


def read_settings(path: Path) -> TableSettings:
    """The settings of a file; UsageError says what is wrong in it."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UsageError(f"{path}: {problem}") from None
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
    try:
        for name in document:
            check_option(name, ("tables",), "section")
        return _settings(document.get("tables", {}), path)
    except UsageError as problem:
        raise UsageError(f"{path}: {problem}") from None


def _settings(tables: Any, path: Path) -> TableSettings:
    if not isinstance(tables, Mapping):
        raise UsageError("tables is a section: [tables]")
    known = option_names()
    by_predicate = {name: value for name, value in tables.items() if isinstance(value, Mapping) and name not in known}
    every = _options({name: value for name, value in tables.items() if name not in by_predicate}, "tables")
    own = ((name, _options(value, f"tables.{name}").over(every)) for name, value in by_predicate.items())
    return TableSettings(every, tuple(own))


def _options(given: Mapping[str, Any], section: str) -> TableOptions:
    try:
        return TableOptions.of(given)
    except UsageError as problem:
        raise UsageError(f"[{section}]: {problem}") from None
