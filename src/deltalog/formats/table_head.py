"""The first rows of a CSV or TSV file: its header, its number of columns, and whether its first row is like a header.

A header looks different from the rows after it, as in DuckDB's sniffer: all of its cells are texts, and some column has
only numbers, dates, booleans or IRIs below. Where all columns have texts, nothing tells them apart; then DuckDB assumes
a header, and so does `header = "auto"`. A table that is read without any option keeps its first row, so
`looks_like_one` has to be right more often: it takes the first row of such a table for a header only if its cells are
common names of columns.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deltalog.core.errors import DataError
from deltalog.core.table_options import AUTO, TableOptions
from deltalog.formats.files import opened
from deltalog.formats.formats import DELIMITERS

SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 200
LONGEST_NAME = 64
LONGEST_CELL = 2**31 - 1  # characters; Python's limit is 2**17 for the whole process

_NO_TEXT = re.compile(
    r"[+-]?[0-9]+(?:[.,][0-9]+)*(?:[eE][+-]?[0-9]+)?|[+-]?\.[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.+Z-]*)?"
    r"|<[^<>]*>|_:.+|true|false",
    re.IGNORECASE,
)
COMMON_NAMES = frozenset(
    (
        *("id", "name", "key", "value", "label", "type", "kind", "class", "code", "title", "description", "graph"),
        *("from", "to", "source", "target", "src", "dst", "start", "end", "left", "right", "parent", "child"),
        *("subject", "predicate", "object", "s", "p", "o", "node", "edge", "from_id", "to_id", "user", "user_id"),
        *("group", "role", "person", "employee", "manager", "department", "company", "customer", "product", "item"),
        *("city", "town", "country", "state", "region", "email", "address", "first_name", "last_name", "order"),
        *("year", "date", "time", "timestamp", "amount", "price", "quantity", "count", "weight", "cost", "distance"),
    )
)


class UnreadableRow(DataError):
    """The first row cannot be divided into cells."""


class TableHead(NamedTuple):
    """The beginning of a table. `lines` come before its first row of facts."""

    header: tuple[str, ...] | None
    lines: int
    width: int | None  # None if there is no row at all
    looks_like_one: bool = False  # whether the first row looks like a header


def table_head(path: Path, format: str, options: TableOptions) -> TableHead:
    """The beginning of a file; DataError if its text is not of its encoding."""
    rows = list(_rows(path, format, options))
    skipped = options.skip or 0
    if not rows:
        return TableHead(None, skipped, None)
    (end, first), others = rows[0], [cells for _, cells in rows[1:]]
    has_header = is_header(first, others) if options.header == AUTO else options.header is True
    if has_header:
        return TableHead(tuple(cell.strip() for cell in first), skipped + end, len(first))
    return TableHead(None, skipped, len(first), options.header is None and looks_like_header(first, others, options))


def is_header(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """What `header = "auto"` decides."""
    return bool(others) and _are_names(first) and (_differs(first, others) or _all_texts(others))


def looks_like_header(first: Sequence[str], others: Sequence[Sequence[str]], options: TableOptions) -> bool:
    """Whether a first row that is read as a fact is likely to be a header."""
    if not _are_names(first):
        return False
    names = [cell.strip().lower() for cell in first]
    declared = [str(column.name or column.source).lower() for column in options.columns or ()]
    common = len(names) > 1 and all(name.replace(" ", "_").replace("-", "_") in COMMON_NAMES for name in names)
    return names == declared or (bool(others) and (_differs(first, others) or (common and first not in others)))


def _are_names(cells: Sequence[str]) -> bool:
    """Whether cells may be names of columns: distinct short texts."""
    short = all(0 < len(cell.strip()) <= LONGEST_NAME and "\n" not in cell for cell in cells)
    return short and len(set(cells)) == len(cells) and not any(_NO_TEXT.fullmatch(cell.strip()) for cell in cells)


def _differs(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether some column has no texts below the first row."""
    for place in range(len(first)):
        below = [cells[place].strip() for cells in others if place < len(cells) and cells[place].strip()]
        if below and all(_NO_TEXT.fullmatch(cell) for cell in below):
            return True
    return False


def _all_texts(rows: Sequence[Sequence[str]]) -> bool:
    return not any(_NO_TEXT.fullmatch(cell.strip()) for cells in rows for cell in cells)


def _rows(path: Path, format: str, options: TableOptions) -> Iterator[tuple[int, list[str]]]:
    """The rows at the beginning that have cells, each with the number of lines up to its end."""
    lines = _sampled_lines(path, options)[options.skip or 0 :]
    reader, found = records(iter(lines), format, options), False
    try:
        for cells in reader:
            if cells:
                found = True
                yield reader.line_num, cells
            if reader.line_num > SAMPLE_ROWS:
                return
    except csv.Error as problem:  # of later rows, the reader of the whole file says what is wrong
        if not found:
            raise _unreadable(path, lines[max(reader.line_num - 1, 0)], format, problem) from None


def _unreadable(path: Path, line: str, format: str, problem: csv.Error) -> UnreadableRow:
    """The error for a table whose first row cannot be read."""
    if "\r" in line:
        return UnreadableRow(
            f"{path}: a line ends with a carriage return alone, as in old files of Macs; end lines with a newline"
        )
    return UnreadableRow(f"{path}: cannot be read as {format.upper()} ({problem})")


def records(lines: Iterator[str], format: str, options: TableOptions) -> Any:
    """Rows of cells by Python's reader: slow, and it knows the lines."""
    quote = '"' if options.quote is None else options.quote
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    return csv.reader(
        lines,
        delimiter=options.delimiter or DELIMITERS[format],
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        escapechar=options.escape,
        doublequote=True,
    )


def _sampled_lines(path: Path, options: TableOptions) -> list[str]:
    """The first lines, and at least one that is not skipped."""
    with opened(path) as stream:
        data, is_whole = b"", False
        while not is_whole and (len(data) < SAMPLE_BYTES or data.count(b"\n") <= (options.skip or 0)):
            more = stream.read(max(SAMPLE_BYTES, len(data)))
            data, is_whole = data + more, not more
    text = decoded(data, path, options, is_whole)
    lines = text.split("\n")
    ended = [line.removesuffix("\r") + "\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if is_whole or not ended else ended


def decoded(data: bytes, path: Path, options: TableOptions, is_whole: bool) -> str:
    """The text of bytes, which may end within a character if they are not the whole file."""
    import codecs

    encoding = options.encoding or "utf-8"
    if encoding == "utf-8":
        return codecs.getincrementaldecoder("utf-8-sig")("replace").decode(data, is_whole)  # checked when it is read
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, is_whole)
    except UnicodeError as problem:
        raise DataError(f"{path}: not text of the encoding {encoding} ({problem})") from None
