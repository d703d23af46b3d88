"""Logs, once per process, that kernels are being compiled, and counts the seconds that this takes.

A kernel is compiled when it is first used with arrays of some types, and cached on disk (beside the source, or where
Numba keeps caches if that folder is not writable). So the very first use takes some tens of seconds longer, and this is
the log line about it: an INFO message of the logger `deltalog`.
"""

from __future__ import annotations

import logging
import threading
import time

from numba.core import event

MESSAGE = "compiling kernels; this happens once and takes up to a minute"


class Compilations(event.Listener):
    """Numba tells it of every compilation; a kernel that is loaded from disk is none. The kernels that a kernel calls
    are compiled inside of its own compilation, and their time counts once."""

    def __init__(self):
        self.announced = False
        self.seconds = 0.0  # of all threads
        self._thread = threading.local()

    def on_start(self, event):
        depth = getattr(self._thread, "depth", 0)
        if depth == 0:
            self._thread.started = time.monotonic()
        self._thread.depth = depth + 1
        kernel = event.data["dispatcher"].py_func
        if not self.announced and kernel.__module__.startswith("deltalog."):
            self.announced = True
            logging.getLogger("deltalog").info(MESSAGE)

    def on_end(self, event):
        self._thread.depth -= 1
        if self._thread.depth == 0:
            self.seconds += time.monotonic() - self._thread.started


COMPILATIONS = Compilations()
event.register("numba:compile", COMPILATIONS)
