"""The lock of the one process that may write to a store. It is gone when the process ends, however it ends."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from deltalog.core.errors import UsageError
from deltalog.extensions.store.catalog import now

NAME = "writer.lock"


@dataclass(slots=True)
class WriterLock:
    """A lock that is held. The file says who holds it."""

    path: Path
    _file: BinaryIO

    @classmethod
    def take(cls, folder: Path) -> WriterLock:
        """UsageError if another process, or another knowledge base of this one, writes to the store."""
        path = folder / NAME
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            file = os.fdopen(os.open(path, flags, 0o666), "r+b", buffering=0)
        except OSError as problem:
            raise UsageError(
                f"{path} cannot be opened for writing ({problem.strerror}); "
                "get the right to write to the store, or open it with readonly=True"
            ) from None
        try:
            is_mine = _locked(file)
        except OSError as problem:
            file.close()
            raise UsageError(
                f"{path} cannot be locked ({problem.strerror}); keep the store on a local file system, or open it with "
                "readonly=True"
            ) from None
        if not is_mine:
            holder = _holder(file.read())
            file.close()
            raise UsageError(
                f"{folder} is being written to by {holder}; a store has one writer at a time: wait until it closes the "
                "store, or open it with readonly=True"
            )
        command = Path(sys.argv[0]).name or "python"
        mine = {"process": os.getpid(), "host": socket.gethostname(), "since": now(), "command": command}
        with suppress(OSError):  # a full disk
            file.truncate(0)
            file.write(json.dumps(mine).encode())
        return cls(path.absolute(), file)

    @classmethod
    def is_free(cls, folder: Path) -> bool:
        """Whether nobody seems to write to a store, by what the file says: trying to lock it would disturb writers."""
        try:
            holder = json.loads((folder / NAME).read_bytes() or b"{}")
            return not holder or (holder["host"] == socket.gethostname() and not _is_alive(holder["process"]))
        except FileNotFoundError:
            return True
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def is_in_place(self) -> bool:
        """Whether the file is still where it was: the store may have been moved, deleted or replaced."""
        try:
            there, mine = os.stat(self.path, follow_symlinks=False), os.fstat(self._file.fileno())
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)

    def leave(self) -> None:
        """In a forked process: the lock is the parent's, and must not outlive it here."""
        self._file.close()

    def release(self) -> None:
        with suppress(OSError):
            self._file.truncate(0)
        self._file.close()


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # where a signal ends the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _locked(file: BinaryIO) -> bool:
    """Takes the lock; False if somebody else has it. OSError if there are no locks here."""
    try:
        import fcntl
    except ImportError:  # Windows
        return _locked_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _locked_on_windows(file: BinaryIO) -> bool:
    import msvcrt

    try:
        file.seek(1 << 20)  # beyond the text, which others may read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        file.seek(0)
    except OSError:
        file.seek(0)
        return False
    return True


def _holder(text: bytes) -> str:
    try:
        found = json.loads(text)
        return f"process {found['process']} on {found['host']} ({found['command']}), since {found['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
