"""Driver and executors (Python workers): the dictionary, a set of pairs (id, term).

The driver interns the values that it sees itself: constants of rules, rows that a user adds, terms that it fetched.
Executors produce the terms of files and of computed values. Those stay pending, as DataFrames of blocks (see `blocks`),
until terms are needed or a run ends. `merge_pending` then merges them into one set: pairs are shuffled by their id into
at most BUCKETS partitions, and each partition removes duplicates and checks that no id has two terms.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import EngineError
from deltalog.core.terms import Value
from deltalog.core.tuning import Tuning
from deltalog.engines.spark.io import blocks
from deltalog.engines.spark.io import hashed_ids as identity
from deltalog.engines.spark.io.arrow import binaries, number, numbers, words
from deltalog.engines.spark.io.hashed_ids import INLINE, Ids64
from deltalog.engines.spark.jobs import SparkJobs
from deltalog.engines.spark.stored import checkpointed, release

BUCKETS = 64
SCHEMA = pa.schema([("id", pa.int64()), ("term", pa.large_binary())])
MERGED = "to int, data binary, size long, greatest long, double long"


class SparkDictionary:
    """Values <-> 64-bit ids."""

    def __init__(self, spark: Any, salt: int, tuning: Tuning, jobs: SparkJobs) -> None:
        self._spark, self._salt, self._tuning, self._jobs = spark, salt, tuning, jobs
        self.local = Dictionary()  # the values that the driver knows
        self._ids = np.zeros(1, np.int64)  # the 64-bit id of each local id
        self._order = np.zeros(0, np.int64)  # local ids, sorted by their 64-bit id
        self._merged: DataFrame | None = None
        self._stored: DataFrame | None = None  # what executors hold of it
        self._merged_local = 1  # smaller local ids are in `_merged`
        self._pending: list[DataFrame] = []
        self._partitions = 1  # of the merged pairs
        self.size = 0  # of the merged pairs
        self._other_numbers = False
        self._local_is_complete = False  # whether the driver knows every merged pair
        self._broadcast: tuple[int, Any, int] | None = None  # how many local ids it has, the broadcast, and its key

    # In the driver.

    def id(self, value: Value) -> int:
        """The 64-bit id of a value, which is added if it is new."""
        if type(value) is int and -INLINE <= value < INLINE:
            return value - INLINE
        local = self.local.intern(value)
        return int(self.ids()[local])

    def ids(self) -> Ids64:
        """The 64-bit id of each local id."""
        if len(self._ids) < len(self.local):
            self._ids = identity.digests(self.local, self._salt)
            self._order = np.argsort(self._ids[1:], kind="stable") + 1
            ordered = self._ids[self._order]
            if (ordered[1:] == ordered[:-1]).any():
                raise _collision()
        return self._ids

    def local_ids(self, ids: Ids64) -> tuple[Any, Any]:
        """The local id of each 64-bit id, and whether it has one."""
        known = self.ids()
        positions = np.searchsorted(known[self._order], ids)
        positions = np.minimum(positions, max(len(self._order) - 1, 0))
        if not len(self._order):
            return np.zeros(len(ids), np.uint32), np.zeros(len(ids), np.bool_)
        local = self._order[positions]
        return local.astype(np.uint32), known[local] == ids

    def values(self, ids: Ids64) -> list[Value]:
        """The values of ids."""
        ids = np.asarray(ids, np.int64)
        inline = ids < 0
        values = np.empty(len(ids), object)
        values[inline] = (ids[inline] + INLINE).tolist()
        missing = ids[~inline]
        if len(missing):
            found = self.local.decode(self.fetch(missing))
            for position, value in zip(np.flatnonzero(~inline).tolist(), found, strict=True):
                values[position] = value
        return values.tolist()

    def fetch(self, ids: Ids64) -> Any:
        """The local ids of 64-bit ids; terms that the driver does not have are fetched."""
        local, there = self.local_ids(ids)
        if not there.all():
            self._fetch_missing(np.unique(ids[~there]))
            local, there = self.local_ids(ids)
            assert there.all(), "an id without a term"
        return local

    def _fetch_missing(self, missing: Ids64) -> None:
        self.merge_pending()
        if self.size <= self._tuning.spark_broadcast_max_terms:
            self._fetch_all()
            return
        requested = self._spark.createDataFrame(pa.table([numbers(missing)], names=["id"]))
        found = self.frame().join(F.broadcast(requested), "id", "left_semi")
        with self._jobs.named("fetch values"):
            self._intern(found.select("term").toArrow().column("term"))

    def _fetch_all(self) -> None:
        with self._jobs.named("fetch the dictionary"):
            pairs = blocks.concatenated(blocks.cells(self._all().select("data").toArrow().to_batches()))
        if pairs is not None:
            self._intern(pairs.column("term"))
        self._local_is_complete = True

    def _intern(self, terms: pa.ChunkedArray) -> None:
        identity.intern_terms(self.local, identity.combined(terms))
        self._merged_local = len(self.local)

    @property
    def is_small(self) -> bool:
        """Whether all pairs may be broadcast."""
        return self.total <= self._tuning.spark_broadcast_max_terms

    @property
    def total(self) -> int:
        """An upper bound on the number of pairs."""
        self.merge_pending()
        return self.size + len(self.local) - self._merged_local

    def broadcast(self) -> tuple[Any, int]:
        """All pairs as a broadcast Arrow stream of ids and terms, and a key for caches."""
        self.merge_pending()
        if not self._local_is_complete:
            self._fetch_all()
        if self._broadcast is None or self._broadcast[0] != len(self.local):
            stream = blocks.pack(self._local_pairs(1))
            self._broadcast = (len(self.local), self._spark.sparkContext.broadcast(stream), random.getrandbits(62))
        return self._broadcast[1:]

    # In DataFrames.

    @property
    def only_integers(self) -> bool:
        """Whether all numbers are integers that are their own ids."""
        self.merge_pending()
        return not self._other_numbers and not (self.ids() >= INLINE).any()

    def add(self, terms: DataFrame) -> None:
        """Adds pairs (id, term), which may have duplicates; the DataFrame must be cheap to read twice."""
        self.add_blocks(terms.select("id", "term").mapInArrow(_packed, "to int, data binary"))

    def add_blocks(self, terms: DataFrame, partitions: int = 1) -> None:
        """Adds blocks of pairs by bucket, as `term_blocks` makes them, for a number of partitions."""
        self._pending.append(terms)
        self._partitions = max(self._partitions, partitions)

    def frame(self) -> DataFrame:
        """All pairs, without duplicates."""
        return self._all().select("data").mapInArrow(_unpacked, "id long, term binary")

    def _all(self) -> DataFrame:
        """All pairs as blocks, without duplicates."""
        self.merge_pending()
        if self._merged is None or self._merged_local < len(self.local):
            self._merge([self._local_frame(self._merged_local)])
        assert self._merged is not None
        return self._merged

    def pin(self) -> None:
        """Leaves it to Spark to release the merged pairs, because a DataFrame of the user's reads them."""
        self._stored = None

    def merge_pending(self) -> None:
        """Merges pending pairs; raises EngineError if an id has two terms."""
        if self._pending:
            self._merge([*self._pending, self._local_frame(self._merged_local)])

    def _merge(self, new: list[DataFrame]) -> None:
        if self._merged is None and not self._pending:
            self._merged, self.size, self._local_is_complete = new[0], len(self.local) - 1, True
            self._merged_local = len(self.local)
            return
        parts = new if self._merged is None else [self._merged, *new]
        partitions = min(BUCKETS, max(self._partitions, int(self._spark.conf.get("spark.sql.shuffle.partitions"))))
        pairs = checkpointed(
            blocks.shuffled(reduce(DataFrame.unionAll, parts), partitions).mapInArrow(_merged_partition, MERGED)
        )
        looks = (F.sum("size"), F.max("greatest"), F.max("double"))
        with self._jobs.named("merge the dictionary"):
            size, greatest, double = pairs.agg(*looks).collect()[0]
        if double:
            raise _collision()
        if self._stored is not None:
            release(self._stored)
        self._stored, self._merged, self._pending = pairs, pairs.select("to", "data"), []
        self._local_is_complete = False
        self.size, self._merged_local = size or 0, len(self.local)
        self._other_numbers = (greatest or 0) >= INLINE

    def _local_pairs(self, first: int) -> pa.RecordBatch:
        """The pairs of local ids from `first` on."""
        ids = self.ids()[first:]
        need = np.flatnonzero(ids >= 0)
        return pa.RecordBatch.from_arrays([numbers(ids[need]), identity.terms(self.local, need + first)], schema=SCHEMA)

    def _local_frame(self, first: int) -> DataFrame:
        pairs = self._local_pairs(first)
        rows = list(term_blocks(words(pairs.column("id")), pairs.column("term")))
        return self._spark.createDataFrame(pa.table(_columns(rows), names=["to", "data"]))


