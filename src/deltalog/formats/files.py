"""Format, compression and predicate by file name; opening files, with a limit on decompressed data.

A name is `stem.format` or `stem.format.compression`, in any case: `edge.csv`, `edge.csv.gz`, `univ.nt.zst`.

A compressed file of a few kilobytes can expand to terabytes. The decompressed size may be at most RATIO times the
compressed size (ALLOWANCE bytes are always allowed); larger files are refused.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from deltalog.core.arguments import path_text
from deltalog.core.errors import DataError, UsageError
from deltalog.core.limits import check_running
from deltalog.core.watching import watcher
from deltalog.formats.formats import COMPRESSIONS, INPUT_FORMATS

PIECE = 1 << 20  # bytes that are read between two checks of the limits
RATIO = 1000
ALLOWANCE = 100 * 2**20
_NO_MEMORY = "Error -4 "  # Z_MEM_ERROR of zlib, which has no other mark


class Name(NamedTuple):
    """The parts of a file name; `format` and `compression` are empty if unknown."""

    stem: str
    format: str
    compression: str


def name_of(path: Path) -> Name:
    """The parts of a file name."""
    stem, compression = path.name, ""
    for suffix in COMPRESSIONS:
        if stem.lower().endswith(suffix):
            stem, compression = stem[: -len(suffix)], suffix
    for suffix, format in INPUT_FORMATS.items():
        if stem.lower().endswith(suffix):
            return Name(stem[: -len(suffix)], format, compression)
    return Name(stem, "", compression)


def local_path(path: str | PathLike[str]) -> Path:
    """The path of a file of this machine, which may be a `file:` URI; UsageError for other URIs."""
    text = path_text(path)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", text)
    if scheme is not None and scheme[1] != "file":
        raise UsageError(
            f"{text}: only files of this machine can be read and written here; for {scheme[1]}: URIs, use a pipeline "
            "(docs/pipelines.md)"
        )
    return Path(text[len("file://") :]) if scheme is not None else Path(text)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed. Errors while reading are DataErrors."""
    try:
        stream, position = _open(path, name_of(path).compression)
        with stream:
            watcher().opened(position)
            yield stream
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (EOFError, zlib.error) as problem:
        if str(problem).startswith(_NO_MEMORY):
            raise MemoryError from None
        raise DataError(f"{path}: the compressed file is damaged or cut short ({problem})") from None
    except OSError as problem:
        if problem.errno == errno.ENOMEM:
            raise MemoryError from None
        what = "cannot be read" if problem.errno else "the compressed file is damaged or cut short"
        raise DataError(f"{path}: {what} ({problem.strerror or problem})") from None


def read_all(path: Path) -> bytes:
    """All bytes of a file, decompressed."""
    with opened(path) as stream:
        return b"".join(iter(lambda: _piece(stream), b""))


def _piece(stream: BinaryIO) -> bytes:
    check_running()
    return stream.read(PIECE)


def _open(path: Path, compression: str) -> tuple[BinaryIO, Callable[[], int]]:
    """The bytes of a file, decompressed, and what tells how many bytes of the file itself have been read."""
    if not compression:
        plain = _CheckedFile(path)
        return cast(BinaryIO, plain), plain.tell
    size = path.stat().st_size
    if not size and path.is_file():  # every compressor writes a header, and decompressors take nothing for no data
        raise EOFError("it is empty")
    bound = ALLOWANCE + RATIO * size
    raw: Any
    file: Any
    match compression:
        case ".gz":
            file = io.FileIO(path)
            raw = gzip.GzipFile(fileobj=file, mode="rb")
        case ".bz2":
            file = io.FileIO(path)
            raw = bz2.BZ2File(file, "rb")
        case _:
            import pyarrow as pa

            file = pa.OSFile(str(path))
            raw = pa.CompressedInputStream(file, "zstd")
    return cast(BinaryIO, io.BufferedReader(_Bounded(raw, file, bound, path), 2**20)), file.tell


def _checked_part(buffer: Any) -> memoryview:
    """The part of a buffer that is filled before the next check of the limits."""
    check_running()
    return memoryview(buffer)[:PIECE]


class _CheckedFile(io.FileIO):
    """A file whose reader checks the limits, however long its lines are."""

    def readinto(self, buffer: Any) -> int:
        return super().readinto(_checked_part(buffer))


class _Bounded(io.RawIOBase):
    """The bytes of a decompressor, up to a limit."""

    def __init__(self, stream: Any, file: Any, bound: int, path: Path) -> None:
        self._stream, self._file, self._left, self._path = stream, file, bound, path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = int(self._stream.readinto(_checked_part(buffer)))
        self._left -= count
        if self._left < 0:
            raise DataError(
                f"{self._path}: refused, because it grows more than {RATIO} times when decompressed; "
                "decompress it first if you trust it"
            )
        return count

    def close(self) -> None:
        self._stream.close()
        self._file.close()
        super().close()
