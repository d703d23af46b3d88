"""Rows of cells (CSV, TSV) from bytes to ids, and from ids to bytes.

`parse` reads whole rows into one flat array of ids, row after row; what a cell means is said in
`deltalog.formats.csv_cells`. It works in a room of `deltalog.kernels.intern` with the tools of `deltalog.kernels.ntriples`,
and under the same rules: the buffer ends with a newline and eight readable zeros follow; there is room for as many ids
as there are cells, and for as much text as there are bytes. A quoted cell may contain newlines, so the end of the
buffer may be in the middle of a row; then `parse` stops at the start of that row and says so.

Cells that only Python can make a value of are kept as texts of kinds of their own: RAW_BARE (a number that is too long
to be converted here), RAW_QUOTED (a quoted cell that starts with a quote) and RAW_PLAIN (an IRI or a blank node with
escapes).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import inner, kernel
from deltalog.kernels.intern import DOUBLES, HEAP, OFFSETS, put_word
from deltalog.kernels.memory import bits_of, get, load8, put, store8
from deltalog.kernels.ntriples import (
    BLANK,
    ERROR,
    ID,
    PLACE,
    RAW_BARE,
    ROOM,
    STATE,
    STRING,
    fail,
    heap_end,
    keep,
    keep_integer,
)
from deltalog.kernels.text_scan import (
    BACKSLASH,
    COLON,
    DOUBLE_QUOTE,
    IRI,
    LESS,
    MINUS,
    MORE,
    NEWLINE,
    POINT,
    RETURN,
    UNDERSCORE,
    ZERO,
    digits_end,
    is_digit,
    is_word,
    label_end,
    scan_iri,
)

DOUBLE = np.int64(6)
RAW_QUOTED, RAW_PLAIN = map(np.int64, (102, 103))
FINE, OPEN_QUOTE, AFTER_QUOTE, WIDTH = map(np.int64, range(4))
POWERS = 10.0 ** np.arange(16)


@inner
def plain_number(at: Any, end: Any) -> Any:
    """1 for an integer in plain form (12, -3), 2 for a decimal (1.5, -0.25), 0 for anything else (007, -0, 1e5)."""
    start = at + 1 if load8(at) == MINUS else at
    whole = digits_end(start)
    if whole == start or (load8(start) == ZERO and whole > start + 1):
        return 0
    if whole == end:
        return 0 if start > at and load8(start) == ZERO else 1
    return 2 if load8(whole) == POINT and whole + 1 < end and digits_end(whole + 1) == end else 0


@inner
def keep_decimal(at: Any, end: Any, state: Any) -> Any:
    """The cell is the decimal written in at most 15 digits: the quotient of two exact doubles is the nearest double."""
    if end - at > 16:
        return False
    mantissa, fraction = 0.0, -1
    for i in range(at, end):
        if load8(i) == POINT:
            fraction = end - i - 1
        elif load8(i) != MINUS:
            mantissa = mantissa * 10.0 + np.float64(load8(i) - ZERO)
    number = mantissa / POWERS[fraction]
    if load8(at) == MINUS:
        number = -number
    room = get(state, ROOM)
    put(state, ID, put_word(bits_of(number), DOUBLE, get(room, DOUBLES), room))
    return True


@inner
def keep_number(at: Any, end: Any, state: Any) -> Any:
    """Whether the cell is a number, which then is kept."""
    form = plain_number(at, end)
    if form == 0:
        return False
    kept = keep_integer(at, end, state) if form == 1 else keep_decimal(at, end, state)
    if not kept:
        keep(at, end, RAW_BARE, state)
    return True


@inner
def keep_iri(at: Any, end: Any, state: Any) -> Any:
    """Whether the cell is an IRI in <>, which then is kept."""
    last, _ = scan_iri(at + 1)
    if last == end - 1 and load8(last) == MORE:
        keep(at + 1, last, IRI, state)
        return True
    if last < end and load8(last) == BACKSLASH and load8(end - 1) == MORE:
        keep(at, end, RAW_PLAIN, state)
        return True
    return False


@inner
def keep_blank(at: Any, end: Any, state: Any) -> Any:
    """Whether the cell is a blank node _:label, which then is kept."""
    if load8(at + 1) != COLON or end - at < 3:
        return False
    if is_word(load8(at + 2)):
        last = label_end(at + 2)
        if last == end:
            keep(at + 2, end, BLANK, state)
            return True
    for i in range(at + 2, end):
        if load8(i) == BACKSLASH:
            keep(at, end, RAW_PLAIN, state)
            return True
    return False


@inner
def keep_plain(at: Any, end: Any, state: Any) -> Any:
    """The value of a cell without quotes."""
    byte = load8(at)
    if end > at:
        if (is_digit(byte) or byte == MINUS) and keep_number(at, end, state):
            return
        if byte == LESS and keep_iri(at, end, state):
            return
        if byte == UNDERSCORE and keep_blank(at, end, state):
            return
    keep(at, end, STRING, state)


@inner
def quoted(start: Any, stop: Any, delimiter: Any, state: Any) -> Any:
    """The cell after an opening quote; gives the address of what ends it."""
    at, target = start, heap_end(state)
    to = target
    while at < stop and (load8(at) != DOUBLE_QUOTE or load8(at + 1) == DOUBLE_QUOTE):
        byte = load8(at)
        store8(to, byte)
        to += 1
        at += 2 if byte == DOUBLE_QUOTE else 1
    if at >= stop:
        return fail(OPEN_QUOTE, start - 1, state)
    keep(target, to, RAW_QUOTED if to > target and load8(target) == DOUBLE_QUOTE else STRING, state)
    at += 1
    if load8(at) == RETURN and load8(at + 1) == NEWLINE:
        at += 1
    return at if load8(at) == delimiter or load8(at) == NEWLINE else fail(AFTER_QUOTE, at, state)


@inner
def cell(at: Any, stop: Any, delimiter: Any, state: Any) -> Any:
    """One cell; gives the address of the delimiter or newline that ends it."""
    if load8(at) == DOUBLE_QUOTE:
        return quoted(at + 1, stop, delimiter, state)
    end = at
    while load8(end) != delimiter and load8(end) != NEWLINE:
        end += 1
    text = end - 1 if end > at and load8(end) == NEWLINE and load8(end - 1) == RETURN else end
    keep_plain(at, text, state)
    return end


@inner
def row(at: Any, stop: Any, delimiter: Any, ids: Any, n: Any, state: Any) -> Any:
    """The cells of one row into ids[n:]; gives the address after its newline, and the new n."""
    while True:
        at = cell(at, stop, delimiter, state)
        if at == 0:
            return at, n
        ids[n] = get(state, ID)
        n += 1
        at += 1
        if load8(at - 1) == NEWLINE:
            return at, n


@kernel
def parse(data: Any, end: int, delimiter: int, arity: int, room: Any, ids: Any) -> Any:
    """Parse data[:end] into `ids`. An arity of -1 is taken from the first row that has a cell.

    Gives the number of cells, the arity, the number of empty lines, how far whole rows reach, an error and its place.
    """
    state_array = np.zeros(STATE, np.int64)
    base, state = np.int64(data.ctypes.data), np.int64(state_array.ctypes.data)
    put(state, ROOM, np.int64(room.ctypes.data))
    at, stop, n, empty = base, base + end, np.int64(0), 0
    while at < stop:
        if load8(at) == NEWLINE or (load8(at) == RETURN and load8(at + 1) == NEWLINE):
            at += 1 if load8(at) == NEWLINE else 2
            empty += 1
            continue
        after, cells = row(at, stop, delimiter, ids, n, state)
        if after == 0:
            return n, arity, empty, at - base, state_array[ERROR], state_array[PLACE] - base
        if arity < 0:
            arity = cells - n
        if cells - n != arity:
            return cells - n, arity, empty, at - base, WIDTH, at - base
        at, n = after, cells
    return n, arity, empty, at - base, FINE, 0


@kernel
def write(grid: Any, texts: Any, bounds: Any, between: Any, after: Any, out: Any) -> int:
    """Write rows: cell j of row i is the text number grid[j, i]. Gives the number of bytes.

    Between two cells come the bytes `between`; after the last one, `after`.
    """
    to = 0
    for i in range(grid.shape[1]):
        for j in range(grid.shape[0]):
            if j > 0:
                for k in range(len(between)):
                    out[to + k] = between[k]
                to += len(between)
            start = bounds[grid[j, i]]
            length = bounds[grid[j, i] + 1] - start
            for k in range(length):
                out[to + k] = texts[start + k]
            to += length
        for k in range(len(after)):
            out[to + k] = after[k]
        to += len(after)
    return to


@inner
def surrogate(at: Any) -> Any:
    """Whether half a surrogate pair starts here: those are no characters, and not written to files."""
    return load8(at) == 0xED and load8(at + 1) >= 0xA0


@kernel
def as_they_are(ids: Any, refused: Any, empty: bool, room: Any) -> Any:
    """For each id, whether its text has no byte that is refused as the first (row 0) or anywhere (row 1)."""
    here = np.int64(room.ctypes.data)
    heap, offsets = get(here, HEAP), get(here, OFFSETS)
    fine = np.empty(len(ids), np.bool_)
    for i in range(len(ids)):
        at, end = heap + get(offsets, ids[i]), heap + get(offsets, np.int64(ids[i]) + 1)
        fine[i] = not refused[0, load8(at)] if end > at else empty
        while at < end and fine[i]:
            fine[i] = not refused[1, load8(at)] and not surrogate(at)
            at += 1
    return fine


@kernel
def wrap(texts: Any, bounds: Any, before: Any, after: Any, out: Any) -> None:
    """Copy texts with something before and after each."""
    to = 0
    for i in range(len(bounds) - 1):
        for k in range(len(before)):
            out[to + k] = before[k]
        to += len(before)
        for k in range(bounds[i + 1] - bounds[i]):
            out[to + k] = texts[bounds[i] + k]
        to += bounds[i + 1] - bounds[i]
        for k in range(len(after)):
            out[to + k] = after[k]
        to += len(after)
