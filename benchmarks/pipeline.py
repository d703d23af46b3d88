"""`deltalog run` from files to Parquet, on Spark and on the local engine, each run in a process of its own.

    python -m benchmarks.pipeline                        # LUBM(5) and LUBM(20) with program L, then closures
    python -m benchmarks.pipeline --lubm 5 --dag none --turns 1
    python -m benchmarks.pipeline --lubm 20 --dag none --engines local,auto
    python -m benchmarks.pipeline --lubm 5,50 --dag none --engines spark --budget 0 --turns 1   # growth on executors

For each run: total seconds (including the start of the JVM), seconds by phase, jobs and shuffles. The engines run
alternately, and the fastest run of each is reported, since the first run on a machine also creates the archive of
Spark's classes. The ratio of Spark to the local engine follows, and the growth of Spark's time compared with the growth
of the data.

Then updates of a few facts with `engine="auto"`: facts are removed and added again, given as rows, and as DataFrames
with the changes written to Parquet. Reported are the median seconds and the jobs of an update.

The closures are DAG-R (published data, see README; its 22.8 M facts are evaluated by the scheme only) and a random DAG
that is small enough for semi-naive evaluation in Spark's executors (`--schemes standard`, with a driver budget of 0).
Runs that exceed `--timeout` are shown with that time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import datasets
from deltalog.knowledge_base.calls import session_of

PROGRAMS = Path(__file__).parent / "programs"
MASTER = "local[2]"
ENGINES = {
    "local": ("--engine", "local"),
    "auto": ("--engine", "auto", "--master", MASTER),
    "spark": ("--engine", "spark", "--master", MASTER),
}
UPDATES = 10
UPDATED_FACTS = (4, 10)
PHASES = ("load", "evaluate", "write")


@dataclass(frozen=True, slots=True)
class Run:
    """The seconds and the report of a run; the report of a run that exceeded the timeout is empty."""

    seconds: float
    report: dict[str, Any]

    @property
    def evaluation(self) -> float:
        return float(self.report["seconds"]["evaluate"])

    def line(self, name: str) -> str:
        if not self.report:
            return f"{name:28} {'> ' + format(self.seconds, '.0f'):>8}"
        phases = " ".join(f"{self.report['seconds'].get(phase, 0.0):9.2f}" for phase in PHASES)
        spark = self.report["spark"].values()
        work = " ".join(f"{sum(phase[what] for phase in spark):8}" for what in ("jobs", "shuffles"))
        return f"{name:28} {self.seconds:8.1f} {phases} {work} {self.report['facts_total']:12,}"


def run(program: Path, data: Path, words: Sequence[str], timeout: float, budget: int | None = None) -> Run:
    """One run of `deltalog run`, from files to Parquet."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        if budget is not None:
            (Path(folder) / "spark-defaults.conf").write_text(f"spark.deltalog.driverBudget {budget}\n")
            environment["SPARK_CONF_DIR"] = folder
        command = [sys.executable, "-m", "deltalog", "run", str(program), "--data", str(data), "--json", "--quiet"]
        command += ["--out", f"{folder}/out", "--format", "parquet", *words]
        started = time.perf_counter()
        with open(f"{folder}/said", "w+") as said:
            try:
                done = subprocess.run(
                    command, env=environment, stdout=subprocess.PIPE, stderr=said, text=True, timeout=timeout
                )
            except subprocess.TimeoutExpired:
                return Run(timeout, {})
            seconds = time.perf_counter() - started
            said.seek(0)
            if done.returncode:
                raise SystemExit(f"{' '.join(command)} failed:\n{said.read()[-3000:]}")
    return Run(seconds, json.loads(done.stdout.splitlines()[-1]))


def lubm(
    universities: int, engines: Sequence[str], turns: int, timeout: float, folder: Path, budget: int | None = None
) -> dict[str, Run]:
    """The fastest run of each engine."""
    data = folder / f"lubm{universities}"
    data.mkdir()
    datasets.lubm(universities, data)
    best: dict[str, Run] = {}
    for _ in range(turns):
        for engine in engines:
            now = run(PROGRAMS / "lubm_l.dl", data, ENGINES[engine], timeout, budget)
            best[engine] = min(best.get(engine, now), now, key=lambda one: one.seconds)
    for engine, found in best.items():
        print(found.line(f"LUBM({universities}) {engine}"), flush=True)
    for engine in engines[1:]:
        assert best[engine].report["per_predicate"] == best[engines[0]].report["per_predicate"]
        ratio = best[engine].seconds / best[engines[0]].seconds
        print(f"    {engine} / {engines[0]}: {ratio:.2f}", flush=True)
    return best


