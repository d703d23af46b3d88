"""Text files as blocks of bytes for kernels, and error messages with excerpts."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deltalog.core.errors import DataError
from deltalog.kernels import ntriples as kernels

PADDING = 16  # bytes after the end of a block that a kernel may look at
NEWLINE, RETURN = 10, 13
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole lines, data[:end], and padding."""

    data: NDArray[np.uint8]
    end: int


def fill(stream: BinaryIO, data: NDArray[np.uint8], start: int, end: int) -> int:
    """Reads until data[:end] is full or the stream ends; returns the end of the data."""
    view = data.data
    while start < end:
        count = stream.readinto(view[start:end])  # type: ignore[attr-defined]
        if not count:
            break
        start += count
    return start


def last_line_end(data: NDArray[np.uint8], start: int, end: int) -> int:
    """The place after the last newline of data[start:end], looking back from the end in steps; 0 if there is none."""
    step = 4096
    while end > start:
        found = np.flatnonzero(data[max(start, end - step) : end] == NEWLINE)
        if len(found):
            return max(start, end - step) + int(found[-1]) + 1
        end, step = max(start, end - step), 2 * step
    return 0


class Survey(NamedTuple):
    """The first invalid UTF-8 of a block, if any; its number of lines, and of occurrences of another byte."""

    bad: int | None
    lines: int
    others: int


def survey(block: Block, other: int) -> Survey:
    """Checks a block before it is parsed."""
    beyond_ascii, lines, others = kernels.survey(block.data, block.end, NEWLINE, other)
    return Survey(_not_utf8(block) if beyond_ascii else None, int(lines), int(others))


def _not_utf8(block: Block) -> int | None:
    try:
        str(block.data.data[: block.end], "utf-8")
    except UnicodeDecodeError as problem:
        return problem.start
    return None


def excerpt_error(path: Path, lines: int, block: Block, at: int, problem: str) -> DataError:
    """The error for a place in a block that `lines` lines come before: file, line, column, the line and a caret."""
    data = block.data[: block.end]
    before = data[:at] == NEWLINE
    begin = len(before) - int(np.argmax(before[::-1])) if before.any() else 0
    line = lines + int(np.count_nonzero(before)) + 1
    text = bytes(data[begin : max(begin, at) + 400]).split(b"\n", 1)[0].rstrip(b"\r")
    shown, caret = _around(text, at - begin)
    column = len(text[: at - begin].decode("utf-8", "replace")) + 1
    return DataError(f"{path}:{line}:{column}: {problem}\n  {shown}\n  {' ' * caret}^")


def place_error(path: Path, data: bytes, line: int, column: int | None, problem: str) -> DataError:
    """The same for a line and a column of a whole file (without a column, the first that is not blank)."""
    lines = data.split(b"\n", line)
    text = lines[line - 1].rstrip(b"\r") if len(lines) >= line else b""
    characters = text.decode("utf-8", "replace")
    column = column or len(characters) - len(characters.lstrip()) + 1
    shown, caret = _around(text, len(characters[: column - 1].encode()))
    return DataError(f"{path}:{line}:{column}: {problem}\n  {shown}\n  {' ' * caret}^")


def _around(line: bytes, at: int, most: int = 200) -> tuple[str, int]:
    """A line as text, cut around a place if it is long, and where the place is in it."""
    start = at - most // 2 if at > most else 0
    shown = line[start : start + most].decode("utf-8", "replace")
    caret = len(line[start:at].decode("utf-8", "replace"))
    return "".join(c if c.isprintable() else " " for c in shown), caret
