"""Driver: the SparkSession, which is the active one if there is one, else one that deltalog starts.

A session that deltalog starts runs on `local[*]` unless a master is given. Arrow is on and the web UI off, only errors
are logged, there are as many shuffle partitions as cores where that is known, and Python workers use the interpreter of
the driver. On a local master the JVM uses only its quick compiler (C1): on two cores the other one takes half of the
time of a run of a minute.

Starting takes seconds in three processes, so they start in parallel: first the JVM (`jvm`), with archived classes
(`cds_archive`); while it comes up, this process imports what driver and workers need. `deltalog run` then forks the
process that workers come from (`zygote`); elsewhere a first small job has the JVM start Python while the driver goes
on.
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
from deltalog.backends.spark.startup.zygote import PendingZygote
from deltalog.concurrency.interrupts import hear_again
from deltalog.model.errors import EngineError

NO_JAVA = (
    "the Spark engine needs Java 17 or newer and there is none here: install a JDK (such as openjdk-17-jre-headless) "
    "or set JAVA_HOME; --engine local (engine='local') needs no Java"
)


_own_process = False


def own_process() -> None:
    """Declares that this process belongs to deltalog alone, so that it may be forked."""
    global _own_process
    _own_process = True


def session(master: str | None = None, given: Any = None, settings: Mapping[str, str] | None = None) -> Any:
    """The session that is given, or the active session of this process, or a new one with some settings."""
    for package in ("pyspark", "pandas"):  # without pandas pyspark runs no Python over Arrow
        if find_spec(package) is None:
            raise EngineError(f"the Spark engine needs the package {package}: pip install {package}")
    if given is not None:
        return _checked(given)
    active = sys.modules["pyspark"].sql.SparkSession.getActiveSession() if "pyspark.sql" in sys.modules else None
    return active or _new(master, settings or {})


def _checked(spark: Any) -> Any:
    """A session of the user's; EngineError if the engine cannot run on it."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise EngineError(
            "the session is one of Spark Connect, and the Spark engine needs a session with a driver in this process: "
            "start one with SparkSession.builder.master(...), or run the pipeline with spark-submit"
        )
    if not hasattr(spark, "sparkContext"):
        raise EngineError(f"expected a SparkSession and not {type(spark).__name__}")
    return spark


def _new(master: str | None, asked: Mapping[str, str]) -> Any:
    _need_java()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    _same_python()
    settings = _settings(master, asked)
    local = settings["spark.master"].startswith("local")
    zygote = PendingZygote.create() if _own_process and local and not _has_jvm() else None
    settings |= zygote.settings if zygote else {}
    try:
        spark = _started(settings, zygote)
    except Exception as problem:
        raise EngineError(f"Spark did not start{f' on {master}' if master else ''}: {_first_line(problem)}") from None
    spark.sparkContext.setLogLevel("ERROR")
    if _own_process:
        atexit.register(_end, spark)
    if local and not zygote:
        Thread(target=_start_python, args=(spark,), daemon=True).start()
    return spark


def _started(settings: Mapping[str, str], zygote: PendingZygote | None) -> Any:
    """Starts a session; the JVM comes up while this process imports."""
    launched = None if _has_jvm() else launch(settings)
    _import_ahead()
    if zygote:
        zygote.fork()
    Thread(target=import_module, args=("pandas",), daemon=True).start()  # only pyspark's driver needs it
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
    """At the end of this process: its JVM ends too, so unfinished tasks are not logged. A cluster is told, so that it
    does not replace executors; a session in one JVM need not wait for that."""
    with suppress(Exception):
        spark.sparkContext.setLogLevel("OFF")
        if not re.match(r"local(\[|$)", spark.sparkContext.master):
            spark.stop()


def _has_jvm() -> bool:
    """Whether there is a JVM already: that of spark-submit, or of an earlier session."""
    pyspark = sys.modules.get("pyspark")
    return PORT in os.environ or bool(pyspark and pyspark.SparkContext._gateway)


def _import_ahead() -> None:
    """Imports what driver and workers will need."""
    import deltalog.backends.local
    import deltalog.backends.spark.backend
    from deltalog.backends.spark.startup.daemon import warm

    assert deltalog
    warm()


def _start_python(spark: Any) -> None:
    """Runs an empty job on each core, for which Spark starts its Python daemon."""
    import logging

    def same(batches: Iterator[Any]) -> Iterator[Any]:
        return batches

    try:
        cores = spark.sparkContext.defaultParallelism
        spark.range(0, cores, 1, cores).mapInArrow(same, "id long").collect()
    except Exception as problem:  # the first real job will report it
        logging.getLogger(__name__).debug("Python workers did not start: %s", problem)


def _settings(master: str | None, asked: Mapping[str, str]) -> dict[str, str]:
    """The settings of a session that deltalog starts: those that are asked for, and defaults for others. Settings of
    spark-submit and spark-defaults.conf take precedence."""
    given = _given()
    master = master or given.get("spark.master") or asked.get("spark.master", "local[*]")
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
            "spark.sql.adaptive.enabled": "false",  # it runs each stage as a job, and has nothing to choose here
            "spark.driver.memory": _driver_memory(),
            "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseParallelGC {_archive()}",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    ours |= {name: value for name, value in asked.items() if name != "spark.master"}
    return {"spark.master": master} | {name: value for name, value in ours.items() if name not in given}


def _given() -> dict[str, str]:
    """The settings of spark-submit, from the JVM if there is one."""
    if _has_jvm():
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    return submit_conf.settings()


def _archive() -> str:
    """JVM options for the archive of classes, if a JVM is to be started."""
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
    """Makes workers use this interpreter, and not any `python3`."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _first_line(problem: Exception) -> str:
    return next((line.strip() for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
