"""Executors (Python workers): 64-bit ids to values.

A small dictionary (`Tuning.spark_broadcast_max_terms`) is broadcast to every worker once, and only ids cross from the
JVM to Python. A larger one is joined with the rows (see `join_terms`), so each batch has the terms of its ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from deltalog.core.dictionary import Dictionary
from deltalog.engines.spark.io import hashed_ids as identity
from deltalog.engines.spark.io.arrow import words
from deltalog.engines.spark.io.hashed_ids import INLINE, Ids64
from deltalog.engines.spark.io.join_terms import frequent_terms

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend

_known: dict[int, tuple[Dictionary, Ids64, Any]] = {}  # in a worker: the last broadcast dictionary, unpacked


class Decoder:
    """Turns batches of 64-bit ids into local ids. The driver makes it, and executors use it."""

    def __init__(self, shared: Any, key: int) -> None:
        self._shared, self._key = shared, key

    @classmethod
    def of(cls, frame: DataFrame, names: Sequence[str], backend: SparkBackend) -> tuple[DataFrame, Decoder]:
        """The rows with what the decoder needs, and the decoder."""
        if not backend.dictionary.is_small:
            return backend.with_terms(frame, names, frequent_terms(frame, names, backend)), cls(None, 0)
        return frame, cls(*backend.dictionary.broadcast())

    def local(self, batch: pa.RecordBatch, names: Sequence[str]) -> tuple[Dictionary, list[Any]]:
        """A dictionary, and the columns of a batch as its local ids."""
        columns = [words(batch.column(name)) for name in names]
        if self._shared is None:
            dictionary = Dictionary()
            return dictionary, [
                _interned(ids, batch.column(name + "term"), dictionary)
                for name, ids in zip(names, columns, strict=True)
            ]
        return self._unpacked()[0], [self.ids(ids)[1] for ids in columns]

    def ids(self, ids: Ids64) -> tuple[Dictionary, Any]:
        """The broadcast dictionary, and the local ids of 64-bit ids."""
        dictionary, sorted_ids, local = self._unpacked()
        out = np.empty(len(ids), np.uint32)
        inline = ids < 0
        out[inline] = dictionary.intern_integers(ids[inline] + INLINE)
        places = np.searchsorted(sorted_ids, ids[~inline])
        out[~inline] = local[np.minimum(places, len(local) - 1)] if len(local) else 0
        return dictionary, out

    def _unpacked(self) -> tuple[Dictionary, Ids64, Any]:
        if self._key not in _known:
            ids, terms = pa.ipc.open_stream(self._shared.value).read_all().combine_chunks().columns
            dictionary = Dictionary()
            local = identity.intern_terms(dictionary, identity.combined(terms))
            sorted_ids = words(ids)
            order = np.argsort(sorted_ids)
            _known.clear()
            _known[self._key] = (dictionary, sorted_ids[order], local[order])
        return _known[self._key]


def _interned(ids: Ids64, terms: pa.Array, dictionary: Dictionary) -> Any:
    """The local ids of a column that has a column of terms."""
    distinct, first, places = np.unique(ids, return_index=True, return_inverse=True)
    local = np.empty(len(distinct), np.uint32)
    inline = distinct < 0
    local[inline] = dictionary.intern_integers(distinct[inline] + INLINE)
    local[~inline] = identity.intern_terms(dictionary, terms.take(pa.array(first[~inline])))
    return local[places]
