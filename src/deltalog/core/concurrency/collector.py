"""Python's collector of reference cycles, in calls that make many objects.

The collector starts after every 700 new objects, and looks at all objects again whenever their number has grown by a
quarter. Ten thousand rules with their plans are a million objects, nearly none of which is in a cycle that is garbage:
looking at them took a third of the time. So it starts less often while a call runs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from deltalog.core.concurrency.locks import awaited_lock

_lock = awaited_lock()
_calls = 0  # that run now
_before = _meanwhile = gc.get_threshold()


@contextmanager
def rare_collections(new_objects: int) -> Iterator[None]:
    """Collects only after this many new objects. The setting is the whole process's: the first of several calls at a
    time decides, and the last one puts back what there was, unless somebody else has changed it meanwhile."""
    _enter(new_objects)
    try:
        yield
    finally:
        _leave()


def _enter(new_objects: int) -> None:
    global _calls, _before, _meanwhile
    with _lock:
        _calls += 1
        if _calls == 1:
            _before = gc.get_threshold()
            if 0 < _before[0] < new_objects:
                gc.set_threshold(new_objects, max(50, _before[1]), max(50, _before[2]))
            _meanwhile = gc.get_threshold()


def _leave() -> None:
    global _calls
    with _lock:
        _calls -= 1
        if not _calls and gc.get_threshold() == _meanwhile:
            gc.set_threshold(*_before)
