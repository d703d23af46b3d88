"""The dictionary: each distinct value has a 32-bit id, and rules are evaluated over ids alone.

    id   kind      payload
     0   -         reserved: never a value
     1   IRI       heap[offsets[1]:offsets[2]]
     2   INTEGER   integers[2]
     3   DOUBLE    doubles[3]
     4   LANGUAGE  heap[offsets[4]:offsets[5]]  =  en NUL text

Values are not stored as Python objects. Texts are UTF-8 in one growing heap; integers of 64 bits and floats are words
in side arrays; all else is a text: a typed literal as `datatype NUL text`, one with a language as `language NUL text`
(so the text itself may contain NUL), a date as its ISO form, an integer of more than 64 bits in hexadecimal, a tuple
as its text. Every number has its double in `doubles`, so comparisons and arithmetic work on whole columns.

Values go in and out in bulk: `encode` and `decode` for Python's values, `intern_texts` for the bytes of a file,
`intern_integers` and `intern_doubles` for computed columns. Equality is that of `terms.key`: NaN is one value, -0.0
and 0.0 are two, an IRI never equals a string.

Ids are never reused, and the views `kinds`, `integers` and `doubles` are valid until the next value is added.
Several threads may use a dictionary: all access to its hash table and its heap, by addresses, holds its `lock`. A fork
waits for that lock (`deltalog.core.concurrency.locks`). Callers of a kernel with `reserve` or `room` hold it, too, unless no
other thread has the dictionary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from itertools import chain, compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deltalog.core.arrays import Ids
from deltalog.core.concurrency.locks import awaited_lock
from deltalog.core.errors import DataError, LimitReached
from deltalog.core.limits import UNCHECKED_ROWS, checked
from deltalog.core.terms import (
    DECIMAL,
    IRI,
    TOO_FINE,
    TUPLE,
    BlankNode,
    Kind,
    Literal,
    Value,
    kind,
    lexical,
    literal,
    number,
)
from deltalog.kernels import intern
from deltalog.kernels.addresses import address

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

MOST_IDS = 2**32 - 1
_NUMBERED = (Kind.BIG_INTEGER, Kind.NUMBER)  # texts that have a number
BATCH = 1 << 17  # values that are interned between two checks of the remaining space
UNCHECKED_VALUES = 1 << 14  # that are encoded between two checks of limits
TEXT_TYPES = {str: Kind.STRING, IRI: Kind.IRI, BlankNode: Kind.BLANK}
FINER_THAN_MICROSECONDS = ("ns", "ps", "fs", "as")  # units of numpy


class Dictionary:
    """Values <-> ids. See the top of the module for the layout."""

    def __init__(self) -> None:
        self.lock = awaited_lock()
        self._kinds = np.zeros(1024, np.uint8)
        self._integers = np.zeros(1024, np.int64)
        self._doubles = np.full(1024, np.nan)
        self._hashes = np.zeros(1024, np.uint64)
        self._offsets = np.zeros(1025, np.int64)
        self._heap = np.empty(16384, np.uint8)
        self._table = np.zeros(4096, np.uint64)
        self._room = np.zeros(intern.FIELDS, np.int64)
        self._room[intern.COUNT] = 1
        self._furnish()

    # All of it, to store and to map.

    @classmethod
    def mapped(cls, arrays: Mapping[str, NDArray[Any]], ids: int) -> Dictionary:
        """The dictionary with these arrays (see `stored`), which it may write to and takes over. They may be longer
        than `ids` needs; only the hash table has exactly its size."""
        made = cls()
        made._kinds, made._integers, made._doubles = arrays["kinds"], arrays["integers"], arrays["doubles"]
        made._hashes, made._table, made._heap = arrays["hashes"], arrays["table"], arrays["heap"]
        made._offsets = arrays["offsets"]
        made._room[intern.COUNT] = ids
        made._furnish()
        return made

    def stored(self, most: int = 0) -> dict[str, NDArray[Any]]:
        """Its arrays, as far as they are filled, from which `mapped` makes it again; the hash table has room for `most`
        ids. No other thread may add to it."""
        ids = self._count
        if 2 * most > len(self._table):
            self._rehash(1 << (2 * most - 1).bit_length())
        return {
            "kinds": self._kinds[:ids],
            "integers": self._integers[:ids],
            "doubles": self._doubles[:ids],
            "hashes": self._hashes[:ids],
            "offsets": self._offsets[: ids + 1],
            "heap": self._heap[: self._offsets[ids]],
            "table": self._table,
        }

    def frozen(self) -> Dictionary:
        """The present values, in a dictionary that others do not add to; only the hash table is copied."""
        with self.lock:
            arrays = self.stored()
            return Dictionary.mapped({**arrays, "table": arrays["table"].copy()}, self._count)

    def subset(self, ids: Ids) -> Dictionary:
        """A dictionary with some values alone; `ids` ascend from 0 (reserved), and keep their order."""
        made, count = Dictionary(), len(ids)
        data, bounds = self.texts(ids)
        made._kinds, made._integers, made._doubles = self._kinds[ids], self._integers[ids], self._doubles[ids]
        made._hashes, made._offsets, made._heap = self._hashes[ids], bounds, data
        made._room[intern.COUNT] = count
        made._furnish()
        made._rehash(max(4096, 1 << (2 * count - 1).bit_length()))
        return made

    # Reading.

    def __len__(self) -> int:
        """The number of ids, the reserved 0 included."""
        return self._count

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """The Kind of each id; 0 for id 0."""
        return self._kinds[: self._count]

    @property
    def integers(self) -> NDArray[np.int64]:
        """The number of each INTEGER id; 0 for others."""
        return self._integers[: self._count]

    @property
    def doubles(self) -> NDArray[np.float64]:
        """The number of each numeric id (approximate for big integers); NaN for others."""
        return self._doubles[: self._count]

    @property
    def nbytes(self) -> int:
        """The memory in use, in bytes."""
        return sum(array.nbytes for array in self._arrays)

    def find(self, value: Value) -> int | None:
        """The id of a value; None if it has none."""
        value = plain(value)
        what = kind(value)
        if what is Kind.INTEGER:
            return self._find_word(int(value), what, intern.INTEGERS)  # type: ignore[arg-type]
        if what is Kind.DOUBLE:
            bits = _canonical(np.array([value], np.float64)).view(np.int64)[0]
            return self._find_word(int(bits), what, intern.DOUBLES)
        text = np.frombuffer(_payload(value), np.uint8)
        with self.lock:
            return int(intern.find_text(text, int(what), self._room)) or None

    def _find_word(self, word: int, what: Kind, words: int) -> int | None:
        with self.lock:
            return int(intern.find_word(word, int(what), words, self._room)) or None

    def find_texts(self, data: Bytes, starts: Offsets, ends: Offsets, what: Kind) -> Ids:
        """The ids of data[starts[i]:ends[i]], heap bytes of a kind; 0 for unknown ones."""
        out = np.empty(len(starts), np.uint32)
        with self.lock:
            intern.find_texts(_read_only(data), starts, ends, int(what), out, self._room)
        return out

    def decode(self, ids: Any) -> list[Value]:
        """The values of ids; each distinct id is decoded once."""
        ids = np.asarray(ids)
        distinct, places = distinct_ids(ids, self._count)
        values = np.empty(len(distinct), object)
        kinds = self._kinds[distinct]
        for what in np.flatnonzero(np.bincount(kinds)):
            here = np.flatnonzero(kinds == what)
            values[here] = self._decode_kind(Kind(int(what)), distinct[here])
        return values[places].tolist()  # type: ignore[no-any-return]

    def value(self, id: int) -> Value:
        """The value of one id."""
        match what := Kind(int(self._kinds[id])):
            case Kind.INTEGER:
                return int(self._integers[id])
            case Kind.DOUBLE:
                return float(self._doubles[id])
        with self.lock:
            text = self._heap[self._offsets[id] : self._offsets[id + 1]].tobytes()
        return _FROM_TEXT[what](text.decode("utf-8", "surrogatepass"))

    def texts(self, ids: Any) -> tuple[Bytes, Offsets]:
        """The heap bytes of ids, one after the other, and their n + 1 boundaries."""
        ids = np.ascontiguousarray(ids, np.uint32)
        bounds = np.zeros(len(ids) + 1, np.int64)
        with self.lock:
            buffer = np.empty(int((self._offsets[1:][ids] - self._offsets[ids]).sum()), np.uint8)
            intern.gather_texts(ids, bounds[1:], buffer, self._room)
        return buffer, bounds

    def text_lengths(self, ids: Ids) -> Offsets:
        """The numbers of heap bytes of ids."""
        with self.lock:
            lengths: Offsets = self._offsets[1:][ids] - self._offsets[ids]
        return lengths

    def having_prefix(self, what: Kind, prefix: str) -> NDArray[np.intp]:
        """The ids of a kind whose heap texts start with a prefix."""
        wanted = np.frombuffer(prefix.encode(), np.uint8)
        found = np.flatnonzero(self.kinds == what)
        data, bounds = self.texts(found)
        long_enough = np.flatnonzero(np.diff(bounds) >= len(wanted))
        heads = data[bounds[:-1][long_enough][:, None] + np.arange(len(wanted))]
        chosen: NDArray[np.intp] = found[long_enough[(heads == wanted).all(axis=1)]]
        return chosen

    def strings(self, ids: Any) -> list[str]:
        """The heap texts of ids as strings."""
        return _split(*self.texts(ids))

    def _decode_kind(self, what: Kind, ids: Ids) -> NDArray[np.object_]:
        values: Sequence[Value]
        match what:
            case Kind.INTEGER:
                values = self._integers[ids].tolist()
            case Kind.DOUBLE:
                values = self._doubles[ids].tolist()
            case Kind.TUPLE:
                return _tuples(list(map(_FROM_TEXT[what], self.strings(ids))))
            case _:
                values = list(map(_FROM_TEXT[what], self.strings(ids)))
        return _objects(values)

    def kinds_of(self, columns: Iterable[Ids]) -> frozenset[Kind]:
        """The kinds of the values of some columns of ids."""
        found = np.zeros(len(Kind) + 1, np.bool_)
        for ids in columns:
            found[self._kinds[ids]] = True
        return frozenset(map(Kind, np.flatnonzero(found).tolist()))

    # Interning.

    def intern(self, value: Value) -> int:
        """The id of a value, which is added if it is new."""
        return self.find(value) or int(self.encode([value])[0])

    def encode(self, values: Sequence[Value]) -> Ids:
        """The ids of values; the new ones are added. Limits are checked between parts of a long sequence."""
        if len(values) > UNCHECKED_VALUES:
            starts = checked(range(0, len(values), UNCHECKED_VALUES), 1)
            return np.concatenate([self.encode(values[start : start + UNCHECKED_VALUES]) for start in starts])
        types = list(dict.fromkeys(map(type, values)))
        if len(types) <= 1:
            return self._encode_type(types[0], values) if types else np.empty(0, np.uint32)
        ids = np.empty(len(values), np.uint32)
        codes = {type_: code for code, type_ in enumerate(types)}
        column = np.fromiter(map(codes.__getitem__, map(type, values)), np.int64, len(values))
        for type_, code in codes.items():
            here = column == code
            ids[here] = self._encode_type(type_, list(compress(values, here.tolist())))
        return ids

    def encode_columns(self, columns: Sequence[Sequence[Value]]) -> list[Ids]:
        """The ids of the values of several columns; columns of one and the same type go in together."""
        together: dict[type, list[int]] = {}
        for i, column in enumerate(columns):
            types = set(map(type, column))
            together.setdefault(types.pop() if len(types) == 1 else object, []).append(i)
        found: list[Ids] = [np.empty(0, np.uint32)] * len(columns)
        for type_, places in together.items():
            values = list(chain.from_iterable(columns[i] for i in places))
            ids = self.encode(values) if type_ is object else self._encode_type(type_, values)
            end = 0
            for i in places:
                start, end = end, end + len(columns[i])
                found[i] = ids[start:end]
        return found

    def intern_integers(self, values: NDArray[np.int64]) -> Ids:
        """The ids of integers."""
        return self._intern_words(np.ascontiguousarray(values, np.int64), Kind.INTEGER)

    def intern_doubles(self, values: NDArray[np.float64]) -> Ids:
        """The ids of floats: every NaN is the one NaN, and -0.0 is another value than 0.0."""
        return self._intern_words(_canonical(np.asarray(values, np.float64)).view(np.int64), Kind.DOUBLE)

    def intern_texts(self, data: Bytes, starts: Offsets, ends: Offsets, kinds: Kind | NDArray[np.uint8]) -> Ids:
        """The ids of data[starts[i]:ends[i]], heap bytes of the given kind or kinds.

        The bytes are stored as they are: they must be the dictionary's own encoding of the value, and a
        kind that has a number needs `encode` instead.
        """
        out = np.empty(len(starts), np.uint32)
        if isinstance(kinds, Kind):
            kinds = np.full(len(starts), kinds, np.uint8)
        data = _read_only(data)
        for i in range(0, len(starts), BATCH):
            part = slice(i, i + BATCH)
            begin, end = starts[part], ends[part]
            with self.lock:
                self.reserve(len(begin), int((end - begin).sum()))
                first = self._count
                try:
                    intern.intern_texts(data, begin, end, kinds[part], out[part], self._room)
                finally:  # an interrupt is raised after the kernel
                    self._no_numbers(first)
        return out

    def merge(
        self, other: Dictionary, raw: Mapping[int, Callable[[str], Value]] | None = None, blank_prefix: str = ""
    ) -> Ids:
        """The ids here of another dictionary's values, by their id there. No other thread may add to it meanwhile.

        `raw` says how to make values of texts whose kind is not one of terms.Kind, but a reader's own. Labels of blank
        nodes get the prefix.
        """
        kinds, out = other.kinds, np.zeros(len(other), np.uint32)
        whole, real = np.flatnonzero(kinds == Kind.INTEGER), np.flatnonzero(kinds == Kind.DOUBLE)
        out[whole] = self.intern_integers(other.integers[whole])
        out[real] = self.intern_doubles(other.doubles[real])
        renamed = [Kind.BLANK] if blank_prefix else []
        special = np.isin(kinds, [0, Kind.INTEGER, Kind.DOUBLE, *_NUMBERED, *renamed, *(raw or ())])
        self._merge_texts(other, np.flatnonzero(~special), out)
        numbers = np.flatnonzero(np.isin(kinds, _NUMBERED))
        out[numbers] = self.encode(other.decode(numbers))
        for code, value_of in (raw or {}).items():
            here = np.flatnonzero(kinds == code)
            out[here] = self.encode([value_of(text) for text in other.strings(here)])
        if blank_prefix:
            blank = np.flatnonzero(kinds == Kind.BLANK)
            out[blank] = self._intern_prefixed(blank_prefix.encode(), *other.texts(blank), Kind.BLANK)
        return out

    def _intern_prefixed(self, prefix: bytes, data: Bytes, bounds: Offsets, what: Kind) -> Ids:
        """The ids of texts with a prefix."""
        longer = bounds + len(prefix) * np.arange(len(bounds))
        texts = np.empty(int(longer[-1]), np.uint8)
        intern.put_before(np.frombuffer(prefix, np.uint8), data, bounds, texts)
        return self.intern_texts(texts, longer[:-1], longer[1:], what)

    def _merge_texts(self, other: Dictionary, texts: NDArray[np.intp], out: Ids) -> None:
        for i in range(0, len(texts), BATCH):
            part = texts[i : i + BATCH]
            with self.lock:
                self.reserve(len(part), int((other._offsets[part + 1] - other._offsets[part]).sum()))
                first = self._count
                try:
                    intern.intern_hashed(other._room, part, out, self._room)
                finally:
                    self._no_numbers(first)

    def _intern_words(self, values: NDArray[np.int64], what: Kind) -> Ids:
        out = np.empty(len(values), np.uint32)
        for i in range(0, len(values), BATCH):
            part = slice(i, i + BATCH)
            with self.lock:
                self._intern_part(values[part], what, out[part])
        return out

    def _intern_part(self, values: NDArray[np.int64], what: Kind, out: Ids) -> None:
        self.reserve(len(values), 0)
        words = intern.INTEGERS if what is Kind.INTEGER else intern.DOUBLES
        first = self._count
        try:
            intern.intern_words(values, int(what), words, out, self._room)
        finally:
            if what is Kind.INTEGER:
                self._doubles[first : self._count] = self._integers[first : self._count]
            else:
                self._integers[first : self._count] = 0

    def _encode_type(self, type_: type, values: Sequence[Any]) -> Ids:
        if type_ in TEXT_TYPES:
            return self.intern_texts(*joined(values), TEXT_TYPES[type_])
        if type_ is float:
            return self.intern_doubles(np.array(values, np.float64))
        if type_ is int:
            try:
                return self.intern_integers(np.array(values, np.int64))
            except OverflowError:
                pass
        return self._encode_slowly(values)

    def _encode_slowly(self, values: Sequence[Any]) -> Ids:
        """One value at a time: literals, dates, booleans, big integers, subclasses and numpy's scalars."""
        starts = checked(range(0, max(len(values), 1), UNCHECKED_ROWS), 1)
        return np.concatenate([self._encode_some(values[start : start + UNCHECKED_ROWS]) for start in starts])

    def _encode_some(self, values: Sequence[Any]) -> Ids:
        values = [plain(value) for value in values]
        kinds = np.array([kind(value) for value in values], np.uint8)
        ids = np.empty(len(values), np.uint32)
        whole, real = kinds == Kind.INTEGER, kinds == Kind.DOUBLE
        ids[whole] = self.intern_integers(np.array(list(compress(values, whole)), np.int64))
        ids[real] = self.intern_doubles(np.array(list(compress(values, real)), np.float64))
        text = ~(whole | real)
        payloads = _concatenated(list(map(_payload, compress(values, text))))
        inexact = (kinds == Kind.NUMBER) | (kinds == Kind.BIG_INTEGER)
        doubles = [_double(value) for value in compress(values, inexact)]
        with self.lock:  # no other thread finds a number without its double
            ids[text] = self.intern_texts(*payloads, kinds[text])
            self._doubles[ids[inexact]] = doubles
        return ids

    # Space, also for kernels that add values themselves.

    def reserve(self, ids: int, text: int) -> NDArray[np.int64]:
        """Reserves space for this many more ids and bytes of text; returns the state of `kernels.intern`."""
        need = self._count + ids
        if need > MOST_IDS:
            raise LimitReached("more than 4,294,967,294 distinct values: the local engine's ids have 32 bits")
        room = int(self._offsets[self._count]) + text
        if need >= len(self._offsets) or room > len(self._heap):
            try:
                if need >= len(self._offsets):
                    self._grow(max(need, 2 * len(self._kinds)))
                if room > len(self._heap):
                    self._heap = _grown(self._heap, max(room, 2 * len(self._heap)))
            finally:
                self._furnish()
        if 2 * need > len(self._table):
            self._rehash(1 << (2 * need - 1).bit_length())
        return self._room

    def _rehash(self, size: int) -> None:
        """Fills a larger hash table, which then replaces the current one."""
        table, room = np.zeros(size, np.uint64), self._room.copy()
        room[intern.TABLE], room[intern.MASK] = address(table), size - 1
        intern.rehash(room)
        try:
            self._table = table
        finally:
            self._furnish()

    @property
    def room(self) -> NDArray[np.int64]:
        """The state of `kernels.intern`, for kernels that only read."""
        return self._room

    def settle(self, first: int) -> None:
        """After a kernel has added ids from `first` on: fills in the numbers of texts, integers and doubles."""
        new = slice(first, self._count)
        whole, real = self._kinds[new] == Kind.INTEGER, self._kinds[new] == Kind.DOUBLE
        self._integers[new][~whole] = 0
        self._doubles[new][whole] = self._integers[new][whole]
        self._doubles[new][~whole & ~real] = np.nan

    @property
    def _count(self) -> int:
        return int(self._room[intern.COUNT])

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return (
            self._table,
            self._hashes,
            self._kinds,
            self._offsets,
            self._heap,
            self._integers,
            self._doubles,
        )

    def _no_numbers(self, first: int) -> None:
        """Texts from id `first` on have been added."""
        self._integers[first : self._count] = 0
        self._doubles[first : self._count] = np.nan

    def _grow(self, size: int) -> None:
        """Grows the arrays; the offsets last, as their length is the capacity."""
        for name in ("_kinds", "_integers", "_doubles", "_hashes"):
            setattr(self, name, _grown(getattr(self, name), size))
        self._offsets = _grown(self._offsets, size + 1)

    def _furnish(self) -> None:
        """Writes the addresses of the arrays into the state."""
        fields = (
            intern.TABLE,
            intern.HASHES,
            intern.KINDS,
            intern.OFFSETS,
            intern.HEAP,
            intern.INTEGERS,
            intern.DOUBLES,
        )
        for field, array in zip(fields, self._arrays, strict=True):
            self._room[field] = address(array)
        self._room[intern.MASK] = len(self._table) - 1


