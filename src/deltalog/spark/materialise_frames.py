"""Rules over DataFrames, in one call.

out = materialise(spark, "path(X, Y) :- edge(X, Y).", {"edge": edges})
out["path"].show()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from deltalog.kb import KnowledgeBase
from deltalog.program.load_program import Sources
from deltalog.spark.columns import ColumnNames
from deltalog.spark.sources import naming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def materialise(
    spark: SparkSession,
    rules: Sources,
    sources: Mapping[str, Any],
    *,
    engine: str = "auto",
    only: Iterable[str] | None = None,
    **options: Any,
) -> dict[str, DataFrame]:
    """All predicates that rules derive (or those in `only`) as DataFrames, from DataFrames and catalog tables.

    sources: by predicate, a DataFrame or the name of a catalog table; columns are arguments, in their order.
    options: those of `KnowledgeBase`.

    Columns have the names of `deltalog.spark.columns`. Nothing is collected in the driver, unless it evaluates the
    rules (`engine="auto"`).
    """
    kb = KnowledgeBase(rules, engine=engine, spark=spark, **options)
    columns: dict[str, list[str]] = {}
    for predicate, data in sources.items():
        with naming(predicate):
            frame = spark.table(data) if isinstance(data, str) else data
            kb.add(predicate, frame)
            columns[predicate] = list(getattr(frame, "columns", ()))
    kb.materialise()
    names, derived = ColumnNames(kb.rules, columns), kb.program.derived
    wanted = [name for name in kb.predicates if kb.predicate(name) in derived] if only is None else list(only)
    return {name: kb.facts(name).named(names.of(kb.predicate(name))).to_spark() for name in wanted}
