"""Executors (Python workers) and driver: 64-bit ids that need no coordination.

An id is a digest of the value (`deltalog.kernels.digest`). Executors that parse files or compute values know the ids
without a lookup, the same value has the same id in every job, and the dictionary is a set of pairs (id, term) that
every task can append to. Two values could have the same id: among 100 million terms, in one case in a thousand. That is
checked whenever terms are added, and is an error, never a wrong answer. Another salt (`spark.deltalog.salt`) gives all
values other ids.

Integers below 2^62 are their own ids (inline), so that SQL can compute with them without the dictionary:

    id < 0             the integer id + 2^62
    id < 2^62          not a number
    id >= 2^62         a number of another kind

A term is the bytes of a value: its kind, then its text (see `kernels.digest.terms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deltalog.core.dictionary import Dictionary
from deltalog.core.terms import Kind, Value
from deltalog.kernels import digest

Ids64 = NDArray[np.int64]
INLINE = 2**62
WORDS = (Kind.INTEGER, Kind.DOUBLE)
BY_VALUE = (Kind.BIG_INTEGER, Kind.NUMBER)  # texts that are interned by their value


def digests(dictionary: Dictionary, salt: int) -> Ids64:
    """The 64-bit id of each id of a dictionary."""
    out = np.zeros(len(dictionary), np.int64)
    digest.digests(dictionary.reserve(0, 0), salt, out)
    return out


def terms(dictionary: Dictionary, ids: Any) -> pa.Array:
    """The terms of ids of a dictionary, as Arrow's large binary."""
    ids = np.ascontiguousarray(ids, np.uint32)
    ends = np.zeros(len(ids) + 1, np.int64)
    room = dictionary.reserve(0, 0)
    size = digest.terms(room, ids, ends[1:], np.empty(0, np.uint8))
    data = np.empty(size, np.uint8)
    digest.terms(room, ids, ends[1:], data)
    return pa.Array.from_buffers(pa.large_binary(), len(ids), [None, pa.py_buffer(ends), pa.py_buffer(data)])


def intern_terms(dictionary: Dictionary, terms: pa.Array) -> NDArray[np.uint32]:
    """The ids in a dictionary of terms (none of which is null)."""
    terms = terms.cast(pa.large_binary())
    if not len(terms):
        return np.empty(0, np.uint32)
    bounds = np.frombuffer(terms.buffers()[1], np.int64)[terms.offset : terms.offset + len(terms) + 1]
    data = np.frombuffer(terms.buffers()[2], np.uint8)
    starts, ends = bounds[:-1], bounds[1:]
    kinds = data[starts]
    ids = np.empty(len(terms), np.uint32)
    plain = ~np.isin(kinds, (*WORDS, *BY_VALUE))
    ids[plain] = dictionary.intern_texts(data, starts[plain] + 1, ends[plain], kinds[plain])
    whole, real = kinds == Kind.INTEGER, kinds == Kind.DOUBLE
    ids[whole] = dictionary.intern_integers(_words(data, starts[whole]))
    ids[real] = dictionary.intern_doubles(_words(data, starts[real]).view(np.float64))
    for i in np.flatnonzero(np.isin(kinds, BY_VALUE)):
        ids[i] = dictionary.intern(_by_value(Kind(int(kinds[i])), bytes(data[starts[i] + 1 : ends[i]])))
    return ids


def _words(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> Ids64:
    words: Ids64 = data[starts[:, None] + 1 + np.arange(8)].reshape(-1).view(np.int64)
    return words


def _by_value(what: Kind, text: bytes) -> Value:
    from deltalog.core.terms import Literal

    if what is Kind.BIG_INTEGER:
        return int(text, 16)
    datatype, _, lexical = text.decode("utf-8", "surrogatepass").partition("\0")
    return Literal(lexical, datatype)


def values_of(ids: Ids64, terms: pa.Array) -> list[Value]:
    """The values of ids; the terms of inline integers may be null."""
    inline = ids < 0
    values = np.empty(len(ids), object)
    values[inline] = (ids[inline] + INLINE).tolist()
    far = np.flatnonzero(~inline)
    if len(far):
        dictionary = Dictionary()
        local = intern_terms(dictionary, terms.take(pa.array(far)) if len(far) < len(ids) else terms)
        found = dictionary.decode(local)
        for place, value in zip(far.tolist(), found, strict=True):
            values[place] = value
    return values.tolist()


def encode(values: Sequence[Value], salt: int) -> tuple[Ids64, pa.Array]:
    """The ids of values, and their terms (null for inline integers)."""
    dictionary = Dictionary()
    local = dictionary.encode(values)
    ids = digests(dictionary, salt)[local]
    found = terms(dictionary, local)
    return ids, pa.compute.if_else(pa.array(ids < 0), pa.scalar(None, pa.large_binary()), found)


def fresh_terms(dictionary: Dictionary, salt: int) -> tuple[Ids64, Ids64, pa.Array]:
    """Of a whole dictionary: the 64-bit id of each local id, and the ids and terms of all that are not inline."""
    ids = digests(dictionary, salt)
    need = np.flatnonzero(ids >= 0)[1:]
    return ids, ids[need], terms(dictionary, need)


def combined(column: pa.ChunkedArray) -> pa.Array:
    """A column of terms in one chunk, as Arrow's large binary."""
    return pa.concat_arrays(
        [chunk.cast(pa.large_binary()) for chunk in column.chunks] or [pa.array([], pa.large_binary())]
    )
