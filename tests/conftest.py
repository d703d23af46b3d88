"""What all tests share: the engines, and how to ask one for everything that follows from a program."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from deltalog.core.rules import Pred
from deltalog.core.terms import Value, key
from deltalog.core.tuning import Tuning
from deltalog.kernels import compiling
from deltalog.knowledge_base.calls import session_of

if TYPE_CHECKING:
    from deltalog import KnowledgeBase
    from deltalog.core.tuning import Tuning
    from deltalog.evaluation.goals.goal_evaluator import GoalEvaluator

ENGINES = ("naive", "local")

# One profile everywhere, so that a failure in CI is the same failure at home. `--hypothesis-profile=wide` looks at
# other programs each time, and at more of them.
settings.register_profile(
    "steady", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("wide", parent=settings.get_profile("steady"), derandomize=False, max_examples=2_000)
settings.load_profile("steady")

# Tests compile all kernels (except tests/test_interpreted_kernels.py); commands that they start do as those of users.
compiling.choose(compiling.COMPILE)

Thresholds = Mapping[str, float]  # fields of a Tuning
Materialisation = dict[str, set[tuple[tuple[type, object], ...]]]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn: a test that takes it runs once for every engine."""
    return str(request.param)


def materialise(
    engine: str,
    program: str | Path,
    facts: Mapping[str, Iterable[Sequence[Value]]],
    data: Iterable[Path] = (),
    parallel: bool = False,
    tuning: Tuning | None = None,
) -> dict[str, list[tuple[Value, ...]]]:
    """All facts of a program with its data, by predicate, from an engine of that name; `parallel`: everything that the
    local engine can deal out to threads is dealt out."""
    from deltalog import KnowledgeBase

    kb = KnowledgeBase(program, engine=engine, threads=3 if parallel else None, tuning=tuning)
    if parallel:
        in_parallel(kb)
    for predicate, rows in facts.items():
        kb.add(predicate, rows)
    for path in data:
        kb.load(path)
    kb.materialise()
    return {predicate: [tuple(row) for row in kb.facts(predicate)] for predicate in kb.predicates}


def in_parallel(kb: KnowledgeBase, rows: int = 2) -> KnowledgeBase:
    """A knowledge base on the local engine that deals out so few rows to its threads."""
    backend: Any = session_of(kb).backend
    backend.workers.parallel_min_rows = rows
    return kb


def goal_evaluator(kb: KnowledgeBase) -> GoalEvaluator[Any]:
    """What a knowledge base keeps of its rules and facts for goals."""
    return session_of(kb).queries.goals(session_of(kb).contents())


def tuned(thresholds: Thresholds) -> Tuning:
    """A Tuning with some thresholds, by the names of its fields."""
    fields: dict[str, Any] = dict(thresholds)
    return Tuning(**fields)


def name_of(pred: Pred) -> str:
    """What facts of a predicate are given under, in a knowledge base that may not know it: an IRI by itself, as a
    number at its end would be part of it."""
    return pred.name if ":" in pred.name else str(pred)


def as_sets(facts: Mapping[str, Iterable[Sequence[Value]]]) -> Materialisation:
    """Facts as sets in which 1, 1.0, True, "1" and <1> are different. Predicates without facts are left out."""
    keyed = {predicate: {tuple(map(key, row)) for row in rows} for predicate, rows in facts.items()}
    return {predicate: rows for predicate, rows in keyed.items() if rows}


# The Spark engine: one session for all tests of a process.


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The session that every knowledge base of the tests uses; without Java these tests are skipped."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("there is no Java")
    from deltalog.engines.spark.startup.session import session

    active = session("local[2]", settings={"spark.driver.memory": "3072m"})  # each process of pytest-xdist has one
    yield active
    active.stop()


@pytest.fixture
def in_frames(spark: Any) -> Iterator[None]:
    """Spark evaluates nothing in the driver; small tables are constants of plans."""
    spark.conf.set("spark.deltalog.driverBudget", "0")
    yield
    spark.conf.unset("spark.deltalog.driverBudget")


@pytest.fixture
def everything_far(in_frames: None, spark: Any) -> Iterator[None]:
    """Nor does a table stay in the driver."""
    spark.conf.set("spark.deltalog.driverTableRows", "0")
    yield
    spark.conf.unset("spark.deltalog.driverTableRows")
