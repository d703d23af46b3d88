"""Ctrl-C (SIGINT) ends the process of a command, wherever it comes, and so does SIGTERM: what is half done is undone.

An interrupt may come inside of a destructor, a callback or a library's `except`, which swallow it; between two lines
of a library, whose half-made objects complain when they are dropped; or inside of `exec`, after which Python ends the
process by a signal although somebody caught it. Spark puts its own handler in the place of ours, too. So an interrupt
is remembered until the next check of limits, what is complained about after it is not shown, and the process ends by
its own code: 128 and the number of the signal, as shells say it.
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
    """From now on an interrupt is a KeyboardInterrupt in the main thread, and nothing else is heard of it."""
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def hear_again() -> None:
    """Puts our handlers back where a library has put its own, in a process whose handlers were ours."""
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        raise_interrupts()


def check_interrupts() -> None:
    """Raise an interrupt that was asked for and swallowed."""
    if _asked:
        raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Whether what fails now may fail because of an interrupt: others, such as a JVM, may have heard it, too."""
    return bool(_asked)


def interrupted() -> int:
    """The exit code of a process that was interrupted."""
    return 128 + (_asked or signal.SIGINT)


def end_process(code: int) -> int:
    """The work of this process is done; only its end is left, which nothing interrupts."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if code > 128:
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(code)
    return code


def _interrupt(number: int, _frame: FrameType | None) -> None:
    global _asked
    _asked = number
    sys.unraisablehook = lambda _: None
    if "logging" in sys.modules:
        sys.modules["logging"].disable()
    raise KeyboardInterrupt
