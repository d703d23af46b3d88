"""How relations are stored on executors: what a round shuffles, what is broadcast, and when storage is released."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pytest

from deltalog import KnowledgeBase
from deltalog.core.tuning import Tuning

pytestmark = pytest.mark.usefixtures("everything_far")

LINEAR = "path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z)."
EDGES = [(i, i + 1) for i in range(8)]
NO_BROADCAST = Tuning(spark_broadcast_max_bytes=0)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The physical plans of everything that is stored, as text."""
    from deltalog.engines.spark import stored

    found: list[str] = []
    store = stored.checkpointed

    def checkpointed(frame: Any) -> Any:
        out = StringIO()
        with redirect_stdout(out):
            frame.explain()
        found.append(out.getvalue())
        return store(frame)

    monkeypatch.setattr(stored, "checkpointed", checkpointed)
    yield found


def rounds(plans: list[str]) -> list[str]:
    """The plans that join and remove known facts."""
    return [plan for plan in plans if "Inner" in plan and "LeftAnti" in plan]


def test_a_round_shuffles_its_delta_alone(plans: list[str]) -> None:
    """The delta goes to the index of the edges, and what it derives to where it is known."""
    kb = KnowledgeBase(LINEAR, engine="spark", schemes="standard", tuning=NO_BROADCAST)
    kb.add("edge", EDGES)
    kb.materialise()
    assert kb.count("path") == 36
    later = rounds(plans)[2:]  # there is an index of the edges from the second join on
    assert len(later) >= 4
    assert {plan.count("Exchange") for plan in later} == {2}
    assert not any("Broadcast" in plan for plan in plans)


def test_segments_are_merged_in_place(plans: list[str]) -> None:
    kb = KnowledgeBase(LINEAR, engine="spark", schemes="standard", tuning=NO_BROADCAST)
    kb.add("edge", EDGES)
    kb.materialise()
    merged = [plan for plan in plans if "Union" in plan and "Join" not in plan and "Aggregate" not in plan]
    assert merged
    assert not any("Exchange" in plan for plan in merged)


def test_spark_broadcasts_nothing_that_it_only_believes_to_be_small(plans: list[str]) -> None:
    """Whatever `spark.sql.autoBroadcastJoinThreshold` says (10 MB by default), and the relations have a few rows."""
    rules = "c(X, Z) :- a(X, Y), b(Y, Z). d(X) :- a(X, Y), NOT b(Y, _). e(X) :- a(X, Y), b(Y, _)."
    rules += "f(X, Y) :- a(X, _), b(_, Y)."
    kb = KnowledgeBase(rules, engine="spark", tuning=NO_BROADCAST)
    kb.add("a", EDGES)
    kb.add("b", EDGES[:4])
    kb.materialise()
    assert (kb.count("c"), kb.count("d"), kb.count("e"), kb.count("f")) == (3, 5, 3, 32)
    assert not any("Broadcast" in plan for plan in plans)


def test_small_sides_are_broadcast(plans: list[str]) -> None:
    kb = KnowledgeBase("c(X, Z) :- a(X, Y), b(Y, Z).", engine="spark")
    kb.add("a", EDGES)
    kb.add("b", EDGES)
    assert kb.count("c") == 7
    assert any("BroadcastHashJoin" in plan for plan in plans)


def test_what_is_no_longer_read_is_released(spark: Any) -> None:
    kb = KnowledgeBase(LINEAR, engine="spark", schemes="standard", maintenance="dred")
    kb.add("edge", EDGES[:3])
    kb.materialise()
    stored = []
    for _ in range(3):
        kb.update(add={"edge": [(3, 4)]})
        kb.update(remove={"edge": [(3, 4)]})
        stored.append(settled(lambda: held(spark)))
    assert stored[-1] <= stored[0]
    before = held(spark)
    del kb
    assert settled(lambda: held(spark)) < before


def test_a_data_frame_of_the_user_outlives_the_knowledge_base() -> None:
    kb = KnowledgeBase(LINEAR, engine="spark", schemes="standard")
    kb.add("edge", EDGES)
    frame = kb.facts("path").to_spark()
    del kb
    time.sleep(0.5)
    assert frame.count() == 36


def held(spark: Any) -> int:
    """How many DataFrames executors hold."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


def settled(value: Callable[[], int]) -> int:
    """A number that has not changed for a while."""
    last, since = value(), time.monotonic()
    while time.monotonic() < since + 1:
        time.sleep(0.1)
        if (now := value()) != last:
            last, since = now, time.monotonic()
    return last
