"""Ctrl-C (SIGINT) and SIGTERM end the process of a command at any point, and undo unfinished work.

An interrupt may come inside of a destructor, a callback or a library's `except`, which swallow it; between two lines
of a library, whose half-made objects complain when they are dropped; or inside of `exec`, after which Python ends the
process by a signal although the exception was caught. Spark also replaces our handler by its own, and Numba crashes if
it is left while it loads a kernel. So an interrupt is recorded until the next check of limits, later warnings are
suppressed, and the process ends with the exit code of shells: 128 plus the number of the signal.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_asked = 0


def raise_interrupts() -> None:
    """From now on an interrupt is a KeyboardInterrupt in the main thread, without further output."""
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def hear_again() -> None:
    """Restores our signal handlers after a library has replaced them."""
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        raise_interrupts()


def check_interrupts() -> None:
    """Raises an interrupt that was swallowed."""
    if _asked:
        raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Whether a failure may be due to an interrupt, which other processes, such as a JVM, receive, too."""
    return bool(_asked)


def interrupted() -> int:
    """The exit code of a process that was interrupted."""
    return 128 + (_asked or signal.SIGINT)


def end_process(code: int) -> int:
    """Ends the process after its work is done; interrupts are ignored from here on."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if code > 128:
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(code)
    return code


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _asked
    insists, _asked = bool(_asked), number
    sys.unraisablehook = lambda _: None
    if "logging" in sys.modules:
        sys.modules["logging"].disable()
    if insists or not _is_compiling(frame):
        raise KeyboardInterrupt


def _is_compiling(frame: FrameType | None) -> bool:
    """Whether Numba compiles or loads a kernel, which crashes the process if it is left in the middle."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("numba", "llvmlite"):
            return True
        frame = frame.f_back
    return False
