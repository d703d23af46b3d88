"""Large inputs on small executors: `python -m benchmarks.spark_scale [join] [recursion] [--millions 24]`.

A driver of 1 GB and two executors of 1 GB with one core each (`local-cluster[2,1,1024]`), `spark.deltalog.driverBudget`
= 0. The input is Parquet that `spark.range` makes.

    join        c(X, Z) :- a(X, Y), b(Y, Z).  a and b have half of the facts each, and each row has one match
    recursion   what one in a hundred vertices reach in a graph of chains of five vertices

Prints seconds and microseconds a fact of each stage: reading, evaluation, writing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

CHAIN = 5
SOURCES = 100  # one in so many chains begins at a source


def cluster(partitions: int) -> Any:
    """A session on a cluster of two small executors."""
    import pyspark
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_HOME", os.path.dirname(pyspark.__file__))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.deltalog.driverBudget": "0",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("deltalog scale")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def join(spark: Any, folder: str, facts: int) -> tuple[str, dict[str, str], dict[str, int]]:
    """Rules, the folders of their input, and the expected sizes."""
    half = facts // 2
    rows = spark.range(half)
    rows.selectExpr("id as x", "id * 7 as y").write.parquet(f"{folder}/a")
    rows.selectExpr("id * 7 as y", "id + 1 as z").write.parquet(f"{folder}/b")
    return "c(X, Z) :- a(X, Y), b(Y, Z).", {"a": f"{folder}/a", "b": f"{folder}/b"}, {"c": half}


def recursion(spark: Any, folder: str, facts: int) -> tuple[str, dict[str, str], dict[str, int]]:
    chains = facts // (CHAIN - 1)
    edges = spark.range(chains * CHAIN).where(f"id % {CHAIN} < {CHAIN - 1}")
    edges.selectExpr("id as x", "id + 1 as y").write.parquet(f"{folder}/e")
    spark.range(0, chains * CHAIN, CHAIN * SOURCES).write.parquet(f"{folder}/source")
    rules = "r(X) :- source(X). r(Y) :- r(X), e(X, Y)."
    sources = -(-chains // SOURCES)
    return rules, {"e": f"{folder}/e", "source": f"{folder}/source"}, {"r": sources * CHAIN}


INPUTS: dict[str, Callable[..., tuple[str, dict[str, str], dict[str, int]]]] = {"join": join, "recursion": recursion}


def measured(spark: Any, name: str, facts: int, folder: str) -> dict[str, Any]:
    """The seconds of each stage; AssertionError if a result has the wrong size."""
    from deltalog import KnowledgeBase

    rules, paths, expected = INPUTS[name](spark, folder, facts)
    clock = [time.perf_counter()]
    kb = KnowledgeBase(rules, engine="spark", spark=spark)
    for predicate, path in paths.items():
        kb.add(predicate, spark.read.parquet(path))
    clock.append(time.perf_counter())
    kb.materialise()
    found = {predicate: kb.count(predicate) for predicate in expected}
    clock.append(time.perf_counter())
    assert found == expected, f"{found} instead of {expected}"
    for predicate in expected:
        kb.facts(predicate).to_spark().write.parquet(f"{folder}/out-{predicate}")
    clock.append(time.perf_counter())
    seconds = {stage: round(clock[i + 1] - clock[i], 1) for i, stage in enumerate(("read", "evaluate", "write"))}
    derived = sum(found.values())
    per_fact = {"read": facts, "evaluate": facts + derived, "write": derived}
    return {
        "input": name,
        "facts": facts,
        "derived": derived,
        "seconds": seconds,
        "microseconds_per_fact": {stage: round(1e6 * seconds[stage] / rows, 2) for stage, rows in per_fact.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="*", choices=[*INPUTS, []], default=[], metavar="join, recursion")
    parser.add_argument("--millions", type=float, default=24.0)
    parser.add_argument("--partitions", type=int, default=16)
    arguments = parser.parse_args()
    spark = cluster(arguments.partitions)
    for name in arguments.inputs or list(INPUTS):
        folder = tempfile.mkdtemp(prefix="deltalog-scale-")
        try:
            print(json.dumps(measured(spark, name, int(arguments.millions * 1e6), folder)), flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    spark.stop()


if __name__ == "__main__":
    main()
