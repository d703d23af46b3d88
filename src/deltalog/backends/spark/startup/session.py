"""The SparkSession: the user's if there is one, else ours.

Ours runs on `local[*]` unless a master is given: Arrow on, no web page, errors only in the log, as many shuffle
partitions as cores where that is known, and Python workers of the interpreter that runs us. On a local master the JVM
compiles quickly rather than well (C1): on two cores the other compiler takes half of the time of a run of a minute.

To start takes seconds in three processes, so they start side by side: first the JVM (`jvm`), with the classes of an
archive (`archive`); while it comes up, this process imports what driver and workers will need. `deltalog run` then
forks the process that workers come from (`zygote`); elsewhere, as soon as the JVM is up, a first small job has it start
Python, while the driver goes on.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from deltalog.backends.spark.startup import cds_archive, submit_conf
from deltalog.backends.spark.startup.jvm import launch
from deltalog.backends.spark.startup.submit_conf import PORT, spark_home
from deltalog.backends.spark.startup.zygote import Egg
from deltalog.concurrency.interrupts import hear_again
from deltalog.model.errors import EngineError

NO_JAVA = (
    "the Spark engine needs Java 17 or newer and there is none here: install a JDK (such as openjdk-17-jre-headless) "
    "or set JAVA_HOME; --engine local (engine='local') needs no Java"
)


_own_process = False


def own_process() -> None:
    """Says that this process is ours alone, so that it may be forked."""
    global _own_process
    _own_process = True


def session(master: str | None = None) -> Any:
    """The active session of this process, or a new one."""
    for package in ("pyspark", "pandas"):  # without pandas pyspark runs no Python over Arrow
        if find_spec(package) is None:
            raise EngineError(f"the Spark engine needs the package {package}: pip install {package}")
    active = sys.modules["pyspark"].sql.SparkSession.getActiveSession() if "pyspark.sql" in sys.modules else None
    return active or _new(master)


def _new(master: str | None) -> Any:
    _need_java()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    _same_python()
    settings = _settings(master)
    local = settings["spark.master"].startswith("local")
    egg = Egg.laid() if _own_process and local and not _has_jvm() else None
    settings |= egg.settings if egg else {}
    try:
        spark = _started(settings, egg)
    except Exception as problem:
        raise EngineError(f"Spark did not start{f' on {master}' if master else ''}: {_first_line(problem)}") from None
    spark.sparkContext.setLogLevel("ERROR")
    if _own_process:
        atexit.register(_end, spark)
    if local and not egg:
        Thread(target=_start_python, args=(spark,), daemon=True).start()
    return spark


def _started(settings: Mapping[str, str], egg: Egg | None) -> Any:
    """A session; the JVM comes up while this process imports."""
    launched = None if _has_jvm() else launch(settings)
    _import_ahead()
    if egg:
        egg.hatch()
    Thread(target=import_module, args=("pandas",), daemon=True).start()  # which only pyspark's driver needs
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if launched:
        SparkContext._ensure_initialized(gateway=launched.connect())
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    hear_again()
    return spark


def _end(spark: Any) -> None:
    """This process ends, and its JVM with it: tasks that have not ended by then are no news. A cluster is told, lest it
    put new executors in the place of those that go; what is all in one JVM need not wait for that."""
    with suppress(Exception):
        spark.sparkContext.setLogLevel("OFF")
        if not re.match(r"local(\[|$)", spark.sparkContext.master):
            spark.stop()


def _has_jvm() -> bool:
    """Whether a JVM is there already: that of spark-submit, or of a session that is over."""
    pyspark = sys.modules.get("pyspark")
    return PORT in os.environ or bool(pyspark and pyspark.SparkContext._gateway)


def _import_ahead() -> None:
    """What driver and workers need a little later."""
    import deltalog.backends.local
    import deltalog.backends.spark.backend
    from deltalog.backends.spark.startup.daemon import warm

    assert deltalog
    warm()


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
        "spark.python.daemon.module": "deltalog.backends.spark.startup.daemon",
    }
    if master.startswith("local"):
        ours |= {
            "spark.sql.shuffle.partitions": str(cores(master)),
            "spark.sql.adaptive.enabled": "false",  # it makes a job of every stage, and has nothing to choose here
            "spark.driver.memory": _driver_memory(),
            "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseParallelGC {_archive()}",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    return {"spark.master": master} | {name: value for name, value in ours.items() if name not in given}


def _given() -> dict[str, str]:
    """What spark-submit was told; or, as long as there is no JVM to ask, what it would be told."""
    if _has_jvm():
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    return submit_conf.settings()


def _archive() -> str:
    """Options for an archive of classes, if there is a JVM to be started."""
    home = spark_home()
    return "" if home is None or _has_jvm() else cds_archive.options(home, _driver_memory())


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
