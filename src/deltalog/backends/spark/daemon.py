"""The daemon that Spark forks Python workers from, with what they need imported once: a new worker costs milliseconds.

Our own sessions use it (`spark.python.daemon.module`); in others the workers import by themselves.
"""

from pyspark.daemon import manager

import deltalog.backends.spark.aggregate
import deltalog.backends.spark.conditions
import deltalog.backends.spark.read
import deltalog.backends.spark.write
import deltalog.io.ntriples
import deltalog.io.read
import deltalog.io.tables

if __name__ == "__main__":
    manager()
