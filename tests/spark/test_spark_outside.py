"""Who names a Spark master wants Spark, wherever the master is named. No JVM is started here."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog.apps.cli.choose_engine import choose_engine
from deltalog.engines.spark.startup import submit_conf

MEMORY = 8 * 2**30


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in (submit_conf.PORT, submit_conf.ARGUMENTS, submit_conf.MASTER):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def test_no_spark_requested() -> None:
    engine, why = choose_engine(memory=MEMORY)
    assert engine == "local"
    assert why == "input under 8 GB; use --engine spark to run on Spark"


def test_the_option() -> None:
    engine, why = choose_engine(master="local[3]", memory=MEMORY)
    assert engine == "auto"
    assert why.startswith("the master is local[3]")


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        ("MASTER", "spark://a:7077", "MASTER has the master spark://a:7077"),
        (
            "PYSPARK_SUBMIT_ARGS",
            "--conf spark.a=b --master 'local[3]' pyspark-shell",
            "PYSPARK_SUBMIT_ARGS has the master local[3]",
        ),
        ("PYSPARK_SUBMIT_ARGS", "-c spark.master=yarn pyspark-shell", "PYSPARK_SUBMIT_ARGS has the master yarn"),
        ("PYSPARK_GATEWAY_PORT", "4711", "spark-submit started this"),
    ],
)
def test_the_environment(variable: str, value: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    engine, found = choose_engine(memory=MEMORY)
    assert engine == "auto"
    assert found.startswith(f"{why}; about 0.00 GB of memory needed")


@pytest.mark.parametrize("line", ["spark.master spark://a:7077", "  spark.master=spark://a:7077  "])
def test_the_file(line: str, nothing_said: Path) -> None:
    (nothing_said / "spark-defaults.conf").write_text(f"# a comment\n\nspark.driver.memory 2g\n{line}\n")
    engine, why = choose_engine(memory=MEMORY)
    assert engine == "auto"
    assert why.startswith("spark-defaults.conf has the master spark://a:7077")


def test_a_file_without_a_master_is_no_wish(nothing_said: Path) -> None:
    (nothing_said / "spark-defaults.conf").write_text("spark.deltalog.driverBudget 0\n")
    assert choose_engine(memory=MEMORY)[0] == "local"


def test_a_variable_of_somebody_else_is_no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER", "10.0.0.7")
    assert choose_engine(memory=MEMORY)[0] == "local"


def test_who_goes_first(nothing_said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in spark-submit: arguments, then the file, then the variable."""
    monkeypatch.setenv("MASTER", "local[1]")
    assert submit_conf.settings() == {"spark.master": "local[1]"}
    (nothing_said / "spark-defaults.conf").write_text("spark.master local[2]\nspark.a 2\n")
    assert submit_conf.settings() == {"spark.master": "local[2]", "spark.a": "2"}
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master local[3] --name x --conf spark.a=3 pyspark-shell")
    assert submit_conf.settings() == {"spark.master": "local[3]", "spark.a": "3"}


def test_an_engine_that_is_asked_for_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER", "local[1]")
    assert choose_engine(engine="local") == ("local", "set by --engine")
    assert choose_engine(engine="spark") == ("spark", "set by --engine")
    unused = choose_engine(engine="local", master="local[2]")
    assert unused == ("local", "set by --engine; --master is ignored")
