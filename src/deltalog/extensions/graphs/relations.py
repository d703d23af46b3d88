"""The relations of named graphs among explicit facts (see `graphs.membership`); loads nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from deltalog.core.rules import QUADS, UNNAMED, Pred

T = TypeVar("T")
GRAPHS = (QUADS, UNNAMED)
DEFAULT_GRAPHS = ("union", "unnamed")  # what the default graph of a knowledge base is


def has_graphs(tables: Mapping[Pred, T]) -> bool:
    return QUADS in tables or UNNAMED in tables


def without_graphs(tables: Mapping[Pred, T]) -> Mapping[Pred, T]:
    """Facts by predicate alone."""
    return {pred: table for pred, table in tables.items() if pred not in GRAPHS} if has_graphs(tables) else tables
