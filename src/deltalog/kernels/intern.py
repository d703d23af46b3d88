"""The hash table behind the dictionary: bytes and 64-bit words to ids.

One open-addressing table serves all kinds of values. A slot is a `uint64`: the upper half of the value's hash, then its
id; 0 is an empty slot, since id 0 is no value. The lower bits of the hash say where to start looking, the upper half
makes a comparison with a wrong value unlikely. `hashes` keeps the whole hash of each id, so that the table grows
without looking at a single text, and so that one dictionary is merged into another without hashing again.

The value behind an id lies in arrays indexed by the id: its kind, and either a word (an integer, or the bits of a
double) or the bytes from `offsets[id]` to `offsets[id + 1]` of the heap.

All of that is a **room**: an array of the addresses of those arrays, the mask of the table, and the number of ids so
far. Kernels take the room's address, and texts as an address and a length. So one small piece of compiled code reads
files, heaps and buffers alike, eight bytes at a time, and compiles in a tenth of the time that arrays would take. Two
rules make it safe: a text is never read past its end; and arrays never grow in here, because whoever calls has made
room for the case that everything is new.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import inlined, inner, kernel
from deltalog.kernels.memory import get, load8, load64, put, store8

# The fields of a room.
TABLE, MASK, HASHES, KINDS, OFFSETS, HEAP, INTEGERS, DOUBLES, COUNT = range(9)
FIELDS = 9

SEED = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
FINISHER = np.uint64(0x94D049BB133111EB)
UPPER = np.uint64(0xFFFFFFFF00000000)
LOWER = np.uint64(0x00000000FFFFFFFF)
EMPTY = np.uint64(0)
AHEAD = 128  # texts that are looked up side by side


@inlined
def mix(h: Any, word: Any) -> Any:
    """The hash of what came before and one more word; the upper half of `h` is good."""
    return ((h ^ word) * MULTIPLIER) ^ (((h ^ word) * MULTIPLIER) >> np.uint64(32))


@inlined
def finish(h: Any, length: Any) -> Any:
    """The hash of a text from its mixed words and its length."""
    return ((h ^ np.uint64(length)) * FINISHER) ^ (((h ^ np.uint64(length)) * FINISHER) >> np.uint64(31))


@inlined
def seed(kind: Any) -> Any:
    """Where the hash of a value of a kind starts: equal texts of different kinds are far apart."""
    return SEED * np.uint64(kind)


@inner
def last_word(at: Any, rest: Any, length: Any) -> Any:
    """The last `rest` (1 to 7) bytes, at an address, of a text of some length."""
    if length >= 8:
        return load64(at + rest - 8) >> np.uint64(64 - 8 * rest)
    word = np.uint64(0)
    for i in range(rest):
        word |= np.uint64(load8(at + i)) << np.uint64(8 * i)
    return word


@inner
def hash_text(at: Any, length: Any, kind: Any) -> Any:
    """The hash of the text at an address as a value of a kind."""
    h = seed(kind)
    rest = length
    while rest >= 8:
        h = mix(h, load64(at))
        at += 8
        rest -= 8
    if rest > 0:
        h = mix(h, last_word(at, rest, length))
    return finish(h, length)


@inner
def same_text(p: Any, q: Any, length: Any) -> Any:
    """Whether the same bytes lie at two addresses."""
    rest = length
    while rest >= 8:
        if load64(p) != load64(q):
            return False
        p += 8
        q += 8
        rest -= 8
    return rest == 0 or last_word(p, rest, length) == last_word(q, rest, length)


@inner
def text_slot(at: Any, length: Any, kind: Any, h: Any, room: Any) -> Any:
    """The number of the slot where a text is, or where it belongs."""
    table, mask, kinds, offsets = get(room, TABLE), get(room, MASK), get(room, KINDS), get(room, OFFSETS)
    slot = np.int64(h) & mask
    while True:
        entry = np.uint64(get(table, slot))
        if entry == EMPTY:
            return slot
        if (entry ^ h) & UPPER == EMPTY:
            id = np.int64(entry & LOWER)
            start = get(offsets, id)
            alike = load8(kinds + id) == kind and get(offsets, id + 1) - start == length
            if alike and same_text(at, get(room, HEAP) + start, length):
                return slot
        slot = (slot + 1) & mask


@inner
def new_id(slot: Any, h: Any, kind: Any, length: Any, room: Any) -> Any:
    """Take the next id for what belongs into a slot."""
    id = get(room, COUNT)
    put(get(room, TABLE), slot, np.int64((h & UPPER) | np.uint64(id)))
    put(get(room, HASHES), id, np.int64(h))
    store8(get(room, KINDS) + id, kind)
    offsets = get(room, OFFSETS)
    put(offsets, id + 1, get(offsets, id) + length)
    put(room, COUNT, id + 1)
    return id


@inner
def put_hashed(at: Any, length: Any, kind: Any, h: Any, room: Any) -> Any:
    """The id of a text with a known hash, which is added if it is new."""
    slot = text_slot(at, length, kind, h, room)
    id = get(get(room, TABLE), slot) & np.int64(LOWER)
    if id == 0:
        id = new_id(slot, h, kind, length, room)
        to = get(room, HEAP) + get(get(room, OFFSETS), id)
        for i in range(length):
            store8(to + i, load8(at + i))
    return id


@inner
def put_text(at: Any, length: Any, kind: Any, room: Any) -> Any:
    """The id of a text, which is added if it is new."""
    return put_hashed(at, length, kind, hash_text(at, length, kind), room)


@inner
def word_slot(word: Any, kind: Any, h: Any, words: Any, room: Any) -> Any:
    """The number of the slot where a word is, or where it belongs."""
    table, mask, kinds = get(room, TABLE), get(room, MASK), get(room, KINDS)
    slot = np.int64(h) & mask
    while True:
        entry = np.uint64(get(table, slot))
        if entry == EMPTY:
            return slot
        if (entry ^ h) & UPPER == EMPTY:
            id = np.int64(entry & LOWER)
            if load8(kinds + id) == kind and get(words, id) == word:
                return slot
        slot = (slot + 1) & mask


@inner
def hash_word(word: Any, kind: Any) -> Any:
    """The hash of an integer, or of the bits of a double."""
    h = mix(seed(kind), np.uint64(word))
    return finish(h, 8)


@inner
def put_word(word: Any, kind: Any, words: Any, room: Any) -> Any:
    """The id of a word, which is added if it is new; `words` is where the words of ids are."""
    h = hash_word(word, kind)
    slot = word_slot(word, kind, h, words, room)
    id = get(get(room, TABLE), slot) & np.int64(LOWER)
    if id == 0:
        id = new_id(slot, h, kind, 0, room)
        put(words, id, word)
    return id


@inner
def touched(hashes: Any, first: Any, last: Any, room: Any) -> Any:
    """Reads what texts with these hashes will be compared with, one thing of all before the next: memory that is far
    away is then waited for once, and not once for each text."""
    table, mask, offsets, heap = get(room, TABLE), get(room, MASK), get(room, OFFSETS), get(room, HEAP)
    ids = np.empty(last - first, np.int64)
    for i in range(first, last):
        ids[i - first] = get(table, np.int64(hashes[i]) & mask) & np.int64(LOWER)
    for i in range(last - first):
        ids[i] = get(offsets, ids[i])
    seen = np.int64(0)
    for start in ids:
        seen += load8(heap + start)
    return seen


@kernel
def intern_texts(data: Any, starts: Any, ends: Any, kinds: Any, out: Any, room: Any) -> int:
    """out[i] = the id of data[starts[i]:ends[i]] as a value of kinds[i]."""
    base, here = np.int64(data.ctypes.data), np.int64(room.ctypes.data)
    hashes, seen = np.empty(len(starts), np.uint64), np.int64(0)
    for i in range(len(starts)):
        hashes[i] = hash_text(base + starts[i], ends[i] - starts[i], np.int64(kinds[i]))
    for first in range(0, len(starts), AHEAD):
        last = min(first + AHEAD, len(starts))
        seen += touched(hashes, first, last, here)
        for i in range(first, last):
            out[i] = put_hashed(base + starts[i], ends[i] - starts[i], np.int64(kinds[i]), hashes[i], here)
    return seen  # type: ignore[return-value]  # so that no reading is left out as useless


@kernel
def intern_hashed(other: Any, ids: Any, out: Any, room: Any) -> None:
    """out[i] = the id here of the text that has id i in another room, for the given i."""
    there, here = np.int64(other.ctypes.data), np.int64(room.ctypes.data)
    offsets, kinds = get(there, OFFSETS), get(there, KINDS)
    for k in range(len(ids)):
        i = ids[k]
        start, h = get(offsets, i), np.uint64(get(get(there, HASHES), i))
        out[i] = put_hashed(get(there, HEAP) + start, get(offsets, i + 1) - start, load8(kinds + i), h, here)


@kernel
def intern_words(values: Any, kind: int, words: int, out: Any, room: Any) -> None:
    """out[i] = the id of the word values[i] as a value of a kind; `words` is the field of the room to use."""
    here = np.int64(room.ctypes.data)
    at = get(here, words)
    for i in range(len(values)):
        out[i] = put_word(values[i], kind, at, here)


@kernel
def find_text(data: Any, kind: int, room: Any) -> int:
    """The id of a text, or 0."""
    at, length, here = np.int64(data.ctypes.data), np.int64(len(data)), np.int64(room.ctypes.data)
    slot = text_slot(at, length, kind, hash_text(at, length, kind), here)
    return get(get(here, TABLE), slot) & np.int64(LOWER)  # type: ignore[no-any-return]


@kernel
def find_texts(data: Any, starts: Any, ends: Any, kind: int, out: Any, room: Any) -> None:
    """out[i] = the id of data[starts[i]:ends[i]], or 0."""
    base, here = np.int64(data.ctypes.data), np.int64(room.ctypes.data)
    for i in range(len(starts)):
        at, length = base + starts[i], ends[i] - starts[i]
        slot = text_slot(at, length, kind, hash_text(at, length, kind), here)
        out[i] = get(get(here, TABLE), slot) & np.int64(LOWER)


@kernel
def find_word(word: int, kind: int, words: int, room: Any) -> int:
    """The id of a word, or 0."""
    here = np.int64(room.ctypes.data)
    slot = word_slot(word, kind, hash_word(word, kind), get(here, words), here)
    return get(get(here, TABLE), slot) & np.int64(LOWER)  # type: ignore[no-any-return]


@kernel
def rehash(room: Any) -> None:
    """Fill an empty table with all ids."""
    here = np.int64(room.ctypes.data)
    table, mask, hashes = get(here, TABLE), get(here, MASK), get(here, HASHES)
    for id in range(1, get(here, COUNT)):
        h = np.uint64(get(hashes, id))
        slot = np.int64(h) & mask
        while get(table, slot) != 0:
            slot = (slot + 1) & mask
        put(table, slot, np.int64((h & UPPER) | np.uint64(id)))


@kernel
def gather_texts(ids: Any, ends: Any, out: Any, room: Any) -> None:
    """The texts of ids, one after the other; ends[i] is where the i-th ends."""
    here, to, end = np.int64(room.ctypes.data), np.int64(out.ctypes.data), 0
    heap, offsets = get(here, HEAP), get(here, OFFSETS)
    for i in range(len(ids)):
        start = get(offsets, ids[i])
        length = get(offsets, np.int64(ids[i]) + 1) - start
        for j in range(length):
            store8(to + end + j, load8(heap + start + j))
        end += length
        ends[i] = end


@kernel
def put_before(prefix: Any, data: Any, bounds: Any, out: Any) -> None:
    """Copy the texts between the boundaries with a prefix before each."""
    to = 0
    for i in range(len(bounds) - 1):
        for k in range(len(prefix)):
            out[to + k] = prefix[k]
        to += len(prefix)
        for k in range(bounds[i], bounds[i + 1]):
            out[to] = data[k]
            to += 1
