"""What a job costs on a backend where that is more than what the job computes, such as Spark; for maintenance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

T = TypeVar("T", contravariant=True)


class JobCosts(Protocol[T]):
    """The cost of jobs, measured while they ran."""

    def seconds_per_job(self, tables: Iterable[T]) -> float:
        """About how long a small job over some tables takes; 0 where they need none."""
        ...
