"""Streams: every micro-batch is one update, applied exactly once, also after kill -9."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))
from test_spark_incremental import RULES, Project, Rows

from deltalog import DataError, UsageError
from deltalog.apps.pipelines.spec import PipelineError

SLOW = bool(os.environ.get("DELTALOG_SLOW"))
ROOT = Path(__file__).parents[2]
FILES = 5 if SLOW else 2
MOMENTS = 18  # at which a run with one new version can be killed
STREAM = 'stream = true\ncolumns = ["a", "b"]\nchanges = { operation = "op", order = "n" }'
FEED = ", op string, n long"


def stream(folder: Path, spark: Any, source: str = "stream = true", schema: str = "", more: str = "") -> Project:
    project = Project(folder, spark, source, schema, more)
    file = folder / "pipeline.toml"
    text = file.read_text().replace('header = "true"', 'header = "true", maxFilesPerTrigger = "1"')
    file.write_text(text)
    return project


def test_micro_batches_are_versions(tmp_path: Path, spark: Any) -> None:
    project = stream(tmp_path, spark)
    for n in range(3):
        project.put(f"{n}.csv", [(n, n + 1)])
    assert project.run().version == 4, "the first version has no facts, and each file is a batch"
    project.check([(0, 1), (1, 2), (2, 3)])
    project.put("3.csv", [(3, 0)])
    assert project.run().version == 5
    assert project.run().version == 5, "there is nothing new"
    project.check([(0, 1), (1, 2), (2, 3), (3, 0)])


def test_a_stream_of_operations_and_a_source_beside_it(tmp_path: Path, spark: Any) -> None:
    more = """
    [sources.extra]
    format = "csv"
    path = "extra"
    schema = "a long, b long"
    [sources.more]
    predicate = "edge"
    format = "csv"
    path = "more"
    schema = "a long, b long"
    stream = true
    """
    project = stream(tmp_path, spark, STREAM, FEED, more)
    (tmp_path / "rules.dl").write_text(RULES + "path(X, Y) :- extra(X, Y).\n")
    for folder in ("extra", "more"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_text("100,101\n" if folder == "extra" else "7,8\n")
    project.put("0.csv", [(1, 2, "I", 1), (2, 3, "U", 2), (2, 3, "D", 3)], "a,b,op,n")
    project.put("1.csv", [(1, 2, "D", 4), (5, 6, "I", 5)], "a,b,op,n")
    project.run()
    assert set(project.read("out/path")) == {(100, 101), (7, 8), (5, 6)} == project.replayed()


def test_a_stream_does_not_delete_a_fact_of_the_rules(tmp_path: Path, spark: Any) -> None:
    project = stream(tmp_path, spark, STREAM, FEED)
    rules = RULES + "edge(1, 2).\n"
    (tmp_path / "rules.dl").write_text(rules)
    project.put("0.csv", [(5, 6, "I", 1)], "a,b,op,n")
    project.run()
    project.put("1.csv", [(1, 2, "D", 2), (5, 6, "D", 3)], "a,b,op,n")
    project.run()
    project.check([(1, 2)], rules)
    project.put("2.csv", [(1, 2, "D", 4), (7, 8, "I", 5)], "a,b,op,n")
    project.run()
    project.check([(1, 2), (7, 8)], rules)


def test_mistakes_of_streams(tmp_path: Path, spark: Any) -> None:
    project = stream(tmp_path, spark)
    file = tmp_path / "pipeline.toml"
    text = file.read_text()
    file.write_text(re.sub(r"\[sinks.log\].*", "", text, flags=re.S).replace('state = "state"', ""))
    with pytest.raises(PipelineError, match=r"sources.edge.stream: a stream keeps .*state = "):
        project.run()
    file.write_text(text)
    project.put("0.csv", [(1, 2)])
    project.run()
    file.write_text(text.replace("a long, b long", "a long, b string"))
    with pytest.raises(DataError, match=r"edge: the schema of the stream was struct<a:bigint,b:bigint>, and is"):
        project.run()
    file.write_text(text)
    shutil.rmtree(tmp_path / "state/streams")
    with pytest.raises(DataError, match=r"sources.edge: the checkpoint streams/edge is not the one"):
        project.run()


def test_a_batch_that_cannot_be_read_stops_the_stream(tmp_path: Path, spark: Any) -> None:
    project = stream(tmp_path, spark)
    project.put("0.csv", [(1, 2)])
    project.put("1.csv", [(1, "")])
    with pytest.raises(UsageError, match=r'pipeline.toml: sources.edge: .*set nulls = "drop"'):
        project.run()
    assert project.state().version == 2
    project.check([(1, 2)])


# kill -9.


def started(folder: Path, at: int | None) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    if at is not None:
        environment["DELTALOG_KILL_AT"] = str(at)
    command = [sys.executable, str(Path(__file__).parent / "killed_run.py"), str(folder / "pipeline.toml")]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def finish(process: subprocess.Popen[str], after: float | None = None) -> int:
    """Waits for a process; after some seconds it is killed. What it has started is killed with it."""
    try:
        return process.wait(after or 300)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        return process.wait()
    finally:
        with_children(process.pid)


def with_children(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
        time.sleep(0.2)
    except ProcessLookupError:
        pass


def feed(chosen: random.Random, files: int) -> list[Rows]:
    """Files of insertions and deletions."""
    order = 0
    found: list[Rows] = []
    for _ in range(files):
        rows: Rows = []
        for _ in range(6):
            order += 1
            rows.append((chosen.randrange(8), chosen.randrange(8), chosen.choice("IIID"), order))
        found.append(rows)
    return found


def last_edges(files: list[Rows]) -> Rows:
    edges: dict[tuple[int, int], bool] = {}
    for a, b, operation, _ in (row for rows in files for row in rows):
        edges[a, b] = operation == "I"
    return [edge for edge, there in edges.items() if there]


@pytest.mark.parametrize("seed", range(8 if SLOW else 1))
@pytest.mark.parametrize("kind", ["stream", "batch"])
def test_killed_at_any_moment_and_started_again(kind: str, seed: int, tmp_path: Path, spark: Any) -> None:
    """After kill -9, the next run takes up where the last complete version is: sinks and state are those of all input.
    Moments are calls that write something, and with DELTALOG_SLOW also any time."""
    chosen = random.Random(f"{kind} {seed}")
    source = STREAM if kind == "stream" else STREAM.replace("stream = true", "")
    project = stream(tmp_path, spark, source, FEED)
    files, kills = feed(chosen, FILES), 0
    project.put("0.csv", files[0], "a,b,op,n")
    project.run()
    for number, rows in enumerate(files[1:], 1):
        project.put(f"{number}.csv", rows, "a,b,op,n")
        at = chosen.randrange(MOMENTS) if not SLOW or chosen.random() < 0.7 else None
        kills += finish(started(tmp_path, at), chosen.uniform(5, 25) if at is None else None) == -signal.SIGKILL
    assert kills, "no run was killed"
    project.run()
    project.check(last_edges(files))