def distinct_ids(ids: Ids, bound: int) -> tuple[Ids, NDArray[np.intp]]:
    """The distinct ids (all less than bound) in order, and for each given id its place among them."""
    if 16 * len(ids) < bound:
        distinct, places = np.unique(ids, return_inverse=True)
        return distinct.astype(np.uint32), places
    seen = np.zeros(bound, np.bool_)
    seen[ids] = True
    distinct = np.flatnonzero(seen).astype(np.uint32)
    places = np.cumsum(seen, dtype=np.int64)
    places -= 1
    return distinct, places[ids]


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    new = np.empty(size, array.dtype)
    new[: len(array)] = array
    return new


def _canonical(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A copy in which every NaN is the same NaN."""
    values = values.copy()
    values[np.isnan(values)] = np.nan
    return values


def _read_only(data: Bytes) -> Bytes:
    """A view, so that the kernels are compiled for one type of array only."""
    data = data.view()
    data.flags.writeable = False
    return data


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _tuples(values: Sequence[Any]) -> NDArray[np.object_]:
    """One by one: numpy would take a list of tuples for a table."""
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def plain(value: Any) -> Any:
    """Python's own value for numpy's scalars, and for literals that have one; TypeError for a time without one."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, np.datetime64):
        return _moment(value)
    if isinstance(value, np.generic):
        return value if isinstance(value, np.timedelta64) else value.item()
    if isinstance(value, Literal) and not value.language:
        return literal(value.text, value.datatype)
    return value


def _moment(value: np.datetime64) -> date | None:
    """A date or a datetime; None for NaT. `item` gives an integer where Python has neither."""
    if np.isnat(value):
        return None
    if np.datetime_data(value.dtype)[0] in FINER_THAN_MICROSECONDS:
        rounded = value.astype("M8[us]")
        if rounded != value:
            raise TypeError(TOO_FINE)
        value = rounded
    found = value.item()
    if not isinstance(found, date):
        raise TypeError(f"{value!r} is not a value of deltalog: dates have years from 1 to 9999")
    return found


def _double(value: Value) -> float:
    exact = number(value)
    assert exact is not None
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


# Texts: between lists of Python's strings and bytes with boundaries.


def joined(values: Sequence[str]) -> tuple[Bytes, Offsets, Offsets]:
    """The UTF-8 of strings in one array, and where each starts and ends."""
    bounds = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=bounds[1:])
    text = "".join(values)
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    if len(data) != len(text):
        bounds = _character_starts(data)[bounds]
    return data, bounds[:-1], bounds[1:]


