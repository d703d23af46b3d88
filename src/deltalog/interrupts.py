"""Ctrl-C ends the process of a command, wherever it comes.

An interrupt may come inside of a destructor, a callback or a library's `except`, which swallow it; between two lines
of a library, whose half-made objects complain when they are dropped; or inside of `exec`, after which Python ends the
process by a signal although somebody caught it. So an interrupt is remembered until the next check of limits, what is
complained about after it is not shown, and the process ends by its own code.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130

_asked = False


def raise_interrupts() -> None:
    """From now on an interrupt is a KeyboardInterrupt in the main thread, and nothing else is heard of it."""
    signal.signal(signal.SIGINT, _interrupt)


def check_interrupts() -> None:
    """Raise an interrupt that was asked for and swallowed."""
    if _asked:
        raise KeyboardInterrupt


def end_process(code: int) -> int:
    """The work of this process is done; only its end is left, which nothing interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if code == INTERRUPTED:
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(code)
    return code


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    global _asked
    _asked = True
    sys.unraisablehook = lambda _: None
    raise KeyboardInterrupt
