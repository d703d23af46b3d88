"""The threads of the local engine, and the one way to use them.

`Workers.map` makes a batch of tasks. The calling thread takes tasks of its batch, one after the other, and so does each
thread of the pool that is free; when no task is left, the caller waits for those that others have begun. Tasks may call
`map` too, at any depth. A caller never waits for a task that nobody has begun (it runs that itself), and takes no task
of another batch meanwhile, so whatever a thread waits for is running, further down in the tree of batches: there is no
cycle of threads that wait for each other, however few there are.

Threads do not survive a fork: the pool belongs to a process, and another process starts its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")


class Workers:
    """A number of threads, with that of the caller. Fewer rows than `parallel_min_rows` are not worth a second one."""

    def __init__(self, threads: int | None, parallel_min_rows: int) -> None:
        self.threads = threads or _cores()
        self.parallel_min_rows = parallel_min_rows
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def map(self, function: Callable[[A], R], arguments: Sequence[A]) -> list[R]:
        """The function of each argument, in order. The first exception ends the batch: tasks that have not begun are
        dropped, those that have are waited for, and it is raised here."""
        if len(arguments) <= 1 or self.threads == 1:
            return [function(argument) for argument in arguments]
        batch = _Batch(function, arguments)
        helpers = self._helpers(batch, min(self.threads, len(arguments)) - 1)
        try:
            batch.work()
            return batch.results()
        finally:
            batch.stop()
            for helper in helpers:
                helper.cancel()

    def _helpers(self, batch: _Batch[Any, Any], count: int) -> list[Future[None]]:
        """Submits the batch to the pool, whose free threads take tasks from it."""
        try:
            pool = self._own_pool()
            return [pool.submit(copy_context().run, batch.work) for _ in range(count)]
        except RuntimeError:  # there are no more threads, or the interpreter is ending: the caller does it all
            return []

    def _own_pool(self) -> ThreadPoolExecutor:
        pool, process = self._pool, os.getpid()
        if pool is None or process != self._process:
            pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="deltalog")
            self._pool, self._process = pool, process
        return pool


class _Batch(Generic[A, R]):
    """Tasks that are taken one after the other, each by the next thread that is free."""

    def __init__(self, function: Callable[[A], R], arguments: Sequence[A]) -> None:
        self._function, self._arguments = function, arguments
        self._found: dict[int, R] = {}
        self._next, self._running = 0, 0
        self._failed: BaseException | None = None
        self._changed = threading.Condition(threading.Lock())

    def work(self) -> None:
        """Takes tasks until there are none."""
        while (number := self._take()) is not None:
            try:
                self._found[number] = self._function(self._arguments[number])
            except BaseException as error:
                self._end(error)
            else:
                self._end(None)

    def _take(self) -> int | None:
        with self._changed:
            if self._next >= len(self._arguments):
                return None
            self._next += 1
            self._running += 1
            return self._next - 1

    def _end(self, error: BaseException | None) -> None:
        with self._changed:
            self._running -= 1
            if error is not None:
                self._failed = self._failed or error
                self._next = len(self._arguments)
            if not self._running:
                self._changed.notify_all()

    def stop(self) -> None:
        """No more tasks are begun."""
        with self._changed:
            self._next = len(self._arguments)

    def results(self) -> list[R]:
        """The results of all tasks, when they are done."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running)
        error, self._failed = self._failed, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback has this frame
        return [self._found[number] for number in range(len(self._arguments))]


class Once(Generic[R]):
    """A value that is computed by the first thread that needs it; others wait for that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: list[R] = []

    def get(self, compute: Callable[[], R]) -> R:
        with self._lock:
            if not self._found:
                self._found.append(compute())
            return self._found[0]


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
