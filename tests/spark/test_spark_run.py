"""`deltalog run` as a Spark application: what it reports, and what it leaves behind when it fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import as_sets

from deltalog import KnowledgeBase
from deltalog.apps.cli.main import main

PROGRAM = """
path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), path(Y, Z).
far(X, N) :- AGGREGATE(path(X, Y) ON X BIND COUNT(Y) AS N).
big(X) :- far(X, N), N > 3.  none(X) :- path(X, _), NOT big(X).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.dl").write_text(PROGRAM)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "edge.csv").write_text("".join(f"n{i},n{i + 1}\n" for i in range(9)))
    return tmp_path


def run(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    words = ["run", str(folder / "rules.dl"), "--data", str(folder / "data"), "--json", "--quiet", *options]
    assert main(words) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def written(folder: Path) -> Any:
    kb = KnowledgeBase()
    kb.load(folder)
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


@pytest.mark.usefixtures("spark")
def test_with_a_master_the_driver_reasons_while_that_fits(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from deltalog.engines.spark.io import read

    monkeypatch.setattr(read, "DRIVER_READ_BYTES", 0)
    found = {}
    for engine in ("auto", "spark", "local"):
        report = run(folder, capsys, "--engine", engine, "--out", str(folder / engine), "--master", "local[2]")
        found[engine] = (report["pipeline"], report["engine"], written(folder / engine))
        assert set(report["spark"]) == (set() if engine == "local" else {"load", "evaluate", "write"})
        if engine == "spark":
            assert report["spark"]["load"]["jobs"] >= 1
            assert report["spark"]["load"]["shuffles"] >= 1
        if engine == "auto":
            assert report["spark"]["evaluate"]["jobs"] == 0
            assert "GB of memory needed" in report["engine_reason"]
            assert "not more than the driver's budget" in report["engine_reason"]
    assert found["auto"] == ("spark", "local", found["local"][2])
    assert found["spark"] == ("spark", "spark", found["local"][2])


@pytest.mark.usefixtures("in_frames")
def test_beyond_the_drivers_budget_executors_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run(folder, capsys, "--master", "local[2]")
    assert (report["pipeline"], report["engine"]) == ("spark", "spark")
    assert report["engine_reason"].endswith("; the driver's budget is 0 (spark.deltalog.driverBudget)")


def test_small_data_start_no_spark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run(folder, capsys)
    assert (report["pipeline"], report["engine"], report["spark"]) == ("local", "local", {})
    assert "use --engine spark to run on Spark" in report["engine_reason"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "engine: local (input under 8 GB"),
        (("--engine", "local"), "engine: local (set by --engine)"),
        (("--master", "local[2]"), "engine: local in the Spark driver, input and output by Spark, "),
        (("--engine", "spark"), "engine: spark, "),
    ],
)
def test_the_last_line_names_the_engine(
    options: tuple[str, ...], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(folder / "rules.dl"), "--data", str(folder / "data"), *options]) == 0
    assert capsys.readouterr().err.splitlines()[-1].startswith(said)


@pytest.mark.usefixtures("spark")
def test_an_output_folder_that_exists_stops_it_before_any_work(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(folder / "rules.dl"), "--data", str(folder / "data"), "--out", str(folder), "--engine", "spark"]
    assert main(words) == 1
    assert "exists and is not an empty folder" in capsys.readouterr().err


@pytest.mark.usefixtures("spark")
def test_a_failure_in_the_middle_of_writing_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltalog.engines.spark.io import write

    kb = KnowledgeBase(folder / "rules.dl", engine="spark")
    kb.load(folder / "data")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(write, "_merge_parts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kb.write(folder / "out", "csv")
    assert sorted(path.name for path in folder.iterdir()) == ["data", "rules.dl"]


@pytest.mark.skipif(not os.environ.get("DELTALOG_SLOW"), reason="starts a JVM of its own; set DELTALOG_SLOW")
def test_an_interrupt_leaves_no_half_written_output(folder: Path) -> None:
    """In the middle of rounds of executors: the driver, which would be done at once, may do nothing by itself."""
    (folder / "data" / "edge.csv").write_text("".join(f"n{i % 400},n{i * 7 % 400}\n" for i in range(3000)))
    (folder / "data" / "spark-defaults.conf").write_text("spark.deltalog.driverBudget 0\n")
    words = ["run", str(folder / "rules.dl"), "--data", str(folder / "data" / "edge.csv"), "--out", str(folder / "out")]
    command = [sys.executable, "-m", "deltalog", *words, "--engine", "spark", "--master", "local[2]"]
    environment = os.environ | {"SPARK_CONF_DIR": str(folder / "data")}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("read "):
            break
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert sorted(path.name for path in folder.iterdir()) == ["data", "rules.dl"]
