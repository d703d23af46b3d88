"""What the jobs of a knowledge base are called in Spark, what is counted of them, how they end; and that a session that
others use, too, is left as it was."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any
from unittest.mock import Mock

import pytest

from deltalog import KnowledgeBase
from deltalog.core.errors import EngineError, LimitReached
from deltalog.core.limits import Limits
from deltalog.core.rules import Pred
from deltalog.engines.spark.failures import one_line
from deltalog.engines.spark.jobs import SparkJobs, listed, pred_names, round_name
from deltalog.evaluation.current_round import in_round

REACH = "path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z)."
GROUP, DESCRIPTION = "spark.jobGroup.id", "spark.job.description"


def far_away(spark: Any, **options: Any) -> KnowledgeBase:
    """Paths over a chain of four edges."""
    kb = KnowledgeBase(REACH, engine="spark", spark=spark, schemes="standard", **options)
    kb.add("edge", [(i, i + 1) for i in range(4)])
    return kb


def sleepy(spark: Any, seconds: float) -> Any:
    """A DataFrame whose one job takes this long."""

    def each(batches: Iterator[Any]) -> Iterator[Any]:
        time.sleep(seconds)
        return batches

    return spark.range(0, 2, 1, 1).mapInArrow(each, "id long")


# Names.


def test_names_of_jobs() -> None:
    path, iri = Pred("path", 2), Pred("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", 2)
    assert round_name([path, iri]) == "path, type"
    with in_round(3):
        assert round_name([path]) == "path: round 3"
    assert pred_names("write", [path]) == "write path"
    assert listed("abcde") == "a, b, c and 2 more"
    assert listed("abcd") == "a, b, c, d"


def test_jobs_are_named_after_what_they_do(spark: Any, everything_far: None, monkeypatch: pytest.MonkeyPatch) -> None:
    context, said = spark.sparkContext, []
    describe = type(context).setJobDescription
    monkeypatch.setattr(
        type(context), "setJobDescription", lambda self, text: [said.append(text), describe(self, text)]
    )
    kb = far_away(spark)
    kb.materialise()
    assert set(kb.facts("path")) == {(i, j) for i in range(5) for j in range(i + 1, 5)}
    names = dict.fromkeys(text for text in said if text is not None)
    assert [name for name in names if "round" in name] == [f"path: round {number}" for number in range(1, 5)]
    assert "fetch path" in names or "fetch facts" in names


def test_a_job_knows_its_name(spark: Any) -> None:
    """Executors say what the job is called in which they make the rows."""

    def each(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for _ in batches:
            yield pa.RecordBatch.from_arrays([pa.array([context.getLocalProperty(DESCRIPTION)])], ["name"])

    kb = KnowledgeBase(engine="spark", spark=spark)
    kb.add("city", spark.range(1).mapInArrow(each, "name string"))
    assert set(kb.facts("city")) == {("read city",)}


@pytest.mark.parametrize("group", [None, "mine"])
def test_a_thread_keeps_its_names_and_tags(group: str | None, spark: Any, everything_far: None) -> None:
    context = spark.sparkContext
    try:
        if group:
            context.setJobGroup(group, "my own jobs")
        context.addJobTag("my-tag")
        far_away(spark).materialise()
        assert context.getLocalProperty(GROUP) == group
        assert context.getLocalProperty(DESCRIPTION) == ("my own jobs" if group else None)
        assert list(context.getJobTags()) == ["my-tag"]
    finally:
        context.removeJobTag("my-tag")
        context.setLocalProperty(GROUP, None)
        context.setJobDescription(None)


def test_a_session_keeps_its_settings(spark: Any, everything_far: None) -> None:
    before = dict(spark.sql("SET").collect())
    kb = far_away(spark)
    kb.update(remove={"edge": [(0, 1)]})
    assert dict(spark.sql("SET").collect()) == before


# Metrics.


def test_only_the_jobs_of_the_knowledge_base_are_counted(spark: Any, everything_far: None) -> None:
    alone = far_away(spark)
    alone.materialise()
    stop = Event()

    def others() -> None:
        while not stop.is_set():
            spark.range(100).repartition(3).count()

    thread = Thread(target=others)
    thread.start()
    try:
        kb = far_away(spark)
        kb.materialise()
    finally:
        stop.set()
        thread.join()
    assert kb.metrics() == alone.metrics()
    assert kb.metrics()["jobs"] >= 5 and kb.metrics()["shuffles"] >= 5
    assert kb.metrics()["tasks"] >= kb.metrics()["stages"] > kb.metrics()["jobs"]


def test_many_scopes_are_counted_on_the_way(spark: Any) -> None:
    """Spark forgets old jobs, so they are not counted only at the end."""
    jobs = SparkJobs(spark.sparkContext, Limits())
    jobs.metrics.max_uncounted = 2
    for _ in range(3):
        with jobs.named("count"):
            spark.range(10).count()
    assert len(jobs.metrics._waiting) == 1
    found = jobs.metrics.snapshot()
    assert found["jobs"] == 3


# The end of jobs.


def active_jobs(spark: Any) -> list[int]:
    found: list[int] = spark.sparkContext.statusTracker().getActiveJobsIds()
    return found


def test_a_time_limit_ends_a_long_job_and_no_other(spark: Any) -> None:
    found: list[int] = []
    other = Thread(target=lambda: found.append(sleepy(spark, 6).count()))
    other.start()
    kb = KnowledgeBase("p(X) :- q(X).", engine="spark", spark=spark, timeout=1.5)
    started = time.monotonic()
    with pytest.raises(LimitReached, match=r"^update stopped: the time limit of 1\.5 s was reached"):
        kb.update(add={"q": sleepy(spark, 60)})
    assert time.monotonic() - started < 30
    other.join()
    assert found == [2]
    end = time.monotonic() + 20
    while active_jobs(spark) and time.monotonic() < end:
        time.sleep(0.1)
    assert not active_jobs(spark)
    kb.limits.timeout = None
    kb.update(add={"q": [(1,)]})
    assert list(kb.facts("p")) == [(1,)]


def test_an_error_of_spark_is_one_line(spark: Any) -> None:
    from pyspark.sql import functions as F

    kb = KnowledgeBase(engine="spark", spark=spark)
    with pytest.raises(EngineError) as failed:
        kb.add("q", spark.range(1).select(F.raise_error(F.lit("no such luck")).cast("long").alias("x")))
    assert "Spark failed (read q): " in str(failed.value) and "no such luck" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert failed.value.__cause__ is None and failed.value.__suppress_context__

    def broken(batches: Iterator[Any]) -> Iterator[Any]:
        raise ZeroDivisionError("in a worker")

    with pytest.raises(EngineError, match=r"in a Python worker: ZeroDivisionError: in a worker$"):
        kb.add("q", spark.range(1).mapInArrow(broken, "id long"))


def test_jobs_that_somebody_cancels_are_an_error_of_one_line(spark: Any) -> None:
    context = spark.sparkContext
    kb = KnowledgeBase(engine="spark", spark=spark)

    def cancel() -> None:
        time.sleep(1.5)
        context.cancelJobGroup("mine")

    context.setJobGroup("mine", "my own jobs")
    thread = Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(EngineError, match=r"Spark failed \(read q\): .*cancelled"):
            kb.add("q", sleepy(spark, 60))
    finally:
        thread.join()
        context.setLocalProperty(GROUP, None)
        context.setJobDescription(None)


def test_an_interrupt_cancels_the_jobs() -> None:
    context = Mock(uiWebUrl=None)
    context.getLocalProperty.return_value = None
    jobs = SparkJobs(context, Limits())
    with pytest.raises(KeyboardInterrupt), jobs.named("outer"), jobs.named("inner"):
        raise KeyboardInterrupt
    tag = context.addJobTag.call_args.args[0]
    context.cancelJobsWithTag.assert_called_once_with(tag)
    context.removeJobTag.assert_called_once_with(tag)


def test_errors_that_are_not_sparks_stay_as_they_are() -> None:
    context = Mock(uiWebUrl=None)
    jobs = SparkJobs(context, Limits())
    with pytest.raises(ZeroDivisionError), jobs.named("a name"):
        raise ZeroDivisionError
    context.cancelJobsWithTag.assert_not_called()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "An error occurred while calling o42.collectToPython.\n: org.apache.spark.SparkException: Job aborted due "
            "to stage failure: Task 0 failed\n\tat org.apache.spark.A.b(A.scala:1)\nCaused by: java.io.IOException: "
            "disk full\n\tat java.B\n",
            "Job aborted due to stage failure: Task 0 failed; disk full",
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/nowhere.",
            "[PATH_NOT_FOUND] Path does not exist: file:/nowhere.",
        ),
        ("", "ValueError"),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(ValueError(text)) == line


def test_a_lost_jvm() -> None:
    assert "connection to Spark's JVM is lost" in one_line(ConnectionRefusedError())
