"""Many tables of one DataFrame, read at once.

What is read or derived in one job lies in the blocks of one DataFrame, with tags. To read a hundred of its predicates
one by one is a hundred scans, and a plan that Spark needs seconds to compile. A route says under which tag the rows of
a table go on, and which of its columns become `c0`, `c1`; all routes that begin in one DataFrame are a single pass over
its blocks, in which the stretch of a tag goes on once for each of its routes. So rules that only copy (a hierarchy, an
inverse, a domain), the facts that are known already, and the facts to be written each cost one scan of each DataFrame,
and no row of them is one of Spark's.
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
from deltalog.backends.spark.io.blocks import BLOCKS, Deal, cells, dealing, sent, stretches, unpacked
from deltalog.backends.spark.table import TAG, Grid, Piece, SparkTable, column_names
from deltalog.plan import ir
from deltalog.plan.ir import Part, Plan
from deltalog.syntax.ast import Pred, Variable


class Route(NamedTuple):
    """The rows of a table under a tag. `columns` has the table's column for each column of the target."""

    table: SparkTable
    tag: int
    columns: tuple[int, ...]


class Copy(NamedTuple):
    """What a plan that only copies a relation reads, and the column behind each of its own."""

    key: tuple[Pred, Part]
    columns: dict[Variable, int]


def straight(tables: Iterable[SparkTable]) -> list[Route]:
    """Tables as they are, under their numbers."""
    return [Route(table, tag, tuple(range(table.arity))) for tag, table in enumerate(tables)]


def copy_of(plan: Plan) -> Copy | None:
    """What a plan copies, if it does nothing else; duplicates do not count."""
    match plan:
        case ir.Scan(atom, part) if len({t for t in atom.terms if isinstance(t, Variable)}) == len(atom.terms):
            return Copy((atom.pred, part), {t: i for i, t in enumerate(atom.terms) if isinstance(t, Variable)})
        case ir.Distinct(input) | ir.Join(ir.Unit(), input) | ir.Join(input, ir.Unit()):
            return copy_of(input)
        case ir.Project(input, new):
            inner = copy_of(input)
            if inner is not None and all(isinstance(term, Variable) for _, term in new):
                return Copy(inner.key, {v: inner.columns[t] for v, t in new if isinstance(t, Variable)})
    return None


def routed(routes: Sequence[Route], columns: int, deal: Deal) -> DataFrame | None:
    """The rows of routes, a tag and so many columns each, as dealt blocks; None where there are none."""
    frames: list[DataFrame] = []
    close: list[Route] = []
    shared: dict[int, tuple[DataFrame, dict[int, list[Route]]]] = {}
    for route in routes:
        if route.table.empty:
            continue
        if route.table.near is not None and route.table.inline:
            close.append(route)
            continue
        for piece in route.table.parts():
            if piece.tag is None:
                frames.append(_alone(piece, route, columns).mapInArrow(dealing(deal), BLOCKS))
            else:
                _, by_tag = shared.setdefault(id(piece.frame), (piece.frame, {}))
                by_tag.setdefault(piece.tag, []).append(route)
    frames += [_split(frame, by_tag, columns, deal) for frame, by_tag in shared.values()]
    frames += [_constant(close, columns, deal)] if close else []
    return reduce(DataFrame.unionAll, frames) if frames else None


def _constant(routes: Sequence[Route], columns: int, deal: Deal) -> DataFrame:
    """Rows that the driver has, all in one."""
    grids = []
    for route in routes:
        rows: Grid = np.zeros((columns + 1, route.table.size or 0), np.int64)
        rows[0] = route.tag
        for i, column in enumerate(route.columns):
            rows[i + 1] = route.table.near[:, column]  # type: ignore[index]
        grids.append(rows)
    dealt = sent(list(np.concatenate(grids, axis=1)), [TAG, *column_names(columns)], deal)
    schema = pa.schema([("to", pa.int32()), ("data", pa.binary())])
    frame: DataFrame = routes[0].table.spark.createDataFrame(pa.Table.from_batches(dealt, schema))
    return frame


def _alone(piece: Piece, route: Route, columns: int) -> DataFrame:
    chosen = [F.col(f"c{column}") for column in route.columns]
    chosen += [F.lit(0).cast("long")] * (columns - len(chosen))
    named = [column.alias(f"c{i}") for i, column in enumerate(chosen)]
    return piece.frame.select(F.lit(route.tag).cast("long").alias(TAG), *named)


def _split(frame: DataFrame, by_tag: dict[int, list[Route]], columns: int, deal: Deal) -> DataFrame:
    """One pass over the blocks of a shared DataFrame."""
    turns = {tag: [(route.tag, route.columns) for route in routes] for tag, routes in by_tag.items()}
    names = [TAG, *column_names(columns)]

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for cell in cells(batches):
            rows = [words(column) for column in unpacked(cell).columns]
            found = [
                _turned(rows, start, end, target, chosen, columns)
                for tag, start, end in stretches(rows[0])
                for target, chosen in turns.get(tag, ())
            ]
            if found:
                yield from sent(list(np.concatenate(found, axis=1)), names, deal)

    return frame.select("data").mapInArrow(each, BLOCKS)


def _turned(rows: Sequence[Any], start: int, end: int, target: int, chosen: tuple[int, ...], columns: int) -> Grid:
    """A stretch of rows on its route; a column that nobody has is 0."""
    out: Grid = np.zeros((columns + 1, end - start), np.int64)
    out[0] = target
    for i, column in enumerate(chosen):
        out[i + 1] = rows[column + 1][start:end]
    return out
