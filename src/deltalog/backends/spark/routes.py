"""Many tables of one DataFrame, read at once.

What is read or derived in one job lies in one DataFrame with tags. To read a hundred of its predicates one by one is a
hundred scans, and a plan that Spark needs seconds to compile. A route says under which tag the rows of a table go on,
and which of its columns become `c0`, `c1`; all routes that begin in one DataFrame are a single pass over it, in which a
row looks up its tag and goes on once for each of its routes. So rules that only copy (a hierarchy, an inverse, a
domain), the facts that are known already, and the facts to be written each cost one scan of each DataFrame.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.spark.table import NEAR, TAG, Grid, Piece, SparkTable, column_names, columns_of, constant
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


def routed(routes: Sequence[Route], columns: int) -> DataFrame | None:
    """The rows of routes as one DataFrame of a tag and so many columns; None where there are none."""
    frames: list[DataFrame] = []
    close: list[Route] = []
    shared: dict[int, tuple[DataFrame, dict[int, list[Route]]]] = {}
    for route in routes:
        if route.table.empty:
            continue
        if route.table.near is not None and len(route.table.near) <= NEAR:
            close.append(route)
            continue
        for piece in route.table.parts():
            if piece.tag is None:
                frames.append(_alone(piece, route, columns))
            else:
                _, by_tag = shared.setdefault(id(piece.frame), (piece.frame, {}))
                by_tag.setdefault(piece.tag, []).append(route)
    frames += [_split(frame, by_tag, columns) for frame, by_tag in shared.values()]
    frames += [_constant(close, columns)] if close else []
    return reduce(DataFrame.unionAll, frames) if frames else None


def _constant(routes: Sequence[Route], columns: int) -> DataFrame:
    """Rows that the driver has, all in one."""
    grids = []
    for route in routes:
        rows: Grid = np.zeros((route.table.size or 0, columns + 1), np.int64)
        rows[:, 0] = route.tag
        for i, column in enumerate(route.columns):
            rows[:, i + 1] = route.table.near[:, column]  # type: ignore[index]
        grids.append(rows)
    frame = constant(np.concatenate(grids), columns + 1, routes[0].table.spark)
    return frame.toDF(TAG, *column_names(columns))


def _alone(piece: Piece, route: Route, columns: int) -> DataFrame:
    chosen = [F.col(f"c{column}") for column in route.columns]
    chosen += [F.lit(0).cast("long")] * (columns - len(chosen))
    named = [column.alias(f"c{i}") for i, column in enumerate(chosen)]
    return piece.frame.select(F.lit(route.tag).cast("long").alias(TAG), *named)


def _split(frame: DataFrame, by_tag: dict[int, list[Route]], columns: int) -> DataFrame:
    """One pass over a shared DataFrame."""
    mine = frame.where(F.expr(f"{TAG} IN ({', '.join(f'{tag}L' for tag in by_tag)})"))
    if all(len(routes) == 1 and _is_straight(routes[0]) for routes in by_tag.values()):
        tags = ", ".join(f"{tag}L, {routes[0].tag}L" for tag, routes in by_tag.items())
        return mine.select(F.expr(f"element_at(map({tags}), {TAG})").alias(TAG), *columns_of(columns))
    turns = ", ".join(f"{tag}L, array({', '.join(_turn(r, columns) for r in rs)})" for tag, rs in by_tag.items())
    names = [name for name in frame.columns if name != TAG]
    rows = mine.select(F.expr(f"explode(element_at(map({turns}), {TAG}))").alias("turn"), *names)
    cases = " ".join(f"WHEN {i} THEN {name}" for i, name in enumerate(names))
    chosen = [F.expr(f"CASE turn.f{i} {cases} ELSE 0L END").alias(f"c{i}") for i in range(columns)]
    return rows.select(F.expr("turn.t").alias(TAG), *chosen)


def _is_straight(route: Route) -> bool:
    return route.columns == tuple(range(route.table.arity))


def _turn(route: Route, columns: int) -> str:
    """Where a row goes; a column that nobody wants is -1."""
    chosen = (*route.columns, *[-1] * columns)[:columns]
    return f"struct({route.tag}L AS t, {', '.join(f'{column} AS f{i}' for i, column in enumerate(chosen))})"