def _concatenated(texts: Sequence[bytes]) -> tuple[Bytes, Offsets, Offsets]:
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=bounds[1:])
    return np.frombuffer(b"".join(texts), np.uint8), bounds[:-1], bounds[1:]


def _split(data: Bytes, bounds: Offsets) -> list[str]:
    """The strings whose UTF-8 lies between the boundaries."""
    text = data.tobytes().decode("utf-8", "surrogatepass")
    if len(text) != len(data):
        characters = np.zeros(len(data) + 1, np.int64)
        np.cumsum((data & 0xC0) != 0x80, out=characters[1:])
        bounds = characters[bounds]
    places = bounds.tolist()
    return [text[start:end] for start, end in pairwise(places)]


def _character_starts(data: Bytes) -> Offsets:
    """Where each character of a UTF-8 text starts, and the end of the text."""
    return np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))


def _payload(value: Any) -> bytes:
    """The heap bytes of a value that is neither an integer of 64 bits nor a float."""
    match value:
        case str():
            text = str.__str__(value)
        case bool():
            text = "true" if value else "false"
        case int():
            text = format(value, "x")
        case date():
            text = value.isoformat()
        case Decimal():
            text = f"{DECIMAL}\0{lexical(value)}"
        case Literal():
            tag = value.language or value.datatype
            if "\0" in tag:
                raise DataError(f"a datatype or language cannot contain the character NUL: {value!r}")
            text = f"{tag}\0{value.text}"
        case tuple():
            text = lexical(value)
    return text.encode("utf-8", "surrogatepass")


def _language(text: str) -> Literal:
    language, _, text = text.partition("\0")
    return Literal(text, language=language)


def _typed(text: str) -> Literal:
    datatype, _, text = text.partition("\0")
    return Literal(text, datatype)


def _number(text: str) -> Value:
    datatype, _, text = text.partition("\0")
    return Decimal(text) if datatype == DECIMAL else Literal(text, datatype)


_FROM_TEXT: dict[Kind, Callable[[str], Value]] = {
    Kind.BLANK: partial(str.__new__, BlankNode),  # they are texts for sure
    Kind.IRI: partial(str.__new__, IRI),
    Kind.BOOLEAN: lambda text: text == "true",
    Kind.BIG_INTEGER: lambda text: int(text, 16),
    Kind.NUMBER: _number,
    Kind.DATE: date.fromisoformat,
    Kind.DATETIME: datetime.fromisoformat,
    Kind.STRING: str,
    Kind.LANGUAGE: _language,
    Kind.TYPED: _typed,
    Kind.TUPLE: lambda text: literal(text, TUPLE),
}
