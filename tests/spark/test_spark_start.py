"""How Spark starts: the archive of classes, the process that workers are forked from; and that nobody is left over."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deltalog.backends.spark.startup import cds_archive, session
from deltalog.backends.spark.startup.zygote import ADDRESS

CLOSED = 1  # how pyspark's daemon ends when its input does
DRIVER = """
import time
from deltalog.backends.spark.startup.zygote import PendingZygote
zygote = PendingZygote.create()
zygote.fork()
print(zygote.folder, flush=True)
time.sleep(600)
"""


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


# The zygote.


@pytest.fixture
def driver() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait()


def folder_of(driver: subprocess.Popen[str]) -> Path:
    assert driver.stdout is not None
    return Path(driver.stdout.readline().strip())


def stand_in(folder: Path) -> subprocess.Popen[bytes]:
    """What the JVM starts; it has said its port already, through the daemon that has its streams."""
    command = [sys.executable, "-m", "deltalog.backends.spark.startup.daemon", "pyspark.worker"]
    environment = os.environ | {ADDRESS: str(folder / "zygote")}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    assert 0 < struct.unpack("!i", process.stdout.read(4))[0] < 2**16
    return process


def test_a_daemon_lives_as_long_as_its_input_is_open(driver: subprocess.Popen[str]) -> None:
    folder = folder_of(driver)
    first, second = stand_in(folder), stand_in(folder)
    assert len(family(driver.pid)) == 4  # with the zygote and two daemons
    assert first.stdin is not None
    first.stdin.close()
    assert first.wait(30) == CLOSED
    assert second.poll() is None
    assert len(family(driver.pid)) == 3
    second.kill()


def test_a_daemon_ends_with_its_stand_in(driver: subprocess.Popen[str]) -> None:
    process = stand_in(folder_of(driver))
    zygote = family(driver.pid) - {driver.pid}
    assert len(zygote) == 2
    process.kill()
    process.wait()
    end = time.monotonic() + 30
    while len(family(driver.pid)) > 2 and time.monotonic() < end:
        time.sleep(0.1)
    assert len(family(driver.pid)) == 2


def test_the_daemon_tells_how_it_ended(driver: subprocess.Popen[str]) -> None:
    process = stand_in(folder_of(driver))
    daemon = max(family(driver.pid))
    os.kill(daemon, signal.SIGKILL)
    assert process.wait(30) == 256 - signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_without_a_driver_the_zygote_ends_after_its_last_daemon(
    driver: subprocess.Popen[str], number: signal.Signals
) -> None:
    folder = folder_of(driver)
    process = stand_in(folder)
    left = family(driver.pid) - {driver.pid}
    driver.send_signal(number)
    driver.wait()
    time.sleep(0.3)
    assert all(pid in family(pid) for pid in left)  # the JVM may still have work for it
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(30) == CLOSED
    assert gone(left)
    assert not folder.exists()


def test_where_there_is_no_zygote_the_daemon_imports_by_itself(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    process = stand_in(tmp_path)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == CLOSED


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


# The end.


@pytest.mark.parametrize(
    ("master", "told"), [("local[2]", 0), ("local", 0), ("local-cluster[2,1,1024]", 1), ("yarn", 1)]
)
def test_a_cluster_is_told_when_a_run_ends(master: str, told: int) -> None:
    """Otherwise it starts new executors in the place of those that went; a JVM alone has nobody to tell."""
    from unittest.mock import Mock

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
    assert len(started) >= 5  # JVM, stand-in, zygote, daemon and a worker at least
    (os.killpg if everybody else os.kill)(process.pid, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert gone(started, 60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edge.csv", "rules.dl", "temporary"]
    if number != signal.SIGKILL:
        assert "interrupted; nothing was written" in said
        assert "Exception" not in said or (everybody and number == signal.SIGTERM)
        assert list(temporary.iterdir()) == []
