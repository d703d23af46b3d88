"""`deltalog run --engine auto`: where to run, from the size of the input, the memory, and whether Spark is configured.

Small input on one machine needs no Spark. With a master, or for large input, Spark reads and writes, and its driver
evaluates the rules with the local engine as long as that fits in memory (the engine "auto" of `KnowledgeBase`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from deltalog.core.limits import available_memory

_SPARK_MIN_INPUT_BYTES = 8 * 2**30  # from which on `--engine auto` without a master reads and writes with Spark

# Bytes of memory for each byte of a file, derived facts included:
MEMORY_FACTORS = {".gz": 60, ".bz2": 80, ".zst": 60, "": 6}


class EngineChoice(NamedTuple):
    """An engine of `KnowledgeBase`, and the reason for it."""

    engine: str
    reason: str


def choose_engine(
    engine: str = "auto",
    master: str | None = None,
    data: Iterable[Path] = (),
    memory: int | None = None,
) -> EngineChoice:
    """The engine for the options of `deltalog run`; `memory` is its limit in bytes (default: what is available)."""
    if engine != "auto":
        ignored = "; --master is ignored" if master and engine != "spark" else ""
        return EngineChoice(engine, f"set by --engine{ignored}")
    memory = memory or available_memory()
    files = [file for path in data for file in ([path] if path.is_file() else path.rglob("*"))]
    need = sum(map(_memory_need, files))
    needed = f"about {need / 1e9:.2f} GB of memory needed, {memory / 1e9:.2f} GB available"
    if memory and need > memory:
        return EngineChoice("spark", needed)
    if configured := _spark_configured(master):
        return EngineChoice("auto", f"{configured}; {needed}")
    if need > _SPARK_MIN_INPUT_BYTES * MEMORY_FACTORS[""]:
        return EngineChoice("auto", f"input over {_SPARK_MIN_INPUT_BYTES >> 30} GB; {needed}")
    return EngineChoice("local", f"input under {_SPARK_MIN_INPUT_BYTES >> 30} GB; use --engine spark to run on Spark")


def prepare_spark(choice: EngineChoice, data: Iterable[Path], say: Callable[[str], None]) -> None:
    """What comes before a JVM: this process is Spark's own, and data that is missing is told before the seconds that a
    JVM takes."""
    from deltalog.core.errors import DataError
    from deltalog.engines.spark.startup.session import own_process

    if missing := [path for path in data if not path.exists()]:
        raise DataError(f"{missing[0]}: no such file or folder")
    say(f"starting Spark ({choice.reason})")
    own_process()


def _spark_configured(master: str | None) -> str | None:
    """Where a Spark master is named, if it is."""
    from deltalog.engines.spark.startup.submit_conf import requested

    return f"the master is {master}" if master else requested()


def _memory_need(file: Path) -> int:
    if not file.is_file():
        return 0
    return file.stat().st_size * MEMORY_FACTORS.get(file.suffix.lower(), MEMORY_FACTORS[""])
