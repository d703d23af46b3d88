"""Driver: errors of Spark as one line. Spark's own texts are pages of Java and Python stack traces."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

MAX_LENGTH = 400  # of a line of Spark's
_FRAME = re.compile(r"\s+at |\s*File |\s*\^|Driver stacktrace|JVM stacktrace|\s*\.\.\. \d+ more")
_PREFIX = re.compile(r"^(:\s*)?((Caused by: )?([a-z_]\w*\.)+(\w+(Exception|Error)\w*): )?")


def is_failure_of_spark(problem: BaseException) -> bool:
    """Whether an exception comes from Spark or from the connection to its JVM."""
    return isinstance(problem, (PySparkException, Py4JError, ConnectionError))


def one_line(problem: BaseException) -> str:
    """What went wrong: the error of a Python worker, or the first line of Spark's message and that of its cause."""
    if isinstance(problem, ConnectionError) or type(problem).__name__ == "Py4JNetworkError":
        return "the connection to Spark's JVM is lost; it may have run out of memory (spark.driver.memory)"
    lines = [line for line in str(problem).splitlines() if line.strip()]
    told = [line for line in lines if not _FRAME.match(line) and not line.startswith("An error occurred while calling")]
    first = _bare(told[0]) if told else type(problem).__name__
    causes = [_bare(line) for line in told if line.startswith("Caused by:")]
    python = [line.strip() for line in told if re.match(r"(\w+\.)*\w*(Error|Exception|Exit|Interrupt)\b", line)]
    if python:
        return f"in a Python worker: {_bare(python[-1])}"
    return first if not causes or causes[-1] in first else f"{first.rstrip('.')}; {causes[-1]}"


def _bare(line: str) -> str:
    """A line without the name of a Java class before it, and not too long."""
    bare = _PREFIX.sub("", line.strip()).strip()
    return bare if len(bare) <= MAX_LENGTH else f"{bare[:MAX_LENGTH]}..."
