"""Digests of the values of a room: 64 bits that depend on nothing but the value, the same on every machine.

The hashes of `deltalog.kernels.intern` are made for a table that compares what it finds; two texts that differ in a few
digits may share one. A digest stands for its value, so it has to be better: it is XXH64 of the value's bytes, seeded
with its kind.

`digests` gives signed words of three classes:

    negative              an integer v, -2^62 <= v < 2^62, itself: v - 2^62
    0 .. 2^62 - 1         a value that is no number
    2^62 .. 2^63 - 1      any other number

`terms` writes values as bytes: the kind, then the text (or the eight bytes of a word).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import inlined, inner, kernel
from deltalog.kernels.intern import DOUBLES, HEAP, INTEGERS, KINDS, OFFSETS
from deltalog.kernels.memory import get, load8, load64, store8

INTEGER, BIG_INTEGER, DOUBLE, NUMBER = map(np.int64, (4, 5, 6, 7))  # of terms.Kind
INLINE = np.int64(2**62)

P1 = np.uint64(0x9E3779B185EBCA87)
P2 = np.uint64(0xC2B2AE3D27D4EB4F)
P3 = np.uint64(0x165667B19E3779F9)
P4 = np.uint64(0x85EBCA77C2B2AE63)
P5 = np.uint64(0x27D4EB2F165667C5)


@inlined
def rotated(x: Any, n: Any) -> Any:
    return (x << np.uint64(n)) | (x >> np.uint64(64 - n))


@inner
def mixed(accumulator: Any, word: Any) -> Any:
    return rotated(accumulator + word * P2, 31) * P1


@inner
def merged(h: Any, accumulator: Any) -> Any:
    return (h ^ mixed(np.uint64(0), accumulator)) * P1 + P4


@inner
def avalanche(h: Any) -> Any:
    h = (h ^ (h >> np.uint64(33))) * P2
    h = (h ^ (h >> np.uint64(29))) * P3
    return h ^ (h >> np.uint64(32))


@inner
def load32(at: Any) -> Any:
    word = np.uint64(0)
    for i in range(4):
        word |= np.uint64(load8(at + i)) << np.uint64(8 * i)
    return word


@inner
def xxh64(at: Any, length: Any, seed: Any) -> Any:
    """XXH64 of the bytes at an address."""
    end = at + length
    if length >= 32:
        a, b, c, d = seed + P1 + P2, seed + P2, seed, seed - P1
        while at + 32 <= end:
            a, b = mixed(a, load64(at)), mixed(b, load64(at + 8))
            c, d = mixed(c, load64(at + 16)), mixed(d, load64(at + 24))
            at += 32
        h = rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18)
        h = merged(merged(merged(merged(h, a), b), c), d)
    else:
        h = seed + P5
    h += np.uint64(length)
    while at + 8 <= end:
        h = rotated(h ^ mixed(np.uint64(0), load64(at)), 27) * P1 + P4
        at += 8
    if at + 4 <= end:
        h = rotated(h ^ (load32(at) * P1), 23) * P2 + P3
        at += 4
    while at < end:
        h = rotated(h ^ (np.uint64(load8(at)) * P5), 11) * P1
        at += 1
    return avalanche(h)


@kernel
def hash_bytes(data: Any, seed: int) -> int:
    """XXH64 of an array of bytes, as a signed word."""
    return np.int64(xxh64(np.int64(data.ctypes.data), np.int64(len(data)), np.uint64(seed)))  # type: ignore[return-value]


@kernel
def digests(room: Any, salt: int, out: Any) -> None:
    """out[id] = the digest of the value of an id, for all ids of the room from 1 on."""
    here = np.int64(room.ctypes.data)
    kinds, offsets, heap = get(here, KINDS), get(here, OFFSETS), get(here, HEAP)
    integers, doubles = get(here, INTEGERS), get(here, DOUBLES)
    for id in range(1, len(out)):
        what = load8(kinds + id)
        seed = np.uint64(salt) * P3 + np.uint64(what)
        if what == INTEGER and -INLINE <= get(integers, id) < INLINE:
            out[id] = get(integers, id) - INLINE
        elif what == INTEGER:
            out[id] = INLINE | np.int64(xxh64(integers + 8 * id, 8, seed) >> np.uint64(2))
        elif what == DOUBLE:
            out[id] = INLINE | np.int64(xxh64(doubles + 8 * id, 8, seed) >> np.uint64(2))
        else:
            start = get(offsets, id)
            h = np.int64(xxh64(heap + start, get(offsets, id + 1) - start, seed) >> np.uint64(2))
            out[id] = INLINE | h if what == BIG_INTEGER or what == NUMBER else h


@inner
def copied(source: Any, length: Any, to: Any) -> Any:
    for j in range(length):
        store8(to + j, load8(source + j))
    return to + length


@kernel
def terms(room: Any, ids: Any, ends: Any, out: Any) -> int:
    """The values of ids as bytes, one after the other; ends[i] is where the i-th ends. Gives the length of all; writes
    only if `out` has that much room."""
    here, start = np.int64(room.ctypes.data), np.int64(out.ctypes.data)
    kinds, offsets, heap = get(here, KINDS), get(here, OFFSETS), get(here, HEAP)
    end = 0
    for i in range(len(ids)):
        id = np.int64(ids[i])
        what = load8(kinds + id)
        word = what == INTEGER or what == DOUBLE
        end += 1 + (8 if word else get(offsets, id + 1) - get(offsets, id))
        ends[i] = end
    if end > len(out):
        return end
    to = start
    for i in range(len(ids)):
        id = np.int64(ids[i])
        what = load8(kinds + id)
        store8(to, what)
        if what == INTEGER or what == DOUBLE:
            to = copied((get(here, INTEGERS) if what == INTEGER else get(here, DOUBLES)) + 8 * id, 8, to + 1)
        else:
            to = copied(heap + get(offsets, id), get(offsets, id + 1) - get(offsets, id), to + 1)
    return end
