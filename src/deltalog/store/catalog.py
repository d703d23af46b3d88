"""The catalog of a store: versions, the log of changes, and which snapshots count. A SQLite database.

    meta        format, the id of the store, when it was created
    versions    a row for each version there ever was: time, and what it changed, in numbers
    changes     the log: what each version changed (`log_entry`), in parts, with a checksum
    snapshots   the snapshots that count, with the checksum of their manifest

A change is one transaction, in write-ahead mode with `synchronous=FULL`: when it returns, it is on disk. Readers have a
transaction of their own, so they see whole versions while a writer goes on.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import uuid4

from deltalog.model.errors import DataError
from deltalog.model.tuning import Tuning
from deltalog.store.log_entry import LogEntry

FORMAT = 1
NAME = "catalog.db"
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE versions (
    version INTEGER PRIMARY KEY, time TEXT NOT NULL, added_facts INTEGER NOT NULL, removed_facts INTEGER NOT NULL,
    added_rules INTEGER NOT NULL, removed_rules INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE changes (
    version INTEGER NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (version, part));
CREATE TABLE snapshots (
    version INTEGER PRIMARY KEY, folder TEXT NOT NULL, crc INTEGER NOT NULL, bytes INTEGER NOT NULL,
    facts INTEGER NOT NULL);
"""


class VersionRow(NamedTuple):
    """A version in numbers; facts are explicit ones."""

    version: int
    time: str
    added_facts: int
    removed_facts: int
    added_rules: int
    removed_rules: int
    bytes: int = 0  # of its change in the log

    def listed(self) -> dict[str, Any]:
        """As `deltalog log --json` shows it."""
        return {name: value for name, value in self._asdict().items() if name != "bytes"}


class SnapshotRow(NamedTuple):
    """A snapshot that counts."""

    version: int
    folder: str
    crc: int
    bytes: int
    facts: int


