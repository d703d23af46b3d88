"""CSV and TSV files to columns of ids, and back. `deltalog.formats.csv_cells` has the syntax of cells.

A file has no header. Its first row determines the number of columns, and all rows must have as many. The kernel `parse`
reads block by block into a dictionary of the file's own, which is merged into the caller's at the end: an error has no
effect. Writing prints each distinct value once, and the kernel `write` assembles the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deltalog.core.dictionary import Dictionary
from deltalog.core.limits import check_running
from deltalog.core.terms import Kind
from deltalog.formats.columns import Column, Columns
from deltalog.formats.csv_cells import parse_number, parse_plain, parse_quoted, print_cell
from deltalog.formats.files import opened
from deltalog.formats.formats import DELIMITERS
from deltalog.formats.text import BYTE_ORDER_MARK, NEWLINE, PADDING, Block, excerpt_error, fill, last_line_end, survey
from deltalog.formats.value_text import IRI_ESCAPED, Forms, Wrapping, print_all
from deltalog.kernels import csv_cells as kernels
from deltalog.kernels.ntriples import RAW_BARE

BLOCK = 2**20
ROWS = 2**16  # written at a time
CELLS = Forms(
    print_cell,
    {
        Kind.STRING: Wrapping("", "", '",\t\r\n', '<_-0123456789"\ufeff'),
        Kind.IRI: Wrapping("<", ">", IRI_ESCAPED + ","),
    },
)
_RAW = {
    int(RAW_BARE): parse_number,
    int(kernels.RAW_QUOTED): parse_quoted,
    int(kernels.RAW_PLAIN): parse_plain,
}


def read_table(path: Path, dictionary: Dictionary, format: str) -> list[Column] | None:
    """The columns of a CSV or TSV file; None if it has no row at all."""
    with opened(path) as stream:
        return read_stream(stream, path, dictionary, DELIMITERS[format])


def read_stream(
    stream: BinaryIO, path: Path, dictionary: Dictionary, delimiter: str, lines: int = 0, arity: int = -1
) -> list[Column] | None:
    """The columns of the lines of a stream; errors call it by the path. `lines` of the file come before it; `arity` is
    the number of columns if it is known."""
    table = _Table(path, ord(delimiter), lines, arity)
    table.read(stream)
    if table.arity < 0:
        return [] if table.empty_lines else None
    ids = dictionary.merge(table.terms, _RAW)
    rows = ids[np.concatenate([np.empty(0, np.uint32), *table.pieces])].reshape(-1, table.arity)
    return [np.ascontiguousarray(rows[:, i]) for i in range(table.arity)]


class _Table:
    """A file being read: its terms, and the cells of its rows as ids of those."""

    def __init__(self, path: Path, delimiter: int, lines: int, arity: int) -> None:
        self.path, self.delimiter = path, delimiter
        self.terms = Dictionary()
        self.pieces: list[NDArray[np.uint32]] = []
        self.arity, self.empty_lines, self.lines = arity, 0, lines

    def read(self, stream: BinaryIO) -> None:
        carry, size, first = np.empty(0, np.uint8), BLOCK, True
        while True:
            check_running()
            data = np.zeros(size + PADDING, np.uint8)
            data[: len(carry)] = carry
            filled = fill(stream, data, len(carry), size)
            final = filled < size
            if first and filled >= 3 and data[:3].tobytes() == BYTE_ORDER_MARK:
                data, filled = data[3:], filled - 3
            first = False
            used = self._parse(data, filled, final)
            if final:
                return
            carry = data[used:filled].copy()
            size = max(BLOCK, 2 * len(carry))

    def _parse(self, data: NDArray[np.uint8], filled: int, final: bool) -> int:
        """Parses the complete rows of data[:filled]; returns their end."""
        end = filled if final else last_line_end(data, 0, filled)
        if final and end > 0 and data[end - 1] != NEWLINE:
            data[end] = NEWLINE
            end += 1
        following, data = data[end : end + 8].copy(), data
        data[end : end + 8] = 0
        used = self._parse_block(Block(data, end), final)
        data[end : end + 8] = following
        return used

    def _parse_block(self, block: Block, final: bool) -> int:
        bad, lines, delimiters = survey(block, self.delimiter)
        most = lines + delimiters  # every cell ends with one of the two
        ids = np.empty(most, np.uint32)
        room, first = self.terms.reserve(most, block.end + PADDING), len(self.terms)
        parsed = _Parsed(*kernels.parse(block.data, block.end, self.delimiter, self.arity, room, ids))
        self.terms.settle(first)
        if bad is not None and (parsed.error == kernels.FINE or bad < parsed.place):
            raise excerpt_error(self.path, self.lines, block, bad, "expected UTF-8 text")
        if parsed.error != kernels.FINE and (final or parsed.error != kernels.OPEN_QUOTE):
            raise excerpt_error(self.path, self.lines, block, int(parsed.place), self._problem(parsed))
        self.pieces.append(ids[: parsed.cells])
        self.arity, self.empty_lines = int(parsed.arity), self.empty_lines + int(parsed.empty)
        self.lines += int(np.count_nonzero(block.data[: parsed.used] == NEWLINE))
        return int(parsed.used)

    def _problem(self, parsed: _Parsed) -> str:
        delimiter = {ord(","): "comma", ord("\t"): "tab"}.get(self.delimiter, f"`{chr(self.delimiter)}`")
        match int(parsed.error):
            case kernels.OPEN_QUOTE:
                return 'the " that opens here is never closed (a quote inside a quoted cell is doubled: "")'
            case kernels.AFTER_QUOTE:
                return f'expected a {delimiter} or the end of the line after the " that closes the cell'
            case _:
                found = f"{parsed.cells} cell{'s' if parsed.cells != 1 else ''}"
                return f"expected {parsed.arity} cells, as in the first row, but this row has {found}"


class _Parsed(NamedTuple):
    cells: Any
    arity: Any
    empty: Any
    used: Any
    error: Any
    place: Any


def write_table(stream: BinaryIO, columns: Columns, dictionary: Dictionary, format: str) -> None:
    """Write the rows of columns of ids as CSV or TSV; for no columns, the one empty row."""
    if not columns:
        stream.write(b"\n")
        return
    write_rows(stream, columns, dictionary, CELLS, DELIMITERS[format], "\n")


def write_rows(stream: BinaryIO, columns: Columns, dictionary: Dictionary, forms: Forms, glue: str, end: str) -> None:
    """Write rows of ids: `glue` between the cells of a row, `end` after it. Each distinct value is printed once."""
    distinct, number_of = _numbered(columns, len(dictionary))
    texts, bounds, order = print_all(distinct, dictionary, forms)
    between, after = np.frombuffer(glue.encode(), np.uint8), np.frombuffer(end.encode(), np.uint8)
    lengths = np.diff(bounds)
    extra = len(columns) * len(between) + len(after)
    for first in range(0, len(columns[0]), ROWS):
        grid = np.stack([order[number_of(column[first : first + ROWS])] for column in columns])
        out = np.empty(int(lengths[grid].sum()) + grid.shape[1] * extra, np.uint8)
        size = kernels.write(grid, texts, bounds, between, after, out)
        stream.write(out[:size].data)


def _numbered(columns: Columns, bound: int) -> tuple[Column, Callable[[Column], NDArray[np.intp]]]:
    """The distinct ids of columns, in order, and how to find the place of each among them."""
    if 16 * len(columns) * len(columns[0]) < bound:
        distinct = np.unique(np.concatenate(columns))
        return distinct, lambda ids: np.searchsorted(distinct, ids)
    seen = np.zeros(bound, np.bool_)
    for column in columns:
        seen[column] = True
    places = np.cumsum(seen, dtype=np.intp) - 1
    return np.flatnonzero(seen).astype(np.uint32), lambda ids: places[ids]
