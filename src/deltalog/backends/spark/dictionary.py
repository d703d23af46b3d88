"""The dictionary of the Spark engine: pairs (id, term), some in the driver, most where executors made them.

The driver interns what it sees itself: constants of rules, rows that a user adds, terms that were asked for. Executors
make the terms of files and of computed values; those wait as DataFrames until somebody needs terms, or a run ends.
`settle` then makes one set of all: distinct ids, computed once, with a look for two terms of the same id.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark import ids as identity
from deltalog.backends.spark.ids import INLINE, Ids64
from deltalog.dictionary import Dictionary
from deltalog.errors import EngineError
from deltalog.terms import Value

FETCH_ALL = 1_000_000  # a dictionary up to this size is fetched as a whole when values are asked for
SCHEMA = pa.schema([("id", pa.int64()), ("term", pa.binary())])


class SparkDictionary:
    """Values <-> 64-bit ids."""

    def __init__(self, spark: Any, salt: int) -> None:
        self._spark, self._salt = spark, salt
        self.near = Dictionary()  # what the driver knows
        self._ids = np.zeros(1, np.int64)  # the 64-bit id of each id of `near`
        self._order = np.zeros(0, np.int64)  # places of `_ids`, sorted by it
        self._settled: DataFrame | None = None
        self._settled_near = 1  # the ids of `near` below are in `_settled`
        self._waiting: list[DataFrame] = []
        self.size = 0  # of what is settled
        self._other_numbers = False

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
        frame = self.frame()
        if self.size > FETCH_ALL:
            wanted = self._spark.createDataFrame(pa.table([pa.array(missing)], names=["id"]))
            frame = frame.join(F.broadcast(wanted), "id", "left_semi")
        terms = frame.select("term").toArrow().column("term").combine_chunks()
        terms = terms if isinstance(terms, pa.Array) else pa.concat_arrays(terms.chunks)
        identity.intern_terms(self.near, terms)
        self._settled_near = len(self.near)

    # In executors.

    @property
    def only_integers(self) -> bool:
        """Whether no number is known but integers that are their own ids."""
        self.settle()
        return not self._other_numbers and not (self.ids() >= INLINE).any()

    def add(self, terms: DataFrame) -> None:
        """Pairs (id, term), any number of times each; the DataFrame must be cheap to read twice."""
        self._waiting.append(terms.select("id", "term"))

    def frame(self) -> DataFrame:
        """All pairs, each id once."""
        self.settle()
        if self._settled is None or self._settled_near < len(self.near):
            self._settle([*self._waiting, self._near_frame(self._settled_near)])
        assert self._settled is not None
        return self._settled.select(F.col("id").alias("id"), F.col("term").alias("term"))

    def settle(self) -> None:
        """Computes what is waiting, and looks for ids with two terms."""
        if self._waiting:
            self._settle([*self._waiting, self._near_frame(self._settled_near)])

    def _settle(self, new: list[DataFrame]) -> None:
        if self._settled is None and not self._waiting:
            self._settled, self.size = new[0], len(self.near) - 1
            self._settled_near = len(self.near)
            return
        pieces = new if self._settled is None else [self._settled, *new]
        grouped = reduce(DataFrame.unionAll, pieces).groupBy("id")
        pairs = grouped.agg(F.min("term").alias("term"), F.max("term").alias("other")).localCheckpoint(eager=False)
        looks = (F.count(F.lit(1)), F.max("id"), F.count_if(F.col("term") != F.col("other")))
        size, greatest, double = pairs.agg(*looks).collect()[0]
        if double:
            raise _collision()
        self._settled, self._waiting = pairs.select("id", "term"), []
        self.size, self._settled_near = size, len(self.near)
        self._other_numbers = (greatest or 0) >= INLINE

    def _near_frame(self, first: int) -> DataFrame:
        ids = self.ids()[first:]
        need = np.flatnonzero(ids >= 0)
        terms = identity.terms(self.near, need + first).cast(pa.binary())
        return self._spark.createDataFrame(pa.table([pa.array(ids[need]), terms], schema=SCHEMA))


def _collision() -> EngineError:
    return EngineError(
        "two different values have the same 64-bit id, which is rare and depends on a number that you can choose: "
        "set the option spark.deltalog.salt to another one (now 0 unless you set it) and start again"
    )
