"""Driver: DataFrames of ids that executors hold, how they are partitioned, and when they are released.

Spark keeps what a local checkpoint stores until its JVM collects garbage. Here a `Stored` DataFrame belongs to the
tables that read it. When the last of them is gone, a thread of its own unpersists it: Python may collect garbage in the
middle of a call to the JVM, where another call would be an error.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from queue import SimpleQueue
from threading import Thread
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.engines.spark.settings import is_local_master

UNIT = "unit"
TAG = "tag"


def column_names(arity: int) -> list[str]:
    """The names of a table's columns."""
    return [f"c{i}" for i in range(arity)] or [UNIT]


def selected_columns(arity: int) -> list[Any]:
    """The columns of a table, selected from a DataFrame that may have others."""
    return [F.col(name).alias(name) for name in column_names(arity)] if arity else [F.lit(0).cast("long").alias(UNIT)]


def constant(value: int, column: Any) -> Any:
    """A constant column next to another column. Spark's optimiser would drop a literal from the keys of a join, and not
    see then that both sides are partitioned by all of them."""
    return column.bitwiseXOR(column).bitwiseOR(F.lit(value).cast("long"))


def checkpointed(frame: DataFrame) -> DataFrame:
    """The same rows, computed when they are first read and then stored, without lineage.

    They are stored in the checkpoint folder if the user has set one, and otherwise by the executors; on a cluster in
    two copies, so that an executor may fail. The top of the plan must not rename a column to its own name: Spark would
    forget the partitioning.
    """
    context = frame.sparkSession.sparkContext
    if context.getCheckpointDir():
        return frame.checkpoint(eager=False)
    if is_local_master(context.master):
        return frame.localCheckpoint(eager=False)
    return frame.localCheckpoint(eager=False, storageLevel=StorageLevel.MEMORY_AND_DISK_2)


class StoredFrame:
    """A checkpointed DataFrame of rows `tag, c0, c1, ...`, hash-partitioned by all of its columns and sorted by them.

    `sources` are what it is computed from, until that has happened. An index on some columns of the rows of a tag is a
    copy of these rows, partitioned and sorted by these columns. It is made when the rows are read by them again.
    """

    def __init__(self, frame: DataFrame, partitions: int, tags: Collection[int], sources: tuple[object, ...] = ()):
        names = frame.columns
        self.frame = checkpointed(frame.repartition(partitions, *names).sortWithinPartitions(*names))
        self.partitions, self.tags, self.sources = partitions, frozenset(tags), sources
        self._indexes: dict[tuple[int, tuple[int, ...]], DataFrame | None] = {}
        self._finalizers = [_released_with(self, self.frame)]

    def of_tag(self, tag: int) -> DataFrame:
        """The rows of a tag; they keep their partitions and their order."""
        return self.of_tags((tag,))

    def of_tags(self, tags: Collection[int]) -> DataFrame:
        """The rows of some tags; they keep their partitions and their order."""
        if self.tags.issubset(tags):
            return self.frame
        return self.frame.where(F.col(TAG).isin(*tags))

    def index(self, tag: int, key: tuple[int, ...], arity: int, partitions: int) -> DataFrame:
        """The rows of a tag for a join on some columns: when they are read for the second time, in an index."""
        if (tag, key) not in self._indexes:
            self._indexes[tag, key] = None
            return self.of_tag(tag).select(*selected_columns(arity))
        found = self._indexes[tag, key]
        if found is None:
            by = [f"c{i}" for i in key]
            rows = self.of_tag(tag).select(*column_names(arity))
            found = checkpointed(rows.repartition(partitions, *by).sortWithinPartitions(*by))
            self._indexes[tag, key] = found
            self._finalizers.append(_released_with(self, found))
        return found.select(*selected_columns(arity))

    def settle(self) -> None:
        """Lets go of what it was computed from, if that has happened."""
        if self.sources and _rdd(self.frame).isCheckpointed():
            self.sources = ()

    def pin(self) -> None:
        """Leaves it to Spark to release it, because a DataFrame of the user's reads it."""
        for finalizer in self._finalizers:
            finalizer.detach()
        for source in self.sources:
            if isinstance(source, StoredFrame):
                source.pin()


# Releasing.


def release(frame: DataFrame) -> None:
    """Unpersists a checkpointed DataFrame that nothing reads any more."""
    _abandoned().put(frame)


def _released_with(owner: object, frame: DataFrame) -> Any:
    """Has a DataFrame released when its owner is gone."""
    finalizer = weakref.finalize(owner, _abandoned().put, frame)
    finalizer.atexit = False
    return finalizer


@cache
def _abandoned() -> SimpleQueue[DataFrame]:
    queue: SimpleQueue[DataFrame] = SimpleQueue()  # its `put` may be called while Python collects garbage
    Thread(target=_release_all, args=(queue,), name="deltalog-release", daemon=True).start()
    return queue


def _release_all(queue: SimpleQueue[DataFrame]) -> None:
    while True:
        frame = queue.get()
        with suppress(Exception):  # the session may have ended
            _rdd(frame).unpersist(False)


def _rdd(frame: DataFrame) -> Any:
    """The stored rows of a checkpointed DataFrame. PySpark has no public way to unpersist them."""
    return frame._jdf.logicalPlan().rdd()
