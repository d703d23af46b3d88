"""A store: a folder with a knowledge base and its history.

    catalog.db        versions, the log of changes, and which snapshots count (`catalog`)
    acknowledged      the newest version that a writer has acknowledged (`acknowledged`)
    snapshots/N       version N as arrays (`snapshot_files`)
    writer.lock       who writes to the store now (`writer_lock`)

The newest version is the newest snapshot and the changes after it, applied as one update. Each change is on disk before
it is made in memory. A snapshot counts when the catalog says so; what is left of others is removed by the next writer.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar
from weakref import WeakSet

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, UsageError
from deltalog.core.tuning import Tuning
from deltalog.extensions.store import files
from deltalog.extensions.store.acknowledged import NAME as ACKNOWLEDGED
from deltalog.extensions.store.acknowledged import Acknowledged, acknowledge, read_acknowledged, replace_acknowledged
from deltalog.extensions.store.arrays import damaged
from deltalog.extensions.store.catalog import NAME, REPAIR, Catalog, SnapshotRow, VersionRow, log_file, now
from deltalog.extensions.store.log_entry import LogEntry
from deltalog.extensions.store.report import missing_versions
from deltalog.extensions.store.snapshot_files import (
    LimitCheck,
    Snapshot,
    StoredTables,
    write_snapshot,
)
from deltalog.extensions.store.wal_file import check_log
from deltalog.extensions.store.writer_lock import WriterLock
from deltalog.extensions.versions import Growth, VersionContents

SNAPSHOTS, UNFINISHED = "snapshots", ".unfinished"
T = TypeVar("T")


class Image(NamedTuple):
    """What a snapshot is made of: a version of a knowledge base in memory."""

    contents: VersionContents
    tables: StoredTables
    dictionary: Dictionary


class StoredVersion(NamedTuple):
    """A version as the store has it: a snapshot, and the changes that lead on to the version."""

    version: int
    snapshot: Snapshot
    changes: list[LogEntry]


class Dropped(NamedTuple):
    """What a compaction has dropped."""

    versions: range  # that cannot be opened any more
    bytes: int


@dataclass(slots=True, weakref_slot=True, eq=False)
class Store:
    """A store that is open. `version` is the last one that was read or written here."""

    folder: Path  # as it was named, for messages
    place: Path  # the same, wherever the process changes to
    tuning: Tuning
    catalog: Catalog
    lock: WriterLock | None  # None: read-only
    version: int
    _process: int = field(default_factory=os.getpid)
    _uncertain: bool = False  # whether a write has failed such that it may have been made
    _closed: bool = False
    _since: Growth = field(default_factory=Growth)  # since the last snapshot
    _id: str = ""

    def __post_init__(self) -> None:
        _open_stores.add(self)

    # Opening and closing.

    @classmethod
    def create(cls, folder: Path, image: Image, rows: VersionRow, tuning: Tuning, check: LimitCheck) -> None:
        """Makes a store in a folder, which exists and is empty, with a first version. OSError if it cannot be
        written."""
        (folder / SNAPSHOTS).mkdir()
        snapshot = _write(folder, rows.version, image, check)
        store = Catalog.create(folder / NAME, tuning, [rows], [snapshot])
        replace_acknowledged(folder, Acknowledged(store, rows.version))

    @classmethod
    def open(cls, folder: Path, tuning: Tuning, readonly: bool = False) -> Store:
        """The store of a folder. A writer removes what another one has left unfinished."""
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such store; `deltalog run --store` and kb.save create one")
        Catalog.open(folder, tuning, readonly=True).close()  # before a lock is made in a folder that is no store
        lock = None if readonly else WriterLock.take(folder)
        try:
            if lock is not None or WriterLock.is_free(folder):
                check_log(log_file(folder), lambda: lock is not None or WriterLock.is_free(folder))
            acknowledged = read_acknowledged(folder)  # before the catalog, which a writer changes first
            catalog = Catalog.open(folder, tuning, readonly)
            store = cls(folder, folder.absolute(), tuning, catalog, lock, 0)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        try:
            store._begin(acknowledged)
        except BaseException:
            store.close()
            raise
        return store

    def _begin(self, acknowledged: Acknowledged | None) -> None:
        if (self.place / SNAPSHOTS).is_symlink():
            raise damaged(self.place / SNAPSHOTS, "it is a symbolic link")
        self.version, self._id = self.catalog.newest, self.catalog.id
        if acknowledged is not None:
            self._check_acknowledged(acknowledged)
        if self.lock is not None:
            self._clean()
            snapshots = self.catalog.snapshots()
            self._since = self.catalog.since(max((row.version for row in snapshots), default=0))

    def _check_acknowledged(self, acknowledged: Acknowledged) -> None:
        """DataError if versions have been lost, with SQLite's log or with a newer copy of the catalog."""
        if acknowledged.store != self._id:
            raise DataError(f"{self.catalog.path} is not the catalog of this store, or it is damaged; {REPAIR}")
        if missing := acknowledged.missing(self.version):
            raise DataError(
                f"{self.folder}: {missing_versions(missing)} (the newest one here is {self.version}); put the missing "
                "file back, or restore the store from a backup, or run `deltalog store verify --repair` to go on "
                "without them"
            )

    def close(self) -> None:
        """Closes the files; a lock goes with them. May be called twice."""
        if self._process == os.getpid():  # else they are the parent's
            self.catalog.close()
            if self.lock is not None:
                self.lock.release()
        self.lock, self._closed = None, True

    @property
    def readonly(self) -> bool:
        return self.lock is None

    @property
    def is_writable(self) -> bool:
        return self.lock is not None and self._process == os.getpid() and not self._uncertain

    @property
    def is_closed(self) -> bool:
        return self._closed

    def left_to_parent(self) -> None:
        """After a fork: the store belongs to the parent, and cannot be used from here."""
        self._process = 0
        self.catalog.leave_open()
        if self.lock is not None:
            self.lock.leave()

    def check_open(self) -> None:
        """UsageError if the store cannot be used here."""
        if self._closed:
            raise UsageError(f"{self.folder} is closed; open it again with KnowledgeBase.open")
        if self._process != os.getpid():
            raise UsageError(f"{self.folder} was opened by the parent of this process; open it again here")

    def check_writable(self) -> None:
        """UsageError if the store cannot be changed here."""
        self.check_open()
        if self.readonly:
            raise UsageError(f"{self.folder} is open for reading only; open it with readonly=False to change it")
        if self.lock is not None and not self.lock.is_in_place():
            raise UsageError(
                f"{self.folder} has been moved, deleted or replaced since it was opened here; nothing was changed. "
                "Open the store again where it is now"
            )
        if self._uncertain:
            raise UsageError(
                f"{self.folder}: the last change failed while it was written, and may have been made; "
                "close the store and open it again"
            )

    def _clean(self) -> None:
        """Removes snapshots that do not count."""
        counted = {row.folder for row in self.catalog.snapshots()}
        for folder in files.listed(self.place / SNAPSHOTS):
            if folder.name not in counted and not folder.is_symlink():
                files.remove_folder(folder)

    # Reading.

    def load(self, version: int | None = None) -> StoredVersion:
        """A version, by default the newest, from the newest snapshot before it."""
        self.check_open()
        while True:
            with self.catalog.reading():
                newest, snapshots = self.catalog.newest, self.catalog.snapshots()
                row = self._base(snapshots, newest if version is None else version, newest)
                last = newest if version is None else version
                changes = [entry for _, entry in self.catalog.entries(row.version, last)]
            try:
                snapshot = Snapshot.open(self.snapshot_folder(row), row.crc, row.version)
            except DataError:
                if row in self.catalog.snapshots():
                    raise
                continue  # it was dropped in the meantime
            self.version = last
            return StoredVersion(last, snapshot, changes)

    def _base(self, snapshots: list[SnapshotRow], version: int, newest: int) -> SnapshotRow:
        if not snapshots:
            raise DataError(f"{self.folder} has no snapshot; `deltalog store verify` says what can be recovered")
        oldest = snapshots[-1].version
        if not oldest <= version <= newest:
            raise UsageError(
                f"{self.folder} has no version {version}: versions {oldest} to {newest} can be opened"
                + (f", and {self.folder} has dropped those before" if 0 < version < oldest else "")
            )
        base = next(row for row in snapshots if row.version <= version)
        if base.version < version and any(version in each for each in self.catalog.unlogged()):
            raise UsageError(f"version {version} of {self.folder} was lost to damage; newer ones can be opened")
        return base

    def snapshot_folder(self, row: SnapshotRow) -> Path:
        if Path(row.folder).name != row.folder or row.folder in ("", ".", ".."):
            raise DataError(f"{self.catalog.path} is damaged: {row.folder!r} is not the name of a snapshot")
        return self.place / SNAPSHOTS / row.folder

    def changes_since(self, version: int) -> list[LogEntry] | None:
        """The changes after a version up to the newest one, which `version` is from now on; None if some have been
        dropped."""
        self.check_open()
        with self.catalog.reading():
            newest, snapshots = self.catalog.newest, self.catalog.snapshots()
            if version < min((row.version for row in snapshots), default=0):
                return None
            if any(each.stop > version + 1 for each in self.catalog.unlogged()):
                return None
            changes = [entry for _, entry in self.catalog.entries(version, newest)]
        self.version = newest
        return changes

    # Writing.

    def append(self, entry: LogEntry, added: int, removed: int) -> None:
        """Writes a change of so many explicit facts as the next version; it is on disk when this returns."""
        self.check_writable()
        rules = len(entry.rules.added), len(entry.rules.removed)
        row = VersionRow(self.version + 1, now(), added, removed, *rules)
        try:
            self.catalog.append(row, entry)
        except sqlite3.Error as problem:
            self._uncertain = _may_be_written(problem) or self.settled() >= row.version
            what = "may or may not have been made" if self._uncertain else "was not made"
            raise DataError(f"{self.folder} cannot be written ({problem}); the change {what}") from None
        self.version = row.version
        self._since = Growth(self._since.changes + 1, self._since.rows + added + removed)
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Says outside of the log that it has the present version; DataError if that cannot be written."""
        try:
            acknowledge(self.place, Acknowledged(self._id, self.version))
        except OSError as problem:
            raise DataError(
                f"{self.place / ACKNOWLEDGED} cannot be written ({problem.strerror}); the change was made as version "
                f"{self.version}, but if the log were lost, nothing would tell that this version is missing"
            ) from None

    def settled(self) -> int:
        """The newest version, also after a call that failed or was interrupted, whose change may be on disk."""
        try:
            self.version = self.catalog.newest
        except DataError:
            self._uncertain = True
        return self.version

    def is_due(self, facts: int) -> str:
        """Why a snapshot should be taken now, of so many explicit facts; nothing if it should not."""
        tuning = self.tuning
        most = tuning.store_max_changes, tuning.compact_delta_share, tuning.store_min_change_rows
        return self._since.due(facts, *most)

    def take_snapshot(self, image: Image, check: LimitCheck, keep: int | None = None) -> tuple[SnapshotRow, Dropped]:
        """Writes the present version as a snapshot. The last ones are kept, and older ones dropped."""
        self.check_writable()
        try:
            snapshot = _write(self.place, self.version, image, check)
        except OSError as problem:
            reason = problem.strerror or problem
            raise DataError(f"{self.folder} cannot be written ({reason}); no snapshot was taken") from None
        self.catalog.add_snapshot(snapshot)
        self._since = Growth()
        return snapshot, self._drop(keep or self.tuning.store_kept_snapshots)

    def postpone_snapshot(self) -> None:
        """After one that failed: the next one is due after as many changes again."""
        self._since = Growth()

    def _drop(self, keep: int) -> Dropped:
        rows = self.catalog.snapshots()
        kept, dropped = rows[:keep], rows[keep:]
        if dropped:
            self.catalog.drop_snapshots([row.version for row in dropped])
        self._clean()
        first = dropped[-1].version if dropped else kept[-1].version
        return Dropped(range(first, kept[-1].version), sum(row.bytes for row in dropped))


_open_stores: WeakSet[Store] = WeakSet()


def _after_fork() -> None:
    for store in list(_open_stores):
        store.left_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _may_be_written(problem: sqlite3.Error) -> bool:
    """Whether a transaction that failed like this may be found in the log after a crash: it was written, but the disk
    did not say that it has it."""
    code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_IOERR)
    return bool(code & 0xFF == sqlite3.SQLITE_IOERR and code != sqlite3.SQLITE_IOERR_WRITE)


def _write(folder: Path, version: int, image: Image, check: LimitCheck) -> SnapshotRow:
    """Writes a snapshot under a name of its own."""
    name, written = add_snapshot_folder(folder, version, lambda empty: write_snapshot(empty, version, *image, check))
    return SnapshotRow(version, name, written.crc, written.bytes, written.facts)


def add_snapshot_folder(folder: Path, version: int, fill: Callable[[Path], T]) -> tuple[str, T]:
    """Adds a folder for a snapshot of a version, which has all of its files or is not there; its name, and what filling
    it returned."""
    place = folder / SNAPSHOTS
    name = next(name for name in _names(version) if not (place / name).exists())
    unfinished = place / f"{name}{UNFINISHED}"
    try:
        files.remove_folder(unfinished)
        unfinished.mkdir()
        written = fill(unfinished)
        files.rename(unfinished, place / name)
        files.sync_folder(place)
    finally:
        with suppress(OSError):
            files.remove_folder(unfinished)
    return name, written


def write_numbered(folder: Path, version: int, image: Image) -> SnapshotRow:
    """Writes the snapshot of a version, which does not count yet, without limits."""
    return _write(folder, version, image, lambda: None)


def _names(version: int) -> Iterator[str]:
    """Names for the snapshot of a version, which may have one already."""
    yield str(version)
    number = 1
    while True:
        number += 1
        yield f"{version}-{number}"
