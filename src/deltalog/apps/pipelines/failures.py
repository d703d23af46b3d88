"""Failures of Spark in one line, without the trace of Java."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # of PySpark: they print each failure with its trace


def failed_in_spark(problem: BaseException) -> bool:
    """Whether Spark or its JVM has raised an exception."""
    return type(problem).__module__.startswith(("pyspark", "py4j"))


def first_line(problem: BaseException) -> str:
    """The first line of what an exception says, without Spark's error class and state."""
    text = _java_message(problem) or getattr(problem, "_desc", None) or str(problem)
    line = next((line.strip() for line in str(text).splitlines() if line.strip()), type(problem).__name__)
    line = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", line)
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", line)


def _java_message(problem: BaseException) -> str | None:
    """The message of an exception of Java that PySpark has not converted: that of an error class, or of the cause."""
    java, messages = getattr(problem, "java_exception", None), list[str]()
    while java is not None:
        messages.append(java.getMessage() or "")
        java = java.getCause()
    classified = [message for message in messages if message.startswith("[")]  # written for users
    return next(iter(classified or filter(None, reversed(messages))), None)


@contextmanager
def unlogged() -> Iterator[None]:
    """Failures of queries are not logged by PySpark: whoever catches them reports them."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
