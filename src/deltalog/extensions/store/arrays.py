"""Files of arrays, which are memory-mapped and not parsed.

A file begins with MAGIC. Each array begins at a multiple of ALIGNMENT and is little-endian, in C order; zeros may
follow it, as space to grow. `StoredArray`, in the manifest of a snapshot, says where an array is, and has its CRC-32.

Files are mapped copy-on-write: what a knowledge base writes into its arrays stays in its own memory.
"""

from __future__ import annotations

import mmap
import os
import stat
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from deltalog.core.errors import DataError
from deltalog.extensions.store import files

MAGIC = b"deltalog arrays\n"
ALIGNMENT = 4096  # a page: pages that are written to hold nothing of another array
CHUNK = 1 << 24  # bytes between two checks of the limits

if sys.byteorder != "little":
    raise ImportError("a store has little-endian arrays; this machine is big-endian")


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array in a file."""

    offset: int
    dtype: str
    shape: tuple[int, ...]
    crc: int
    capacity: int = 0  # of a mapped array, in elements; 0: that of its shape

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * np.dtype(self.dtype).itemsize

    @classmethod
    def parse(cls, values: list[Any]) -> StoredArray:
        offset, dtype, shape, crc, capacity = values
        return cls(offset, dtype, tuple(shape), crc, capacity)

    def listed(self) -> list[Any]:
        return [self.offset, self.dtype, list(self.shape), self.crc, self.capacity]


@dataclass(slots=True)
class ArrayWriter:
    """A new file of arrays; `check` is called now and then."""

    file: BinaryIO
    check: Callable[[], None]
    _end: int = 0

    @classmethod
    def create(cls, path: Path, check: Callable[[], None]) -> ArrayWriter:
        writer = cls(files.create(path), check)
        try:
            files.write(writer.file, MAGIC)
        except BaseException:
            writer.abandon()
            raise
        writer._end = len(MAGIC)
        return writer

    def add(self, array: NDArray[Any], capacity: int = 0) -> StoredArray:
        """Writes an array, with space for `capacity` elements."""
        array = np.ascontiguousarray(array)
        offset = -(-self._end // ALIGNMENT) * ALIGNMENT
        files.extend(self.file, offset)
        data, crc = _bytes(array), 0
        for first in range(0, len(data), CHUNK):
            self.check()
            part = data[first : first + CHUNK]
            crc = zlib.crc32(part, crc)
            files.write(self.file, part)
        capacity = max(capacity, array.size)
        self._end = offset + capacity * array.itemsize
        files.extend(self.file, self._end)
        return StoredArray(offset, array.dtype.str, array.shape, crc, capacity)

    def close(self) -> None:
        """Waits until the file is on disk."""
        with self.file:
            files.sync(self.file)

    def abandon(self) -> None:
        self.file.close()


@dataclass(slots=True)
class MappedFile:
    """A file of arrays, mapped into memory."""

    path: Path
    _map: mmap.mmap = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> MappedFile:
        with files.opened(path) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise damaged(path, "it is not a file")
            if os.fstat(file.fileno()).st_size < len(MAGIC):
                raise damaged(path, "it is cut short")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        if mapped[: len(MAGIC)] != MAGIC:
            raise damaged(path, "it is not a file of arrays")
        return cls(path, mapped)

    def array(self, stored: StoredArray, with_capacity: bool = False) -> NDArray[Any]:
        """An array, unchecked; with the space that follows it, as one dimension."""
        count = max(stored.capacity, stored.size) if with_capacity else stored.size
        if stored.offset + count * np.dtype(stored.dtype).itemsize > len(self._map):
            raise damaged(self.path, "it is cut short")
        found = np.frombuffer(self._map, stored.dtype, count, stored.offset)
        return found if with_capacity else found.reshape(stored.shape)

    def is_sound(self, stored: StoredArray) -> bool:
        """Whether the array is as it was written."""
        return zlib.crc32(_bytes(self.array(stored))) == stored.crc

    def checked(self, stored: StoredArray) -> NDArray[Any]:
        """An array; DataError if it is not as it was written."""
        if not self.is_sound(stored):
            raise damaged(self.path, "its checksum is wrong")
        return self.array(stored)


def _bytes(array: NDArray[Any]) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def damaged(path: Path, how: str) -> DataError:
    return DataError(f"{path} is damaged: {how}; `deltalog store verify --repair` recovers what is left")
