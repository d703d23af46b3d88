"""How Spark starts and ends: settings, sessions that are refused, the archive of classes, and that nobody is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from deltalog.core.errors import EngineError
from deltalog.core.tuning import Tuning
from deltalog.engines.spark.settings import is_local_master, task_slots
from deltalog.engines.spark.startup import cds_archive, session


def family(pid: int) -> set[int]:
    """A process and all that it has started, directly or not."""
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = place.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(place.parent.name)] = int(parent)
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found & set(parents)


def gone(pids: set[int], seconds: float = 30) -> bool:
    """Whether none of some processes is there any more, before long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(pid in family(pid) for pid in pids):
            return True
        time.sleep(0.1)
    return False


# The archive of classes.


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in cds_archive.FOLDERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cds_archive, "_release", lambda: "Java 17")
    return tmp_path / "cache" / "deltalog" / "spark"


def test_the_first_jvm_writes_an_archive_and_later_ones_use_it(cache: Path, tmp_path: Path) -> None:
    first = cds_archive.options(tmp_path, "1g")
    path = Path(first.partition("-XX:ArchiveClassesAtExit=")[2].rstrip('"'))
    assert path.parent == cache
    path.write_bytes(bytes(4096))  # of a JVM that was killed while it wrote
    assert cds_archive.options(tmp_path, "1g") == first
    path.write_bytes(cds_archive.MAGIC[::-1] + bytes(4096))
    assert f"-XX:SharedArchiveFile={path}" in cds_archive.options(tmp_path, "1g")
    assert "ArchiveClassesAtExit" in cds_archive.options(tmp_path, "64g")


