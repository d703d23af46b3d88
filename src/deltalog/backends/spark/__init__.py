"""The Spark engine: partitioned DataFrames of 64-bit ids in a SparkSession."""

from typing import Any

__all__ = ["SparkBackend"]


def __getattr__(name: str) -> Any:
    """The engine is imported when it is asked for: a JVM can be started before (see `session`)."""
    if name != "SparkBackend":
        raise AttributeError(name)
    from deltalog.backends.spark.backend import SparkBackend

    return SparkBackend
