"""Soufflé's records, a column at a time.

A record is a literal whose text is the JSON array of its fields (`deltalog.functions.souffle_functors`). The ids of
the fields are kept for every record that was built or taken apart here, so that a column of records is taken apart by
look-ups:

    heap[starts[id]] = number of fields,   heap[starts[id] + 1:] = ids of the fields

Records from elsewhere, such as files, are read in bulk: brackets and quotes are counted over the bytes of all of them,
and only the outermost level is read, because a list may be long. Columns with anything that is not surely read as the
reference does are left to it: the answer is None then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deltalog.core.arrays import Ids
from deltalog.core.dictionary import Bytes, Dictionary, Offsets, distinct_ids
from deltalog.core.terms import Kind
from deltalog.functions.souffle_functors import NIL, RECORD

HEAD = RECORD.encode() + b"\0"  # of the heap text of a record
CHUNK = 1 << 20  # bytes of text that are read or written at once
PLAIN = (Kind.INTEGER, Kind.DOUBLE, Kind.STRING)  # fields that are no records
_STARTS = np.frombuffer(b'-0123456789"NI', np.uint8)  # first characters of numbers and strings in JSON


@dataclass
class RecordFields:
    """The fields of records of one dictionary, as far as they are known."""

    dictionary: Dictionary
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # by id; 0: not known
    heap: Ids = field(default_factory=lambda: np.zeros(1024, np.uint32))
    filled: int = 1

    def build(self, fields: Sequence[Ids]) -> Ids | None:
        """The records of some fields, by columns of the same length."""
        distinct = [distinct_ids(column, len(self.dictionary)) for column in fields]
        if not all(self._can_be_fields(values) for values, _ in distinct):
            return None
        texts = _Pieces()
        head, comma, end = (texts.add_one(each) for each in (HEAD + b"[", b",", b"]"))
        places = [texts.add(*self._field_texts(values))[inverse] for values, inverse in distinct]
        between = [piece for column in places for piece in (comma, column)][1:]
        found = self._literals(texts, [head, *between, end], len(fields[0]))
        self._remember_rows(found, fields)
        return found

    def at(self, records: Ids, position: int) -> Ids | None:
        """The fields of records in a position; nil for a record that has none there."""
        if not self._know(records):
            return None
        starts = self.starts[records]
        has = position < self.heap[starts]
        return np.where(has, self.heap[np.where(has, starts + 1 + position, 0)], self.nil)

    def begin_with(self, records: Ids, value: int) -> NDArray[np.bool_] | None:
        """Whether the first field of each record is this one."""
        if not self._know(records):
            return None
        starts = self.starts[records]
        found: NDArray[np.bool_] = (self.heap[starts] > 0) & (self.heap[starts + 1] == value)
        return found

    @property
    def nil(self) -> int:
        return self.dictionary.intern(NIL)

    # What is known

    def _know(self, records: Ids) -> bool:
        """Whether the fields of these are known; those that were not are read."""
        self._make_room()
        new = np.unique(records[self.starts[records] == 0])
        if (self.dictionary.kinds[new] != Kind.TYPED).any():
            return False
        return all(self._read(some) for some in self._chunks(new))

    def _make_room(self) -> None:
        ids = len(self.dictionary)
        if len(self.starts) < ids:
            larger = np.zeros(max(ids, 2 * len(self.starts)), np.int64)
            larger[: len(self.starts)] = self.starts
            self.starts = larger

    def _remember_rows(self, records: Ids, fields: Sequence[Ids]) -> None:
        self._make_room()
        new, first = np.unique(records, return_index=True)
        new_ones = self.starts[new] == 0
        new, first = new[new_ones], first[new_ones]
        rows = np.stack([column[first] for column in fields], axis=1)
        self._remember(new, np.full(len(new), len(fields)), rows.reshape(-1))

    def _remember(self, records: Ids, counts: Offsets, fields: Ids) -> None:
        """Keeps the fields of records, which follow each other."""
        used = len(records) + len(fields)
        if self.filled + used >= len(self.heap):  # one more: `begin_with` looks behind a record without fields
            larger = np.zeros(max(self.filled + used + 1, 2 * len(self.heap)), np.uint32)
            larger[: self.filled] = self.heap[: self.filled]
            self.heap = larger
        starts = self.filled + np.cumsum(counts + 1) - (counts + 1)
        place = np.ones(used, np.bool_)
        place[starts - self.filled] = False
        here = self.heap[self.filled : self.filled + used]
        here[place] = fields
        here[~place] = counts
        self.starts[records] = starts
        self.filled += used

    # Texts of fields

    def _can_be_fields(self, values: Ids) -> bool:
        kinds = self.dictionary.kinds[values]
        return bool(np.isin(kinds, (*PLAIN, Kind.TYPED)).all()) and self._know(values[kinds == Kind.TYPED])

    def _field_texts(self, values: Ids) -> tuple[Bytes, Offsets, Offsets]:
        """The texts of fields in JSON, and where each begins and ends; those of records are known to be ones."""
        is_record = self.dictionary.kinds[values] == Kind.TYPED
        data, bounds = self.dictionary.texts(values[is_record])
        plain = [_json(value) for value in self.dictionary.decode(values[~is_record])]
        ends = len(data) + np.cumsum([0, *map(len, plain)], dtype=np.int64)
        begin, end = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
        begin[is_record], end[is_record] = bounds[:-1] + len(HEAD), bounds[1:]
        begin[~is_record], end[~is_record] = ends[:-1], ends[1:]
        return np.concatenate([data, np.frombuffer(b"".join(plain), np.uint8)]), begin, end

    # Reading

    def _chunks(self, records: Ids) -> Iterator[Ids]:
        """The records, some at a time."""
        ends = np.cumsum(self.dictionary.text_lengths(records))
        for start, stop in _chunks(ends):
            yield records[start:stop]

    def _read(self, records: Ids) -> bool:
        """Keeps the fields of records; False if some are no records that are surely read as the reference does."""
        data, bounds = self.dictionary.texts(records)
        found = _outermost(data, bounds)
        if found is None:
            return False
        begin, end, counts = found
        fields = self._interned(data, begin, end)
        if fields is None:
            return False
        self._make_room()
        self._remember(records, counts, fields)
        return True

    def _interned(self, data: Bytes, begin: Offsets, end: Offsets) -> Ids | None:
        """The ids of fields by their texts."""
        first = data[begin]
        inner = first == ord("[")
        if not (inner | np.isin(first, _STARTS)).all():
            return None
        values = _values(data, begin[~inner], end[~inner])
        if values is None:
            return None
        ids = np.empty(len(begin), np.uint32)
        ids[~inner] = self.dictionary.encode(values)
        texts = _Pieces()
        head = texts.add_one(HEAD)
        places = texts.add(data, begin[inner], end[inner])
        ids[inner] = self._literals(texts, [head, places], len(places))
        return ids

    def _literals(self, texts: _Pieces, columns: Sequence[NDArray[np.intp]], size: int) -> Ids:
        """The ids of records whose texts are put together."""
        rows = texts.rows(columns, size)
        found = (self.dictionary.intern_texts(text, bounds[:-1], bounds[1:], Kind.TYPED) for text, bounds in rows)
        return np.concatenate([np.empty(0, np.uint32), *found])


class _Pieces:
    """Texts that others are put together from, each by a number."""

    def __init__(self) -> None:
        self.data: list[Bytes] = []
        self.begin: list[Offsets] = []
        self.lengths: list[Offsets] = []
        self.size, self.count = 0, 0

    def add(self, data: Bytes, begin: Offsets, end: Offsets) -> NDArray[np.intp]:
        """Adds data[begin[i]:end[i]]; the numbers of these."""
        self.data.append(data)
        self.begin.append(begin + self.size)
        self.lengths.append(end - begin)
        self.size += len(data)
        self.count += len(begin)
        return np.arange(self.count - len(begin), self.count)

    def add_one(self, text: bytes) -> NDArray[np.intp]:
        return self.add(np.frombuffer(text, np.uint8), np.zeros(1, np.int64), np.array([len(text)]))

    def rows(self, columns: Sequence[NDArray[np.intp]], size: int) -> Iterator[tuple[Bytes, Offsets]]:
        """The pieces of each row one after the other: texts of some rows at a time, and their boundaries."""
        data, begin, lengths = np.concatenate(self.data), np.concatenate(self.begin), np.concatenate(self.lengths)
        table = np.stack([np.broadcast_to(column, size) for column in columns], axis=1)
        ends = np.cumsum(lengths[table].sum(axis=1))
        for start, stop in _chunks(ends):
            numbers = table[start:stop].reshape(-1)
            before = ends[start - 1] if start else 0
            yield _gathered(data, begin[numbers], lengths[numbers]), np.append(0, ends[start:stop] - before)


def _chunks(ends: Offsets) -> Iterator[tuple[int, int]]:
    """Numbers of texts that are handled together, by where each text ends."""
    start = before = 0
    while start < len(ends):
        stop = max(start + 1, int(np.searchsorted(ends, before + CHUNK, "right")))
        yield start, stop
        start, before = stop, int(ends[stop - 1])


def _gathered(data: Bytes, begin: Offsets, lengths: Offsets) -> Bytes:
    """data[begin[i] : begin[i] + lengths[i]], one after the other."""
    ends = np.cumsum(lengths)
    return data[np.repeat(begin - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _values(data: Bytes, begin: Offsets, end: Offsets) -> list[int | float | str] | None:
    """Numbers and strings in JSON; None if there is anything else."""
    parts = _Pieces()
    comma = parts.add_one(b",")
    places = parts.add(data, begin, end)
    text = b"".join(found.tobytes() for found, _ in parts.rows([comma, places], len(places)))
    try:
        values: list[int | float | str] = json.loads(f"[{text[1:].decode('utf-8', 'surrogatepass')}]")
    except ValueError:
        return None
    return values if len(values) == len(places) else None


def _outermost(data: Bytes, bounds: Offsets) -> tuple[Offsets, Offsets, Offsets] | None:
    """Where fields of records begin and end in their texts, and the number of fields of each; None unless every text
    is a head and a pair of brackets around fields."""
    opening, closing = bounds[:-1] + len(HEAD), bounds[1:] - 1
    if (closing <= opening).any() or not (data[bounds[:-1, None] + np.arange(len(HEAD))] == _HEAD).all():
        return None
    quoted = _quoted(data)
    step = (data == ord("[")).view(np.int8) - (data == ord("]")).view(np.int8)
    step[quoted] = 0
    depth = np.cumsum(step, dtype=np.int64)
    ended = np.flatnonzero((step < 0) & (depth == 0))
    if quoted[closing].any() or (data[opening] != ord("[")).any() or not np.array_equal(ended, closing):
        return None
    commas = np.flatnonzero((data == ord(",")) & (depth == 1) & ~quoted)
    empty = closing == opening + 1
    begin = np.sort(np.concatenate([opening[~empty], commas])) + 1
    end = np.sort(np.concatenate([commas, closing[~empty]]))
    counts = np.diff(np.searchsorted(commas, bounds)) + ~empty
    return None if (begin >= end).any() or (counts[empty] > 0).any() else (begin, end, counts)


_HEAD = np.frombuffer(HEAD, np.uint8)


def _quoted(data: Bytes) -> NDArray[np.bool_]:
    """The bytes that are inside of strings, each with the quote before it."""
    quotes = data == ord('"')
    slashes = data == ord("\\")
    if slashes.any():  # a quote after an odd number of them is part of the string
        numbers = np.arange(len(data))
        last_other = np.maximum.accumulate(np.where(slashes, -1, numbers))
        before = np.append(0, (numbers - last_other)[:-1])
        quotes &= before % 2 == 0
    return (np.cumsum(quotes) % 2).astype(np.bool_)
