"""Rows of cells: a row without quotes is split by Python, and each distinct cell is looked at once. Other rows are
parsed as compiled code does."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np

from deltalog.kernels import csv_cells as kernels
from deltalog.kernels.compiling import form
from deltalog.kernels.intern import DOUBLES, HEAP, INTEGERS, OFFSETS
from deltalog.kernels.interpreted.intern import put_bytes, put_word
from deltalog.kernels.memory import BYTES, bits_of
from deltalog.kernels.memory import WORDS as MEMORY
from deltalog.kernels.ntriples import ERROR, ID, INTEGER, PLACE, RAW_BARE, ROOM, STATE, STRING
from deltalog.kernels.text_scan import NEWLINE

MOST_BYTES = 1 << 18
MOST_TEXTS = 1 << 16
NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?")
HALF_A_PAIR = re.compile(rb"\xed[\xa0-\xff]")
by_texts = form(work=lambda texts, bounds, *_: len(bounds), most=MOST_TEXTS)


def _put_number(cell: bytes, decimal: bool, room: int) -> int:
    """The id of a number in plain form."""
    if decimal and len(cell) <= 16:
        return put_word(bits_of.function(float(cell)), int(kernels.DOUBLE), MEMORY[(room >> 3) + DOUBLES], room)
    if not decimal and len(cell.lstrip(b"-")) <= 18:
        return put_word(int(cell), int(INTEGER), MEMORY[(room >> 3) + INTEGERS], room)
    return put_bytes(cell, int(RAW_BARE), room)


def _put_cell(cell: bytes, room: int, straight: Any) -> int:
    """The id of a cell without quotes."""
    first = cell[:1]
    if first.isdigit() or first == b"-":
        number = NUMBER.fullmatch(cell)
        if number and cell != b"-0":
            return _put_number(cell, number[1] is not None, room)
    elif first == b"<" or first == b"_":
        return straight(cell)  # type: ignore[no-any-return]
    return put_bytes(cell, int(STRING), room)


class _Rows:
    """Parses row after row."""

    def __init__(self, data: Any, end: int, delimiter: int, room: Any, ids: Any) -> None:
        self.text, self.delimiter, self.ids = data[:end].tobytes(), bytes([delimiter]), ids
        self.base, self.room = data.ctypes.data, room.ctypes.data
        self.state = np.zeros(STATE, np.int64)
        self.state[ROOM] = self.room
        self._known: dict[bytes, int] = {}
        self._row, self._plain = kernels.row.interpreted, kernels.keep_plain.interpreted

    def parsed(self, at: int, n: int) -> tuple[int, int]:
        """The row at a place into ids[n:]; the place after it, or -1, and the new n."""
        newline = self.text.index(b"\n", at)
        line = self.text[at:newline]
        if b'"' in line:
            stop = self.base + len(self.text)
            after, n = self._row(self.base + at, stop, self.delimiter[0], self.ids, n, self.state.ctypes.data)
            return after - self.base if after else -1, n
        cells = (line[:-1] if line.endswith(b"\r") else line).split(self.delimiter)
        for cell in cells:
            id = self._known.get(cell)
            if id is None:
                id = self._known[cell] = _put_cell(cell, self.room, self._straight)
            self.ids[n] = id
            n += 1
        return newline + 1, n

    def _straight(self, cell: bytes) -> int:
        copy = np.frombuffer(cell + b"\n" + bytes(16), np.uint8)
        at = copy.ctypes.data
        self._plain(at, at + len(cell), self.state.ctypes.data)
        return int(self.state[ID])


@form(work=lambda data, end, *_: end, most=MOST_BYTES)
def parse(data: Any, end: int, delimiter: int, arity: int, room: Any, ids: Any) -> tuple[int, ...]:
    rows, at, n, empty = _Rows(data, end, delimiter, room, ids), 0, 0, 0
    while at < end:
        if rows.text[at] == NEWLINE or rows.text[at : at + 2] == b"\r\n":
            at += 1 if rows.text[at] == NEWLINE else 2
            empty += 1
            continue
        after, cells = rows.parsed(at, n)
        if after < 0:
            return n, arity, empty, at, int(rows.state[ERROR]), int(rows.state[PLACE]) - rows.base
        arity = cells - n if arity < 0 else arity
        if cells - n != arity:
            return cells - n, arity, empty, at, int(kernels.WIDTH), at
        at, n = after, cells
    return n, arity, empty, at, int(kernels.FINE), 0


def _pieces(texts: Any, bounds: Any) -> list[bytes]:
    """The texts between boundaries."""
    data, ends = texts.tobytes(), bounds.tolist()
    return [data[start:end] for start, end in pairwise(ends)]


def _fill(out: Any, texts: list[bytes]) -> int:
    data = b"".join(texts)
    out[: len(data)] = np.frombuffer(data, np.uint8)
    return len(data)


@form(work=lambda grid, texts, bounds, *_: grid.size + len(bounds), most=MOST_TEXTS)
def write(grid: Any, texts: Any, bounds: Any, between: Any, after: Any, out: Any) -> int:
    pieces, glue, end = _pieces(texts, bounds), between.tobytes(), after.tobytes()
    return _fill(out, [glue.join([pieces[number] for number in row]) + end for row in grid.T.tolist()])


@form(work=lambda ids, *_: len(ids), most=MOST_TEXTS)
def as_they_are(ids: Any, refused: Any, empty: bool, room: Any) -> Any:
    here = room.ctypes.data >> 3
    heap, offsets = MEMORY[here + HEAP], MEMORY[here + OFFSETS] >> 3
    first, anywhere = (np.flatnonzero(row).astype(np.uint8).tobytes() for row in refused)
    fine = np.empty(len(ids), np.bool_)
    for i, id in enumerate(ids.tolist()):
        text = BYTES[heap + MEMORY[offsets + id] : heap + MEMORY[offsets + id + 1]].tobytes()
        taken = text[:1] not in first and len(text.translate(None, anywhere)) == len(text)
        fine[i] = taken and not HALF_A_PAIR.search(text) if text else empty
    return fine


@by_texts
def wrap(texts: Any, bounds: Any, before: Any, after: Any, out: Any) -> None:
    start, end = before.tobytes(), after.tobytes()
    _fill(out, [start + text + end for text in _pieces(texts, bounds)])
