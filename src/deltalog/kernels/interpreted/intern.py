"""Values to ids: hashes by Python's integers, and texts as bytes.

A value is put into the table last, when all that is said about it is in place: an interrupt in between leaves an id
that nothing refers to.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from deltalog.kernels.compiling import form
from deltalog.kernels.intern import COUNT, HASHES, HEAP, KINDS, MASK, OFFSETS, TABLE
from deltalog.kernels.memory import BYTES
from deltalog.kernels.memory import WORDS as MEMORY
from deltalog.kernels.plain_numbers import FULL, SIGN

SEED, MULTIPLIER, FINISHER = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
MOST_TEXTS = 1 << 14  # at some microseconds each
UPPER, LOWER = 0xFFFFFFFF00000000, 0x00000000FFFFFFFF


def mix(h: int, word: int) -> int:
    h = ((h ^ word) * MULTIPLIER) & FULL
    return h ^ (h >> 32)


def finish(h: int, length: int) -> int:
    h = ((h ^ length) * FINISHER) & FULL
    return h ^ (h >> 31)


def seed(kind: int) -> int:
    return (SEED * kind) & FULL


def hash_of(text: bytes, kind: int) -> int:
    h, length = (SEED * kind) & FULL, len(text)
    for at in range(0, length, 8):
        h = ((h ^ int.from_bytes(text[at : at + 8], "little")) * MULTIPLIER) & FULL
        h ^= h >> 32
    return finish(h, length)


def hash_text(at: int, length: int, kind: int) -> int:
    return hash_of(BYTES[at : at + length].tobytes(), kind)


def same_text(p: int, q: int, length: int) -> bool:
    return BYTES[p : p + length] == BYTES[q : q + length]


def slot_of(text: bytes, kind: int, h: int, room: int) -> tuple[int, int]:
    """The word of the slot where a text is, or where it belongs; and its id, or 0."""
    at = room >> 3
    table, mask, kinds = MEMORY[at + TABLE] >> 3, MEMORY[at + MASK], MEMORY[at + KINDS]
    offsets, heap, length = MEMORY[at + OFFSETS] >> 3, MEMORY[at + HEAP], len(text)
    slot, upper = h & mask, h >> 32
    while True:
        entry = MEMORY[table + slot]
        if entry == 0:
            return table + slot, 0
        if (entry >> 32) & LOWER == upper:
            id = entry & LOWER
            start, end = MEMORY[offsets + id], MEMORY[offsets + id + 1]
            if end - start == length and BYTES[kinds + id] == kind and BYTES[heap + start : heap + end] == text:
                return table + slot, id
        slot = (slot + 1) & mask


def put_new(text: bytes, kind: int, h: int, slot: int, room: int) -> int:
    """Takes the next id for a text, or for a word if it is empty."""
    at = room >> 3
    id = MEMORY[at + COUNT]
    offsets = MEMORY[at + OFFSETS] >> 3
    start = MEMORY[offsets + id]
    end = start + len(text)
    if text:
        heap = MEMORY[at + HEAP]
        BYTES[heap + start : heap + end] = text
    MEMORY[(MEMORY[at + HASHES] >> 3) + id] = ((h + SIGN) & FULL) - SIGN
    BYTES[MEMORY[at + KINDS] + id] = kind
    MEMORY[offsets + id + 1] = end
    MEMORY[at + COUNT] = id + 1
    MEMORY[slot] = ((((h & UPPER) | id) + SIGN) & FULL) - SIGN
    return id


def put_bytes(text: bytes, kind: int, room: int) -> int:
    """The id of a text, which is added if it is new."""
    h = hash_of(text, kind)
    slot, id = slot_of(text, kind, h, room)
    return id or put_new(text, kind, h, slot, room)


def put_hashed(at: int, length: int, kind: int, h: int, room: int) -> int:
    text = BYTES[at : at + length].tobytes()
    slot, id = slot_of(text, kind, h, room)
    return id or put_new(text, kind, h, slot, room)


def put_text(at: int, length: int, kind: int, room: int) -> int:
    return put_bytes(BYTES[at : at + length].tobytes(), kind, room)


def hash_word(word: int, kind: int) -> int:
    return finish(mix(seed(kind), word & FULL), 8)


def word_slot_of(word: int, kind: int, h: int, words: int, room: int) -> tuple[int, int]:
    at = room >> 3
    table, mask, kinds, values = MEMORY[at + TABLE] >> 3, MEMORY[at + MASK], MEMORY[at + KINDS], words >> 3
    slot, upper = h & mask, h >> 32
    while True:
        entry = MEMORY[table + slot]
        if entry == 0:
            return table + slot, 0
        if (entry >> 32) & LOWER == upper:
            id = entry & LOWER
            if BYTES[kinds + id] == kind and MEMORY[values + id] == word:
                return table + slot, id
        slot = (slot + 1) & mask


def put_word(word: int, kind: int, words: int, room: int) -> int:
    h = hash_word(word, kind)
    slot, id = word_slot_of(word, kind, h, words, room)
    if id == 0:
        MEMORY[(words >> 3) + MEMORY[(room >> 3) + COUNT]] = word
        id = put_new(b"", kind, h, slot, room)
    return id


@form(work=lambda data, starts, *_: len(starts), most=MOST_TEXTS)
def intern_texts(data: Any, starts: Any, ends: Any, kinds: Any, out: Any, room: Any) -> int:
    here, known = room.ctypes.data, dict[tuple[bytes, int], int]()
    for i, (start, end, kind) in enumerate(zip(starts.tolist(), ends.tolist(), kinds.tolist(), strict=True)):
        text = data[start:end].tobytes()
        id = known.get((text, kind))
        if id is None:
            id = known[text, kind] = put_bytes(text, kind, here)
        out[i] = id
    return 0


@form(work=lambda other, ids, *_: len(ids), most=MOST_TEXTS)
def intern_hashed(other: Any, ids: Any, out: Any, room: Any) -> None:
    there, here = other.ctypes.data >> 3, room.ctypes.data
    offsets, kinds, hashes, heap = MEMORY[there + OFFSETS] >> 3, *(MEMORY[there + i] for i in (KINDS, HASHES, HEAP))
    for i in ids.tolist():
        text = BYTES[heap + MEMORY[offsets + i] : heap + MEMORY[offsets + i + 1]].tobytes()
        kind, h = BYTES[kinds + i], MEMORY[(hashes >> 3) + i] & FULL
        slot, id = slot_of(text, kind, h, here)
        out[i] = id or put_new(text, kind, h, slot, here)


@form(work=lambda values, *_: len(values), most=MOST_TEXTS)
def intern_words(values: Any, kind: int, words: int, out: Any, room: Any) -> None:
    here = room.ctypes.data
    at = MEMORY[(here >> 3) + words]
    for i, word in enumerate(values.view(np.int64).tolist()):
        out[i] = put_word(word, kind, at, here)


@form(work=lambda *_: 1)
def find_text(data: Any, kind: int, room: Any) -> int:
    text = data.tobytes()
    return slot_of(text, kind, hash_of(text, kind), room.ctypes.data)[1]


@form(work=lambda data, starts, *_: len(starts), most=MOST_TEXTS)
def find_texts(data: Any, starts: Any, ends: Any, kind: int, out: Any, room: Any) -> None:
    here = room.ctypes.data
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        text = data[start:end].tobytes()
        out[i] = slot_of(text, kind, hash_of(text, kind), here)[1]


def find_word(word: int, kind: int, words: int, room: Any) -> int:
    here, word = room.ctypes.data, int(word)
    return word_slot_of(word, kind, hash_word(word, kind), MEMORY[(here >> 3) + words], here)[1]


@form(work=lambda room: int(room[COUNT]), most=MOST_TEXTS)
def rehash(room: Any) -> None:
    at = room.ctypes.data >> 3
    table, mask, hashes = MEMORY[at + TABLE] >> 3, MEMORY[at + MASK], MEMORY[at + HASHES] >> 3
    for id in range(1, MEMORY[at + COUNT]):
        h = MEMORY[hashes + id]
        slot = h & mask
        while MEMORY[table + slot] != 0:
            slot = (slot + 1) & mask
        MEMORY[table + slot] = (h >> 32 << 32) | id


@form(work=lambda ids, *_: len(ids), most=MOST_TEXTS)
def gather_texts(ids: Any, ends: Any, out: Any, room: Any) -> None:
    at = room.ctypes.data >> 3
    heap, offsets = MEMORY[at + HEAP], MEMORY[at + OFFSETS] >> 3
    texts = [BYTES[heap + MEMORY[offsets + id] : heap + MEMORY[offsets + id + 1]].tobytes() for id in ids.tolist()]
    joined = b"".join(texts)
    out[: len(joined)] = np.frombuffer(joined, np.uint8)
    ends[:] = np.cumsum([len(text) for text in texts])


@form(work=lambda prefix, data, bounds, out: len(bounds), most=MOST_TEXTS)
def put_before(prefix: Any, data: Any, bounds: Any, out: Any) -> None:
    before, all_texts, ends = prefix.tobytes(), data.tobytes(), bounds.tolist()
    texts = b"".join([before + all_texts[start:end] for start, end in pairwise(ends)])
    out[: len(texts)] = np.frombuffer(texts, np.uint8)
