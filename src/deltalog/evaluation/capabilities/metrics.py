"""Metrics of the engine beneath a backend, such as the jobs and shuffles of Spark; for reports."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class EngineMetrics(Protocol):
    """Counters of the engine beneath."""

    def snapshot(self) -> dict[str, int]:
        """The counters so far, in the engine's own units."""
        ...

    def scope(self, name: str) -> AbstractContextManager[None]:
        """A block of code whose jobs belong to the caller: they are counted, and shown under a name."""
        ...
