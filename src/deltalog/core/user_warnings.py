"""Warnings at the line of the user's program that called deltalog."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from deltalog.core.errors import DataWarning, DeltalogWarning, Diagnostic

MAX_SHOWN = 5  # warnings of one call; the last line says how many more there are
OWN = {__name__.partition(".")[0], "contextlib"}  # some calls are made by context managers


_NOTES: ContextVar[list[str] | None] = ContextVar("notes", default=None)


def warn(about: Diagnostic | str, category: type[DeltalogWarning] = DataWarning) -> None:
    """Warns at the caller of deltalog."""
    notes = _NOTES.get()
    if notes is None:
        warnings.warn(category(about), stacklevel=_stack_level())
    else:
        notes.append(str(category(about)))


@contextmanager
def noted_warnings() -> Iterator[list[str]]:
    """Collects what this thread would be warned of; for a server, whose clients do not see Python's warnings."""
    notes: list[str] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


def warn_of_all(diagnostics: Sequence[Diagnostic], category: type[DeltalogWarning]) -> None:
    """Warns of the first few, and of the number of the others."""
    for diagnostic in diagnostics[:MAX_SHOWN]:
        warn(diagnostic, category)
    if (more := len(diagnostics) - MAX_SHOWN) > 0:
        warn(f"and {more:,} more; kb.warnings lists all, and so does `deltalog check`", category)


def _stack_level() -> int:
    """The number of frames from `warnings.warn` in this module to the first one outside of deltalog."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        frame, level = frame.f_back, level + 1
    return level
