"""Signals, such as Ctrl-C (SIGINT), leave a call at moments that do no harm.

Python runs the handler of a signal between two instructions of the main thread, and a handler that raises leaves
whatever runs there. Some code must not be left: an import (modules that are half initialised stay behind), Numba while
it compiles or loads a kernel (it crashes), the beginning and the end of a `with` statement (a lock stays locked), and a
destructor (Python drops the exception). So public calls are `shielded`: while one runs, the handlers of the user are
wrapped. The wrapper looks at the stack: if that code is on it, the signal is held, and the user's handler is called as
soon as `check_interrupts` is reached or the call ends; otherwise it is called at once. The handlers are back in place
when the call ends. Other threads have no handlers, and no shield. Compiled kernels pay nothing.

A command of the command line owns its process: SIGINT and SIGTERM end it (`raise_interrupts`), and unfinished work is
undone. Such an interrupt may also come between two lines of a library, whose half-made objects complain when they are
dropped; or inside of `exec`, after which Python ends the process by a signal although the exception was caught. Spark
also replaces our handler by its own. So an interrupt is recorded until the next check of limits, later warnings are
suppressed, and the process ends with the exit code of shells: 128 plus the number of the signal.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found, unused-ignore]  # `signal` takes ten times as long
import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import CodeType, FrameType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

SIGNALS = (signal.SIGINT, signal.SIGTERM)

# Signals that people use to stop a program, or a call after some time. SIGINT is last: it is restored last.
_NAMES = ("SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGPROF", "SIGBREAK", "SIGINT")
_SHIELDED = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))

# Code that must not be left: all of some modules, and some functions of others.
_WHOLE_MODULES = frozenset({"numba", "llvmlite", "weakref", "_weakrefset"})
_IMPORTS = "<frozen importlib"
_PAIRED_MODULES = frozenset({"deltalog", "contextlib", "threading"})
_PAIRED = frozenset({"__enter__", "__exit__", "_release_save", "_acquire_restore"})

_asked = 0  # the signal that ends the process of a command
_is_command = False
_active = False  # a shielded call runs in the main thread
_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}  # of the user, behind ours
_held: list[int] = []  # signals that the user's handlers have not seen yet


# Shields.


def shielded(function: Function) -> Function:
    """A public function, from which signals are delivered at harmless moments only."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _active or threading.get_ident() != threading.main_thread().ident:
            return function(*args, **kwargs)
        try:
            _shield()
            return function(*args, **kwargs)
        finally:
            _unshield()

    _ENTRIES.add(call.__code__)  # type: ignore[attr-defined]
    return cast(Function, call)


_ENTRIES: set[CodeType] = set()  # the code of `call`, where the user's code calls ours


def is_shielded() -> bool:
    """Whether signals are delivered at harmless moments only, now and in this thread."""
    return _active or threading.get_ident() != threading.main_thread().ident


def check_interrupts() -> None:
    """Delivers signals that were held, and raises an interrupt that was swallowed."""
    if _held and threading.get_ident() == threading.main_thread().ident:
        _deliver()
    if _asked:
        raise KeyboardInterrupt


def _shield() -> None:
    global _active
    _active = True
    for number in _SHIELDED:
        handler = _signal.getsignal(number)
        if callable(handler) and handler is not _hold:
            _handlers[number] = handler
            _set_handler(number, _hold)


def _unshield() -> None:
    global _active
    _active = False
    try:
        _restore()
    except BaseException:  # by a handler that is back in place
        _restore()
        raise
    if _held:
        _deliver()


def _restore() -> None:
    """Puts the handlers of the user back in place, but for those that were replaced meanwhile."""
    for number in _SHIELDED:
        if _signal.getsignal(number) is _hold:
            _set_handler(number, _handlers[number])


def _set_handler(number: int, handler: Callable[[int, FrameType | None], Any]) -> None:
    try:  # noqa: SIM105  # faster than `suppress`
        _signal.signal(number, handler)
    except ValueError:  # in a subinterpreter, which no signal reaches
        pass


def _hold(number: int, frame: FrameType | None) -> None:
    """The handler during a shielded call."""
    if _changes_handlers(frame) or (_active and _must_stay(frame)):
        if number not in _held:
            _held.append(number)
    else:
        _handlers[number](number, frame)


def _deliver() -> None:
    """Calls the user's handlers of the signals that were held."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    while _held:
        number = _held.pop(0)
        _handlers[number](number, frame)


def _must_stay(frame: FrameType | None) -> bool:
    """Whether the code that runs in a frame, up to the public call, must not be left in the middle."""
    while frame is not None and frame.f_code not in _ENTRIES:
        code, module = frame.f_code, frame.f_globals.get("__name__") or ""
        package = module.partition(".")[0]
        if package in _WHOLE_MODULES or code.co_filename.startswith(_IMPORTS) or code.co_name == "__del__":
            return True
        if code.co_name in _PAIRED and package in _PAIRED_MODULES:
            return True
        frame = frame.f_back
    return False


def _changes_handlers(frame: FrameType | None) -> bool:
    """Whether a shield begins or ends in a frame, or in a function that traces it."""
    if frame is not None and frame.f_code in _ENTRIES:
        return True
    while frame is not None and frame.f_code not in _ENTRIES:
        if frame.f_code in _STEPS:
            return True
        frame = frame.f_back
    return False


_STEPS = frozenset({_shield.__code__, _unshield.__code__, _restore.__code__, _set_handler.__code__})


# The process of a command.


def raise_interrupts() -> None:
    """From now on an interrupt is a KeyboardInterrupt in the main thread, without further output."""
    global _is_command
    _is_command = True
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def hear_again() -> None:
    """Restores our signal handlers after a library has replaced them."""
    if not _is_command:
        return
    for number in SIGNALS:
        _handlers[number] = _interrupt
        signal.signal(number, _hold if _active else _interrupt)


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
    _asked = number
    sys.unraisablehook = lambda _: None
    if "logging" in sys.modules:
        sys.modules["logging"].disable()
    if not _must_stay(frame):
        raise KeyboardInterrupt
