"""Limits of an evaluation: time, facts, memory. Rules that invent values can go on for ever; a limit ends that."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from deltalog.errors import LimitReached, UsageError
from deltalog.interrupts import check_interrupts

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_memory(text: str) -> int:
    """`8GB`, `512 MiB`, `2e9` as bytes."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?\s*", text.lower())
    if not match:
        raise UsageError(f"{text!r} is not an amount of memory; write it like 8GB or 512MB")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def resident_memory() -> int:
    """The bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def available_memory() -> int:
    """The bytes of memory that a process could still take; 0 where the system does not say."""
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2 if hasattr(os, "sysconf") else 0


def peak_memory() -> int:
    """The most memory that this process has ever held, in bytes; 0 where the system does not say."""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
        import sys
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@dataclass(slots=True)
class Limits:
    """What an evaluation may use. `start` begins the time; the checks raise LimitReached."""

    timeout: float | None = None
    max_facts: int | None = None
    memory: int | None = None
    deadline: float | None = field(default=None, init=False)

    def start(self) -> None:
        self.deadline = None if self.timeout is None else time.monotonic() + self.timeout

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """A shorter time for what happens inside."""
        before = self.timeout, self.deadline
        if seconds is not None:
            self.timeout = seconds if self.timeout is None else min(seconds, self.timeout)
        try:
            yield
        finally:
            self.timeout, self.deadline = before

    def check(self) -> None:
        """Time, memory and interrupts; cheap enough for inner loops."""
        check_interrupts()
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise LimitReached(f"the time limit of {self.timeout:g} s was reached")
        if self.memory is not None and resident_memory() > self.memory:
            raise LimitReached(f"the memory limit of {self.memory / 1e9:.2f} GB was reached")

    def check_facts(self, facts: int) -> None:
        """Everything, when a round is done."""
        if self.max_facts is not None and facts > self.max_facts:
            raise LimitReached(f"the limit of {self.max_facts:,} facts was reached")
        self.check()
