"""Warnings that point to the line of the user's program that made the call."""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path

_OWN = str(Path(__file__).parent.parent), contextlib.__file__  # some calls are made by context managers


def warn_user(message: str) -> None:
    """A UserWarning at the first caller that is not deltalog's own code."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
