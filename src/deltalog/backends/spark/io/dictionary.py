"""The dictionary of the Spark engine: pairs (id, term), some in the driver, most where executors made them.

The driver interns what it sees itself: constants of rules, rows that a user adds, terms that were asked for. Executors
make the terms of files and of computed values; those wait as DataFrames of blocks (see `blocks`) until somebody needs
terms, or a run ends. `settle` then makes one set of all, computed once: a pair goes to one of BUCKETS by its id, and
where a bucket comes together ids are made distinct, with a look for two terms of the same id.
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

from deltalog.backends.spark.io import blocks
from deltalog.backends.spark.io import hashed_ids as identity
from deltalog.backends.spark.io.arrow import binaries, number, numbers, words
from deltalog.backends.spark.io.hashed_ids import INLINE, Ids64
from deltalog.backends.spark.table import cut
from deltalog.model.dictionary import Dictionary
from deltalog.model.errors import EngineError
from deltalog.model.terms import Value
from deltalog.model.tuning import Tuning

BUCKETS = 64
SCHEMA = pa.schema([("id", pa.int64()), ("term", pa.large_binary())])
SETTLED = "to int, data binary, size long, greatest long, double long"


class SparkDictionary:
    """Values <-> 64-bit ids."""

    def __init__(self, spark: Any, salt: int, tuning: Tuning) -> None:
        self._spark, self._salt, self._tuning = spark, salt, tuning
        self.near = Dictionary()  # what the driver knows
        self._ids = np.zeros(1, np.int64)  # the 64-bit id of each id of `near`
        self._order = np.zeros(0, np.int64)  # places of `_ids`, sorted by it
        self._settled: DataFrame | None = None
        self._settled_near = 1  # the ids of `near` below are in `_settled`
        self._waiting: list[DataFrame] = []
        self._places = 1  # partitions that settled pairs are in
        self.size = 0  # of what is settled
        self._other_numbers = False
        self._near_has_all = False  # whether every settled pair is in `near`, too
        self._shared: tuple[int, Any, int] | None = None  # what was broadcast: how many pairs, and which broadcast

    # In the driver.

    def id(self, value: Value) -> int:
        """The id of a value, which is added if it is new."""
        if type(value) is int and -INLINE <= value < INLINE:
            return value - INLINE
        local = self.near.intern(value)
        return int(self.ids()[local])

    def ids(self) -> Ids64:
        """The 64-bit id of each id of `near`."""
        if len(self._ids) < len(self.near):
            self._ids = identity.digests(self.near, self._salt)
            self._order = np.argsort(self._ids[1:], kind="stable") + 1
            ordered = self._ids[self._order]
            if (ordered[1:] == ordered[:-1]).any():
                raise _collision()
        return self._ids

    def near_ids(self, ids: Ids64) -> tuple[Any, Any]:
        """For each 64-bit id its id in `near`, and whether it is there."""
        known = self.ids()
        places = np.searchsorted(known[self._order], ids)
        places = np.minimum(places, max(len(self._order) - 1, 0))
        if not len(self._order):
            return np.zeros(len(ids), np.uint32), np.zeros(len(ids), np.bool_)
        local = self._order[places]
        return local.astype(np.uint32), known[local] == ids

    def values(self, ids: Ids64) -> list[Value]:
        """The values of ids."""
        ids = np.asarray(ids, np.int64)
        inline = ids < 0
        values = np.empty(len(ids), object)
        values[inline] = (ids[inline] + INLINE).tolist()
        far = ids[~inline]
        if len(far):
            found = self.near.decode(self.fetch(far))
            for place, value in zip(np.flatnonzero(~inline).tolist(), found, strict=True):
                values[place] = value
        return values.tolist()

    def fetch(self, ids: Ids64) -> Any:
        """The ids in `near` of 64-bit ids; their terms are brought to the driver if they are not there."""
        local, there = self.near_ids(ids)
        if not there.all():
            self._bring(np.unique(ids[~there]))
            local, there = self.near_ids(ids)
            assert there.all(), "an id without a term"
        return local

    def _bring(self, missing: Ids64) -> None:
        self.settle()
        if self.size <= self._tuning.spark_broadcast_max_terms:
            self._bring_all()
            return
        wanted = self._spark.createDataFrame(pa.table([numbers(missing)], names=["id"]))
        found = self.frame().join(F.broadcast(wanted), "id", "left_semi")
        self._intern(found.select("term").toArrow().column("term"))

    def _bring_all(self) -> None:
        pairs = blocks.together(blocks.cells(self._all().select("data").toArrow().to_batches()))
        if pairs is not None:
            self._intern(pairs.column("term"))
        self._near_has_all = True

    def _intern(self, terms: pa.ChunkedArray) -> None:
        identity.intern_terms(self.near, identity.one(terms))
        self._settled_near = len(self.near)

    @property
    def is_small(self) -> bool:
        """Whether all pairs may be broadcast."""
        return self.total <= self._tuning.spark_broadcast_max_terms

    @property
    def total(self) -> int:
        """How many pairs there are, at the most."""
        self.settle()
        return self.size + len(self.near) - self._settled_near

    def shared(self) -> tuple[Any, int]:
        """All pairs as a broadcast Arrow stream of ids and terms, and a number for it."""
        self.settle()
        if not self._near_has_all:
            self._bring_all()
        if self._shared is None or self._shared[0] != len(self.near):
            stream = blocks.packed(self._near_pairs(1))
            self._shared = (len(self.near), self._spark.sparkContext.broadcast(stream), random.getrandbits(62))
        return self._shared[1:]

    # In executors.

    @property
    def only_integers(self) -> bool:
        """Whether no number is known but integers that are their own ids."""
        self.settle()
        return not self._other_numbers and not (self.ids() >= INLINE).any()

    def add(self, terms: DataFrame) -> None:
        """Pairs (id, term), any number of times each; the DataFrame must be cheap to read twice."""
        self.add_blocks(terms.select("id", "term").mapInArrow(_packed, "to int, data binary"))

    def add_blocks(self, terms: DataFrame, places: int = 1) -> None:
        """Blocks of pairs by buckets, as `term_blocks` makes them; `places` is how many partitions they are worth."""
        self._waiting.append(terms)
        self._places = max(self._places, places)

    def frame(self) -> DataFrame:
        """All pairs, each id once."""
        return self._all().select("data").mapInArrow(_unpacked, "id long, term binary")

    def _all(self) -> DataFrame:
        """The blocks of all pairs, each id once."""
        self.settle()
        if self._settled is None or self._settled_near < len(self.near):
            self._settle([self._near_frame(self._settled_near)])
        assert self._settled is not None
        return self._settled

    def settle(self) -> None:
        """Computes what is waiting, and looks for ids with two terms."""
        if self._waiting:
            self._settle([*self._waiting, self._near_frame(self._settled_near)])

    def _settle(self, new: list[DataFrame]) -> None:
        if self._settled is None and not self._waiting:
            self._settled, self.size, self._near_has_all = new[0], len(self.near) - 1, True
            self._settled_near = len(self.near)
            return
        pieces = new if self._settled is None else [self._settled, *new]
        places = min(BUCKETS, max(self._places, int(self._spark.conf.get("spark.sql.shuffle.partitions"))))
        pairs = cut(blocks.gathered(reduce(DataFrame.unionAll, pieces), places).mapInArrow(_settled, SETTLED))
        looks = (F.sum("size"), F.max("greatest"), F.max("double"))
        size, greatest, double = pairs.agg(*looks).collect()[0]
        if double:
            raise _collision()
        self._settled, self._waiting = pairs.select("to", "data"), []
        self._near_has_all = False
        self.size, self._settled_near = size or 0, len(self.near)
        self._other_numbers = (greatest or 0) >= INLINE

    def _near_pairs(self, first: int) -> pa.RecordBatch:
        """The pairs that the driver knows, from one of its ids on."""
        ids = self.ids()[first:]
        need = np.flatnonzero(ids >= 0)
        return pa.RecordBatch.from_arrays([numbers(ids[need]), identity.terms(self.near, need + first)], schema=SCHEMA)

    def _near_frame(self, first: int) -> DataFrame:
        pairs = self._near_pairs(first)
        rows = list(term_blocks(words(pairs.column("id")), pairs.column("term")))
        return self._spark.createDataFrame(pa.table(_columns(rows), names=["to", "data"]))


# In executors.


def term_blocks(ids: Ids64, terms: pa.Array) -> Iterator[tuple[int, bytes]]:
    """Pairs of ids (that are not their own values) and terms as blocks, by buckets."""
    return blocks.dealt(pa.RecordBatch.from_arrays([numbers(ids), terms], schema=SCHEMA), ids % BUCKETS)


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        pairs = list(term_blocks(words(batch.column("id")), batch.column("term").cast(pa.large_binary())))
        yield pa.RecordBatch.from_arrays(_columns(pairs), ["to", "data"])


def _columns(dealt: Sequence[tuple[int, bytes]]) -> list[pa.Array]:
    """Blocks and their places, as columns."""
    return [numbers(np.array([to for to, _ in dealt], np.int32)), binaries([block for _, block in dealt])]


def _unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for block in blocks.cells(batches):
        pairs = blocks.unpacked(block)
        columns = [pairs.column("id"), pairs.column("term").cast(pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["id", "term"])


def _settled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The distinct pairs of all blocks of a partition, in blocks, with what the driver wants to know of each."""
    pairs = blocks.together(blocks.cells(batches))
    if pairs is None:
        return
    ids, terms = words(pairs.column("id")), identity.one(pairs.column("term"))
    order = np.argsort(ids, kind="stable")
    again = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    double = not terms.take(numbers(order[again])).equals(terms.take(numbers(order[again + 1])))
    once = np.delete(order, again + 1)
    for to, block in term_blocks(ids[once], terms.take(numbers(once))):
        found = words(blocks.unpacked(block).column("id"))
        told = [number(value, np.int64) for value in (len(found), int(found.max()), int(double))]
        columns = [number(to), binaries([block]), *told]
        yield pa.RecordBatch.from_arrays(columns, ["to", "data", "size", "greatest", "double"])


def _collision() -> EngineError:
    return EngineError(
        "two different values have the same 64-bit id, which is rare and depends on a number that you can choose: "
        "set the option spark.deltalog.salt to another one (now 0 unless you set it) and start again"
    )
