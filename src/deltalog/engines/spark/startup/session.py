"""Driver: the SparkSession: the one that is given, or the active one, or one that deltalog starts.

A session of the user's is used as it is; no setting of it is changed. A session that deltalog starts comes from
`SparkSession.builder`, on `local[*]` unless a master is given, with the settings below (docs/spark.md lists them). On a
local master the JVM uses only its quick compiler (C1): on two cores the other one takes half of the time of a run of a
minute.

While the JVM starts, a thread imports what the driver needs. Then an empty job in the background has Spark start its
Python workers, which import what they need while the driver goes on.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
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

from deltalog.core.concurrency.interrupts import hear_again
from deltalog.core.errors import EngineError
from deltalog.engines.spark.settings import PARTITIONS, is_local_master, task_slots
from deltalog.engines.spark.startup import cds_archive, submit_conf
from deltalog.engines.spark.startup.submit_conf import PORT, spark_home

NO_JAVA = (
    "the Spark engine needs Java 17 or newer and there is none here: install a JDK (such as openjdk-17-jre-headless) "
    "or set JAVA_HOME; --engine local (engine='local') needs no Java"
)
NO_CONNECT = (
    "the session is one of Spark Connect, and the Spark engine needs a session with a driver in this process: "
    "start one with SparkSession.builder.master(...), or run the pipeline with spark-submit"
)
ARCHIVE = "spark.deltalog.classArchive"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# What driver and Python workers need, and what only the driver needs:
WORKER_MODULES = (
    "deltalog.engines.spark.io.read",
    "deltalog.engines.spark.io.write",
    "deltalog.engines.spark.operators.aggregate",
)
DRIVER_MODULES = ("deltalog.engines.spark.backend", "deltalog.engines.local", *WORKER_MODULES, "pandas")

logger = logging.getLogger(__name__)

_own_process = False


def own_process() -> None:
    """Declares that this process belongs to deltalog alone, so that a session that it starts ends with it."""
    global _own_process
    _own_process = True


def session(master: str | None = None, given: Any = None, settings: Mapping[str, str] | None = None) -> Any:
    """The session that is given, or the active session of this process, or a new one with some settings."""
    for package in ("pyspark", "pandas"):  # without pandas pyspark runs no Python over Arrow
        if find_spec(package) is None:
            raise EngineError(
                f"the Spark engine needs {package}, which is not installed: pip install 'deltalog[spark]'"
            )
    found = given if given is not None else _active()
    return _checked(found) if found is not None else _new(master, settings or {})


def _active() -> Any:
    """The active session of this thread, or the default one of this process; None if there is none."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkException:
        return None


def _checked(spark: Any) -> Any:
    """A session of the user's; EngineError if the engine cannot run on it."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise EngineError(NO_CONNECT)
    if not hasattr(spark, "sparkContext"):
        raise EngineError(f"expected a SparkSession and not {type(spark).__name__}")
    return spark


def _new(master: str | None, asked: Mapping[str, str]) -> Any:
    if os.environ.get("SPARK_REMOTE"):
        raise EngineError(f"SPARK_REMOTE is set: {NO_CONNECT}")
    _need_java()
    _same_python()
    if _own_process:
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    imports = Thread(target=_import_ahead, daemon=True)
    imports.start()
    try:
        spark = _submitted() if PORT in os.environ else _built(_settings(master, asked))
    except Exception as problem:
        raise EngineError(f"Spark did not start{f' on {master}' if master else ''}: {_first_line(problem)}") from None
    hear_again()
    if _own_process:
        spark.sparkContext.setLogLevel("ERROR")
        atexit.register(_end, spark)
    if is_local_master(spark.sparkContext.master):
        Thread(target=_start_workers, args=(spark,), daemon=True).start()
    imports.join()
    return _checked(spark)


def _built(settings: dict[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _submitted() -> Any:
    """The session of an application that spark-submit has started: its settings, and ours where it has none."""
    spark = _built({})
    given = dict(spark.sparkContext.getConf().getAll())
    for name, value in _sql_settings(spark.sparkContext.master).items():
        if name not in given:
            spark.conf.set(name, value)
    return spark


def _end(spark: Any) -> None:
    """At the end of this process: its JVM ends too, so unfinished tasks are not logged. A cluster is told, so that it
    does not replace executors; a session in one JVM need not wait for that."""
    with suppress(Exception):
        spark.sparkContext.setLogLevel("OFF")
        if not is_local_master(spark.sparkContext.master):
            spark.stop()


def _import_ahead() -> None:
    """Imports what the driver will need."""
    for name in DRIVER_MODULES:
        import_module(name)


def _start_workers(spark: Any) -> None:
    """Runs an empty job on each core, for which Spark starts its Python workers."""

    def ready(batches: Iterator[Any]) -> Iterator[Any]:
        for name in WORKER_MODULES:
            import_module(name)
        gc.collect()
        gc.freeze()  # Spark's workers collect garbage after each task, and need not scan what is imported
        return batches

    try:
        slots = task_slots(spark)
        spark.sparkContext.setJobDescription("start Python workers")
        spark.range(0, slots, 1, slots).mapInArrow(ready, "id long").collect()
    except Exception as problem:  # the first real job will report it
        logger.debug("Python workers did not start: %s", problem)


def _settings(master: str | None, asked: Mapping[str, str]) -> dict[str, str]:
    """The settings of a session that deltalog starts: those that are asked for, and defaults for others. Settings of
    spark-submit and spark-defaults.conf take precedence."""
    given = submit_conf.settings()
    master = master or given.get("spark.master") or asked.get("spark.master", "local[*]")
    ours = _sql_settings(master) | {
        "spark.app.name": "deltalog",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if is_local_master(master):
        ours |= {
            "spark.driver.memory": _driver_memory(),
            JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        if _own_process and given.get(ARCHIVE, "true") != "false":
            ours[JAVA_OPTIONS] += f" {_archive()}"
    ours |= {name: value for name, value in asked.items() if name != "spark.master"}
    return {"spark.master": master} | {name: value for name, value in ours.items() if name not in given}


def _sql_settings(master: str) -> dict[str, str]:
    """The settings of Spark SQL of a session that deltalog starts."""
    ours = {
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    }
    if is_local_master(master):
        ours |= {
            PARTITIONS: str(cores(master)),
            "spark.sql.adaptive.enabled": "false",  # it runs each stage as a job, and has nothing to choose here
        }
    return ours


def _archive() -> str:
    """JVM options for the archive of classes."""
    home = spark_home()
    return "" if home is None else cds_archive.options(home, _driver_memory())


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
    """Makes workers use this interpreter, and not any `python3`."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _first_line(problem: Exception) -> str:
    return next((line.strip() for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
