"""`functools.cached_property` without a lock, as it is from Python 3.12 on.

In Python 3.11 one lock per attribute, shared by all instances, is held while a value is computed: threads with
different knowledge bases would wait for each other, and a process forked meanwhile would wait for ever. Two threads may
compute a value at the same time; both get the one that is stored first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """A property that is computed once per instance and kept in the instance's `__dict__` under its own name."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> cached_property[T] | T:
        if instance is None:
            return self
        found: T = instance.__dict__.setdefault(self._name, self._compute(instance))
        return found
