"""Driver: what a SparkSession says: deltalog's own settings, the kind of its master, and how many tasks it can run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from deltalog.core.errors import UsageError
from deltalog.core.tuning import Tuning

# Of the driver's memory, for tables and dictionary; sorting and joining takes as much again for moments:
_BUDGET_SHARE = 0.4

SALT = "spark.deltalog.salt"
PARTITIONS = "spark.sql.shuffle.partitions"
DRIVER_BUDGET = "spark.deltalog.driverBudget"
DRIVER_MEMORY = "spark.driver.memory"
MAX_RESULT_SIZE = "spark.driver.maxResultSize"
DEFAULTS = {DRIVER_MEMORY: "1g", MAX_RESULT_SIZE: "1g"}  # Spark's own
MOST_FETCHED = 1 << 29  # bytes that the driver fetches in one job
TUNED = {"spark.deltalog.driverTableRows": "spark_driver_table_max_rows"}
_EXPONENTS = {unit: exponent for exponent, unit in enumerate(("", "k", "m", "g", "t", "p"))}


def salt(spark: Any) -> int:
    """A number that is part of what ids are hashed from."""
    return int(spark.conf.get(SALT, "0"))


def tuned(tuning: Tuning, spark: Any) -> Tuning:
    """The thresholds, with those that the session sets."""
    given = {field: spark.conf.get(setting, None) for setting, field in TUNED.items()}
    return replace(tuning, **{field: int(value) for field, value in given.items() if value is not None})


def driver_budget(spark: Any) -> int:
    """The bytes of tables and dictionary that the driver may hold: by default a share of `spark.driver.memory`."""
    given = spark.conf.get(DRIVER_BUDGET, None)
    if given is not None:
        return _bytes(given)
    memory = spark.conf.get(DRIVER_MEMORY, DEFAULTS[DRIVER_MEMORY])
    return int(_bytes(memory, default_unit="m") * _BUDGET_SHARE)


def portion_bytes(spark: Any) -> int:
    """The bytes that the driver may fetch in one job."""
    most = _bytes(spark.conf.get(MAX_RESULT_SIZE, DEFAULTS[MAX_RESULT_SIZE]))
    return min(most // 2, MOST_FETCHED) if most else MOST_FETCHED


def _bytes(text: str, default_unit: str = "") -> int:
    """An amount of memory as Spark writes it: 4g, 512m, 100kb; units are powers of 1,024."""
    match = re.fullmatch(r"\s*([0-9]+)\s*([kmgtp]?)(b?)\s*", text.lower())
    if match is None:
        raise UsageError(
            f"{DRIVER_BUDGET} is {text!r}, and not an amount of memory; write it like 4g or 512m (a number alone is "
            "bytes; 0: the driver evaluates nothing)"
        )
    unit = match[2] or ("" if match[3] else default_unit)
    return int(match[1]) << 10 * _EXPONENTS[unit]


def is_local_master(master: str) -> bool:
    """Whether executors are threads of the driver's JVM; `local-cluster[...]` is a cluster."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def task_slots(spark: Any) -> int:
    """How many tasks may run at the same time; read it when a job is planned.

    On a cluster executors may not have registered yet, and with dynamic allocation they come and go, so the number of
    shuffle partitions is the least there.
    """
    context = spark.sparkContext
    slots = max(1, int(context.defaultParallelism))
    return slots if is_local_master(context.master) else max(slots, int(spark.conf.get(PARTITIONS)))
