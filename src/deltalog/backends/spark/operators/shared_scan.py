"""Executors (Python workers): many tables of one DataFrame, read in one pass.

All rows that were read or derived in one job are in the blocks of one DataFrame, under the tags of their predicates. A
scan for each of a hundred predicates would be a hundred passes, and a plan that Spark needs seconds to compile. A
`TaggedScan` says under which new tag the rows of a table go on, and which of its columns become `c0`, `c1`. All scans
of one DataFrame share a pass over its blocks. So rules that only copy (a hierarchy, an inverse, a domain), known facts,
and facts to be written each cost one pass over each DataFrame, and no row of them becomes a row in the JVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark.io.arrow import words
from deltalog.backends.spark.io.blocks import BLOCKS, Partitioner, as_blocks, cells, tag_runs, to_blocks, unpack
from deltalog.backends.spark.table import TAG, IdMatrix, Segment, SparkTable, column_names
from deltalog.plan import ir
from deltalog.plan.ir import Part, Plan
from deltalog.syntax.ast import Pred, Variable


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


def shared_scan(scans: Sequence[TaggedScan], columns: int, partitioner: Partitioner) -> DataFrame | None:
    """The rows of scans, each with a tag and a number of columns, as partitioned blocks; None if all are empty."""
    frames: list[DataFrame] = []
    inline: list[TaggedScan] = []
    shared: dict[int, tuple[DataFrame, dict[int, list[TaggedScan]]]] = {}
    for scan in scans:
        if scan.table.empty:
            continue
        if scan.table.driver_rows is not None and scan.table.inline:
            inline.append(scan)
            continue
        for segment in scan.table.to_segments():
            if segment.tag is None:
                frames.append(_untagged(segment, scan, columns).mapInArrow(to_blocks(partitioner), BLOCKS))
            else:
                _, by_tag = shared.setdefault(id(segment.frame), (segment.frame, {}))
                by_tag.setdefault(segment.tag, []).append(scan)
    frames += [_one_pass(frame, by_tag, columns, partitioner) for frame, by_tag in shared.values()]
    frames += [_constant(inline, columns, partitioner)] if inline else []
    return reduce(DataFrame.unionAll, frames) if frames else None


def _constant(scans: Sequence[TaggedScan], columns: int, partitioner: Partitioner) -> DataFrame:
    """The rows of driver tables as one constant DataFrame."""
    matrices = []
    for scan in scans:
        rows: IdMatrix = np.zeros((columns + 1, scan.table.size or 0), np.int64)
        rows[0] = scan.tag
        for i, column in enumerate(scan.columns):
            rows[i + 1] = scan.table.driver_rows[:, column]  # type: ignore[index]
        matrices.append(rows)
    blocks = as_blocks(list(np.concatenate(matrices, axis=1)), [TAG, *column_names(columns)], partitioner)
    schema = pa.schema([("to", pa.int32()), ("data", pa.binary())])
    frame: DataFrame = scans[0].table.spark.createDataFrame(pa.Table.from_batches(blocks, schema))
    return frame


def _untagged(segment: Segment, scan: TaggedScan, columns: int) -> DataFrame:
    chosen = [F.col(f"c{column}") for column in scan.columns]
    chosen += [F.lit(0).cast("long")] * (columns - len(chosen))
    named = [column.alias(f"c{i}") for i, column in enumerate(chosen)]
    return segment.frame.select(F.lit(scan.tag).cast("long").alias(TAG), *named)


def _one_pass(
    frame: DataFrame, by_tag: dict[int, list[TaggedScan]], columns: int, partitioner: Partitioner
) -> DataFrame:
    """One pass over the blocks of a shared DataFrame."""
    targets = {tag: [(scan.tag, scan.columns) for scan in scans] for tag, scans in by_tag.items()}
    names = [TAG, *column_names(columns)]

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for cell in cells(batches):
            rows = [words(column) for column in unpack(cell).columns]
            found = [
                _retagged(rows, start, end, target, chosen, columns)
                for tag, start, end in tag_runs(rows[0])
                for target, chosen in targets.get(tag, ())
            ]
            if found:
                yield from as_blocks(list(np.concatenate(found, axis=1)), names, partitioner)

    return frame.select("data").mapInArrow(each, BLOCKS)


def _retagged(
    rows: Sequence[Any], start: int, end: int, target: int, chosen: tuple[int, ...], columns: int
) -> IdMatrix:
    """A run of rows with its new tag and columns; missing columns are 0."""
    out: IdMatrix = np.zeros((columns + 1, end - start), np.int64)
    out[0] = target
    for i, column in enumerate(chosen):
        out[i + 1] = rows[column + 1][start:end]
    return out
