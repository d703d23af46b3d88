"""Closures that executors write out.

The driver has the graph of a closure, its components and the set of components that each one reaches
(`deltalog.backends.local.reachability`): little, even where there are many millions of pairs. That is broadcast, and a
relation is only a DataFrame of numbers of chunks. Whoever reads it expands chunks inside executors; whoever writes it
to files has each executor expand, decode and write its own part, so that no pair crosses from Python to the JVM or
passes through the driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from deltalog.backends.spark.io.arrow import numbers
from deltalog.backends.spark.io.hashed_ids import Ids64
from deltalog.backends.spark.table import Piece, SparkTable
from deltalog.model.arrays import Ids, Integers

if TYPE_CHECKING:
    from deltalog.backends.local.reachability import Reachability
    from deltalog.backends.spark.backend import SparkBackend

CHUNK = 1 << 20  # about how many pairs are expanded at a time


@dataclass(frozen=True, slots=True)
class Pairs:
    """All that executors need to list the pairs of a closure. The first ones come in chunks, from `bounds`."""

    firsts: Ids
    components: Integers  # of the first ones
    barred: NDArray[np.bool_]  # first ones whose pair with themselves does not belong
    bounds: Integers
    sets: tuple[Integers, Integers, NDArray[np.uint64]]
    offsets: Integers
    members: Ids
    ids: Ids64  # the 64-bit id of each id

    @classmethod
    def of(cls, closure: Reachability, ids: Ids64) -> Pairs:
        firsts = closure.leads(0)
        ends = np.cumsum(closure.counts(firsts, True))
        chunks = np.arange(CHUNK, (int(ends[-1]) if len(ends) else 0) + CHUNK, CHUNK)
        bounds = np.unique(np.concatenate([[0], np.searchsorted(ends, chunks, "left") + 1]))
        graph = closure.graph
        return cls(
            firsts,
            graph.components.find(firsts),
            closure._barred(firsts),
            np.minimum(bounds, len(firsts)),
            graph.forward.arrays,
            graph.components.offsets,
            graph.components.members,
            ids,
        )

    def chunk(self, number: int) -> tuple[Ids, Ids]:
        """The pairs of one chunk, as ids of the closure."""
        from deltalog.kernels import reachable_sets

        mine = slice(int(self.bounds[number]), int(self.bounds[number + 1]))
        components = self.components[mine]
        counts = reachable_sets.cardinalities(components, *self.sets, self.offsets)
        ends = np.cumsum(counts)
        seconds = np.empty(int(ends[-1]) if len(ends) else 0, np.uint32)
        reachable_sets.expand(components, ends - counts, *self.sets, self.offsets, self.members, seconds)
        firsts = np.repeat(self.firsts[mine], counts)
        if not self.barred[mine].any():
            return firsts, seconds
        kept = (firsts != seconds) | ~np.repeat(self.barred[mine], counts)
        return firsts[kept], seconds[kept]


class Expansion:
    """A closure on its way to executors: its pairs as a broadcast value, and how many chunks there are."""

    def __init__(self, shared: Any, chunks: int) -> None:
        self.shared, self.chunks = shared, chunks

    def numbers(self, spark: Any) -> DataFrame:
        """The numbers of the chunks, a few in each partition."""
        cores = max(1, spark.sparkContext.defaultParallelism)
        return spark.range(0, self.chunks, 1, min(self.chunks, 4 * cores))

    def frame(self, spark: Any) -> DataFrame:
        """The pairs."""
        shared = self.shared

        def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            pairs: Pairs = shared.value
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    columns = [numbers(pairs.ids[column]) for column in pairs.chunk(number)]
                    yield pa.RecordBatch.from_arrays(columns, ["c0", "c1"])

        return self.numbers(spark).mapInArrow(each, "c0 long, c1 long")


def expanded(closure: Reachability, ids: Ids64, home: SparkBackend) -> SparkTable:
    """A closure as a table that executors list; `ids` has the 64-bit id of each of its ids."""
    if not closure.size:
        return home.empty(2)
    pairs = Pairs.of(closure, ids)
    expansion = Expansion(home.spark.sparkContext.broadcast(pairs), len(pairs.bounds) - 1)
    return SparkTable(2, (Piece(expansion.frame(home.spark)),), closure.size, expansion=expansion)
