"""The write-ahead log of SQLite, as far as SQLite does not check it.

SQLite takes the first frame whose checksum is wrong for the end of the log, since that is what a power failure leaves
of a last transaction. Damage in the middle would so take later changes with it, without a word. But a transaction is on
disk before the next one begins: if two of them end after such a frame, it was no power failure.

Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from deltalog.core.errors import DataError

_HEADER, _FRAME = struct.Struct(">8I"), struct.Struct(">6I")
_MASK = 0xFFFFFFFF


class _Frame(NamedTuple):
    commits: bool
    is_sound: bool


def damage_of_log(path: Path) -> str:
    """What is wrong with a write-ahead log that nobody writes to; nothing if it is sound, or there is none."""
    try:
        data = path.read_bytes()
    except OSError:
        return ""
    if len(data) <= _HEADER.size:
        return ""
    if _checksum(data[:24], (0, 0), _words(data)) != _HEADER.unpack_from(data)[6:]:
        return "the checksum of its header is wrong"
    frames = list(_frames(data))
    broken = next((number for number, frame in enumerate(frames) if not frame.is_sound), len(frames))
    later = sum(frame.commits for frame in frames[broken:])
    return f"the checksum of frame {broken + 1} is wrong, and {later} transactions follow" if later > 1 else ""


def check_log(path: Path, nobody_writes: Callable[[], bool]) -> None:
    """DataError if a log is damaged: SQLite would drop what follows. A writer that has come in the meantime may have
    changed it while it was read."""
    damage = damage_of_log(path)
    if damage and nobody_writes() and damage_of_log(path) == damage:
        raise DataError(f"{path} is damaged: {damage}; `deltalog store verify --repair` recovers what is left")


def _frames(data: bytes) -> Iterator[_Frame]:
    """The frames of this log; those of earlier ones, which may follow, have other salts."""
    _, _, page, _, *salts, one, other = _HEADER.unpack_from(data)
    words, size, sums, is_sound = _words(data), _FRAME.size + page, (one, other), True
    for start in range(_HEADER.size, len(data) - size + 1, size):
        _, commits, *found_salts, first, second = _FRAME.unpack_from(data, start)
        if found_salts != salts:
            is_sound = False
            continue
        if is_sound:
            sums = _checksum(data[start : start + 8], sums, words)
            sums = _checksum(data[start + _FRAME.size : start + size], sums, words)
            is_sound = sums == (first, second)
        yield _Frame(bool(commits), is_sound)


def _words(data: bytes) -> str:
    """The order of bytes in the words of checksums."""
    return ">" if data[3] & 1 else "<"


def _checksum(data: bytes, before: tuple[int, int], words: str) -> tuple[int, int]:
    one, other = before
    for even, odd in struct.iter_unpack(f"{words}II", data):
        one = (one + even + other) & _MASK
        other = (other + odd + one) & _MASK
    return one, other