# In Python workers.


def term_blocks(ids: Ids64, terms: pa.Array) -> Iterator[tuple[int, bytes]]:
    """Pairs of ids (none of them an inline integer) and terms as blocks, by bucket."""
    return blocks.split_by_partition(pa.RecordBatch.from_arrays([numbers(ids), terms], schema=SCHEMA), ids % BUCKETS)


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        pairs = list(term_blocks(words(batch.column("id")), batch.column("term").cast(pa.large_binary())))
        yield pa.RecordBatch.from_arrays(_columns(pairs), ["to", "data"])


def _columns(blocks: Sequence[tuple[int, bytes]]) -> list[pa.Array]:
    """Pairs of target partition and block as columns."""
    return [numbers(np.array([to for to, _ in blocks], np.int32)), binaries([block for _, block in blocks])]


def _unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for block in blocks.cells(batches):
        pairs = blocks.unpack(block)
        columns = [pairs.column("id"), pairs.column("term").cast(pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["id", "term"])


def _merged_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The distinct pairs of a partition as blocks, with their number, greatest id, and whether an id has two terms."""
    pairs = blocks.concatenated(blocks.cells(batches))
    if pairs is None:
        return
    ids, terms = words(pairs.column("id")), identity.combined(pairs.column("term"))
    order = np.argsort(ids, kind="stable")
    again = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    double = not terms.take(numbers(order[again])).equals(terms.take(numbers(order[again + 1])))
    once = np.delete(order, again + 1)
    for to, block in term_blocks(ids[once], terms.take(numbers(once))):
        found = words(blocks.unpack(block).column("id"))
        statistics = [number(value, np.int64) for value in (len(found), int(found.max()), int(double))]
        columns = [number(to), binaries([block]), *statistics]
        yield pa.RecordBatch.from_arrays(columns, ["to", "data", "size", "greatest", "double"])


def _collision() -> EngineError:
    return EngineError(
        "two different values have the same 64-bit id, which is rare and depends on a number that you can choose: "
        "set the option spark.deltalog.salt to another one (now 0 unless you set it) and start again"
    )
