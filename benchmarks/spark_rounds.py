"""Recursion on Spark's executors: `python -m benchmarks.spark_rounds [plain] [deltalog] [--edges N] [--rounds N]`.

The transitive closure of a layered random graph: one edge per vertex on average, so a round finds fewer paths than the
one before it (500,000 edges and 25 rounds: 6.5 million paths). Nothing is evaluated in the driver.

    plain      a loop over DataFrames, as a Spark user would write it: join, distinct, left anti join, checkpoint
    deltalog   `path(X, Z) :- path(X, Y), edge(Y, Z).` round by round, with `spark.deltalog.driverBudget` = 0

For each round the new paths, seconds, processor seconds (on a machine with other load), jobs and shuffled bytes. The
last round finds nothing. Jobs and bytes come from Spark's web UI, which is turned on for that.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog import KnowledgeBase
from deltalog.engines.spark.metrics import POLL_SECONDS, RestInterface
from deltalog.engines.spark.startup.session import session

RULES = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z)."
REST_TIMEOUT_SECONDS = 20.0
WITH_UI = "--conf spark.ui.enabled=true pyspark-shell"


class RoundCost(NamedTuple):
    """A round: what it found, and what it cost."""

    new: int
    seconds: float
    cpu_seconds: float
    jobs: int
    shuffle_bytes: int


class Recorder:
    """Takes the time and Spark's counters from one call to the next."""

    def __init__(self, spark: Any) -> None:
        self.context, self.rounds = spark.sparkContext, list[RoundCost]()
        self._start()

    def _start(self) -> None:
        self.counters, self.cpu, self.clock = session_counters(self.context), family_cpu_seconds(), time.perf_counter()

    def __call__(self, new: int) -> None:
        seconds, cpu = time.perf_counter() - self.clock, family_cpu_seconds() - self.cpu
        jobs, moved = (now - before for now, before in zip(session_counters(self.context), self.counters, strict=True))
        self.rounds.append(RoundCost(new, seconds, cpu, jobs, moved))
        self._start()


def session_counters(context: Any) -> tuple[int, int]:
    """The jobs of a session so far, and the bytes that their stages have shuffled."""
    rest = RestInterface(context, REST_TIMEOUT_SECONDS)
    jobs = rest.jobs()
    while any(job.running for job in jobs):
        time.sleep(POLL_SECONDS)
        jobs = rest.jobs()
    return len(jobs), sum(stage.shuffle_bytes or 0 for stage in rest.stages().values())


def family_cpu_seconds() -> float:
    """Processor time of this process and of all that it started and that live: the JVM and its Python workers."""
    times: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            times[int(path.parent.name)] = (
                int(fields[1]),
                (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
            )
    family = {os.getpid()}
    while more := {pid for pid, (parent, _) in times.items() if parent in family} - family:
        family |= more
    return sum(seconds for pid, (_, seconds) in times.items() if pid in family)


def layered(spark: Any, edges: int, rounds: int) -> DataFrame:
    """Edges from each layer of vertices to the next, at random."""
    width = edges // rounds
    layer, size = F.floor(F.col("id") / width), F.lit(width)
    source, target = ((layer + i) * size + F.pmod(F.xxhash64("id", F.lit(i)), size) for i in (0, 1))
    return spark.range(edges).select(source.cast("long").alias("source"), target.cast("long").alias("target"))


def plain(edges: DataFrame, record: Callable[[int], None]) -> int:
    """The closure by a loop over DataFrames."""
    edge = edges.distinct().localCheckpoint()
    path = delta = edge.toDF("a", "b")
    total = new = delta.count()
    while new:
        record(new)
        found = delta.join(edge, F.col("b") == F.col("source")).select("a", F.col("target").alias("b")).distinct()
        delta = found.join(path, ["a", "b"], "left_anti").localCheckpoint()
        new = delta.count()
        path, total = path.unionAll(delta), total + new
    record(0)
    return total


def deltalog(edges: DataFrame, record: Callable[[int], None]) -> int:
    """The closure by rules."""
    kb = KnowledgeBase(RULES, engine="spark", schemes="standard", observe=lambda one: record(one.new))
    kb.add("edge", edges)
    kb.materialise()
    return kb.count("path")


WAYS = {"plain": plain, "deltalog": deltalog}


def measured(names: list[str], edges: int, rounds: int) -> Iterator[dict[str, Any]]:
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", WITH_UI)
    spark = session()
    spark.conf.set("spark.deltalog.driverBudget", "0")
    graph = layered(spark, edges, rounds).localCheckpoint()
    small = layered(spark, 1000, 3)
    for name in names:
        WAYS[name](small, lambda _: None)  # compiles, and starts Python workers
        record, started = Recorder(spark), time.perf_counter()
        paths = WAYS[name](graph, record)
        yield {
            "way": name,
            "paths": paths,
            "seconds": round(time.perf_counter() - started, 1),
            "cpu_seconds": round(sum(one.cpu_seconds for one in record.rounds), 1),
            "rounds": record.rounds,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], default=[], metavar="plain, deltalog")
    parser.add_argument("--edges", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=25)
    arguments = parser.parse_args()
    for found in measured(arguments.ways or list(WAYS), arguments.edges, arguments.rounds):
        rounds = found.pop("rounds")
        print(json.dumps(found))
        for number, (new, seconds, cpu, jobs, moved) in enumerate(rounds, 1):
            times = f"{seconds:6.2f} s  {cpu:6.2f} s cpu"
            print(f"  round {number:3}  {new:9,} new  {times}  {jobs} jobs  {moved / 2**20:7.2f} MB shuffled")


if __name__ == "__main__":
    main()