def updates(universities: int, folder: Path) -> None:
    """Updates of few facts with `engine="auto"`, in this process."""
    from deltalog import KnowledgeBase

    kb = KnowledgeBase(PROGRAMS / "lubm_l.dl", engine="auto", master=MASTER)
    kb.load(folder / f"lubm{universities}")
    counts = kb.materialise().per_predicate
    largest = max(counts, key=lambda name: (counts[name], name))
    for size in UPDATED_FACTS:
        rows = list(islice(kb.facts(largest), size))
        frame = session_of(kb).backend.capabilities.data_frames.to_spark(  # type: ignore[union-attr]
            session_of(kb).backend.codec.encode({largest: rows})[largest][1], ["x", "y"]
        )
        for how, data, out in (("rows", rows, None), ("DataFrames", frame, folder / "changed")):
            seconds, jobs = _updated(kb, largest, data, out)
            label = f"LUBM({universities}) update, {size} facts, {how}"
            print(f"{label:48} {seconds:9.4f} s {jobs:6.1f} jobs", flush=True)


def _updated(kb: Any, predicate: str, data: Any, out: Path | None) -> tuple[float, float]:
    """The median seconds and the mean jobs of an update, with what it changed written to a folder if there is one."""
    kb.update(remove={predicate: data})
    kb.update(add={predicate: data})  # plans are there from now on
    taken, jobs = [], kb.metrics()["jobs"]
    for turn in range(UPDATES):
        started = time.perf_counter()
        change = kb.update(**{"add" if turn % 2 else "remove": {predicate: data}})
        if out is not None:
            changed = change.added if turn % 2 else change.removed
            changed[predicate].to_spark().write.mode("overwrite").parquet(str(out))
        taken.append(time.perf_counter() - started)
    return median(taken), (kb.metrics()["jobs"] - jobs) / UPDATES


def growth(small: dict[str, Run], large: dict[str, Run]) -> None:
    for engine, run in large.items():
        data = run.report["facts_in"] / small[engine].report["facts_in"]
        taken = run.seconds / small[engine].seconds
        print(f"    the data are {data:.2f} times as large, {engine} takes {taken:.2f} times as long", flush=True)
        each = [1e6 * one.seconds / one.report["facts_total"] for one in (small[engine], run)]
        print(f"    seconds for a million facts: {each[0]:.2f}, then {each[1]:.2f}", flush=True)


def closures(vertices: int, edges: int, timeout: float, folder: Path) -> None:
    """DAG-R by its scheme, and a random DAG by its scheme and by semi-naive evaluation."""
    spark = ENGINES["spark"]
    published, data = folder / "dag_r", folder / "dag"
    published.mkdir()
    data.mkdir()
    try:
        datasets.rdf("multischeme/facts/DAG.ttl.bz2", published)
        print(run(PROGRAMS / "dag_r.dl", published, spark, timeout).line("DAG-R scheme"), flush=True)
    except datasets.NoData as missing:
        print(f"DAG-R: {missing}")
    datasets.dag(vertices, edges, 0, data)
    scheme = run(PROGRAMS / "tc_nonlinear.dl", data, spark, timeout)
    print(scheme.line(f"dag({vertices}, {edges}) scheme"), flush=True)
    rounds = run(PROGRAMS / "tc_nonlinear.dl", data, (*spark, "--schemes", "standard"), timeout, budget=0)
    print(rounds.line(f"dag({vertices}, {edges}) rounds"))
    more = "" if rounds.report else "more than "
    print(f"    rounds / scheme: {more}{rounds.seconds / scheme.seconds:.1f}", flush=True)
    if rounds.report:
        print(f"    of evaluation alone: {rounds.evaluation / scheme.evaluation:.1f}", flush=True)


def options(words: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.pipeline", description=__doc__.partition("\n")[0])
    parser.add_argument("--lubm", default="5,20", help="numbers of universities, separated by commas, or none")
    parser.add_argument(
        "--dag", default="3000,15000", help="vertices and edges of the random DAG, or none for no closures"
    )
    parser.add_argument("--engines", default=",".join(ENGINES), help="the engines that run on LUBM")
    parser.add_argument("--budget", type=int, help="spark.deltalog.driverBudget in bytes; 0: all on executors")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=300.0, help="the time limit of a run, in seconds")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    asked = options(words)
    heads = ("seconds", "load", "evaluate", "write", "jobs", "shuffles", "facts")
    print(f"{'':28} {heads[0]:>8} {' '.join(f'{h:>9}' for h in heads[1:4])} {heads[4]:>8} {heads[5]:>8} {heads[6]:>12}")
    with tempfile.TemporaryDirectory() as folder:
        sizes = [] if asked.lubm == "none" else list(map(int, asked.lubm.split(",")))
        engines = asked.engines.split(",")
        found = [lubm(size, engines, asked.turns, asked.timeout, Path(folder), asked.budget) for size in sizes]
        if len(found) > 1:
            growth(found[0], found[-1])
        for size in sizes if "auto" in engines else ():
            updates(size, Path(folder))
        if asked.dag != "none":
            vertices, edges = map(int, asked.dag.split(","))
            closures(vertices, edges, asked.timeout, Path(folder))


if __name__ == "__main__":
    main()
