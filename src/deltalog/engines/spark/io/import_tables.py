"""Driver: tables of the local engine, with a dictionary of their own, as tables of Spark or of Spark's driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltalog.core.dictionary import Dictionary
from deltalog.core.rules import Pred
from deltalog.engines.local.relation import Relation
from deltalog.engines.spark.backend import SparkBackend
from deltalog.engines.spark.driver_engine import id_matrix


def import_tables(tables: Mapping[Pred, Relation], dictionary: Dictionary, backend: Any) -> dict[Pred, Any]:
    """The tables on a backend. They pass through the driver."""
    if not isinstance(backend, SparkBackend):
        own = backend.dictionary.merge(dictionary)
        return {pred: backend.load([own[c] for c in table.columns()], pred.arity) for pred, table in tables.items()}
    own, check = backend.dictionary.local.merge(dictionary), backend.limits.checker()
    ids, found = backend.dictionary.ids(), {}
    for pred, table in tables.items():
        columns = [own[column] for column in table.columns()]
        found[pred] = backend.loaded(id_matrix(columns, table.size, ids, check))
    return found
