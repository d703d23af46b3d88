"""JVM (Spark SQL): many tables of one stored DataFrame, read in one pass.

All rows that were read or derived in one job are in one DataFrame, under the tags of their predicates. A scan for each
of a hundred predicates would be a hundred passes, and a plan that Spark needs seconds to compile. A `TaggedScan` says
under which new tag the rows of a table go on, and which of its columns become `c0`, `c1`. All scans of one DataFrame
share a pass, a join of its tags with a small table of scans. So rules that only copy (a hierarchy, an inverse, a
domain) and facts to be written each cost one pass over each DataFrame.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltalog.core.rules import Pred, Variable
from deltalog.engines.spark.io.arrow import numbers
from deltalog.engines.spark.literals import IdMatrix
from deltalog.engines.spark.stored import TAG, StoredFrame, column_names, constant
from deltalog.engines.spark.table import Segment, SparkTable
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan


class TaggedScan(NamedTuple):
    """A scan of a table whose rows get a tag; `columns` are the columns that it reads."""

    table: SparkTable
    tag: int
    columns: tuple[int, ...]


class SourceColumns(NamedTuple):
    """The relation that a plan copies, and the source column of each variable."""

    key: tuple[Pred, Part]
    columns: dict[Variable, int]


def full_scans(tables: Iterable[SparkTable]) -> list[TaggedScan]:
    """Scans of all columns of tables; the tags number them."""
    return [TaggedScan(table, tag, tuple(range(table.arity))) for tag, table in enumerate(tables)]


def copied_columns(plan: Plan) -> SourceColumns | None:
    """What a plan copies, if it only scans and projects a relation; duplicates may differ."""
    match plan:
        case ir.Scan(atom, part) if len({t for t in atom.terms if isinstance(t, Variable)}) == len(atom.terms):
            return SourceColumns((atom.pred, part), {t: i for i, t in enumerate(atom.terms) if isinstance(t, Variable)})
        case ir.Distinct(input) | ir.Join(ir.Unit(), input) | ir.Join(input, ir.Unit()):
            return copied_columns(input)
        case ir.Project(input, new):
            inner = copied_columns(input)
            if inner is not None and all(isinstance(term, Variable) for _, term in new):
                return SourceColumns(inner.key, {v: inner.columns[t] for v, t in new if isinstance(t, Variable)})
    return None


def shared_scan(scans: Sequence[TaggedScan], columns: int) -> DataFrame | None:
    """The rows of scans, each with a tag and a number of columns; None if all are empty."""
    frames: list[DataFrame] = []
    inline: list[TaggedScan] = []
    shared: dict[int, tuple[StoredFrame, list[tuple[int, TaggedScan]]]] = {}
    for scan in scans:
        if scan.table.empty:
            continue
        if scan.table.driver_rows is not None and scan.table.inline:
            inline.append(scan)
            continue
        for segment in scan.table.to_segments():
            if segment.stored is None or segment.gone is not None:
                frames.append(_alone(segment, scan, columns))
            else:
                shared.setdefault(id(segment.stored), (segment.stored, []))[1].append((segment.tag, scan))
    frames += [_one_pass(stored, found, columns) for stored, found in shared.values()]
    frames += [_constant(inline, columns)] if inline else []
    return reduce(DataFrame.unionAll, frames) if frames else None


def _constant(scans: Sequence[TaggedScan], columns: int) -> DataFrame:
    """The rows of driver tables as one constant DataFrame."""
    matrices = []
    for scan in scans:
        rows: IdMatrix = np.zeros((columns + 1, scan.table.size or 0), np.int64)
        rows[0] = scan.tag
        for i, column in enumerate(scan.columns):
            rows[i + 1] = scan.table.driver_rows[:, column]  # type: ignore[index]
        matrices.append(rows)
    arrays = list(map(numbers, np.concatenate(matrices, axis=1)))
    frame: DataFrame = scans[0].table.spark.createDataFrame(pa.table(arrays, names=[TAG, *column_names(columns)]))
    return frame


def _alone(segment: Segment, scan: TaggedScan, columns: int) -> DataFrame:
    rows = segment.present()
    return rows.select(*_retagged(constant(scan.tag, F.col(rows.columns[-1])), _columns(scan), columns))


def _one_pass(stored: StoredFrame, scans: Sequence[tuple[int, TaggedScan]], columns: int) -> DataFrame:
    """One pass over a stored DataFrame."""
    wide = len(stored.frame.columns) - 1
    if len(scans) == 1:
        tag, scan = scans[0]
        chosen = _columns(scan)
        return stored.of_tag(tag).select(*_retagged(constant(scan.tag, F.col(TAG)), chosen, columns))
    names = ["from", "target", *(f"place{i}" for i in range(columns))]
    targets = [[tag, scan.tag, *scan.columns, *[wide] * (columns - len(scan.columns))] for tag, scan in scans]
    table = pa.table(list(map(numbers, np.array(targets, np.int64).T)), names=names)
    small = F.broadcast(stored.frame.sparkSession.createDataFrame(table))
    joined = stored.of_tags({tag for tag, _ in scans}).join(small, F.col(TAG) == F.col("from"))
    places = [_place(F.col(f"place{i}"), wide).alias(f"c{i}") for i in range(columns)]
    return joined.select(*_retagged(F.col("target"), places, columns))


def _columns(scan: TaggedScan) -> list[Column]:
    """The columns of a scan; one that keeps its place is not renamed (see `stored.checkpointed`)."""
    return [F.col(f"c{i}") if i == place else F.col(f"c{i}").alias(f"c{place}") for place, i in enumerate(scan.columns)]


def _place(place: Column, wide: int) -> Column:
    """The column at a place; 0 if there is none."""
    value = F.when(place == 0, F.col("c0"))
    for i in range(1, wide):
        value = value.when(place == i, F.col(f"c{i}"))
    return value.otherwise(F.lit(0).cast("long"))


def _retagged(tag: Column, chosen: Sequence[Column], columns: int) -> list[Column]:
    """The new tag and columns; missing columns are 0."""
    missing = [F.lit(0).cast("long").alias(f"c{i}") for i in range(len(chosen), columns)]
    return [tag.alias(TAG), *chosen, *missing]
