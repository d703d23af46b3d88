"""Executors (Python workers): reading a split of a large file.

A split is the lines that begin in a range of bytes, or some row groups of a Parquet file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, UsageError
from deltalog.formats.columns import Column, FactColumns
from deltalog.formats.documents import Reading

READ_BYTES = 1 << 16


class Lines(io.RawIOBase):
    """The lines of a file that begin at a byte in [start, end), as a stream."""

    def __init__(self, path: Path, start: int, end: int) -> None:
        self._file = open(path, "rb")  # noqa: SIM115 (closed by close)
        self.start = line_start(self._file, start)
        self._left = max(0, line_start(self._file, end) - self.start)
        self._file.seek(self.start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self._left]
        count = self._file.readinto(view) if len(view) else 0
        self._left -= count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def line_start(file: Any, position: int) -> int:
    """The first position from `position` on at which a line begins, or the end of the file."""
    if position == 0:
        return 0
    file.seek(position - 1)
    at = position - 1
    while block := file.read(READ_BYTES):
        found = block.find(b"\n")
        if found >= 0:
            return at + int(found) + 1
        at += len(block)
    return at


def read_triple_lines(path: Path, start: int, end: int, dictionary: Dictionary, reading: Reading) -> FactColumns:
    """The facts of the lines of N-Triples that begin in a range."""
    from deltalog.formats.ntriples import by_mark, read_stream

    with _lines(path, start, end) as stream:
        return read_stream(stream, path, dictionary, by_mark(path, reading), start == 0)


def read_table_lines(path: Path, format: str, start: int, end: int, dictionary: Dictionary) -> list[Column] | None:
    """The columns of the lines of a CSV or TSV file that begin in a range."""
    from deltalog.formats.formats import DELIMITERS
    from deltalog.formats.tables import read_stream

    with _lines(path, start, end) as stream:
        return read_stream(stream, path, dictionary, DELIMITERS[format])


@contextmanager
def _lines(path: Path, start: int, end: int) -> Iterator[BinaryIO]:
    """The lines that begin in a range; errors have line numbers of the whole file."""
    with Lines(path, start, end) as stream:
        try:
            yield cast(BinaryIO, stream)
        except DataError as problem:
            raise DataError(_renumbered(str(problem), path, stream.start)) from None


def _renumbered(message: str, path: Path, start: int) -> str:
    """A message with the line number counted from the start of the file."""
    found = re.match(re.escape(str(path)) + r":(\d+)", message)
    if not found:
        return message
    lines = 0
    with open(path, "rb") as file:
        while start > 0 and (block := file.read(min(start, READ_BYTES))):
            lines += block.count(b"\n")
            start -= len(block)
    return f"{path}:{int(found[1]) + lines}{message[found.end() :]}"


def read_row_groups(path: Path, start: int, end: int, names: Sequence[str], dictionary: Dictionary) -> list[Column]:
    """The columns of some row groups of a Parquet file; if names are given, in their order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from deltalog.formats.frames import columns_by_name

    try:
        return columns_by_name(pq.ParquetFile(path).read_row_groups(range(start, end)), names, dictionary)
    except UsageError as problem:
        raise DataError(f"{path}: {problem}") from None
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise DataError(f"{path}: cannot be read as Parquet ({problem})") from None
