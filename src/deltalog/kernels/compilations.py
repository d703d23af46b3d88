"""Logs, once per process, that kernels are being compiled, and counts the seconds that this takes.

`kernels.compiling` registers the listener when it loads Numba. The log line is an INFO message of the logger
`deltalog`.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

MESSAGE = "compiling kernels for large data; this happens once and takes some seconds"


class Compilations:
    """Numba tells it of every compilation; a kernel that is loaded from disk is none. The kernels that a kernel calls
    are compiled inside of its own compilation, and their time counts once."""

    def __init__(self) -> None:
        self.announced = False
        self.seconds = 0.0  # of all threads
        self._thread = threading.local()

    def notify(self, event: Any) -> None:
        """One method of Numba's listeners; the other two are called by it."""
        (self.on_start if event.is_start else self.on_end)(event)

    def on_start(self, event: Any) -> None:
        depth = getattr(self._thread, "depth", 0)
        if depth == 0:
            self._thread.started = time.monotonic()
        self._thread.depth = depth + 1
        kernel = event.data["dispatcher"].py_func
        if not self.announced and kernel.__module__.startswith("deltalog."):
            self.announced = True
            logging.getLogger("deltalog").info(MESSAGE)

    def on_end(self, event: Any) -> None:
        self._thread.depth -= 1
        if self._thread.depth == 0:
            self.seconds += time.monotonic() - self._thread.started


COMPILATIONS = Compilations()
