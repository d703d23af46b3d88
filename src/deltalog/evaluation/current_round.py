"""The round that this thread evaluates, for a backend that names its jobs after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ROUND: ContextVar[int] = ContextVar("round", default=0)


def current_round() -> int:
    """The number of the round, from 1 on; 0 outside of rounds."""
    return _ROUND.get()


@contextmanager
def in_round(number: int) -> Iterator[None]:
    """A context in which facts of this round are derived."""
    before = _ROUND.get()
    _ROUND.set(number)
    try:
        yield
    finally:
        _ROUND.set(before)
