"""Driver, before Spark starts: settings from outside the program, as spark-submit reads them. Nothing is started.

In this order: the arguments in PYSPARK_SUBMIT_ARGS, spark-defaults.conf (in SPARK_CONF_DIR, or in Spark's own folder),
and for the master also the environment variable MASTER, if its value looks like a master (other tools use the name,
too). A master that is set there, or spark-submit itself, is a request for Spark.
"""

from __future__ import annotations

import os
import re
import shlex
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path

PORT = "PYSPARK_GATEWAY_PORT"  # is set for programs that spark-submit has started
ARGUMENTS, DEFAULTS, MASTER = "PYSPARK_SUBMIT_ARGS", "spark-defaults.conf", "MASTER"


def spark_home() -> Path | None:
    """The folder of Spark: SPARK_HOME, or the package pyspark, which is not imported for that."""
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    found = find_spec("pyspark")
    return Path(found.origin).parent if found is not None and found.origin else None


def settings() -> dict[str, str]:
    """All settings, with the master if there is one."""
    return _of_environment() | _of_file() | _of_arguments()


def requested() -> str | None:
    """What requests Spark, as text for users; None if nothing does."""
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