@dataclass(slots=True)
class Catalog:
    """The database of a store, open. One writer, any number of readers."""

    path: Path
    tuning: Tuning
    _connection: sqlite3.Connection

    # Opening.

    @classmethod
    def create(cls, folder: Path, tuning: Tuning) -> Catalog:
        """The database of a new store."""
        path = folder / NAME
        catalog = cls(path, tuning, _connect(path, tuning, "rwc"))
        with catalog._failing("created"):
            catalog._connection.execute("PRAGMA journal_mode=WAL")
            catalog._connection.executescript(SCHEMA)
            made = [("format", str(FORMAT)), ("id", uuid4().hex), ("created", now())]
            with catalog.transaction():
                catalog._connection.executemany("INSERT INTO meta VALUES (?, ?)", made)
        return catalog

    @classmethod
    def open(cls, folder: Path, tuning: Tuning, readonly: bool) -> Catalog:
        """The database of a store; DataError if it is none, or of a later release."""
        path = folder / NAME
        if path.is_symlink() or not path.is_file():
            raise DataError(f"{folder} is not a store: it has no {NAME}; `deltalog run --store` and kb.save create one")
        catalog = cls(path, tuning, _connect(path, tuning, "ro" if readonly else "rw"))
        try:
            catalog._check_format()
        except BaseException:
            catalog.close()
            raise
        return catalog

    def _check_format(self) -> None:
        with self._failing("read"):
            rows = self._connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchall()
        if not rows or not str(rows[0][0]).isdecimal():
            raise DataError(f"{self.path} is not the catalog of a store, or it is damaged")
        if int(rows[0][0]) > FORMAT:
            raise DataError(
                f"{self.path.parent}: a later release of deltalog wrote this store (format {rows[0][0]}, this release "
                f"reads up to {FORMAT}); upgrade deltalog"
            )

    def close(self) -> None:
        self._connection.close()

    # Transactions.

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside of it is written, or nothing."""
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        try:
            yield
            run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                run("ROLLBACK")
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything inside of it sees the same versions."""
        with self._failing("read"):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise DataError(f"{self.path} cannot be {what} ({problem}); `deltalog store verify` checks it") from None

    # Reading.

    @property
    def newest(self) -> int:
        """The number of the newest version."""
        with self._failing("read"):
            (newest,) = self._connection.execute("SELECT max(version) FROM versions").fetchone()
        return int(newest or 0)

    def versions(self) -> list[VersionRow]:
        with self._failing("read"):
            return [VersionRow(*row) for row in self._connection.execute("SELECT * FROM versions ORDER BY version")]

    def snapshots(self) -> list[SnapshotRow]:
        """The snapshots that count, the newest first."""
        with self._failing("read"):
            rows = self._connection.execute("SELECT * FROM snapshots ORDER BY version DESC").fetchall()
        return [SnapshotRow(*row) for row in rows]

    def since(self, version: int) -> tuple[int, int]:
        """How many versions there are after one, and how many facts they changed."""
        with self._failing("read"):
            count = "SELECT count(*), coalesce(sum(added_facts + removed_facts), 0) FROM versions WHERE version > ?"
            changes, rows = self._connection.execute(count, (version,)).fetchone()
        return int(changes), int(rows)

    def entries(self, after: int, last: int) -> Iterator[tuple[int, LogEntry]]:
        """The changes after a version, up to the last one, checked."""
        for version in range(after + 1, last + 1):
            yield version, self.entry(version)

    def entry(self, version: int) -> LogEntry:
        """The change of a version; DataError if it is missing or damaged."""
        with self._failing("read"):
            find = "SELECT data, crc FROM changes WHERE version = ? ORDER BY part"
            parts = self._connection.execute(find, (version,)).fetchall()
        if not parts:
            raise DataError(f"{self.path}: the change of version {version} is missing; {_REPAIR}")
        if any(zlib.crc32(data) != crc for data, crc in parts):
            raise DataError(f"{self.path}: the change of version {version} is damaged; {_REPAIR}")
        try:
            return LogEntry.parse(b"".join(data for data, _ in parts))
        except (ValueError, KeyError, TypeError) as problem:
            raise DataError(f"{self.path}: the change of version {version} is damaged ({problem}); {_REPAIR}") from None

    def check_integrity(self) -> list[str]:
        """What SQLite finds wrong with the database."""
        try:
            found = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check")]
        except sqlite3.Error as problem:
            return [str(problem)]
        return [] if found == ["ok"] else found

    # Writing.

    def append(self, row: VersionRow, entry: LogEntry) -> int:
        """Adds a version with its change; it is on disk when this returns. The number of bytes."""
        data = entry.encoded()
        step = self.tuning.store_part_bytes
        parts = [data[first : first + step] for first in range(0, len(data), step)]
        with self.transaction():
            self._insert_version(row._replace(bytes=len(data)))
            rows = [(row.version, number, part, zlib.crc32(part)) for number, part in enumerate(parts)]
            self._connection.executemany("INSERT INTO changes VALUES (?, ?, ?, ?)", rows)
        return len(data)

    def add_snapshot(self, snapshot: SnapshotRow, version: VersionRow | None = None) -> None:
        """Makes a snapshot count; of a new store, with its first version."""
        with self.transaction():
            if version is not None:
                self._insert_version(version)
            self._connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", snapshot)

    def _insert_version(self, row: VersionRow) -> None:
        self._connection.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def drop_snapshots(self, versions: Sequence[int]) -> None:
        """Snapshots cease to count, and with them the log up to the oldest one that is left."""
        with self.transaction():
            self._connection.executemany(
                "DELETE FROM snapshots WHERE version = ?", [(version,) for version in versions]
            )
            self._connection.execute("DELETE FROM changes WHERE version <= (SELECT min(version) FROM snapshots)")

    def drop_versions(self, after: int) -> None:
        """Forgets the versions after one, and their changes."""
        with self.transaction():
            for table in ("versions", "changes", "snapshots"):
                self._connection.execute(f"DELETE FROM {table} WHERE version > ?", (after,))

    def shrink(self) -> None:
        """Gives back the space of what was dropped."""
        self._connection.execute("VACUUM")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


_REPAIR = "`deltalog store verify --repair` recovers what is left"


def _connect(path: Path, tuning: Tuning, mode: str) -> sqlite3.Connection:
    try:
        connection = _opened(path, tuning, mode)
        if mode != "ro":
            connection.execute("PRAGMA synchronous=FULL")
        else:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection
    except sqlite3.Error as problem:
        if mode == "ro" and not _has_log(path):  # nobody writes: a folder without the right to create files
            with closing(_opened(path, tuning, mode, "&immutable=1")) as test:
                test.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return _opened(path, tuning, mode, "&immutable=1")
        raise DataError(f"{path} cannot be opened ({problem}); check the rights to the folder and its files") from None


def _opened(path: Path, tuning: Tuning, mode: str, more: str = "") -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}{more}"
    wait = tuning.store_busy_seconds
    return sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None, check_same_thread=False)


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def now() -> str:
    """The time of a version."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
