"""Limits of a call: time, facts and memory. Rules that create new values may never reach a fixpoint; a limit stops
them.

`Limits` are the limits of a knowledge base, and its backend has them: everything that evaluates has a backend, so it
has limits. `running` begins a call. The deadline is of that call alone: it is kept in the context (`contextvars`) of
the thread that makes the call, and when the call ends it is gone. What a user does between two calls, such as reading
the difference of an update, has no deadline.

A worker thread runs in a copy of the context of the thread that it works for (`backends.local.workers`), so the limits
of a call hold wherever its work is done.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from heapq import merge
from itertools import accumulate, islice, takewhile
from numbers import Integral, Real
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar, overload

from deltalog.core.arguments import short_repr
from deltalog.core.concurrency.interrupts import check_interrupts
from deltalog.core.errors import DeltalogError, LimitReached, UsageError

LOADING = "loading"  # the name of calls that derive nothing
# New objects after which Python looks for garbage in cycles, not 700 (`concurrency.collector`):
COLLECTED_OBJECTS = 100_000

Method = TypeVar("Method", bound=Callable[..., Any])
T = TypeVar("T")

# The memory of the process is read from the system, which takes about 10 microseconds: seldom enough to cost nothing,
# often enough that not more than some 10 MB (what two cores fill in that time) come on top.
MEMORY_INTERVAL_SECONDS = 0.005
UNCHECKED_ROWS = 256  # that a loop visits between two checks: some milliseconds
UNCHECKED_SORT = 1 << 15  # rows that are sorted in one step
MAX_SECONDS = 1e10  # 300 years
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_memory(text: str) -> int:
    """`8GB`, `512 MiB`, `2e9` as bytes."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?\s*", text.lower())
    if not match:
        raise UsageError(f"{text!r} is not an amount of memory; write it like 8GB or 512MB")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def seconds(value: Any) -> float:
    """A number of seconds, checked."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value < MAX_SECONDS:  # type: ignore[operator]
        raise UsageError(f"{short_repr(value)} is not a number of seconds; write it like 60 or 0.5")
    return float(value)


def count(value: Any, what: str = "facts", least: int = 0) -> int:
    """A number of things, checked."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{short_repr(value)} is not a number of {what}; write a whole number from {least} on")
    return int(value)


def memory_bytes(value: Any) -> int:
    """An amount of memory, as text or in bytes, checked."""
    if isinstance(value, str):
        return parse_memory(value)
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise UsageError(f"{short_repr(value)} is not an amount of memory; write it like 8GB or 512MB, or in bytes")
    return int(value)


def resident_memory() -> int:
    """The bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def available_memory() -> int:
    """The bytes of memory that are still available; 0 where the system does not say."""
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2 if hasattr(os, "sysconf") else 0


def peak_memory() -> int:
    """The peak memory of this process in bytes; 0 where the system does not say."""
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


class OverBudget(DeltalogError):
    """An engine needs more memory than it may have, and another one takes over (see `Session.attempts`)."""


class Running:
    """A running call with its deadline. A nested call has the deadline of the outer one, or an earlier one."""

    __slots__ = ("_before", "_held", "_limits", "_memory_at", "_outer", "_timeout", "call", "deadline")

    def __init__(self, limits: Limits, call: str, timeout: float | None = None, timed: bool = True) -> None:
        self._limits = limits
        self._before: Running | None = None  # of any knowledge base
        self._memory_at = 0.0
        self._outer: Running | None = limits.running_now
        self.call: str = call
        if self._outer is None and timed:
            timeout = _least(timeout, limits.timeout)
        self._timeout: float | None = timeout
        self.deadline: float | None = None if timeout is None else limits.clock() + timeout
        self._held: int = limits.held_before() if self._outer is None else self._outer._held
        if self._outer is not None:
            self._belong_to(self._outer)

    def _belong_to(self, outer: Running) -> None:
        self.call = outer.call
        if outer.deadline is not None and (self.deadline is None or outer.deadline <= self.deadline):
            self._timeout, self.deadline = outer._timeout, outer.deadline

    def __enter__(self) -> Running:
        self._before = _RUNNING.get()
        _RUNNING.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _RUNNING.set(self._before)

    def check(self) -> None:
        """Raises at an interrupt, at the deadline, or when the memory exceeds its limit or its ceiling."""
        check_interrupts()
        limits = self._limits
        if limits.ended is not None:
            raise LimitReached(f"{self.call} stopped: {limits.ended}", limits.ended)
        has_memory_limit = limits.memory is not None or limits.ceiling is not None
        if self.deadline is None and not has_memory_limit:
            return
        now = limits.clock()
        if self.deadline is not None and now > self.deadline:
            raise self.stopped(f"the time limit of {self._timeout:g} s was reached", "timeout")
        if has_memory_limit and now >= self._memory_at:
            self._memory_at = now + MEMORY_INTERVAL_SECONDS
            self._check_memory(limits.resident())

    def _check_memory(self, resident: int) -> None:
        limits = self._limits
        if limits.memory is not None and resident - self._held > limits.memory:
            raise self.stopped(f"the memory limit of {limits.memory / 1e9:.2f} GB was reached", "memory")
        if limits.ceiling is not None and resident > limits.ceiling.resident:
            raise OverBudget(limits.ceiling.reason)

    def stopped(self, reason: str, option: str) -> LimitReached:
        others = "load less" if self.call == LOADING else "look for rules that make new values without end"
        advice = f"Raise `{option}`, or {others}"
        return LimitReached(f"{self.call} stopped: {reason}; the knowledge base is as it was. {advice}", reason)


_RUNNING: ContextVar[Running | None] = ContextVar("running", default=None)


def check_running() -> None:
    """Time, memory and interrupts of the call that this thread makes, for what has no backend."""
    running = _RUNNING.get()
    (check_interrupts if running is None else running.check)()


def checked(rows: Iterable[T], every: int = UNCHECKED_ROWS) -> Iterator[T]:
    """The rows that a loop visits, with a check of the limits before every so many of them."""
    for number, row in enumerate(rows):
        if number % every == 0:
            check_running()
        yield row


class CheckedRows(Sequence[T]):
    """A sequence whose every loop checks the limits, for functions that read it more than once."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Sequence[T]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[T]:
        return checked(self._rows) if len(self._rows) > UNCHECKED_ROWS else iter(self._rows)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._rows[at]


