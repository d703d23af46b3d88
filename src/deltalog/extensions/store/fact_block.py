"""Facts as bytes, with the values that they need and no ids of a dictionary: what the log has of a change.

    header   JSON: the relations, and the type and length of each array
    arrays   kinds, words and texts of the distinct values; then the columns of each relation, as positions among them

The value at a position has a kind (`terms.Kind`); integers and doubles have their 64 bits in `words`; all other values
are the bytes of `heap` from `bounds[i]` to `bounds[i + 1]`, in the dictionary's encoding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deltalog.core.dictionary import Dictionary
from deltalog.core.rules import HiddenName, Pred
from deltalog.core.terms import Kind
from deltalog.engines.local import LocalBackend
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.codec import encode_rows

T = TypeVar("T")
_INDEXED = (Kind.BIG_INTEGER, Kind.NUMBER)  # texts that the dictionary gives a number


def pack_facts(tables: Mapping[Pred, T], backend: Backend[T]) -> bytes:
    """The rows of tables."""
    sized = {pred: table for pred, table in tables.items() if backend.size(table)}
    columns = {pred: list(backend.rows(table)) for pred, table in sized.items()}
    dictionary, columns = _local_columns(columns, backend)
    together = [column for each in columns.values() for column in each]
    used = np.unique(np.concatenate(together)) if together else np.empty(0, np.uint32)
    arrays = [*_values(dictionary, used)]
    arrays += [np.searchsorted(used, column).astype(np.uint32) for column in together]
    relations = [[str(pred.name), pred.hidden, pred.arity, backend.size(table)] for pred, table in sized.items()]
    header = {"relations": relations, "arrays": [[array.dtype.str, len(array)] for array in arrays]}
    return json.dumps(header).encode() + b"\n" + b"".join(array.tobytes() for array in arrays)


def _local_columns(columns: dict[Pred, list[Any]], backend: Backend[Any]) -> tuple[Dictionary, dict[Pred, list[Any]]]:
    """Columns with the 32-bit ids of a dictionary."""
    if isinstance(backend, LocalBackend):
        return backend.dictionary, columns
    own = Dictionary()
    return own, {pred: [own.encode(backend.codec.values(ids)) for ids in each] for pred, each in columns.items()}


def _values(dictionary: Dictionary, ids: NDArray[np.uint32]) -> list[NDArray[Any]]:
    kinds = dictionary.kinds[ids]
    words = np.where(kinds == Kind.DOUBLE, dictionary.doubles[ids].view(np.int64), dictionary.integers[ids])
    heap, bounds = dictionary.texts(ids)
    return [kinds, words, bounds, heap]


def unpack_facts(data: bytes, backend: Backend[T]) -> dict[Pred, T]:
    """The facts, as tables of a backend."""
    line, _, rest = data.partition(b"\n")
    header, arrays, place = json.loads(line), [], 0
    for dtype, length in header["arrays"]:
        arrays.append(np.frombuffer(rest, dtype, length, place))
        place += arrays[-1].nbytes
    local = isinstance(backend, LocalBackend)
    dictionary = backend.dictionary if isinstance(backend, LocalBackend) else Dictionary()
    ids, columns = _interned(dictionary, *arrays[:4]), iter(arrays[4:])
    tables: dict[Pred, T] = {}
    for name, hidden, arity, rows in header["relations"]:
        found = [ids[next(columns)] for _ in range(arity)]
        pred = Pred(HiddenName(name) if hidden else name, arity)
        if local or not rows or not arity:
            tables[pred] = backend.load(found, arity)
        else:
            tables[pred] = encode_rows(backend.codec, list(zip(*map(dictionary.decode, found), strict=True)))
    return tables


def _interned(
    dictionary: Dictionary,
    kinds: NDArray[np.uint8],
    words: NDArray[np.int64],
    bounds: NDArray[np.int64],
    heap: NDArray[np.uint8],
) -> NDArray[np.uint32]:
    """The ids of values."""
    ids = np.empty(len(kinds), np.uint32)
    whole, real, indexed = kinds == Kind.INTEGER, kinds == Kind.DOUBLE, np.isin(kinds, _INDEXED)
    if whole.any():
        ids[whole] = dictionary.intern_integers(words[whole])
    if real.any():
        ids[real] = dictionary.intern_doubles(words[real].view(np.float64))
    text = ~(whole | real | indexed)
    if text.any():
        ids[text] = dictionary.intern_texts(heap, bounds[:-1][text], bounds[1:][text], kinds[text])
    if indexed.any():
        other = Dictionary()
        found = other.intern_texts(heap, bounds[:-1][indexed], bounds[1:][indexed], kinds[indexed])
        ids[indexed] = dictionary.encode(other.decode(found))
    return ids
