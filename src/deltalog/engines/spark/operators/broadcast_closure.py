"""Driver and executors (Python workers): a transitive closure, broadcast in compact form and listed by executors.

The driver has the graph of the closure: its components and the set of components that each of them reaches
(`deltalog.engines.local.reachability`). That is small even for hundreds of millions of pairs, so it is broadcast, and
the relation is a DataFrame of chunk numbers. To read it, executors expand chunks; to write it to files, each executor
expands, decodes and writes its own part. No pair crosses from Python to the JVM then, or passes through the driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from deltalog.core.arrays import Ids as Ids
from deltalog.core.arrays import Integers
from deltalog.engines.spark.io.arrow import numbers
from deltalog.engines.spark.io.hashed_ids import Ids64
from deltalog.engines.spark.settings import task_slots
from deltalog.engines.spark.table import Segment, SparkTable

if TYPE_CHECKING:
    from deltalog.engines.local.reachability import Reachability
    from deltalog.engines.spark.backend import SparkBackend

CHUNK_PAIRS = 1 << 20  # about how many pairs a chunk has


@dataclass(frozen=True, slots=True)
class ClosurePairs:
    """What executors need to list the pairs of a closure; `bounds` cuts the sources into chunks."""

    sources: Ids
    components: Integers  # of each source
    without_loop: NDArray[np.bool_]  # sources whose pair with themselves is not in the closure
    bounds: Integers
    sets: tuple[Integers, Integers, NDArray[np.uint64]]
    offsets: Integers
    members: Ids
    ids: Ids64  # the 64-bit id of each local id

    @classmethod
    def of(cls, closure: Reachability, ids: Ids64) -> ClosurePairs:
        sources = closure.leads(0)
        ends = np.cumsum(closure.counts(sources, True))
        chunks = np.arange(CHUNK_PAIRS, (int(ends[-1]) if len(ends) else 0) + CHUNK_PAIRS, CHUNK_PAIRS)
        bounds = np.unique(np.concatenate([[0], np.searchsorted(ends, chunks, "left") + 1]))
        graph = closure.graph
        return cls(
            sources,
            graph.components.find(sources),
            closure._barred(sources),
            np.minimum(bounds, len(sources)),
            graph.forward.arrays,
            graph.components.offsets,
            graph.components.members,
            ids,
        )

    def chunk(self, number: int) -> tuple[Ids, Ids]:
        """The pairs of one chunk, in local ids."""
        from deltalog.kernels import reachable_sets

        mine = slice(int(self.bounds[number]), int(self.bounds[number + 1]))
        components = self.components[mine]
        counts = reachable_sets.cardinalities(components, *self.sets, self.offsets)
        ends = np.cumsum(counts)
        targets = np.empty(int(ends[-1]) if len(ends) else 0, np.uint32)
        reachable_sets.expand(components, ends - counts, *self.sets, self.offsets, self.members, targets)
        sources = np.repeat(self.sources[mine], counts)
        if not self.without_loop[mine].any():
            return sources, targets
        kept = (sources != targets) | ~np.repeat(self.without_loop[mine], counts)
        return sources[kept], targets[kept]


class BroadcastClosure:
    """A broadcast `ClosurePairs`, and its number of chunks."""

    def __init__(self, shared: Any, chunks: int) -> None:
        self.shared, self.chunks = shared, chunks

    def chunk_numbers(self, spark: Any) -> DataFrame:
        """The chunk numbers, a few in each partition."""
        cores = task_slots(spark)
        return spark.range(0, self.chunks, 1, min(self.chunks, 4 * cores))

    def frame(self, spark: Any) -> DataFrame:
        """The pairs as a DataFrame."""
        shared = self.shared

        def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            pairs: ClosurePairs = shared.value
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    columns = [numbers(pairs.ids[column]) for column in pairs.chunk(number)]
                    yield pa.RecordBatch.from_arrays(columns, ["c0", "c1"])

        return self.chunk_numbers(spark).mapInArrow(each, "c0 long, c1 long")


def closure_table(closure: Reachability, ids: Ids64, backend: SparkBackend) -> SparkTable:
    """A closure as a table whose rows executors list; `ids` has the 64-bit id of each local id."""
    if not closure.size:
        return backend.empty(2)
    pairs = ClosurePairs.of(closure, ids)
    broadcast = BroadcastClosure(backend.spark.sparkContext.broadcast(pairs), len(pairs.bounds) - 1)
    return SparkTable(2, (Segment(broadcast.frame(backend.spark)),), closure.size, closure=broadcast)
