"""The hash table behind the dictionary: bytes and 64-bit words to ids.

One open-addressing table serves all kinds of values. A slot is a `uint64`: the upper half of the value's hash, then its
id; 0 is an empty slot, since id 0 is no value. The lower bits of the hash say where to start looking, the upper half
makes a comparison with a wrong value unlikely. `hashes` keeps the whole hash of each id, so that the table grows
without looking at a single text, and so that one table can be merged into another without hashing again.

The value behind an id lies in arrays indexed by the id: its kind, and either a word (an integer, or the bits of a
double) or the bytes `heap[offsets[id]:offsets[id + 1]]`. Arrays never grow in here: whoever calls has made room for
the case that everything is new.

Bytes are hashed and compared eight at a time, through loads from addresses that numpy's indexing cannot express. A
text is never read past its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """A compiled function that is cached on disk and lets other threads run."""
    compiled: F = njit(nogil=True, cache=True)(function)
    return compiled


def inlined(function: F) -> F:
    """A compiled function that LLVM puts into its callers."""
    compiled: F = njit(nogil=True, cache=True, forceinline=True)(function)
    return compiled


SEED = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
FINISHER = np.uint64(0x94D049BB133111EB)
UPPER = np.uint64(0xFFFFFFFF00000000)
LOWER = np.uint64(0x00000000FFFFFFFF)
EMPTY = np.uint64(0)
NOT_FOUND = np.int64(0)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def load64(typing_context: Any, address: Any) -> Any:
    """The eight bytes at an address, the first in the lowest bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=1)

    return types.uint64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """How many of the lowest bits are 0; 64 for 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@inlined
def mix(h: Any, word: Any) -> Any:
    """The hash of what came before and one more word."""
    h = (h ^ word) * MULTIPLIER
    return h ^ (h >> np.uint64(32))


@inlined
def finish(h: Any, length: Any) -> Any:
    """The hash of a text from the mixed words and its length."""
    h = (h ^ np.uint64(length)) * FINISHER
    return h ^ (h >> np.uint64(31))


@inlined
def seed(kind: Any) -> Any:
    """Where the hash of a value of a kind starts: equal texts of different kinds are far apart."""
    return SEED * np.uint64(kind)


@inlined
def tail(data: Any, start: Any, end: Any, rest: Any) -> Any:
    """The last `rest` (1 to 7) bytes of a text as a word."""
    if end - start >= 8:
        return load64(data.ctypes.data + end - 8) >> np.uint64(64 - 8 * rest)
    word = np.uint64(0)
    for i in range(rest):
        word |= np.uint64(data[end - rest + i]) << np.uint64(8 * i)
    return word


@inlined
def hash_text(data: Any, start: Any, end: Any, kind: Any) -> Any:
    """The hash of the text data[start:end] as a value of a kind."""
    h = seed(kind)
    i = start
    while i + 8 <= end:
        h = mix(h, load64(data.ctypes.data + i))
        i += 8
    if i < end:
        h = mix(h, tail(data, start, end, end - i))
    return finish(h, end - start)


@inlined
def hash_word(word: Any, kind: Any) -> Any:
    """The hash of an integer, or of the bits of a double."""
    return finish(mix(seed(kind), np.uint64(word)), 8)


@inlined
def same_text(a: Any, i: Any, b: Any, j: Any, length: Any) -> Any:
    """Whether a[i:i + length] and b[j:j + length] are the same bytes."""
    end = i + length
    p = a.ctypes.data
    q = b.ctypes.data + (j - i)
    while i + 8 <= end:
        if load64(p + i) != load64(q + i):
            return False
        i += 8
    if i == end:
        return True
    if length >= 8:
        return bool(load64(p + end - 8) == load64(q + end - 8))
    while i < end:
        if a[i] != b[j + (i - end + length)]:
            return False
        i += 1
    return True


@inlined
def copy_text(source: Any, start: Any, end: Any, target: Any, to: Any) -> Any:
    """target[to:] = source[start:end]; gives the end in the target."""
    for i in range(end - start):
        target[to + i] = source[start + i]
    return to + (end - start)


@inlined
def look_up_text(data: Any, start: Any, end: Any, kind: Any, h: Any, store: Any) -> Any:
    """The id of a text (0 if it has none) and the slot where it is, or where it belongs."""
    table, _, kinds, offsets, heap = store
    mask = np.uint64(len(table) - 1)
    slot = h & mask
    while table[slot] != EMPTY:
        if (table[slot] ^ h) & UPPER == EMPTY:
            id = np.int64(table[slot] & LOWER)
            at = offsets[id]
            if (
                kinds[id] == kind
                and offsets[id + 1] - at == end - start
                and same_text(data, start, heap, at, end - start)
            ):
                return id, slot
        slot = (slot + np.uint64(1)) & mask
    return NOT_FOUND, slot


@inlined
def put_text(data: Any, start: Any, end: Any, kind: Any, h: Any, store: Any, count: Any) -> Any:
    """The id of a text with a known hash; if that is `count`, it is new, and has been added."""
    id, slot = look_up_text(data, start, end, kind, h, store)
    if id == NOT_FOUND:
        id = count
        table, hashes, kinds, offsets, heap = store
        table[slot] = (h & UPPER) | np.uint64(id)
        hashes[id] = h
        kinds[id] = kind
        offsets[id + 1] = copy_text(data, start, end, heap, offsets[id])
    return id


@kernel
def intern_texts(data: Any, starts: Any, ends: Any, new_kinds: Any, out: Any, store: Any, count: int) -> int:
    """out[i] = the id of data[starts[i]:ends[i]] as a value of new_kinds[i]; gives the new number of ids."""
    for i in range(len(starts)):
        h = hash_text(data, starts[i], ends[i], new_kinds[i])
        id = put_text(data, starts[i], ends[i], new_kinds[i], h, store, count)
        count = max(count, id + 1)
        out[i] = id
    return count


@kernel
def intern_hashed(other: Any, first: int, last: int, out: Any, store: Any, count: int) -> int:
    """out[i] = the id here of the text that has id i in another store; gives the new number of ids."""
    _, hashes, kinds, offsets, heap = other
    for i in range(first, last):
        id = put_text(heap, offsets[i], offsets[i + 1], kinds[i], hashes[i], store, count)
        count = max(count, id + 1)
        out[i] = id
    return count


@kernel
def find_text(data: Any, kind: int, store: Any) -> int:
    """The id of a text, or 0."""
    return look_up_text(data, 0, len(data), kind, hash_text(data, 0, len(data), kind), store)[0]  # type: ignore[no-any-return]


@inlined
def look_up_word(word: Any, kind: Any, h: Any, store: Any, words: Any) -> Any:
    """The id of a word (0 if it has none) and the slot where it is, or where it belongs."""
    table, _, kinds, _, _ = store
    mask = np.uint64(len(table) - 1)
    slot = h & mask
    while table[slot] != EMPTY:
        if (table[slot] ^ h) & UPPER == EMPTY:
            id = np.int64(table[slot] & LOWER)
            if kinds[id] == kind and words[id] == word:
                return id, slot
        slot = (slot + np.uint64(1)) & mask
    return NOT_FOUND, slot


@kernel
def intern_words(values: Any, kind: int, out: Any, store: Any, words: Any, count: int) -> int:
    """out[i] = the id of the word values[i] as a value of a kind; gives the new number of ids."""
    table, hashes, kinds, offsets, _ = store
    for i in range(len(values)):
        h = hash_word(values[i], kind)
        id, slot = look_up_word(values[i], kind, h, store, words)
        if id == NOT_FOUND:
            id = count
            count += 1
            table[slot] = (h & UPPER) | np.uint64(id)
            hashes[id] = h
            kinds[id] = kind
            words[id] = values[i]
            offsets[id + 1] = offsets[id]
        out[i] = id
    return count


@kernel
def find_word(word: int, kind: int, store: Any, words: Any) -> int:
    """The id of a word, or 0."""
    return look_up_word(word, kind, hash_word(word, kind), store, words)[0]  # type: ignore[no-any-return]


@kernel
def rehash(hashes: Any, count: int, table: Any) -> None:
    """Fill an empty table with the ids 1 to count - 1."""
    mask = np.uint64(len(table) - 1)
    for id in range(1, count):
        slot = hashes[id] & mask
        while table[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = (hashes[id] & UPPER) | np.uint64(id)


@kernel
def gather_texts(ids: Any, offsets: Any, heap: Any, ends: Any, out: Any) -> None:
    """The texts of ids, one after the other; ends[i] is where the i-th ends."""
    to = 0
    for i in range(len(ids)):
        to = copy_text(heap, offsets[ids[i]], offsets[ids[i] + 1], out, to)
        ends[i] = to
