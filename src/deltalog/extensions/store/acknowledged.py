"""The newest version that a writer has acknowledged, in a file outside of SQLite's log.

SQLite takes a write-ahead log that is missing or cut short for one that ends there. This file tells such a loss from a
power failure: a change is written to the log and flushed, then its version to this file and flushed, and then the call
returns. After a crash in between, the log has one version more than the file says, which is no loss. A log that has
fewer versions has lost some that were acknowledged.

The file has two slots, each in a block of its own: a line of JSON, filled up with blanks. A version goes to the slot
with the older one, so a write that is cut off leaves the other slot. Readers read this file before the catalog: then
the catalog is never behind it because of a writer.
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import NamedTuple

from deltalog.core.errors import DataError
from deltalog.extensions.store import files

NAME = "acknowledged"
_SLOT, _SLOTS = 4096, 2  # bytes of a block of usual file systems


class Acknowledged(NamedTuple):
    """A version of a store, by the id of the store."""

    store: str
    version: int

    def missing(self, newest: int) -> range:
        """The versions that a catalog with this newest version has lost."""
        return range(newest + 1, self.version + 1)


def read_acknowledged(folder: Path) -> Acknowledged | None:
    """What the file of a store says; None if there is no file, as in stores of earlier releases. DataError if it is
    damaged."""
    path = folder / NAME
    if not path.exists() and not path.is_symlink():
        return None
    with files.opened(path) as file:
        found = [each for each in _slots(file.read(_SLOT * _SLOTS)) if each is not None]
    if not found:
        raise DataError(f"{path} is damaged: its checksums are wrong; `deltalog store verify --repair` writes it anew")
    return max(found, key=lambda each: each.version)


def acknowledge(folder: Path, mine: Acknowledged) -> None:
    """Writes a version, which the log has on disk; it is on disk when this returns."""
    path = folder / NAME
    if not path.exists():
        replace_acknowledged(folder, mine)
        return
    with files.opened_to_change(path) as file:
        slots = _slots(file.read(_SLOT * _SLOTS))
        oldest = min(range(_SLOTS), key=lambda i: -1 if (slot := slots[i]) is None else slot.version)
        file.seek(oldest * _SLOT)
        files.write(file, _encoded(mine))
        files.sync_data(file)


def replace_acknowledged(folder: Path, mine: Acknowledged) -> None:
    """Writes a new file in place of an old one, or of none."""
    new = files.unused(folder / f"{NAME}.new")
    with files.create(new) as file:
        files.write(file, _encoded(mine) * _SLOTS)
        files.sync(file)
    os.replace(new, folder / NAME)
    files.sync_folder(folder)


def _encoded(mine: Acknowledged) -> bytes:
    text = json.dumps(mine._asdict() | {"crc": _checksum(mine)})
    return text.encode().ljust(_SLOT - 1) + b"\n"


def _slots(data: bytes) -> list[Acknowledged | None]:
    return [_decoded(data[_SLOT * i : _SLOT * (i + 1)]) for i in range(_SLOTS)]


def _decoded(data: bytes) -> Acknowledged | None:
    """A slot; None if it is damaged."""
    try:
        found = json.loads(data)
        mine = Acknowledged(str(found["store"]), int(found["version"]))
        return mine if found["crc"] == _checksum(mine) else None
    except (ValueError, KeyError, TypeError):
        return None


def _checksum(mine: Acknowledged) -> int:
    return zlib.crc32(f"{mine.store} {mine.version}".encode())
