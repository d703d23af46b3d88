"""Pipelines on a standalone master with two workers: a case folder, and a batch and a stream in which somebody dies."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import test_spark_cluster
from test_spark_cluster import MINUTES, Cluster

from deltalog import KnowledgeBase

sys.path.append(str(Path(__file__).parents[1] / "pipeline"))
from test_spark_pipelines import CASES, contents, expected

pytestmark = pytest.mark.skipif(
    not os.environ.get("DELTALOG_SLOW"),
    reason="starts a cluster of Java processes, which takes minutes; set DELTALOG_SLOW",
)

RULES = "path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z)."
PIPELINE = """
program = "{rules}"
state = "state"
[sources.edge]
format = "csv"
path = "in"
schema = "x string, y string"
{changes}
[sinks.path]
path = "out"
mode = "overwrite"
"""
KINDS = {"batch": 'changes = "files"', "stream": 'stream = true\noptions = { maxFilesPerTrigger = "1" }'}
FILES, CHAINS, LENGTH = 4, 40, 3  # a file, chains in it, edges of a chain
cluster = test_spark_cluster.cluster  # the fixture


def a_worker(cluster: Cluster) -> None:
    os.kill(cluster.workers[0].pid, signal.SIGKILL)


def an_executor(cluster: Cluster) -> None:
    for pid in cluster.below(0, "CoarseGrainedExecutorBackend"):
        os.kill(pid, signal.SIGKILL)


def run(cluster: Cluster, folder: Path, meanwhile: Callable[[], None] | None = None) -> bool:
    """Runs the pipeline of a folder; whether it was still running when something happened to the cluster."""
    command = [sys.executable, "-m", "deltalog", "pipeline", "run", str(folder / "pipeline.toml")]
    with open(folder / "said", "w+") as said:
        process = subprocess.Popen(
            [*command, "--master", cluster.url], env=cluster.environment(), stdout=said, stderr=said
        )
        hit = False
        if meanwhile is not None:
            while process.poll() is None and not cluster.below(0, "CoarseGrainedExecutorBackend"):
                time.sleep(0.1)
            meanwhile()
            hit = process.poll() is None
        assert process.wait(60 * MINUTES) == 0, (folder / "said").read_text()[-5000:]
    return hit


def edges(file: int) -> list[tuple[str, str]]:
    """Chains, some of which go on in the next file."""
    return [
        (f"n{chain}_{file * LENGTH + i}", f"n{chain}_{file * LENGTH + i + 1}")
        for chain in range(CHAINS)
        for i in range(LENGTH if chain % 2 else LENGTH - 1)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path, cluster: Cluster, tmp_path: Path, spark: Any) -> None:
    folder = tmp_path / "case"
    shutil.copytree(case, folder)
    run(cluster, folder)
    assert contents(folder, spark) == expected(case)


@pytest.mark.parametrize("dies", [a_worker, an_executor])
@pytest.mark.parametrize("kind", KINDS)
def test_whoever_dies_the_result_is_right(
    kind: str,
    dies: Callable[[Cluster], None],
    cluster: Cluster,
    tmp_path: Path,
) -> None:
    import pyarrow.parquet as pq

    chosen, folder = random.Random(f"{kind} {dies.__name__}"), tmp_path / "pipeline"
    (folder / "in").mkdir(parents=True)
    (folder / "pipeline.toml").write_text(PIPELINE.format(rules=RULES, changes=KINDS[kind]))
    given = [edges(file) for file in range(FILES)]

    def put(number: int) -> None:
        (folder / "in" / f"{number}.csv").write_text("".join(f"{x},{y}\n" for x, y in given[number]))

    put(0)
    run(cluster, folder)
    for number in range(1, FILES):
        put(number)

    def strike() -> None:
        time.sleep(chosen.uniform(2, 12))
        dies(cluster)

    assert run(cluster, folder, strike), "the run was done before anybody died"
    kb = KnowledgeBase(RULES)
    kb.add("edge", [edge for some in given for edge in some])
    table = pq.read_table(folder / "out")
    assert table.num_rows == kb.count("path")
    assert set(zip(*(column.to_pylist() for column in table.columns), strict=True)) == set(kb.facts("path"))
