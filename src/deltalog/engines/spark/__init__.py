"""The Spark engine: partitioned DataFrames of 64-bit ids in a SparkSession. See docs/spark.md for what runs where."""

from typing import Any

__all__ = ["SparkBackend"]


def __getattr__(name: str) -> Any:
    """Imports the engine on first use, so that a JVM can be started before that (see `startup.session`)."""
    if name != "SparkBackend":
        raise AttributeError(name)
    from deltalog.engines.spark.backend import SparkBackend

    return SparkBackend
