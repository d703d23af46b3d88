"""Updates on Spark's executors: `python -m benchmarks.spark_updates [--lubm 5] [--updates 4]`.

LUBM with program L, with nothing evaluated in the driver (`spark.deltalog.driverBudget` = 0). Updates remove a few
facts and add them again. Of each: seconds, processor seconds, jobs, what was decided, and how many DataFrames executors
hold afterwards, which should not grow (200 updates: `--lubm 1 --updates 200`).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.generators import lubm
from benchmarks.spark_rounds import family_cpu_seconds
from deltalog import KnowledgeBase
from deltalog.engines.spark.startup.session import session

PROGRAM = Path(__file__).parent / "programs" / "lubm_l.dl"
FACTS = 8


class Step:
    """Prints what a step took."""

    def __init__(self, name: str, kb: KnowledgeBase, spark: Any) -> None:
        self.name, self.kb, self.spark = name, kb, spark

    def __enter__(self) -> Step:
        self.jobs, self.cpu, self.clock = self.kb.metrics()["jobs"], family_cpu_seconds(), time.perf_counter()
        self.note = ""
        return self

    def __exit__(self, *_: object) -> None:
        seconds, cpu = time.perf_counter() - self.clock, family_cpu_seconds() - self.cpu
        jobs = self.kb.metrics()["jobs"] - self.jobs
        held = self.spark.sparkContext._jsc.getPersistentRDDs().size()
        times = f"{seconds:7.2f} s {cpu:7.2f} s cpu {jobs:4} jobs"
        print(f"{self.name:12} {times} {held:4} stored  {self.note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lubm", type=int, default=5)
    parser.add_argument("--updates", type=int, default=4)
    arguments = parser.parse_args()
    spark = session()
    spark.conf.set("spark.deltalog.driverBudget", "0")
    kb = KnowledgeBase(PROGRAM.read_text(), engine="spark")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.nt"
        lubm.write(arguments.lubm, data)
        with Step("load", kb, spark):
            kb.load(data)
        with Step("materialise", kb, spark):
            kb.materialise()
        with Step("write", kb, spark):
            kb.write(Path(folder) / "out", format="parquet")
    predicate = max((name for name in kb.predicates if kb.arity(name) == 2 and "takesCourse" in name), key=len)
    frame = kb.facts(predicate)
    changed = [row for row, _ in zip(frame, range(FACTS), strict=False)]
    for number in range(arguments.updates):
        way = "remove" if number % 2 == 0 else "add"
        with Step(way, kb, spark) as step:
            change = kb.update(**{way: {predicate: changed}})
            step.note = "; ".join(change.report.notes)[:160]


if __name__ == "__main__":
    main()
