"""N-Triples: plain lines are recognised by a regular expression; other lines are parsed as compiled code does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from deltalog.kernels import ntriples as kernels
from deltalog.kernels.compiling import MOST_ITEMS_BY_NUMPY, form
from deltalog.kernels.interpreted.intern import put_bytes
from deltalog.kernels.ntriples import BLANK, ERROR, PLACE, ROOM, STATE, STRICT, STRING, XSD
from deltalog.kernels.text_scan import HASH, IRI

MOST_BYTES = 1 << 18
NAME = rb"""<([^\x00-\x20<>"\\]*)>"""
NODE = rb"_:([A-Za-z0-9_]+)(?=[ \t])"
LINE = re.compile(
    rb"(?:%b|%b)[ \t]*%b[ \t]*(?:%b|%b|\"([^\"\\\r\n]*)\")[ \t]*\.[ \t]*(?=[\r\n])" % (NAME, NODE, NAME, NAME, NODE)
)
NOT_IN_IRI = re.compile(rb"[{}|^`\x7f]|\xc2[\x80-\x9f]")
SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:")
BLANKS, LINE_ENDS = b" \t", b"\r\n"


class _Lines:
    """Parses line after line."""

    def __init__(self, data: Any, end: int, room: Any, xsd: Any, strict: int, rows: Any) -> None:
        self.text, self.base, self.room, self.strict = data[:end].tobytes(), data.ctypes.data, room.ctypes.data, strict
        self.state, self.rows = np.zeros(STATE, np.int64), rows
        self.state[ROOM], self.state[XSD], self.state[STRICT] = self.room, xsd.ctypes.data, strict
        self._names: dict[bytes, int] = {}
        self._statement = kernels.statement.interpreted

    def parsed(self, at: int, n: int) -> int:
        """The statement at a place into the n-th row; the place after it, or -1."""
        line = LINE.match(self.text, at)
        ids = self._ids(line) if line else None
        if line and ids:
            self.rows[:, n] = ids
            return line.end()
        after = self._statement(self.base + at, self.state.ctypes.data, self.rows, n)
        return after - self.base if after else -1

    def _ids(self, line: re.Match[bytes]) -> tuple[int, int, int, int] | None:
        """The terms of a plain line; None if one of its IRIs is wrong."""
        subject, node, predicate, object, object_node, text = line.groups()
        ids = [
            self._name(subject) if node is None else put_bytes(node, int(BLANK), self.room),
            self._name(predicate),
        ]
        if not all(ids):
            return None
        if object is not None:
            ids.append(self._name(object))
        else:
            kind = STRING if object_node is None else BLANK
            ids.append(put_bytes(text if object_node is None else object_node, int(kind), self.room))
        return (ids[0], ids[1], ids[2], 0) if ids[2] else None

    def _name(self, name: bytes) -> int:
        """The id of an IRI; 0 if it is wrong."""
        id = self._names.get(name)
        if id is None:
            if NOT_IN_IRI.search(name) or (self.strict and not SCHEME.match(name)):
                return 0
            id = self._names[name] = put_bytes(name, int(IRI), self.room)
        return id


@form(work=lambda data, end, *_: end, most=MOST_BYTES)
def parse(data: Any, end: int, room: Any, xsd: Any, strict: int, rows: Any) -> tuple[int, int, int]:
    lines, at, n = _Lines(data, end, room, xsd, strict, rows), 0, 0
    text = lines.text
    while at < end:
        byte = text[at]
        if byte in BLANKS or byte in LINE_ENDS:
            at += 1
        elif byte == HASH:
            at = text.index(b"\n", at)
        else:
            at = lines.parsed(at, n)
            if at < 0:
                return n, int(lines.state[ERROR]), int(lines.state[PLACE]) - lines.base
            n += 1
    return n, int(lines.state[ERROR]), 0


@form(work=lambda data, end, *_: end, most=16 * MOST_ITEMS_BY_NUMPY)
def survey(data: Any, end: int, one: int, other: int) -> tuple[bool, int, int]:
    text = data[:end].tobytes()
    return not text.isascii(), text.count(bytes([one])), text.count(bytes([other]))


@form(work=lambda rows, *_: rows.size, most=MOST_ITEMS_BY_NUMPY)
def group(rows: Any, kinds: Any, rdf_type: int, numbers: Any, groups: Any, out: Any) -> int:
    unary = (rows[1] == rdf_type) & (kinds[rows[2]] == IRI)
    names = 2 * np.where(unary, rows[2], rows[1]).astype(np.int64) + unary
    found, first, number, sizes = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
    by_place = np.argsort(first)
    place = np.empty(len(found), np.int64)
    place[by_place] = np.arange(len(found))
    in_order = np.argsort(place[number], kind="stable")
    groups[:, : len(found)] = found[by_place] >> 1, found[by_place] & 1, np.cumsum(sizes[by_place])
    out[0], out[1] = rows[0, in_order], rows[2, in_order]
    return len(found)
