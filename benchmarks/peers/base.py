"""What a peer is.

A peer works in two steps, in two processes. `prepare` translates our rules and the data into a folder of files in the
peer's own language; it is never measured. `run` does what a user of the peer would do with those files, in a process of
its own, and tells the seconds of each phase. So the time to translate and the memory for it are nobody's.

`cannot` reasons are part of the result: a peer that cannot express a program is shown as such, never left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from deltalog.core.rules import Rule

Facts = dict[str, set[tuple[str, ...]]]


class CannotExpress(Exception):
    """The program has something that the peer, or our translation for it, does not have."""


@dataclass(frozen=True)
class Outcome:
    """Seconds by phase, the number of facts of each predicate that some rule derives, and, if asked for, the facts.

    A value in `facts` is text: an integer as it is written, an IRI in <>, a string in quotes.
    """

    seconds: dict[str, float]
    counts: dict[str, int]
    facts: Facts | None = None
    peak_memory: int | None = None  # of a process that the peer started; None: it worked in this one


@dataclass
class Measured:
    """One task: its runs, each with seconds by phase and the peak of memory so far, and the facts after it."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    differed: bool = False

    def add(self, seconds: dict[str, float], peak_memory: int, counts: dict[str, int]) -> None:
        self.differed |= bool(self.runs) and counts != self.counts
        self.runs.append({"seconds": seconds, "peak_memory": peak_memory})
        self.counts = counts


ENOUGH = 3.0


def enough(times: int) -> Iterator[int]:
    """`times` times, but not again after three seconds."""
    started = time.perf_counter()
    for number in range(times):
        if number == 0 or time.perf_counter() - started < ENOUGH:
            yield number


class Peer(Protocol):
    name: str
    measures: str  # what the phases mean for this peer, in a sentence

    def version(self) -> str | None:
        """None when the peer is not installed."""
        ...

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None: ...

    def run(self, folder: Path, keep: bool = False) -> Outcome: ...


@dataclass
class Stopwatch:
    """Wall time by phase."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def family_peak() -> int:
    """The peak of this process and of those that it has started and that still live, such as Spark's JVM, together."""
    from deltalog.core.limits import peak_memory

    return peak_memory() + sum(_high_water(pid) for pid in _descendants(os.getpid()))


def _descendants(pid: int) -> Iterator[int]:
    for path in Path("/proc").glob(f"{pid}/task/*/children"):
        for child in path.read_text().split():
            yield int(child)
            yield from _descendants(int(child))


def _high_water(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def children_peak() -> int:
    """The most memory that a process started and ended by this one has held, in bytes (Linux)."""
    import resource

    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def package_version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
