"""Who watches the calls of this thread: a progress bar, or what counts and times files for `-v`.

A watcher is told what a call does while it does it: its phase, the files that it reads, the rounds that it evaluates.
Nothing is told to anybody outside of `watching`, and being told costs nothing to speak of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple


class FileRead(NamedTuple):
    """A file that has been read."""

    path: Path
    bytes: int
    facts: int
    seconds: float


class Watcher:
    """Hears of what calls do, and does nothing about it; others override what they want to hear."""

    def phase(self, name: str) -> None:
        """A phase begins: load, plan, evaluate or write."""

    def reading(self, paths: list[Path]) -> None:
        """These files will be read."""

    def opened(self, position: Callable[[], int]) -> None:
        """One of them was opened; `position` tells how many of its bytes have been read."""

    def read(self, file: FileRead) -> None:
        """A file has been read."""

    def evaluating(self, hyper_node: int, hyper_nodes: int) -> None:
        """One of so many hyper-nodes is evaluated; the first has the number 0."""

    def rounds(self, series: Any) -> None:
        """Rounds have been evaluated (`deltalog.evaluation.report.RoundSeries`)."""


_NOBODY = Watcher()
_WATCHER: ContextVar[Watcher] = ContextVar("watcher", default=_NOBODY)


def watcher() -> Watcher:
    """Whoever watches this thread."""
    return _WATCHER.get()


@contextmanager
def watching(by: Watcher) -> Iterator[None]:
    """A context whose calls are watched."""
    before = _WATCHER.set(by)
    try:
        yield
    finally:
        _WATCHER.reset(before)
