"""The Spark engine: partitioned DataFrames of 64-bit ids in a SparkSession."""

from deltalog.backends.spark.backend import SparkBackend

__all__ = ["SparkBackend"]
