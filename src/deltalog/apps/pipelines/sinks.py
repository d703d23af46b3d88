"""Sinks: facts of predicates, written by Spark's writers.

A sink of changes has the columns `_op` ("I" added, "D" removed) and `_version`. In a folder each version is a subfolder
`_version=N`, and in a table it is a partition, so that writing a version again replaces it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deltalog.apps.pipelines.spec import OPERATION, VERSION, SinkSpec
from deltalog.core.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_frame(sink: SinkSpec, frame: DataFrame) -> None:
    """Writes a DataFrame to a sink."""
    writer = frame.write.mode(sink.mode).options(**sink.options)
    if sink.format is not None:
        writer = writer.format(sink.format)
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    if sink.table is None:
        writer.save(sink.path)
    elif sink.mode == "append" and frame.sparkSession.catalog.tableExists(sink.table):
        _in_order(frame, sink.table).write.insertInto(sink.table)
    else:
        writer.saveAsTable(sink.table)


def _in_order(frame: DataFrame, table: str) -> DataFrame:
    """The columns of a DataFrame in the order of a table's, which have the same names."""
    columns = frame.sparkSession.table(table).columns
    if sorted(map(str.lower, columns)) != sorted(map(str.lower, frame.columns)):
        have, need = ", ".join(frame.columns), ", ".join(columns)
        raise UsageError(f"the columns are {have}, and those of the table {table} are {need}; set columns")
    return frame.select(*[f"`{column}`" for column in columns])


def write_changes(sink: SinkSpec, added: DataFrame | None, removed: DataFrame | None, version: int) -> None:
    """Writes the added and removed facts of a version (None: there are none); written again, it replaces itself."""
    from pyspark.sql import functions as F

    sides = zip((added, removed), ("I", "D"), strict=True)
    frames = [side.withColumn(OPERATION, F.lit(operation)) for side, operation in sides if side is not None]
    if not frames:
        return
    frame = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
    if sink.path is not None:
        whole = replace(sink, path=f"{sink.path.rstrip('/')}/{VERSION}={version}", mode="overwrite")
        write_frame(whole, frame)
        return
    frame = frame.withColumn(VERSION, F.lit(version).cast("long"))
    if sink.table is None:
        write_frame(sink, frame)
        return
    _replace_version(sink.table, sink, frame, version)


def _replace_version(table: str, sink: SinkSpec, frame: DataFrame, version: int) -> None:
    """A version is a partition of the table."""
    spark = frame.sparkSession
    if not spark.catalog.tableExists(table):
        writer = frame.write.options(**sink.options).partitionBy(VERSION, *sink.partition_by)
        (writer if sink.format is None else writer.format(sink.format)).saveAsTable(table)
        return
    partition = ", ".join([f"{VERSION} = {version}", *(f"`{name}`" for name in sink.partition_by)])
    rows = _in_order(frame, table).drop(VERSION)
    spark.sql(f"INSERT OVERWRITE TABLE {table} PARTITION ({partition}) SELECT * FROM {{rows}}", rows=rows)