def checked_sort(rows: Iterable[T], key: Callable[[T], Any], reverse: bool = False) -> list[T]:
    """`sorted`, in steps between which the limits are checked: short runs are sorted, and then merged."""
    ranked = checked((key(row), row) for row in rows)
    runs: list[list[tuple[Any, T]]] = []
    while run := list(islice(ranked, UNCHECKED_SORT)):
        run.sort(key=itemgetter(0), reverse=reverse)
        runs.append(run)
    merged = runs[0] if len(runs) == 1 else merge(*runs, key=itemgetter(0), reverse=reverse)
    return [row for _, row in (merged if len(runs) == 1 else checked(merged))]


class Ceiling(NamedTuple):
    """The memory of the process, in bytes, beyond which another engine takes over, and the reason that is given."""

    resident: int
    reason: str


@dataclass(slots=True)
class Limits:
    """The limits of calls; None is no limit. They may be changed between two calls; UsageError for an invalid limit.

    `memory` is what a call may add to the memory of the process, or to `held` bytes of it. `clock` returns the time in
    seconds, `resident` the memory of the process in bytes. `ceiling` is not the user's but the engine's, and makes no
    call fail. `ended` is the end of every call that runs, for whoever shuts down.
    """

    timeout: float | None = None
    max_facts: int | None = None
    memory: int | None = None
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    resident: Callable[[], int] = field(default=resident_memory, repr=False)
    ceiling: Ceiling | None = field(default=None, repr=False)
    ended: str | None = field(default=None, repr=False)  # why every call ends now
    held: int | None = field(default=None, repr=False)  # None: what the process holds when a call begins

    def __setattr__(self, name: str, value: Any) -> None:
        check = _CHECKS.get(name)
        object.__setattr__(self, name, value if check is None or value is None else check(value))

    def held_before(self) -> int:
        """The memory that does not count, of a call that begins now."""
        if self.memory is None:
            return 0
        return self.resident() if self.held is None else self.held

    @property
    def running_now(self) -> Running | None:
        """The call that this thread makes, or works for."""
        running = _RUNNING.get()
        while running is not None and running._limits is not self:
            running = running._before
        return running

    def running(self, call: str, timeout: float | None = None, timed: bool = True) -> Running:
        """A context in which the limits hold; inside of another call, with its deadline or a shorter one. Without
        `timed` only a deadline that is given, or that the other call has, holds."""
        return Running(self, call, timeout, timed)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """A context in which this thread has no limits, to keep what was derived before one was reached."""
        running = _RUNNING.get()
        _RUNNING.set(None)
        try:
            yield
        finally:
            _RUNNING.set(running)

    def checker(self) -> Callable[[], None]:
        """The check of the call that this thread makes, for any thread; interrupts alone where there is none."""
        running = self.running_now
        return check_interrupts if running is None else running.check

    def check(self) -> None:
        """Time, memory and interrupts; cheap enough for inner loops."""
        self.checker()()

    def too_many_facts(self) -> LimitReached:
        running = self.running_now or Running(self, "the evaluation")
        return running.stopped(f"the limit of {self.max_facts:,} facts was reached", "max_facts")


_CHECKS: dict[str, Callable[[Any], Any]] = {"timeout": seconds, "max_facts": count, "memory": memory_bytes}


def _least(one: float | None, other: float | None) -> float | None:
    return min((seconds for seconds in (one, other) if seconds is not None), default=None)


@dataclass(slots=True)
class FactCount:
    """The facts of an evaluation, as `max_facts` counts them. A change may keep as many as there were `before` it."""

    limits: Limits
    total: int = 0
    before: Callable[[], int] = field(default=lambda: 0, repr=False)
    _allowed: int = 0

    def add(self, facts: int) -> None:
        """Adds this many facts; raises LimitReached if there are too many."""
        self.reach(self.total + facts)

    def reach(self, total: int) -> None:
        """The same for the total number of facts."""
        self.total = total
        if not self._allows(total):
            raise self.limits.too_many_facts()

    def fitting(self, numbers: Sequence[int]) -> int:
        """How many of these numbers of facts can be added, one after the other."""
        if self._allows(self.total + sum(numbers)):
            return len(numbers)
        totals = islice(accumulate(numbers, initial=self.total), 1, None)
        return sum(1 for _ in takewhile(self._allows, totals))

    def _allows(self, total: int) -> bool:
        most = self.limits.max_facts
        if most is None or total <= max(most, self._allowed):
            return True
        self._allowed = self.before()
        return total <= self._allowed
