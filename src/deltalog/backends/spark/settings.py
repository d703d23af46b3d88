"""Driver: the settings of a SparkSession that are deltalog's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deltalog.model.tuning import Tuning

SALT = "spark.deltalog.salt"
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
