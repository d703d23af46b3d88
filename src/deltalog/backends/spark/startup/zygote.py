"""Driver: the zygote, a process forked from the driver from which Spark's Python workers are forked.

Spark has the JVM start a daemon (`python -m deltalog.backends.spark.startup.daemon`). It would import all that the
driver has imported already, two seconds of CPU time, while the first job waits. So `deltalog run` on a local master
forks a zygote as soon as it has imported. The daemon that the JVM starts is then only a stand-in: it hands its standard
streams over (`handed_over`), by a socket in a folder of the user's own, and lives as long as the daemon that the zygote
forks in its place.

    driver ---- zygote ---- daemon (pyspark's manager) ---- workers
       JVM ---- stand-in, whose streams the daemon has

No process is left behind. The daemon ends when the JVM closes its input, as it always does, and the zygote tells the
stand-in; if the stand-in is killed, the zygote ends the daemon. The zygote ends with its last daemon after the driver
has ended, which it notices by a pipe that only the driver writes to. Without a zygote the daemon imports by itself: on
clusters, and where deltalog runs inside another program's process, which it must not fork.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from types import FrameType
from typing import NoReturn

ADDRESS = "DELTALOG_ZYGOTE"
HANDSHAKE_SECONDS = 10.0  # in which a stand-in must send its request
BACKLOG = 16


# In the driver.


@dataclass(slots=True)
class PendingZygote:
    """A zygote that is not forked yet: its folder, and the socket that listens there."""

    folder: str
    listener: socket.socket

    @classmethod
    def create(cls) -> PendingZygote:
        folder = tempfile.mkdtemp(prefix="deltalog-")
        zygote = cls(folder, socket.socket(socket.AF_UNIX))
        atexit.register(zygote.drop)
        zygote.listener.bind(f"{folder}/zygote")
        zygote.listener.listen(BACKLOG)
        return zygote

    @property
    def settings(self) -> dict[str, str]:
        """Settings by which Python daemons get the address."""
        return {f"spark.executorEnv.{ADDRESS}": f"{self.folder}/zygote"}

    def fork(self) -> None:
        """Forks the zygote, with all that is imported by now."""
        driver_lives, _ = os.pipe()  # the other end stays open as long as this process lives
        if os.fork():
            os.close(driver_lives)
            self.listener.close()
            return
        try:
            _close_all_but(self.listener.fileno(), driver_lives)
            Zygote(self.folder, self.listener, driver_lives).serve()
        finally:
            os._exit(0)

    def drop(self) -> None:
        """Closes the socket and deletes the folder, at the end of this process or if no zygote is needed."""
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)


# In the zygote.


@dataclass(slots=True)
class Zygote:
    """Forks a daemon for each stand-in that asks; `daemons` has the connection to the stand-in of each."""

    folder: str
    listener: socket.socket
    driver_lives: int
    daemons: dict[int, socket.socket] = field(default_factory=dict)

    def serve(self) -> None:
        """Serves until the driver and every daemon have ended."""
        gc.collect()
        gc.freeze()  # workers collect garbage after each task, and need not scan imported objects
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _streams([os.open(os.devnull, os.O_RDWR)] * 3)
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, _noticed)
        driver = True
        while driver or self.daemons:
            connections = {connection.fileno(): pid for pid, connection in self.daemons.items()}
            waiting = [woken, *connections, *([self.listener.fileno(), self.driver_lives] if driver else [])]
            for ready in _readable(waiting):
                if ready == woken:
                    os.read(woken, 4096)
                    self._reap()
                elif ready == self.listener.fileno():
                    self._fork()
                elif ready == self.driver_lives:
                    driver = False
                    self.listener.close()
                    shutil.rmtree(self.folder, ignore_errors=True)
                elif connections[ready] in self.daemons:
                    self._end(connections[ready])

    def _fork(self) -> None:
        connection, _ = self.listener.accept()
        try:
            connection.settimeout(HANDSHAKE_SECONDS)
            _, streams, _, _ = socket.recv_fds(connection, 1, 3)
            words, environment = json.loads(connection.makefile("rb").readline())
        except (OSError, ValueError):
            connection.close()
            return
        pid = os.fork()
        if not pid:
            self._become_daemon(streams, words, environment)
        for stream in streams:
            os.close(stream)
        self.daemons[pid] = connection

    def _become_daemon(self, streams: list[int], words: list[str], environment: dict[str, str]) -> NoReturn:
        """pyspark's own daemon, with the stand-in's streams, arguments and environment."""
        from pyspark.daemon import manager

        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.listener.close()
            _streams(streams)
            os.environ.clear()
            os.environ.update(environment)
            sys.argv = words
            more = environment.get("PYTHONPATH", "").split(os.pathsep)
            sys.path += [folder for folder in more if folder and folder not in sys.path]
            manager()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            os._exit(code)

    def _reap(self) -> None:
        """Collects daemons that have ended, and tells their stand-ins the exit codes."""
        while self.daemons:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            connection = self.daemons.pop(pid)
            with suppress(OSError):  # it may have ended, too
                connection.send(bytes([os.waitstatus_to_exitcode(status) & 255]))
            connection.close()

    def _end(self, pid: int) -> None:
        """Ends the daemon of a stand-in that was killed; `_reap` collects it."""
        os.kill(pid, signal.SIGTERM)
        self.daemons[pid].close()
        self.daemons[pid] = socket.socket(socket.AF_UNIX)


def _noticed(number: int, frame: FrameType | None) -> None:
    """A handler for SIGCHLD; the wakeup pipe tells `serve`."""


def _close_all_but(*kept: int) -> None:
    """Closes files of the driver, above all its ends of pipes, on whose end other processes wait."""
    bounds = [2, *sorted(kept), max(map(int, os.listdir("/dev/fd"))) + 1]
    for before, after in pairwise(bounds):
        os.closerange(before + 1, after)


def _readable(files: list[int]) -> list[int]:
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return [file for file, _ in poll.poll()]


def _streams(new: list[int]) -> None:
    """Replaces the standard streams, both file descriptors and Python's objects."""
    for number, stream in enumerate(new):
        os.dup2(stream, number)
    for stream in {stream for stream in new if stream > 2}:
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, buffering=1, closefd=False) for number, mode in enumerate("rww")
    )


# In the stand-in.


def handed_over() -> int | None:
    """Has the zygote fork a daemon and waits for it; returns its exit code, or None if there is no zygote."""
    address = os.environ.get(ADDRESS)
    if not address:
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
        socket.send_fds(connection, [b"\n"], [0, 1, 2])
        connection.sendall(json.dumps([sys.argv, dict(os.environ)]).encode() + b"\n")
    except OSError:
        return None
    told = connection.recv(1)
    return told[0] if told else 1
