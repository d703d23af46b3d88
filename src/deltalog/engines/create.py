"""The backend of an engine, loaded when it is needed."""

from __future__ import annotations

from typing import Any

from deltalog.core.errors import UsageError
from deltalog.core.limits import Limits
from deltalog.core.tuning import Tuning
from deltalog.evaluation.backend import Backend
from deltalog.kernels.compiling import setting


def create_backend(
    engine: str, limits: Limits, tuning: Tuning, threads: int | None, master: str | None, spark: Any = None
) -> Backend[Any]:
    """The backend of an engine (on `spark`, if that is given); the naive engine stores its facts in the local one."""
    _check_kernels()
    if engine in ("spark", "auto"):
        from deltalog.engines.spark.startup.session import session

        spark = session(master, spark)  # first: the engine is imported while the JVM comes up
        if engine == "auto":
            from deltalog.engines.spark.driver_backend import DriverBackend

            return DriverBackend(limits, spark, tuning, threads)
        from deltalog.engines.spark.backend import SparkBackend

        return SparkBackend(limits, spark, tuning=tuning)
    from deltalog.engines.local import LocalBackend

    return LocalBackend(limits, threads=threads, tuning=tuning)


def _check_kernels() -> None:
    """UsageError if the environment says of kernels what there is not."""
    try:
        setting()
    except ValueError as problem:
        raise UsageError(str(problem)) from None
