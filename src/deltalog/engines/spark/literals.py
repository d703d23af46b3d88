"""JVM (Spark SQL): few rows of ids as literals of a plan.

Spark runs a job to broadcast even a constant DataFrame of one row. A small delta therefore goes into the plan itself: a
filter compares with an array of ids, and a join looks rows up in a map. An array or a map is one object to generated
code, which Spark thus compiles once for all values; more than a few ids are a hash set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

IdMatrix = NDArray[np.int64]  # rows of ids, as the rows of the matrix
HASHED_IDS = 10  # Spark makes a hash set of more values than this (spark.sql.optimizer.inSetConversionThreshold)
MATCH = "match"


def is_among(columns: Sequence[str], rows: IdMatrix) -> Column:
    """Whether the values of some columns are one of these rows: first by the first column, which decides for most."""
    first = _is_one_of(columns[0], np.unique(rows[:, 0]))
    if len(columns) == 1:
        return first
    arrays = ", ".join(f"array({_ids(row)})" for row in rows)
    return first & F.expr(f"array_contains(array({arrays}), array({', '.join(columns)}))")


def joined(frame: DataFrame, keys: Sequence[str | None], rows: IdMatrix, names: Sequence[str]) -> DataFrame:
    """A DataFrame joined with some rows, whose columns get names; `keys` has the column of the DataFrame that each of
    them equals, or None."""
    shared = [place for place, key in enumerate(keys) if key is not None]
    columns = [key for key in keys if key is not None]
    same = [F.col(key).alias(name) for key, name in zip(keys, names, strict=True) if key is not None]
    if len(shared) == len(keys):
        return frame.where(is_among(columns, rows)).select("*", *same)
    first, rest = shared[0], [place for place in range(len(keys)) if place != shared[0]]
    matches = F.expr(f"explode(element_at({_map(rows, first, rest)}, {columns[0]}))").alias(MATCH)
    found = frame.where(is_among(columns[:1], rows[:, [first]])).select("*", matches)
    for place in shared[1:]:
        found = found.where(F.col(f"{MATCH}.v{place}") == F.col(str(keys[place])))
    new = [F.col(f"{MATCH}.v{place}").alias(names[place]) for place in rest if place not in shared]
    return found.select("*", *same, *new).drop(MATCH)


def _is_one_of(column: str, ids: NDArray[np.int64]) -> Column:
    if len(ids) > HASHED_IDS:
        return F.expr(f"{column} IN ({_ids(ids)})")
    return F.expr(f"array_contains(array({_ids(ids)}), {column})")


def _map(rows: IdMatrix, key: int, rest: Sequence[int]) -> str:
    """A map from each id of one column to the other columns of its rows."""
    fields: dict[int, list[str]] = {}
    for row in rows:
        values = ", ".join(f"'v{place}', {int(row[place])}L" for place in rest)
        fields.setdefault(int(row[key]), []).append(f"named_struct({values})")
    arrays = ", ".join(f"array({', '.join(found)})" for found in fields.values())
    return f"map_from_arrays(array({_ids(fields)}), array({arrays}))"


def _ids(ids: Iterable[int]) -> str:
    return ", ".join(f"{int(one)}L" for one in ids)
