"""The SparkSession: the user's if there is one, else ours.

Ours runs on `local[*]` unless a master is given: Arrow on, no web page, errors only in the log, as many shuffle
partitions as cores where that is known, and Python workers of the interpreter that runs us. On a local master the JVM
compiles quickly rather than well (C1): on two cores the other compiler takes half of the time of a run of a minute.

To start takes seconds in three processes, so they start side by side: while the JVM comes up, a thread imports what the
driver will need; and as soon as it is up, a first small job has it start Python, while the driver goes on.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

from deltalog.errors import EngineError

NO_JAVA = (
    "the Spark engine needs Java 17 or newer and there is none here: install a JDK (such as openjdk-17-jre-headless) "
    "or set JAVA_HOME; --engine local (engine='local') needs no Java"
)


def session(master: str | None = None) -> Any:
    """The active session of this process, or a new one."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise EngineError("the Spark engine needs the package pyspark: pip install pyspark") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    return _new(SparkSession.builder, master)


def _new(builder: Any, master: str | None) -> Any:
    _need_java()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    _same_python()
    for name, value in _settings(master).items():
        builder = builder.config(name, value)
    Thread(target=_import_ahead, daemon=True).start()
    try:
        spark = builder.getOrCreate()
    except Exception as problem:
        raise EngineError(f"Spark did not start{f' on {master}' if master else ''}: {_first_line(problem)}") from None
    spark.sparkContext.setLogLevel("ERROR")
    if spark.sparkContext.master.startswith("local"):
        Thread(target=_start_python, args=(spark,), daemon=True).start()
    return spark


def _import_ahead() -> None:
    """What the driver needs a little later."""
    import pandas

    import deltalog.backends.local
    import deltalog.backends.spark.backend
    import deltalog.backends.spark.read
    import deltalog.backends.spark.write

    assert pandas and deltalog


def _start_python(spark: Any) -> None:
    """A job for each core that does nothing: Spark starts its Python daemon for it."""
    import logging

    def same(batches: Iterator[Any]) -> Iterator[Any]:
        return batches

    try:
        cores = spark.sparkContext.defaultParallelism
        spark.range(0, cores, 1, cores).mapInArrow(same, "id long").collect()
    except Exception as problem:  # whatever it is, the first real job will say it
        logging.getLogger(__name__).debug("Python workers did not start: %s", problem)


def _settings(master: str | None) -> dict[str, str]:
    """Our own session's settings; what spark-submit or spark-defaults.conf says goes first."""
    given = _given()
    master = master or given.get("spark.master", "local[*]")
    ours = {
        "spark.app.name": "deltalog",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.python.daemon.module": "deltalog.backends.spark.daemon",
    }
    if master.startswith("local"):
        ours |= {
            "spark.sql.shuffle.partitions": str(cores(master)),
            "spark.sql.adaptive.enabled": "false",  # it makes a job of every stage, and has nothing to choose here
            "spark.driver.memory": _driver_memory(),
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    return {"spark.master": master} | {name: value for name, value in ours.items() if name not in given}


def _given() -> dict[str, str]:
    """What spark-submit was told; or, as long as there is no JVM to ask, what spark-defaults.conf says."""
    from pyspark import SparkConf, SparkContext

    if "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
    if SparkContext._jvm is not None:
        return dict(SparkConf().getAll())
    home = os.environ.get("SPARK_HOME") or str(Path(sys.modules["pyspark"].__file__ or "").parent)
    file = Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf") / "spark-defaults.conf"
    lines = file.read_text().splitlines() if file.is_file() else []
    return dict(re.split(r"[=:\s]\s*", line, maxsplit=1) for line in map(str.strip, lines) if _is_setting(line))


def _is_setting(line: str) -> bool:
    return bool(re.match(r"spark\.[^=:\s]+[=:\s]", line))


def cores(master: str) -> int:
    """The cores of a local master."""
    inside = master.partition("[")[2].partition("]")[0].partition(",")[0]
    return int(inside) if inside.isdigit() else len(os.sched_getaffinity(0)) if inside else 1


def _driver_memory() -> str:
    """In local mode all executors live in the driver's JVM: half of the machine's memory, at least one gigabyte."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4 * 2**30
    return f"{max(1024, pages // 2**21)}m"


def _need_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home and not (Path(home) / "bin" / "java").exists():
        raise EngineError(f"JAVA_HOME is {home}, and there is no bin/java in it; {NO_JAVA}")
    if not home and shutil.which("java") is None:
        raise EngineError(NO_JAVA)


def _same_python() -> None:
    """Otherwise the workers take whatever `python3` is, and fail or differ."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _first_line(problem: Exception) -> str:
    return next((line.strip() for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
