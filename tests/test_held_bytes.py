"""The bytes that relations of the local engine hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog import KnowledgeBase
from deltalog.core.tuning import Tuning
from deltalog.engines.local.codec import load
from deltalog.engines.local.held_bytes import held_bytes


def table(start: int, size: int, arity: int = 2) -> Any:
    return load([np.arange(start, start + size, dtype=np.uint32)] * arity, arity, Tuning(small_table_rows=0))


def test_rows_are_words_of_two_ids() -> None:
    assert held_bytes([table(0, 1000, 1)]) == held_bytes([table(0, 1000, 2)]) == 8 * 1000
    assert held_bytes([table(0, 1000, 3)]) == held_bytes([table(0, 1000, 4)]) == 16 * 1000
    assert held_bytes([]) == held_bytes([table(0, 0)]) == 0


def test_runs_that_tables_share_count_once() -> None:
    old = table(0, 1000)
    both = old.merge(table(1000, 100))
    assert held_bytes([old, both, both]) == 8 * 1100


def test_indexes_and_tombstones_count() -> None:
    old = table(0, 1000)
    old.runs[0].order((1, 0))
    assert held_bytes([old]) == 16 * 1000
    less = old.minus(table(10, 50))
    assert less.tombstones is not None
    assert held_bytes([less, old]) == 16 * 1000 + 8 * 50
    assert less.compact.size == 950
    assert held_bytes([less]) == 16 * 1000 + 8 * 50 + 16 * 950  # both forms are there


def test_a_virtual_relation_takes_what_it_stores() -> None:
    kb = KnowledgeBase("p(X, Y) :- e(X, Y).  p(X, Z) :- p(X, Y), p(Y, Z).", schemes="scheme")
    kb.add("e", [(i, i + 1) for i in range(2000)])
    kb.materialise()
    closure = kb.facts("p")
    assert not closure.table.is_stored
    assert held_bytes([closure.table]) == closure.table.nbytes < 8 * len(closure)
