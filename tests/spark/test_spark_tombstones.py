"""Small changes on executors: few rows as literals of plans, removed rows as tombstones, and the number of jobs."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from deltalog import KnowledgeBase
from deltalog.core.limits import Limits
from deltalog.core.tuning import Tuning
from deltalog.engines.spark.backend import SparkBackend
from deltalog.engines.spark.table import SparkTable

Row = tuple[int, ...]
SIZES = (2, 5, 30, 3) if os.environ.get("DELTALOG_SLOW") else (3, 30)  # of changes
FEW = Tuning(spark_driver_table_max_rows=40, spark_literal_max_rows=16)  # relations are stored, and deltas are literals


@pytest.fixture
def stored(in_frames: None, spark: Any) -> Iterator[Any]:
    """Nothing is evaluated in the driver, and only tables of a few rows stay there."""
    spark.conf.set("spark.deltalog.driverTableRows", "40")
    yield spark
    spark.conf.unset("spark.deltalog.driverTableRows")


def table(backend: SparkBackend, rows: list[Row]) -> SparkTable:
    return backend.loaded(np.array(rows, np.int64))


def rows(backend: SparkBackend, found: SparkTable) -> set[Row]:
    fetched = list(zip(*(column.tolist() for column in backend.rows(found)), strict=True))
    assert len(fetched) == len(set(fetched))
    return set(fetched)


def test_removed_rows_are_tombstones_until_there_are_many(stored: Any) -> None:
    backend = SparkBackend(Limits(), stored, tuning=FEW)
    every = [(i, i % 7) for i in range(400)]
    left, here = table(backend, every), set(every)
    kinds = []
    for start in range(0, 40, 5):
        gone = every[start : start + 5]
        left, here = backend.remove(left, table(backend, gone)), here - set(gone)
        kinds.append(any(segment.gone is not None for segment in left.segments))
        assert left.size == len(here)
        assert rows(backend, left) == here
    assert kinds == [True, True, True, False, True, True, True, False]


def test_a_row_that_comes_back_is_there(stored: Any) -> None:
    backend = SparkBackend(Limits(), stored, tuning=FEW)
    every = [(i, -i) for i in range(200)]
    some = table(backend, every[:5])
    left = backend.remove(table(backend, every), some)
    again = backend.merge(left, some)
    assert (left.size, again.size) == (195, 200)
    assert rows(backend, again) == set(every)
    assert rows(backend, backend.remove(again, some)) == set(every[5:])
    assert rows(backend, backend.minus(again, left)) == set(every[:5])


PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
both(X, Y, L) :- edge(X, Y), label(Y, L), NOT hidden(Y, L).
out(X, N) :- AGGREGATE(edge(X, Y) ON X BIND COUNT(Y) AS N).
loop(X) :- path(X, X).
"""


def test_changes_are_those_of_the_local_engine(stored: Any) -> None:
    """Relations of hundreds of rows are stored; changes of a few are literals, and some of dozens are neither."""
    chance = random.Random(7)
    facts = {
        "edge": sorted({(chance.randrange(60), chance.randrange(60)) for _ in range(60)}),
        "label": [(i, chance.randrange(3)) for i in range(60)],
        "hidden": [(i, 1) for i in range(0, 60, 2)],
    }
    kbs = [KnowledgeBase(PROGRAM, engine=engine, tuning=FEW, schemes="standard") for engine in ("spark", "local")]
    for kb in kbs:
        for predicate, given in facts.items():
            kb.add(predicate, given)
        kb.materialise()
    for size in SIZES:
        removed = {name: chance.sample(given, min(size, len(given))) for name, given in facts.items()}
        added = {"edge": [(chance.randrange(60), chance.randrange(60)) for _ in range(size)]}
        for change in ({"remove": removed, "add": added}, {"add": removed, "remove": added}):
            told = [kb.update(**change) for kb in kbs]
            differences = [[{p: set(f) for p, f in part.items()} for part in (one.added, one.removed)] for one in told]
            assert differences[0] == differences[1]
    for predicate in kbs[1].predicates:
        assert set(kbs[0].facts(predicate)) == set(kbs[1].facts(predicate))


def test_a_small_deletion_takes_few_jobs(stored: Any) -> None:
    """The bound is that of the steps of delete and rederive; a job for each broadcast would be twice as many."""
    chain = "".join(f"a{i + 1}(X) :- a{i}(X), edge(X, _). " for i in range(3))
    kb = KnowledgeBase(chain, engine="spark", maintenance="dred", tuning=FEW)
    kb.add("edge", [(i, i + 1) for i in range(300)])
    kb.add("a0", [(i,) for i in range(300)])
    kb.materialise()
    before = kb.metrics()["jobs"]
    change = kb.update(remove={"a0": [(5,), (6,)]})
    assert {name: len(change.removed[name]) for name in ("a0", "a1", "a2", "a3")} == dict.fromkeys(
        ("a0", "a1", "a2", "a3"), 2
    )
    assert kb.metrics()["jobs"] - before <= 10
