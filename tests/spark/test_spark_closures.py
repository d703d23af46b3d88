"""Closures and components on Spark: listed by executors from what the driver has found, or found by executors."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from deltalog import KnowledgeBase
from deltalog.core.tuning import Tuning

CLOSURE = "r(X, Y) :- e(X, Y).  r(X, Z) :- r(X, Y), r(Y, Z)."
GUARDED = "r(X, Y) :- e(X, Y).  r(X, Z) :- r(X, Y), r(Y, Z), X != Z."
COMPONENTS = CLOSURE + " r(X, Y) :- r(Y, X)."
GUARDED_COMPONENTS = GUARDED + " r(X, Y) :- r(Y, X)."
PROGRAMS = {
    "closure": CLOSURE,
    "guarded": GUARDED,
    "components": COMPONENTS,
    "guarded components": GUARDED_COMPONENTS,
}
ALSO = " n(X, N) :- AGGREGATE(r(X, Y) ON X BIND COUNT(Y) AS N). both(X, Y) :- r(X, Y), r(Y, X)."
LISTED = Tuning(spark_driver_table_max_rows=0)  # however few pairs there are, executors list them


def edges(seed: int) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    pairs = [(f"v{draw.randrange(40)}", f"v{draw.randrange(40)}") for _ in range(34)]
    return [*pairs, ("v1", "v1"), ("w", "w"), *((f"p{i}", f"p{i + 1}") for i in range(9))]


def answers(engine: str, program: str, rows: list[tuple[str, str]], tuning: Tuning | None = None) -> Any:
    schemes = "standard" if engine == "local" else "auto"
    kb = KnowledgeBase(program + ALSO, engine=engine, schemes=schemes, tuning=tuning)
    kb.add("e", rows)
    return {name: set(kb.facts(name)) for name in ("r", "n", "both")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_executors_list_what_the_driver_has_found(name: str, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltalog.engines.spark.operators import broadcast_closure

    monkeypatch.setattr(broadcast_closure, "CHUNK_PAIRS", 7)
    rows = edges(len(name))
    assert answers("spark", PROGRAMS[name], rows, LISTED) == answers("local", PROGRAMS[name], rows)


@pytest.mark.parametrize("name", PROGRAMS)
def test_beyond_the_drivers_budget(name: str, everything_far: None) -> None:
    rows = edges(len(name))
    assert answers("spark", PROGRAMS[name], rows) == answers("local", PROGRAMS[name], rows)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_executors_write_what_they_list(
    format: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deltalog.engines.spark.operators import broadcast_closure

    monkeypatch.setattr(broadcast_closure, "CHUNK_PAIRS", 50)
    rows: list[tuple[Any, Any]] = [*edges(5), (1, 2), (2, "v3")]
    kb = KnowledgeBase(CLOSURE, engine="spark", tuning=LISTED)
    kb.add("e", rows)
    kb.write(tmp_path / "out", format)
    again, local = KnowledgeBase(), KnowledgeBase(CLOSURE)
    again.load(tmp_path / "out")
    local.add("e", rows)
    assert set(again.facts("r")) == set(local.facts("r"))
    assert again.count("r") == local.count("r")
