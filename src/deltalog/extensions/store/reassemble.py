"""Puts the files of a snapshot together that are in the folders of others, as after copies to wrong places.

The catalog has the checksum of each manifest, and a manifest those of the arrays in both other files. So each file can
be found by its contents, wherever it is. Files are copied, and a snapshot that is put together has a folder of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from deltalog.core.errors import DataError
from deltalog.extensions.store import files
from deltalog.extensions.store.arrays import MappedFile
from deltalog.extensions.store.examine import (
    CAN_BE_MADE_AGAIN,
    SNAPSHOTS,
    Examined,
    FoundSnapshot,
    damage_of_array,
    examine_snapshot,
    stored_arrays,
)
from deltalog.extensions.store.snapshot_files import DICTIONARY, MANIFEST, RELATIONS, read_manifest
from deltalog.extensions.store.store import add_snapshot_folder


class Reassembled(NamedTuple):
    """Snapshots of which some were put together, and what was done, in words."""

    snapshots: list[FoundSnapshot]
    recovered: list[str]


def reassemble(found: Examined) -> Reassembled:
    """Puts damaged snapshots together, as far as their files are in other folders."""
    done = Reassembled([], [])
    for snapshot in found.snapshots:
        better = None if snapshot.is_sound else _put_together(found.folder, snapshot)
        done.snapshots.append(better or snapshot)
        if better is not None:
            done.recovered.append(f"files of the snapshot of version {better.version}, from the folders of others")
    return done


def _put_together(store: Path, snapshot: FoundSnapshot) -> FoundSnapshot | None:
    """A snapshot of the best files there are; None if these are its own."""
    folders = _folders(store / SNAPSHOTS, snapshot.folder)
    place, manifest = _manifest(snapshot, folders)
    if not manifest:
        return None
    chosen = {MANIFEST: place} | {file: _best(file, manifest, folders) for file in (DICTIONARY, RELATIONS)}
    if set(chosen.values()) == {snapshot.folder}:
        return None
    name, _ = add_snapshot_folder(store, manifest["version"], lambda folder: _copy(chosen, folder))
    row = None if snapshot.row is None else snapshot.row._replace(folder=name)
    return examine_snapshot(store / SNAPSHOTS / name, row)


def _folders(place: Path, own: Path) -> list[Path]:
    """All folders with snapshots, a snapshot's own first."""
    others = [path for path in files.listed(place) if path.is_dir() and not path.is_symlink() and path != own]
    return [own, *others]


def _manifest(snapshot: FoundSnapshot, folders: list[Path]) -> tuple[Path, Mapping[str, Any]]:
    """The manifest that the catalog means, and where it is; without a row, the one in the folder."""
    for folder in folders if snapshot.row is not None else folders[:1]:
        with suppress(DataError):
            manifest, _ = read_manifest(folder, None if snapshot.row is None else snapshot.row.crc)
            return folder, manifest
    return snapshot.folder, {}


def _best(file: str, manifest: Mapping[str, Any], folders: list[Path]) -> Path:
    """The folder whose file has the most arrays of a manifest, above all those that cannot be made again; the first of
    several."""
    return max(folders, key=lambda folder: _sound_arrays(folder / file, manifest))


def _sound_arrays(path: Path, manifest: Mapping[str, Any]) -> tuple[int, int]:
    """How many arrays of a file are sound: those that cannot be made again, and all."""
    try:
        source = MappedFile.open(path)
    except DataError:
        return -1, -1
    wanted = [(part, stored) for file, part, stored, _ in stored_arrays(manifest) if file == path.name]
    sound = [part for part, stored in wanted if not damage_of_array(source, stored)]
    return sum(part not in CAN_BE_MADE_AGAIN for part in sound), len(sound)


def _copy(chosen: Mapping[str, Path], folder: Path) -> None:
    for file, source in chosen.items():
        with suppress(DataError):  # it is missing everywhere
            files.copy(source / file, folder / file)
    files.sync_folder(folder)
