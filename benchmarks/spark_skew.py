"""Decoding a skewed column: `python -m benchmarks.spark_skew [--rows 1000000] [--share 0.9]`.

Facts of which a share has one value in their second column, with a dictionary that is joined and not broadcast. They
are written to Parquet twice: with the terms of frequent values as literals, and without; and before that a few of them,
so that everything is compiled. Of the longest stage of each: the seconds of its tasks, and how many rows they read.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from typing import Any
from urllib.request import ProxyHandler, build_opener

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.spark_rounds import WITH_UI
from deltalog import KnowledgeBase
from deltalog.core.tuning import Tuning
from deltalog.engines.spark.startup.session import session

PARTITIONS = 8
WAYS = {"frequent values are literals": 0.02, "all values are joined": 1.0}


def tasks(context: Any, first_stage: int) -> list[tuple[int, float, int]]:
    """The tasks of all stages from a number on: the stage, seconds, and rows that were read from a shuffle."""

    def get(what: str) -> Any:
        address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{what}"
        return json.load(build_opener(ProxyHandler({})).open(address))

    found = []
    for stage in get("stages?status=complete"):
        if stage["stageId"] >= first_stage:
            for task in get(f"stages/{stage['stageId']}/{stage['attemptId']}/taskList?length=1000"):
                shuffled = task["taskMetrics"]["shuffleReadMetrics"]["recordsRead"]
                found.append((stage["stageId"], task["duration"] / 1000, shuffled))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--share", type=float, default=0.9)
    arguments = parser.parse_args()
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", WITH_UI)
    spark = session()
    spark.conf.set("spark.deltalog.driverBudget", "0")
    spark.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
    hot = F.when(F.rand(1) < arguments.share, F.lit("hot")).otherwise(F.concat(F.lit("rare"), F.col("id")))
    names = F.concat(F.lit("subject"), F.col("id")).alias("x"), hot.alias("y")
    for rows in (1000, arguments.rows):
        for way, share in WAYS.items():
            found = written(spark.range(rows).select(*names), share)
            longest = max(found, key=lambda task: task[1])[0]
            seconds, read = zip(*sorted(task[1:] for task in found if task[0] == longest), strict=True)
            if rows == arguments.rows:
                print(
                    f"{way}: seconds {' '.join(f'{one:.1f}' for one in seconds)}; rows read {' '.join(map(str, read))}"
                )


def written(rows: DataFrame, share: float) -> list[tuple[int, float, int]]:
    """The tasks that write facts."""
    context = rows.sparkSession.sparkContext
    tuning = Tuning(spark_broadcast_max_rows=0, spark_frequent_share=share)
    kb = KnowledgeBase("q(X, Y) :- p(X, Y).", engine="spark", tuning=tuning)
    kb.add("p", rows)
    kb.materialise()
    frame = kb.facts("q").to_spark()
    first = 1 + max((stage for stage, _, _ in tasks(context, 0)), default=0)
    with tempfile.TemporaryDirectory() as folder:
        frame.write.parquet(f"{folder}/q")
    return tasks(context, first)


if __name__ == "__main__":
    main()
