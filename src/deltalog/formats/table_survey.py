"""A look at files before they are read: the names of the columns of tables, and what to warn of.

Warnings: a first row that looks like a header and is read as a fact, and files in folders that are skipped because of
their names. Only the beginnings of files are read. Whatever is wrong with a file is left to the reader to say.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from deltalog.core.errors import DeltalogError
from deltalog.core.rules import Pred
from deltalog.core.table_options import AUTO, TableOptions
from deltalog.core.user_warnings import warn
from deltalog.formats.documents import Files
from deltalog.formats.files import name_of
from deltalog.formats.formats import TABLE_FORMATS
from deltalog.formats.read import listed_files
from deltalog.formats.table_files import TableFile, TableFiles, is_part
from deltalog.formats.table_head import TableHead, UnreadableRow, table_head

NAMED_FILES = 5  # in a warning
NAMED_CELLS = 8
_DEFAULT_NAME = re.compile(r"[c_][0-9]+")


def survey(files: Files) -> dict[Pred, tuple[str, ...]]:
    """The names of the columns of tables, where they have any. Warns of what a user should know."""
    found: dict[Pred, tuple[str, ...]] = {}
    for path, table, options in _tables(files):
        try:
            names = _names(path, table, options)
        except DeltalogError as error:
            if isinstance(error, UnreadableRow) and not options.matter_for(name_of(path).format):
                warn(str(error))  # the reader of tables without options takes it for a character of a cell
            continue
        if names and (problem := wrong_names(names)):
            warn(f"{path}: {problem}, so its columns keep their default names")
        elif names:
            found.setdefault(Pred(table.predicate, len(names)), names)
    return found


def _tables(files: Files) -> Iterator[tuple[Path, TableFile, TableOptions]]:
    """The tables among files: one file of each folder that Spark wrote, and all others."""
    tables, settings, seen = TableFiles(), files.reading.tables, set[tuple[str, Path]]()
    for path in files.paths:
        try:
            listed = listed_files(path)
        except DeltalogError:
            continue
        _warn_of_skipped(path, listed.skipped)
        for file in (file for file in listed.files if name_of(file).format in TABLE_FORMATS):
            try:
                table = tables.of(file).renamed(settings.predicate)
            except DeltalogError:
                continue
            if is_part(file) and (table.predicate, file.parent) in seen:
                continue
            seen.add((table.predicate, file.parent))
            yield file, table, settings.of(table.predicate)


def _names(path: Path, table: TableFile, options: TableOptions) -> tuple[str, ...]:
    """The names of the columns of a table; none if one of them has no name."""
    format = name_of(path).format
    if format == "jsonl":
        from deltalog.formats.jsonl import jsonl_columns, jsonl_width

        width = jsonl_width(path) + len(table.partition)
        return _given_names([c.name for c in jsonl_columns(path, options, table.partition_names, width)])
    if format == "parquet":
        from deltalog.formats.frames import parquet_names

        header: Sequence[str] | None = table.names or parquet_names(path)
        width = len(header or ())
    else:
        head = table_head(path, format, options)
        _say_what_was_found(path, head, options)
        header, width = head.header, head.width or len(table.names)
    names = None if header is None else (*header, *table.partition_names)
    return _given_names([column.name for column in options.chosen(names, width + len(table.partition))])


def _given_names(names: Sequence[str | None]) -> tuple[str, ...]:
    """The names of columns if all of them have one that was given."""
    named = tuple(name for name in names if name is not None)
    return () if len(named) < len(names) or are_default_names(named) else named


def _say_what_was_found(path: Path, head: TableHead, options: TableOptions) -> None:
    log = logging.getLogger("deltalog")
    if options.header == AUTO:
        found = f"the first row is a header: {_shown(head.header)}" if head.header else "there is no header"
        log.info("%s: %s", path, found)
    elif head.looks_like_one:
        warn(
            f"{path}: the first row looks like a header, and is read as a fact. If it is a header, say header = true "
            "(--header on the command line); if it is a fact, header = false",
        )


def _shown(names: Sequence[str]) -> str:
    more = f", and {len(names) - NAMED_CELLS} more" if len(names) > NAMED_CELLS else ""
    return ", ".join(names[:NAMED_CELLS]) + more


def _warn_of_skipped(folder: Path, skipped: Sequence[Path]) -> None:
    if not skipped:
        return
    named = ", ".join(str(file.relative_to(folder)) for file in skipped[:NAMED_FILES])
    more = f" and {len(skipped) - NAMED_FILES:,} more" if len(skipped) > NAMED_FILES else ""
    what = "this file is" if len(skipped) == 1 else "these files are"
    warn(f"{folder}: {what} skipped, because the ending of the name says no format of facts: {named}{more}")


def are_default_names(names: Sequence[str]) -> bool:
    """Whether they are the names that columns without any get."""
    return all(map(_DEFAULT_NAME.fullmatch, names))


def wrong_names(names: Sequence[str]) -> str | None:
    """Why names cannot be those of the columns of a predicate, if they cannot."""
    if "" in names:
        return f"column {names.index('') + 1} has no name"
    times = Counter(name.lower() for name in names)
    twice = next((name for name in names if times[name.lower()] > 1), None)
    return None if twice is None else f"two columns are called {twice!r} (upper and lower case are not told apart)"
