"""Rules over DataFrames, in one call.

out = materialise(spark, "path(X, Y) :- edge(X, Y).", {"edge": edges})
out["path"].show()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from deltalog.apps.pipelines.sources import naming
from deltalog.core.arguments import names_of, short_repr
from deltalog.core.errors import UsageError
from deltalog.core.naming import split
from deltalog.core.rules import Pred
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase
from deltalog.languages.load_program import Sources
from deltalog.program.column_names import ColumnNames

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

    Columns have the names of `deltalog.program.column_names`. Nothing is collected in the driver, unless it evaluates
    the rules (`engine="auto"`).
    """
    chosen = None if only is None else names_of(only, "only")
    if not isinstance(sources, Mapping):
        raise UsageError(f"sources are DataFrames or names of tables by predicate, got {short_repr(sources)}")
    kb = KnowledgeBase(rules, engine=engine, spark=spark, **options)
    columns: dict[str, list[str]] = {}
    in_rules = kb.program.preds
    for predicate, data in sources.items():
        with naming(predicate):
            frame = spark.table(data) if isinstance(data, str) else data
            columns[predicate] = list(getattr(frame, "columns", ()))
            _check_arity(predicate, columns[predicate], in_rules)
            kb.add(predicate, frame)
    kb.materialise()
    names, derived = ColumnNames.of_sources(kb.rules, columns), kb.program.derived
    wanted = [name for name in kb.predicates if session_of(kb).predicate(name) in derived] if chosen is None else chosen
    return {name: kb.facts(name).named(names.of(session_of(kb).predicate(name))).to_spark() for name in wanted}


def _check_arity(predicate: str, columns: list[str], preds: Iterable[Pred]) -> None:
    """UsageError if rules use a predicate with another number of arguments than a DataFrame has columns."""
    used = {pred.arity for pred in preds if pred.name == split(predicate)[0]}
    if columns and used and len(columns) not in used:
        atoms = " and ".join(f"{split(predicate)[0]}/{arity}" for arity in sorted(used))
        raise UsageError(f"the columns are {', '.join(columns)}, and the rules use {atoms}; select as many columns")
