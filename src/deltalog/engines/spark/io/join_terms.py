"""JVM (Spark SQL): rows of ids joined with a dictionary that is too large to be broadcast, also where ids are skewed.

A merge join sends all rows with one id to one task: a class that nine of ten rows have would make one task decode them.
So the terms of frequent ids are literals, and rows with such an id, or with an inline integer, which needs no term, go
anywhere: their key is a hash of the row, which matches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltalog.engines.spark.literals import is_among

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend

Terms = Mapping[int, bytes]  # of ids


def join_terms(frame: DataFrame, name: str, key: str, terms: DataFrame, frequent: Terms) -> DataFrame:
    """The rows with the terms of a column of ids; `key` is a name that is not used."""
    known = terms.select(F.col("id").alias(key), F.col("term").alias(f"{name}term"))
    here, column = f"{key}here", F.col(name)
    anywhere = -F.abs(F.hash(*frame.columns).cast("long")) - 1  # no id of the dictionary is negative
    alone = column < 0
    if frequent:
        alone = alone | is_among([name], np.array(list(frequent), np.int64).reshape(-1, 1))
    placed = frame.withColumn(here, F.when(alone, anywhere).otherwise(column))
    joined = placed.join(known.hint("merge"), F.col(here) == F.col(key), "left").drop(here, key)
    if not frequent:
        return joined
    return joined.withColumn(f"{name}term", F.coalesce(F.col(f"{name}term"), _literal(name, frequent)))


def _literal(name: str, terms: Terms) -> Column:
    pairs = ", ".join(f"{id}L, X'{term.hex()}'" for id, term in terms.items())
    return F.expr(f"element_at(map({pairs}), {name})")


def frequent_terms(frame: DataFrame, names: Sequence[str], backend: SparkBackend) -> Terms:
    """The terms of all ids that a large share of the rows has in one of some columns, and possibly of a few others."""
    if not names:
        return {}
    with backend.jobs.named("find frequent values"):
        (row,) = frame.freqItems(list(names), backend.tuning.spark_frequent_share).collect()
        ids = sorted({id for found in row for id in found if id >= 0})
        if not ids:
            return {}
        pairs = backend.dictionary.frame().where(is_among(["id"], np.array(ids, np.int64).reshape(-1, 1))).collect()
    return {pair["id"]: bytes(pair["term"]) for pair in pairs}
