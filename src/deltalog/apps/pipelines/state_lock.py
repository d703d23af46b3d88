"""The lock of a state: a file `LOCK` that says which run writes it. One run at a time may.

The file is created only if there is none. A lock whose process has died on this machine is stale, and is taken over, so
a run that was killed needs no clean-up. Whether a process of another machine lives is not known: such a lock stays
until someone deletes the file. A run checks before it writes that the lock is still its own.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import uuid
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deltalog.apps.pipelines.hadoop import Hadoop
from deltalog.core.errors import DataError, DeltalogError

log = logging.getLogger(__name__)
LOCK = "LOCK"


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a lock. `birth` tells it from a later process with the same number."""

    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    birth: str | None = field(default_factory=lambda: birth(os.getpid()))
    since: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def is_dead(self) -> bool:
        """Whether the process is known to have ended."""
        return self.host == socket.gethostname() and birth(self.pid) != self.birth

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


def birth(pid: int) -> str | None:
    """The time at which a process of this machine started, in ticks ("" if the system does not tell); None if there is
    no such process, or it has ended and waits for its parent."""
    if Path("/proc/self/stat").exists():
        try:
            status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if status[0] in "ZX" else status[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return ""


class StateLock:
    """The lock of a state, held until the end of a `with` block."""

    def __init__(self, spark: Any, state: str) -> None:
        """Takes the lock; DataError if another run holds it."""
        self._hadoop, self._holder = Hadoop(spark), Holder()
        self._uri = f"{self._hadoop.qualified(state).rstrip('/')}/{LOCK}"
        self._hadoop.make_folder(state)
        other = self._taken()
        if other is not None and other.is_dead:
            log.info("%s was held by %s, which has ended", self._uri, other)
            self._hadoop.delete(self._uri)
            other = self._taken()
        if other is not None:
            raise DataError(
                f"another run writes this state: {other}; wait for it, or if it has ended for sure, delete {self._uri}"
            )

    def _taken(self) -> Holder | None:
        """Creates the file; who has it, if it is there already."""
        is_new = self._hadoop.create_text(self._uri, json.dumps(asdict(self._holder)) + "\n")
        return None if is_new else self._found() or Holder("an unknown host", 0, None, "an unknown time")

    def _found(self) -> Holder | None:
        """Who has the lock now, if the file is there and says so."""
        try:
            return Holder(**json.loads(self._hadoop.read_text(self._uri)))
        except (DataError, ValueError, TypeError):
            return None

    def check(self) -> None:
        """DataError if the lock is not this run's any more."""
        found = self._found()
        if found != self._holder:
            raise DataError(
                f"{self._uri} was deleted or taken over ({found or 'by nobody yet'}) while this run was under way; "
                "let one run at a time use a state, and start this one again"
            )

    def __enter__(self) -> StateLock:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._found() == self._holder:
                self._hadoop.delete(self._uri)
        except DeltalogError as problem:  # the session has ended: the lock is stale as soon as this process has
            log.warning("the lock of the state stays: %s", problem)
