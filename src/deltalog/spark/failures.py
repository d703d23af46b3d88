"""Failures of Spark in one line, without the trace of Java."""

from __future__ import annotations

import re


def failed_in_spark(problem: BaseException) -> bool:
    """Whether Spark or its JVM has raised an exception."""
    return type(problem).__module__.startswith(("pyspark", "py4j"))


def first_line(problem: BaseException) -> str:
    """The first line of what an exception says, without Spark's error class and state."""
    text = getattr(problem, "_desc", None) or str(problem)
    line = next((line.strip() for line in str(text).splitlines() if line.strip()), type(problem).__name__)
    line = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", line)
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", line)
