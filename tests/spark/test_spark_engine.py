"""The parts of the Spark engine that the cases do not see."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from conftest import as_sets

from deltalog import KnowledgeBase
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import EngineError, LimitReached
from deltalog.core.limits import Limits
from deltalog.core.terms import IRI, BlankNode
from deltalog.engines.spark import SparkBackend
from deltalog.engines.spark.io import hashed_ids
from deltalog.kernels.digest import hash_bytes
from deltalog.knowledge_base.calls import session_of

pytestmark = pytest.mark.usefixtures("spark")

REACH = "path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z)."


def test_the_digest_is_xxh64(spark: Any) -> None:
    from pyspark.sql import functions as F

    texts = [bytes(range(1, 1 + n)) for n in (0, 1, 3, 4, 7, 8, 12, 31, 32, 33, 63, 64, 100)]
    frame = spark.createDataFrame([(bytearray(text),) for text in texts], "text binary")
    theirs = [row[0] for row in frame.select(F.xxhash64("text")).collect()]
    assert [hash_bytes(np.frombuffer(text, np.uint8), 42) for text in texts] == theirs


def test_ids_depend_on_kind_and_text_alone() -> None:
    values = ["a", IRI("a"), BlankNode("a"), 1, 1.0, True, "1", -(2**62), 2**62 - 1, 2**62, 2**63]
    found, _ = hashed_ids.encode(values, 0)
    assert len(set(found.tolist())) == len(values)
    again = Dictionary()
    again.encode(["other", 5, *values[::-1]])
    assert set(found.tolist()) <= set(hashed_ids.digests(again, 0).tolist())
    assert [value for value, id in zip(values, found, strict=True) if id < 0] == [1, -(2**62), 2**62 - 1]


def test_two_values_with_one_id_are_an_error(monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    backend = SparkBackend(Limits(), spark)
    pairs = spark.createDataFrame([(7, bytearray(b"\x0aa")), (7, bytearray(b"\x0ab"))], "id long, term binary")
    backend.dictionary.add(pairs)
    with pytest.raises(EngineError, match=r"spark\.deltalog\.salt"):
        backend.dictionary.merge_pending()


def test_recursion_round_by_round(everything_far: None) -> None:
    kb = KnowledgeBase(REACH, engine="spark")
    kb.add("edge", [(i, i + 1) for i in range(12)])
    assert set(kb.facts("path")) == {(i, j) for i in range(13) for j in range(i + 1, 13)}
    assert (0, 12) in kb.facts("path")
    assert (12, 0) not in kb.facts("path")


def test_a_recursive_hyper_node_is_finished_in_the_driver() -> None:
    kb = KnowledgeBase(REACH + "far(X) :- path(X, Y), edge(A, X), X != a, NOT edge(X, b).", engine="spark")
    kb.add("edge", [(f"n{i}", f"n{i + 1}") for i in range(300)])
    assert kb.count("path") == 300 * 301 // 2
    assert kb.count("far") == 299


@pytest.mark.parametrize(
    "condition", ["?y", "!?y", "?x = 5 || ?y", "(?x = 0) = ?y", "?y = true", "?y != true && ?x != ?y"]
)
def test_conditions_of_a_recursion_in_the_driver(condition: str) -> None:
    """The driver compares ids without their values; booleans are read as values."""
    rules = f"p(?x) :- s(?x). p(?y) :- p(?x), e(?x, ?y), FILTER({condition})."
    found = []
    for engine in ("naive", "spark"):
        kb = KnowledgeBase(rules, engine=engine)
        kb.add("s", [(0,), (5,)])
        kb.add("e", [(0, 1), (1, 0), (0, "a"), ("a", IRI("u")), (0, True), (True, 2), (1, False), (5, False), (2, 3)])
        found.append(as_sets({"p": kb.facts("p")}))
    assert found[0] == found[1]


FAILING = "n(Y) :- s(X), BIND(1 / X AS Y).  n(Y) :- n(X), s(Z), BIND(X * Z AS Y), FILTER(Y < 9 && Y > -9)."


@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_failed_expressions_in_the_driver_are_counted(engine: str) -> None:
    """Those of small plans and of an offloaded recursion, as on the local engine; not those of a call that fails."""
    local, kb = (KnowledgeBase(FAILING, engine=engine) for engine in ("local", engine))
    for one in (local, kb):
        one.update(add={"s": [("a",), (0,), (2,), (IRI("u"),)]})
    failed = kb.report.failed_expressions
    assert failed == local.report.failed_expressions > 3
    kb.limits.max_facts = kb.report.facts_total + 1
    with pytest.raises(LimitReached):
        kb.update(add={"s": [("b",), (4,)]})
    assert kb.report.failed_expressions == failed


def test_updates(in_frames: None) -> None:
    kb = KnowledgeBase(REACH, engine="spark")
    kb.add("edge", [("a", "b"), ("b", "c"), ("c", "d")])
    change = kb.update(add={"edge": [("d", "e")]}, remove={"edge": [("a", "b")]})
    assert set(change.added["path"]) == {("d", "e"), ("c", "e"), ("b", "e")}
    assert set(change.removed["path"]) == {("a", "b"), ("a", "c"), ("a", "d")}


def test_limits() -> None:
    kb = KnowledgeBase("n(0). n(Y) :- n(X), BIND(X + 1 AS Y).", engine="spark", max_facts=50)
    with pytest.raises(LimitReached):
        kb.materialise()


ENDLESS = "n(X) :- s(X). n(Y) :- n(X), BIND(X + 1 AS Y). m(X) :- q(X), NOT n(X)."


def ticking() -> Callable[[], float]:
    """A clock on which every reading takes a second."""
    numbers = count()
    return lambda: float(next(numbers))


@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_changes_and_goals_without_end(engine: str) -> None:
    kb = KnowledgeBase(ENDLESS, engine=engine)
    kb.update(add={"q": [(0,), (7,)]})
    for option, most in (("max_facts", 30), ("timeout", 30.0), ("memory", 1)):
        kb.limits.clock = ticking()
        setattr(kb.limits, option, most)
        for change in (lambda: kb.update(add={"s": [(5,)]}), lambda: kb.add_rules("s(X) :- q(X).")):
            with pytest.raises(LimitReached, match=f"`{option}`"):
                change()
        setattr(kb.limits, option, None)
        assert sorted(kb.facts("m")) == [(0,), (7,)] and not kb.count("n") and len(kb.rules) == 3
    kb.update(remove={"q": [(7,)]})
    assert list(kb.facts("m")) == [(0,)]
    endless = KnowledgeBase(ENDLESS + "s(0).", engine=engine, max_facts=30)
    with pytest.raises(LimitReached, match=r"^query stopped: the limit of 30 facts was reached"):
        endless.query("n(?x)", "magic")


@pytest.mark.parametrize("body", ["r(X, Y), e(Y, Z)", "r(X, Y), e(Y, W), BIND(W + 1 AS Z), FILTER(Z < 3)"])
def test_the_driver_obeys_the_same_limits(body: str) -> None:
    """By ids, and by values."""
    kb = KnowledgeBase(f"r(X, Y) :- e(X, Y). r(X, Z) :- {body}.", engine="spark")
    kb.add("e", [(1, 2), (2, 3)])
    target = session_of(kb).backend.capabilities.offload.offer(kb.rules, session_of(kb).state.explicit).target
    assert target is not None and target.backend.limits is kb.limits


@pytest.mark.parametrize("engine", ["spark", "auto"])
@pytest.mark.parametrize("option", ["timeout", "memory"])
def test_a_round_in_the_driver_obeys_limits(engine: str, option: str) -> None:
    """The first round alone would derive 25 million facts, so it is stopped before it ends."""
    kb = KnowledgeBase("p(X, Y) :- a(X), b(Y), X != Y.", engine=engine)
    for predicate in ("a", "b"):
        kb.add(predicate, [(i,) for i in range(5_000)])
    readings = ticking()
    kb.limits.clock = kb.limits.resident = readings  # type: ignore[assignment]
    setattr(kb.limits, option, 12)
    with pytest.raises(LimitReached, match=f"`{option}`"):
        kb.materialise()
    assert readings() < 30 and not kb.report.rounds


def test_facts_are_transferred_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver has derived is brought into tables of the Spark engine only as long as there is time."""
    from deltalog.engines.spark import driver_engine

    monkeypatch.setattr(driver_engine, "TRANSFER_ROWS", 2)
    kb = KnowledgeBase(REACH + "ends(X) :- path(X, Y).", engine="spark", schemes="standard")
    kb.add("edge", [(i, i + 1) for i in range(40)])
    readings = ticking()
    kb.limits.clock = readings
    kb.limits.timeout = 1_000.0
    kb.materialise()
    needed = readings()
    assert needed > 820 / 2  # one for each part of the 820 paths
    again = KnowledgeBase(REACH + "ends(X) :- path(X, Y).", engine="spark", schemes="standard", timeout=needed / 2)
    again.add("edge", [(i, i + 1) for i in range(40)])
    again.limits.clock = ticking()
    with pytest.raises(LimitReached, match="`timeout`"):
        again.materialise()


@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_what_the_driver_has_derived_can_be_kept_at_a_limit(engine: str) -> None:
    kb = KnowledgeBase(ENDLESS + "s(0).", engine=engine, timeout=25.0)
    kb.limits.clock = ticking()
    assert not kb.materialise(partial=True).complete
    assert kb.count("n") > 10


def test_without_java() -> None:
    code = "from deltalog import KnowledgeBase; KnowledgeBase('', engine='spark')"
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"} | {"PATH": "/nowhere"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert "EngineError: the Spark engine needs Java" in run.stderr
    assert "engine='local'" in run.stderr


def test_without_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from deltalog.engines.spark.startup import session

    monkeypatch.setattr(session, "find_spec", lambda name: None if name == "pandas" else object())
    with pytest.raises(EngineError, match=r"needs pandas, which is not installed: pip install .deltalog\[spark\]"):
        KnowledgeBase("", engine="spark")


def test_the_local_engine_starts_no_java() -> None:
    code = (
        "import sys; from deltalog import KnowledgeBase; kb = KnowledgeBase('p(X) :- q(X).'); kb.add('q', [(1,)]);"
        "assert kb.count('p') == 1; print('pyspark' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
