"""What Spark is told from outside of a program, as spark-submit reads it; nothing is started or imported for that.

In this order: the arguments in PYSPARK_SUBMIT_ARGS, spark-defaults.conf (in SPARK_CONF_DIR, or in Spark's own folder),
and for the master also the variable MASTER, if it has one in it: others use that name, too. Who names a master there
wants Spark, and so does who calls spark-submit.
"""

from __future__ import annotations

import os
import re
import shlex
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path

PORT = "PYSPARK_GATEWAY_PORT"  # is there for programs that spark-submit has started
ARGUMENTS, DEFAULTS, MASTER = "PYSPARK_SUBMIT_ARGS", "spark-defaults.conf", "MASTER"


def spark_home() -> Path | None:
    """Where Spark is: SPARK_HOME, or in the package pyspark, which is not imported for that."""
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    found = find_spec("pyspark")
    return Path(found.origin).parent if found is not None and found.origin else None


def settings() -> dict[str, str]:
    """All settings, the master included if there is one."""
    return _of_environment() | _of_file() | _of_arguments()


def wanted() -> str | None:
    """Who wants Spark, for people to read; None if nobody does."""
    if PORT in os.environ:
        return "spark-submit started this"
    places = {ARGUMENTS: _of_arguments, DEFAULTS: _of_file, MASTER: _of_environment}
    masters = {place: found["spark.master"] for place, read in places.items() if "spark.master" in (found := read())}
    return next((f"{place} has the master {master}" for place, master in masters.items()), None)


def _of_environment() -> dict[str, str]:
    master = os.environ.get(MASTER, "")
    return {"spark.master": master} if re.match(r"local\b|yarn$|\w+://", master) else {}


def _of_file() -> dict[str, str]:
    folder = os.environ.get("SPARK_CONF_DIR") or (spark_home() or Path()) / "conf"
    file = Path(folder) / DEFAULTS
    lines = file.read_text().splitlines() if file.is_file() else []
    return dict(re.split(r"[=:\s]\s*", line, maxsplit=1) for line in map(str.strip, lines) if _is_setting(line))


def _is_setting(line: str) -> bool:
    return bool(re.match(r"spark\.[^=:\s]+[=:\s]", line))


def _of_arguments() -> dict[str, str]:
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--master")
    parser.add_argument("-c", "--conf", action="append", default=[])
    given, _ = parser.parse_known_args(shlex.split(os.environ.get(ARGUMENTS, "")))
    found = dict(setting.split("=", 1) for setting in given.conf if "=" in setting)
    return found | ({"spark.master": given.master} if given.master else {})
