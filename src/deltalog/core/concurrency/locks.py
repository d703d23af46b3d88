"""Locks that work across forks.

A forked process has the memory of its parent, but only the thread that forked it: a lock that another thread held stays
locked for ever, over data that may be half changed. There are two kinds of locks here:

    awaited_lock   guards data that is changed in place, for moments; `os.fork` waits until it is free, so the child
                   finds the data consistent. Numba's lock is treated the same way: a fork waits for compilations, and
                   while Numba is loaded.
    CallLock       is held for whole calls, and what it guards is replaced at once, at the end; `os.fork` does not wait,
                   and if another thread held the lock, the child has the state before that call and a new lock.

A fork never waits for one lock while it holds another, so it cannot cause a deadlock.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast
from weakref import WeakSet

from deltalog.core.concurrency.interrupts import shielded

Method = TypeVar("Method", bound=Callable[..., Any])

RETRY_SECONDS = 0.0005  # between two attempts of a fork to have all locks; operations under them take about as long

_registry = threading.RLock()
_awaited: WeakSet[Any] = WeakSet()
_calls: WeakSet[CallLock] = WeakSet()
_held: list[Any] = []  # by the fork under way


def awaited_lock() -> Any:
    """A re-entrant lock that is free in a forked process."""
    lock = threading.RLock()
    with _registry:
        _awaited.add(lock)
    return lock


class CallLock:
    """A re-entrant lock for calls that take turns on an object."""

    __slots__ = ("__weakref__", "_lock", "_owned")

    def __init__(self) -> None:
        self._lock, self._owned = threading.RLock(), False
        with _registry:
            _calls.add(self)

    @property
    def held(self) -> Any:
        """A context in which the lock is held. It is Python's own: a signal between acquiring the lock and entering the
        context, in a method written in Python, would leave it locked."""
        return self._lock

    def before_fork(self) -> None:
        self._owned = self._lock.acquire(blocking=False)

    def after_fork(self, in_child: bool) -> None:
        if self._owned:
            self._lock.release()
        elif in_child:
            self._lock = threading.RLock()


def exclusive(method: Method) -> Method:
    """Calls of such methods take turns on one object: they hold its `_lock`. Signals do not leave them at moments that
    would do harm."""

    @shielded
    @wraps(method)
    def locked(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock.held:
            return method(self, *args, **kwargs)

    return cast(Method, locked)


def _before_fork() -> None:
    while not _acquire_all():
        time.sleep(RETRY_SECONDS)
    for call in list(_calls):
        call.before_fork()


def _acquire_all() -> bool:
    """Has all locks that a fork waits for, or none."""
    for lock in _locks():
        if not lock.acquire(blocking=False):
            _release_all()
            return False
        _held.append(lock)
    return True


def _locks() -> Iterator[Any]:
    yield _registry
    kernels = sys.modules.get("deltalog.kernels.compiling")
    yield from [kernels.loading] if kernels else []
    compiler = sys.modules.get("numba.core.compiler_lock")
    yield from [compiler.global_compiler_lock._lock] if compiler else []
    yield from _awaited


def _release_all() -> None:
    while _held:
        _held.pop().release()


def _after_fork(in_child: bool) -> None:
    for call in list(_calls):
        call.after_fork(in_child)
    _release_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(in_child=False),
        after_in_child=lambda: _after_fork(in_child=True),
    )
