"""The catalog of a store: versions, the log of changes, and which snapshots count. A SQLite database.

    meta        format, the id of the store, when it was created; `unlogged`: JSON ranges [first, end)
                of versions whose change a repair could not recover
    versions    a row for each version there ever was: time, and what it changed, in numbers
    changes     the log: what each version changed (`log_entry`), in parts, with a checksum
    snapshots   the snapshots that count, with the checksum of their manifest

A change is one transaction, in write-ahead mode with `synchronous=FULL`: when it returns, it is on disk. Readers have a
transaction of their own, so they see whole versions while a writer goes on.
"""

from __future__ import annotations

import ctypes
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import uuid4

from deltalog.core.errors import DataError
from deltalog.core.tuning import Tuning
from deltalog.extensions.store.log_entry import LogEntry
from deltalog.extensions.versions import Growth, NewerFormat, check_format

_BUSY_SECONDS = 30.0  # that a reader or writer waits for the catalog

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


_NEWEST = "SELECT " + ", ".join(
    f"(SELECT max(version) FROM {table})" for table in ("versions", "changes", "snapshots")
)  # in one statement, so of one moment
_INSERT_VERSION = "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_CHANGE = "INSERT INTO changes VALUES (?, ?, ?, ?)"
_INSERT_SNAPSHOT = "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)"


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
    _is_frozen: bool = False  # SQLite takes no notice of writers (see `_connect`)

    # Opening.

    @classmethod
    def create(
        cls,
        path: Path,
        tuning: Tuning,
        versions: Iterable[VersionRow],
        snapshots: Iterable[SnapshotRow],
        changes: Iterable[tuple[int, int, bytes, int]] = (),
        meta: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """The database of a store with these rows; the id of the store. OSError if it cannot be written."""
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # SQLite leaves out rights of groups
        made = {"id": uuid4().hex, "created": now(), **meta, "format": str(FORMAT)}
        try:
            with closing(_opened(path, "rw")) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                catalog = cls(path, tuning, connection)
                with catalog.transaction():
                    for statement in SCHEMA.split(";")[:-1]:
                        connection.execute(statement)
                    connection.executemany("INSERT INTO meta VALUES (?, ?)", made.items())
                    connection.executemany(_INSERT_VERSION, versions)
                    connection.executemany(_INSERT_SNAPSHOT, snapshots)
                    connection.executemany(_INSERT_CHANGE, changes)
        except sqlite3.Error as problem:
            raise OSError(str(problem)) from None
        return made["id"]

    @classmethod
    def open(cls, folder: Path, tuning: Tuning, readonly: bool) -> Catalog:
        """The database of a store; DataError if it is none, or of a later release."""
        path = folder / NAME
        if not path.is_symlink() and not path.is_file():
            raise DataError(f"{folder} is not a store: it has no {NAME}; `deltalog run --store` and kb.save create one")
        for file in catalog_files(folder):
            if file.is_symlink():
                raise DataError(f"{file} is a symbolic link; a store has plain files of its own")
        catalog = cls(path, tuning, *_connect(path, "ro" if readonly else "rw"))
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
        check_format(int(rows[0][0]), FORMAT, self.path.parent, "store")

    def close(self) -> None:
        self._connection.close()

    def leave_open(self) -> None:
        """In a forked process: the connection is the parent's, and SQLite forbids to close it here, ever."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))

    # Transactions.

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside of it is written, or nothing."""
        self._roll_back()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        """Ends a transaction; also one that an interrupt has left open."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything inside of it sees the same versions."""
        if self._is_frozen:
            self._connection.close()
            self._connection, self._is_frozen = _connect(self.path, "ro")
        before = _changed_at(self.path)
        try:
            with self._failing("read"):
                self._roll_back()
                self._connection.execute("BEGIN")
            yield
            if self._is_frozen and (_has_log(self.path) or _changed_at(self.path) != before):
                raise DataError(f"{self.path} was changed while it was read; try again")
        finally:
            self._roll_back()

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise DataError(f"{self.path} cannot be {what} ({problem}); `deltalog store verify` checks it") from None

    def _checked(self, row: Sequence[Any], types: str) -> Sequence[Any]:
        """A row whose values have the types of its columns (SQLite lets a column have any)."""
        if not has_types(row, types):
            raise DataError(f"{self.path} is damaged: a row has values of other types; {REPAIR}")
        return row

    # Reading.

    @property
    def id(self) -> str:
        """The id of the store."""
        with self._failing("read"):
            row = self._connection.execute("SELECT value FROM meta WHERE key = 'id'").fetchone()
        return "" if row is None else str(row[0])

    @property
    def newest(self) -> int:
        """The number of the newest version."""
        with self._failing("read"):
            newest, *ends = self._connection.execute(_NEWEST).fetchone()
        if newest != max(end or 0 for end in ends):  # damage that SQLite does not notice
            raise DataError(f"{self.path} is damaged: its tables end with different versions; {REPAIR}")
        return int(newest)

    def versions(self) -> list[VersionRow]:
        with self._failing("read"):
            rows = self._connection.execute("SELECT * FROM versions ORDER BY version").fetchall()
        return [VersionRow(*self._checked(row, "isiiiii")) for row in rows]

    def version_row(self, version: int) -> VersionRow:
        """One version, which there is."""
        with self._failing("read"):
            row = self._connection.execute("SELECT * FROM versions WHERE version = ?", (version,)).fetchone()
        return VersionRow(*self._checked(row, "isiiiii"))

    def snapshots(self) -> list[SnapshotRow]:
        """The snapshots that count, the newest first."""
        with self._failing("read"):
            rows = self._connection.execute("SELECT * FROM snapshots ORDER BY version DESC").fetchall()
        return [SnapshotRow(*self._checked(row, "isiii")) for row in rows]

    def openable(self) -> list[int]:
        """The versions that snapshots and the log lead to."""
        snapshots = {row.version for row in self.snapshots()}
        with self._failing("read"):
            logged = {version for (version,) in self._connection.execute("SELECT DISTINCT version FROM changes")}
        found: list[int] = []
        for version in sorted(snapshots | logged):
            if version in snapshots or (found and found[-1] == version - 1):
                found.append(version)
        return found

    def since(self, version: int) -> Growth:
        """How many versions there are after one, and how many facts they changed."""
        with self._failing("read"):
            count = "SELECT count(*), coalesce(sum(added_facts + removed_facts), 0) FROM versions WHERE version > ?"
            changes, rows = self._connection.execute(count, (version,)).fetchone()
        return Growth(int(changes), int(rows))

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
            raise DataError(f"{self.path}: the change of version {version} is missing; {REPAIR}")
        if any(not isinstance(data, bytes) or zlib.crc32(data) != crc for data, crc in parts):
            raise DataError(f"{self.path}: the change of version {version} is damaged; {REPAIR}")
        try:
            return LogEntry.parse(b"".join(data for data, _ in parts))
        except NewerFormat as problem:
            raise NewerFormat(f"{self.path}: version {version}: {problem}") from None
        except (ValueError, KeyError, TypeError) as problem:
            raise DataError(f"{self.path}: the change of version {version} is damaged ({problem}); {REPAIR}") from None

    def unlogged(self) -> list[range]:
        """Versions whose change a repair could not recover."""
        with self._failing("read"):
            rows = self._connection.execute("SELECT value FROM meta WHERE key = 'unlogged'").fetchall()
        try:
            return [range(first, end) for (value,) in rows for first, end in json.loads(value)]
        except (ValueError, TypeError):
            raise DataError(f"{self.path} is damaged: it does not say which changes are lost; {REPAIR}") from None

    # Writing.

    def append(self, row: VersionRow, entry: LogEntry) -> int:
        """Adds a version with its change; it is on disk when this returns. The number of bytes."""
        data = entry.encoded()
        step = self.tuning.store_part_bytes
        parts = [data[first : first + step] for first in range(0, len(data), step)]
        with self.transaction():
            self._connection.execute(_INSERT_VERSION, row._replace(bytes=len(data)))
            rows = [(row.version, number, part, zlib.crc32(part)) for number, part in enumerate(parts)]
            self._connection.executemany(_INSERT_CHANGE, rows)
        return len(data)

    def add_snapshot(self, snapshot: SnapshotRow) -> None:
        """Makes a snapshot count."""
        with self._failing("written"), self.transaction():
            self._connection.execute(_INSERT_SNAPSHOT, snapshot)

    def drop_snapshots(self, versions: Sequence[int]) -> None:
        """Snapshots cease to count, and with them the log up to the oldest one that is left."""
        with self._failing("written"), self.transaction():
            self._connection.executemany(
                "DELETE FROM snapshots WHERE version = ?", [(version,) for version in versions]
            )
            self._connection.execute("DELETE FROM changes WHERE version <= (SELECT min(version) FROM snapshots)")

    def shrink(self) -> None:
        """Gives back the space of what was dropped, if there is space to do so."""
        with suppress(sqlite3.Error):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


REPAIR = "`deltalog store verify --repair` recovers what is left"


def _connect(path: Path, mode: str) -> tuple[sqlite3.Connection, bool]:
    """A connection, and whether it is frozen: in a folder without the right to create files, SQLite only reads a
    database that it believes nobody writes to."""
    try:
        try:
            return _opened(path, mode), False
        except sqlite3.OperationalError:
            if mode != "ro" or _has_log(path):
                raise
            return _opened(path, mode, "&immutable=1"), True
    except sqlite3.OperationalError as problem:
        raise DataError(f"{path} cannot be opened ({problem}); check the rights to the folder and its files") from None
    except sqlite3.Error as problem:
        raise DataError(f"{path} is damaged ({problem}); {REPAIR}") from None


def _opened(path: Path, mode: str, more: str = "") -> sqlite3.Connection:
    """A connection that has read something."""
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}{more}"
    wait = _BUSY_SECONDS
    connection = sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def connected(path: Path, readonly: bool) -> sqlite3.Connection:
    """A connection to a catalog; DataError if there is none."""
    return _connect(path, "ro" if readonly else "rw")[0]


def has_types(row: Sequence[Any], types: str) -> bool:
    """Whether the values of a row have the types of its columns, by their first letters."""
    return [type(value).__name__[0] for value in row] == list(types)


def catalog_files(folder: Path) -> list[Path]:
    """The database of a store, and the files that SQLite has beside it."""
    return [folder / f"{NAME}{ending}" for ending in ("", "-wal", "-shm", "-journal")]


def log_file(folder: Path) -> Path:
    """The write-ahead log of SQLite."""
    return folder / f"{NAME}-wal"


def _changed_at(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return 0


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def now() -> str:
    """The time of a version."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
