"""The files of a store. Everything that a snapshot writes goes through these functions, so tests can make each fail.

A file counts once it is written, flushed to disk (`fsync`), and its folder with it. No file is opened through a
symbolic link.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from deltalog.core.errors import DataError

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def create(path: Path) -> BinaryIO:
    """A new file, for writing."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666), "wb", buffering=0)


def write(file: BinaryIO, data: memoryview | bytes) -> None:
    """Writes all of some bytes."""
    left = memoryview(data).cast("B")
    while left:
        left = left[file.write(left) :]


def extend(file: BinaryIO, size: int) -> None:
    """Extends a file with zeros, which take no space on disk where the file system has sparse files."""
    end = file.seek(0, os.SEEK_END)
    file.truncate(size)
    if size > end and _is_memory(os.fstat(file.fileno()).st_dev):
        os.posix_fallocate(file.fileno(), end, size - end)
    file.seek(size)


@cache
def _is_memory(device: int) -> bool:
    """Whether a file system is in memory. If it is full, mapped pages without space end the process (SIGBUS)."""
    number = f"{os.major(device)}:{os.minor(device)}" if hasattr(os, "major") else ""
    with suppress(OSError, ValueError):
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        return any(each[2] == number and each[each.index("-") + 1] in ("tmpfs", "ramfs") for each in mounts)
    return False


def sync(file: BinaryIO) -> None:
    """Waits until a file is on disk."""
    os.fsync(file.fileno())


def sync_data(file: BinaryIO) -> None:
    """Waits until the bytes of a file are on disk; its size has not changed."""
    getattr(os, "fdatasync", os.fsync)(file.fileno())


def sync_folder(folder: Path) -> None:
    """Waits until the names of a folder are on disk."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def changed_by(path: Path) -> list[Path]:
    """The folders whose names change when a folder is made, with the folders above it that are missing."""
    made = [path.absolute(), *path.absolute().parents]
    first = next(number for number, folder in enumerate(made) if folder.exists())
    return made[: max(first, 1) + 1]


def rename(old: Path, new: Path) -> None:
    """Gives a complete file or folder its name."""
    os.rename(old, new)


def write_text(path: Path, text: str) -> None:
    """Writes a new file, durably."""
    with create(path) as file:
        write(file, text.encode())
        sync(file)


def opened(path: Path) -> BinaryIO:
    """A file for reading; DataError if it is missing, a link, or cannot be read."""
    try:
        return os.fdopen(os.open(path, os.O_RDONLY | _NO_LINK), "rb", buffering=0)
    except FileNotFoundError:
        raise DataError(f"{path} is missing; `deltalog store verify` says what can be recovered") from None
    except OSError as problem:
        reason = "it is a symbolic link" if path.is_symlink() else problem.strerror
        raise DataError(f"{path} cannot be read ({reason}); a store has plain files of its own") from None


def opened_to_change(path: Path) -> BinaryIO:
    """A file that there is, for reading and writing."""
    return os.fdopen(os.open(path, os.O_RDWR | _NO_LINK), "r+b", buffering=0)


def listed(folder: Path) -> list[Path]:
    """What a folder has; DataError if it is missing or cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError as problem:
        raise DataError(
            f"{folder} cannot be read ({problem.strerror}); `deltalog store verify` says what can be recovered"
        ) from None


def unused(path: Path) -> Path:
    """A path that nothing has: itself, or with a number."""
    number, found = 1, path
    while found.exists() or found.is_symlink():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found


def copy(source: Path, target: Path) -> None:
    """Copies a file, durably."""
    with opened(source) as old, create(target) as new:
        shutil.copyfileobj(old, new, 1 << 20)
        sync(new)


def size_on_disk(folder: Path) -> int:
    """The bytes that the files of a folder take."""
    return sum(getattr(file.stat(), "st_blocks", file.stat().st_size // 512) * 512 for file in folder.iterdir())


def remove_folder(folder: Path) -> None:
    """Removes a folder and what it has, as far as that is possible."""
    with suppress(OSError):
        shutil.rmtree(folder)
