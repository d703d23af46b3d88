"""Driver: what a SparkSession says: deltalog's own settings, the kind of its master, and how many tasks it can run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from deltalog.model.tuning import Tuning

SALT = "spark.deltalog.salt"
PARTITIONS = "spark.sql.shuffle.partitions"
TUNED = {
    "spark.deltalog.driverBudget": "spark_driver_budget_facts",
    "spark.deltalog.driverTableRows": "spark_driver_table_max_rows",
}


def salt(spark: Any) -> int:
    """A number that is part of what ids are hashed from."""
    return int(spark.conf.get(SALT, "0"))


def tuned(tuning: Tuning, spark: Any) -> Tuning:
    """The thresholds, with those that the session sets."""
    given = {field: spark.conf.get(setting, None) for setting, field in TUNED.items()}
    return replace(tuning, **{field: int(value) for field, value in given.items() if value is not None})


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
