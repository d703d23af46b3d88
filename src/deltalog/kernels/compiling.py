"""Logs, once per process, that kernels are being compiled.

A kernel is compiled when it is first used with arrays of some types, and cached on disk (beside the source, or where
Numba keeps caches if that folder is not writable). So the very first use takes some tens of seconds longer, and this is
the log line about it: an INFO message of the logger `deltalog`.
"""

from __future__ import annotations

import logging

from numba.core import event

MESSAGE = "compiling kernels; this happens once and takes up to a minute"


class Announcement(event.Listener):
    """Numba tells it of every compilation; a kernel that is loaded from disk is none."""

    def __init__(self):
        self.announced = False

    def on_start(self, event):
        kernel = event.data["dispatcher"].py_func
        if not self.announced and kernel.__module__.startswith("deltalog."):
            self.announced = True
            logging.getLogger("deltalog").info(MESSAGE)

    def on_end(self, event):
        pass


event.register("numba:compile", Announcement())
