"""The daemon that Spark forks Python workers from, with what they need imported once: a new worker costs milliseconds.

Our own sessions use it (`spark.python.daemon.module`); in others the workers import by themselves.
"""

from importlib import import_module

from pyspark.daemon import manager

if __name__ == "__main__":
    for name in ("backends.spark.aggregate", "backends.spark.read", "backends.spark.write", "io.read", "io.tables"):
        import_module(f"deltalog.{name}")
    import_module("deltalog.io.ntriples")
    manager()