def test_an_archive_is_of_one_spark(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    before = cds_archive.options(tmp_path, "1g")
    (tmp_path / "jars" / "spark.jar").write_bytes(b"new")
    assert cds_archive.options(tmp_path, "1g") != before


def test_there_is_no_archive_where_java_cannot_write_or_trust_one(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cds_archive.options(tmp_path, "1g")
    cache.chmod(0o777)
    assert cds_archive.options(tmp_path, "1g") == ""
    cache.chmod(0o700)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert cds_archive.options(tmp_path, "1g") == ""


def test_archives_that_nobody_uses_go(cache: Path, tmp_path: Path) -> None:
    cache.mkdir(parents=True, mode=0o700)
    old, recent = cache / "spark-0.jsa", cache / "spark-1.jsa"
    old.write_bytes(b"")
    recent.write_bytes(b"")
    os.utime(old, (0, 0))
    cds_archive.options(tmp_path, "1g")
    assert not old.exists() and recent.exists()


def test_archives_have_a_bound_on_their_size(cache: Path, tmp_path: Path) -> None:
    """The least recently used ones go, so that there is room for another one."""
    cache.mkdir(parents=True, mode=0o700)
    now = time.time()
    for age in range(4):
        archive = cache / f"spark-{age}.jsa"
        archive.write_bytes(b"")
        os.truncate(archive, 100_000_000)
        os.utime(archive, (now - age, now - age))
    cds_archive.options(tmp_path, "1g", Tuning(spark_archive_max_bytes=400_000_000))
    assert sorted(archive.name for archive in cache.iterdir()) == ["spark-0.jsa", "spark-1.jsa"]


# Settings.


@pytest.mark.parametrize(
    ("master", "local"),
    [
        ("local", True),
        ("local[2]", True),
        ("local[*]", True),
        ("local[2,4]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://localhost:7077", False),
        ("yarn", False),
        ("k8s://https://local:6443", False),
    ],
)
def test_a_local_master(master: str, local: bool) -> None:
    assert is_local_master(master) is local


def test_a_local_cluster_gets_the_settings_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.submit_conf, "settings", lambda: {"spark.app.name": "mine"})
    for master, local in (("local[3]", True), ("local-cluster[2,1,1024]", False)):
        found = session._settings(master, {})
        assert found["spark.master"] == master
        assert "spark.app.name" not in found
        assert (found.get("spark.sql.shuffle.partitions") == "3") is local
        assert ("spark.driver.memory" in found) is local


@pytest.mark.parametrize("chosen", ["true", "false"])
def test_the_archive_is_an_option_of_commands(chosen: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that only imports deltalog gets no archive, and none is written at its end."""
    monkeypatch.setattr(session.submit_conf, "settings", lambda: {session.ARCHIVE: chosen})
    monkeypatch.setattr(session, "spark_home", lambda: cache)
    monkeypatch.setattr(session, "_own_process", False)
    assert "Archive" not in session._settings("local", {})[session.JAVA_OPTIONS]
    monkeypatch.setattr(session, "_own_process", True)
    assert ("Archive" in session._settings("local", {})[session.JAVA_OPTIONS]) is (chosen == "true")


@pytest.mark.parametrize(
    ("master", "registered", "slots"), [("local[8]", 8, 8), ("spark://host:7077", 2, 200), ("yarn", 640, 640)]
)
def test_executors_that_have_not_registered_yet_get_tasks(master: str, registered: int, slots: int) -> None:
    spark = SimpleNamespace(
        sparkContext=SimpleNamespace(master=master, defaultParallelism=registered),
        conf={"spark.sql.shuffle.partitions": "200"},
    )
    assert task_slots(spark) == slots


# Spark Connect.


def connect_session() -> Any:
    """What says that it is a session of Spark Connect; a real one needs a server."""
    return type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()


def test_a_session_of_spark_connect_is_refused_in_one_sentence() -> None:
    from deltalog import KnowledgeBase

    with pytest.raises(EngineError) as refused:
        KnowledgeBase("", engine="spark", spark=connect_session())
    assert str(refused.value) == session.NO_CONNECT
    assert "\n" not in session.NO_CONNECT


def test_so_is_an_active_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "active", classmethod(lambda cls: connect_session()))
    with pytest.raises(EngineError, match="Spark Connect"):
        session.session()


def test_a_remote_of_the_environment_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    monkeypatch.setattr(session, "_active", lambda: None)
    monkeypatch.setattr(session, "_built", lambda settings: pytest.fail("a session was started"))
    with pytest.raises(EngineError, match="SPARK_REMOTE is set: the session is one of Spark Connect"):
        session.session()


def test_anything_else_is_no_session() -> None:
    with pytest.raises(EngineError, match="expected a SparkSession and not int"):
        session.session(given=7)


# The end.


@pytest.mark.parametrize(
    ("master", "told"), [("local[2]", 0), ("local", 0), ("local-cluster[2,1,1024]", 1), ("yarn", 1)]
)
def test_a_cluster_is_told_when_a_run_ends(master: str, told: int) -> None:
    """Otherwise it starts new executors in the place of those that went; a JVM alone has nobody to tell."""
    spark = Mock()
    spark.sparkContext.master = master
    session._end(spark)
    assert spark.stop.call_count == told
    spark.sparkContext.setLogLevel.side_effect = ConnectionError  # the JVM is gone already
    session._end(spark)


# A whole run.


@pytest.mark.skipif(not os.environ.get("DELTALOG_SLOW"), reason="starts a JVM of its own; set DELTALOG_SLOW")
@pytest.mark.parametrize("everybody", [False, True])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9), (signal.SIGTERM, 143)])
def test_nothing_is_left_when_a_run_is_killed(
    number: signal.Signals, code: int, everybody: bool, tmp_path: Path
) -> None:
    """No process, no half-written folder, no temporary file, no complaint. (Of a SIGTERM that the JVM's workers hear
    before the JVM does, it may complain.)"""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "rules.dl").write_text("path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).")
    (tmp_path / "edge.csv").write_text("".join(f"a_long_name_{i},a_long_name_{i * 7 % 99991}\n" for i in range(50_000)))
    words = ["run", str(tmp_path / "rules.dl"), "--data", str(tmp_path / "edge.csv"), "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "deltalog", *words, "--engine", "spark", "--master", "local[2]"]
    environment = os.environ | {"SPARK_CONF_DIR": str(tmp_path), "TMPDIR": str(temporary)}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment)
    assert process.stderr is not None
    assert any(line.startswith("read ") for line in process.stderr)
    started = family(process.pid)
    assert len(started) >= 4  # this process, JVM, Spark's daemon and a worker at least
    (os.killpg if everybody else os.kill)(process.pid, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert gone(started, 60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edge.csv", "rules.dl", "temporary"]
    if number != signal.SIGKILL:
        assert "interrupted; nothing was written" in said
        assert "Exception" not in said or (everybody and number == signal.SIGTERM)
        assert list(temporary.iterdir()) == []
