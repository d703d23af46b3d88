"""A cluster of real processes: a standalone master with two workers on this machine, and what dies in the middle.

The program runs for many rounds in executors only (the driver's budget is 0), so whatever is killed is killed at work.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import as_sets

from deltalog import KnowledgeBase

pytestmark = pytest.mark.skipif(
    not os.environ.get("DELTALOG_SLOW"),
    reason="starts a cluster of Java processes, which takes minutes; set DELTALOG_SLOW",
)

PROGRAM = """
path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).
far(X, N) :- AGGREGATE(path(X, Y) ON X BIND COUNT(Y) AS N).
big(X, N) :- far(X, N), N > 5.  none(X) :- path(X, _), NOT big(X, _).
"""
CHAINS, LENGTH, TIMES = 120, 12, 20
SETTINGS = """
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.driver.memory 1g
spark.executor.memory 1g
spark.cores.max 2
spark.scheduler.minRegisteredResourcesRatio 1
spark.scheduler.maxRegisteredResourcesWaitingTime 120s
spark.sql.shuffle.partitions 2
spark.deltalog.driverBudget 0
"""
MINUTES = 9


class Cluster:
    """A master and its workers, as processes."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        self.processes: list[subprocess.Popen[bytes]] = []
        _, log = self._started("master", "org.apache.spark.deploy.master.Master", "--port", "0", "--webui-port", "0")
        self.url = _awaited(log, r"Starting Spark master at (spark://\S+)")
        self.workers = [self.worker(number) for number in range(2)]

    def worker(self, number: int) -> subprocess.Popen[bytes]:
        """Another worker, registered."""
        place = [
            "--cores",
            "1",
            "--memory",
            "1g",
            "--webui-port",
            "0",
            "--work-dir",
            str(self.folder / f"work{number}"),
        ]
        process, log = self._started(f"worker{number}", "org.apache.spark.deploy.worker.Worker", *place, self.url)
        _awaited(log, r"(Successfully registered) with master")
        return process

    def _started(self, name: str, main: str, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
        log = self.folder / f"{name}.log"
        command = [str(self.home / "bin" / "spark-class"), main, "--host", "127.0.0.1", *words]
        with open(log, "wb") as out:
            process = subprocess.Popen(command, env=self.environment(), stdout=out, stderr=out)
        self.processes.append(process)
        return process, log

    def environment(self) -> dict[str, str]:
        """Of the cluster's processes, and of those who use it."""
        return os.environ | {
            "SPARK_HOME": str(self.home),
            "SPARK_CONF_DIR": str(self.folder),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }

    def below(self, worker: int, command: str) -> list[int]:
        """The processes that a worker has started, directly or not, whose command line has a word in it."""
        parents = _parents()
        mine = {self.workers[worker].pid}
        while more := {pid for pid, parent in parents.items() if parent in mine} - mine:
            mine |= more
        return sorted(pid for pid in mine if command in _command(pid))

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


def _awaited(log: Path, pattern: str) -> str:
    for _ in range(600):
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.2)
    raise AssertionError(f"{pattern} is not in {log.read_text(errors='replace')[-2000:]}")


def _parents() -> dict[int, int]:
    """The parent of each process of this machine."""
    found: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rules, and more than a megabyte of chains, so that executors read them."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "rules.dl").write_text(PROGRAM)
    (folder / "data").mkdir()
    for part in range(3):
        lines = (
            f"a_node_with_a_long_name_{chain}_{i},a_node_with_a_long_name_{chain}_{i + 1}\n"
            for _ in range(TIMES)
            for chain in range(part, CHAINS, 3)
            for i in range(LENGTH)
        )
        (folder / "data" / f"edge{part}.csv").write_text("".join(lines))
    (folder / "data" / "predicates.tsv").write_text("".join(f"edge{part}\tedge\n" for part in range(3)))
    return folder


@pytest.fixture(scope="module")
def right(files: Path) -> Any:
    kb = KnowledgeBase(files / "rules.dl")
    kb.load(files / "data")
    kb.materialise()
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "spark-defaults.conf").write_text(SETTINGS)
    started = Cluster(tmp_path)
    try:
        yield started
    finally:
        started.stop()


def written(folder: Path) -> Any:
    kb = KnowledgeBase()
    kb.load(folder)
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


def words(files: Path, out: Path) -> list[str]:
    return ["run", str(files / "rules.dl"), "--data", str(files / "data"), "--out", str(out), "--schemes", "standard"]


def ran(cluster: Cluster, command: list[str], meanwhile: Callable[[], None]) -> str:
    """Runs a command to its end; something happens after it has read its files."""
    process = subprocess.Popen(
        command, env=cluster.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("read "):
            meanwhile()
    assert process.wait(60 * MINUTES) == 0, "".join(said)[-5000:]
    return "".join(said)


def nothing(cluster: Cluster) -> None:
    """Nobody dies."""


def a_worker(cluster: Cluster) -> None:
    """A worker, and with it its executor, in the middle of evaluation."""
    time.sleep(3)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)


def an_executor(cluster: Cluster) -> None:
    time.sleep(3)
    executors = cluster.below(0, "CoarseGrainedExecutorBackend")
    assert executors
    os.kill(executors[-1], signal.SIGKILL)


def python_workers(cluster: Cluster) -> None:
    """The Python processes of an executor."""
    time.sleep(3)
    pythons = cluster.below(0, "pyspark.daemon")
    assert pythons
    for pid in pythons:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("dies", [nothing, a_worker, an_executor, python_workers])
def test_whoever_dies_the_result_is_right(
    dies: Callable[[Cluster], None], cluster: Cluster, files: Path, right: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "deltalog", *words(files, out), "--engine", "spark", "--master", cluster.url]
    ran(cluster, command, lambda: dies(cluster))
    assert written(out) == right


def test_spark_submit(cluster: Cluster, files: Path, right: Any, tmp_path: Path) -> None:
    """With the installed package; `--engine auto` sees where it is."""
    import deltalog

    main = Path(deltalog.__file__).with_name("__main__.py")
    submit = [str(cluster.home / "bin" / "spark-submit"), "--master", cluster.url, str(main)]
    for engine in ("spark", "auto"):
        out = tmp_path / engine
        ran(cluster, [*submit, *words(files, out), "--engine", engine], lambda: None)
        assert written(out) == right
