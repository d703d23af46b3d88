"""What is left of a store: its catalog, its log and its snapshots, each part checked by itself.

Nothing here changes the store, and nothing that is damaged keeps the rest from being read. A catalog that SQLite finds
damaged is read from both ends of each table.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from deltalog.core.errors import DataError, DeltalogError
from deltalog.extensions.store import files
from deltalog.extensions.store.acknowledged import NAME as ACKNOWLEDGED
from deltalog.extensions.store.acknowledged import Acknowledged, read_acknowledged
from deltalog.extensions.store.arrays import MappedFile, StoredArray
from deltalog.extensions.store.catalog import (
    FORMAT,
    NAME,
    SnapshotRow,
    VersionRow,
    catalog_files,
    connected,
    has_types,
    log_file,
)
from deltalog.extensions.store.log_entry import LogEntry
from deltalog.extensions.store.report import StoreProblem, missing_versions, ranges, spans
from deltalog.extensions.store.snapshot_files import (
    DICTIONARY,
    MANIFEST,
    RELATIONS,
    read_manifest,
)
from deltalog.extensions.store.wal_file import damage_of_log
from deltalog.extensions.versions import EXPLICIT, NewerFormat, VersionContents, check_format
from deltalog.languages.deltalog.parser import parse_document
from deltalog.languages.stored_rules import KeptPrograms

SNAPSHOTS, UNFINISHED = "snapshots", ".unfinished"
INDEX, HASHES = -1, ("hashes", "table")  # arrays by which values and facts are found
CAN_BE_MADE_AGAIN = (INDEX, *HASHES)
_WRONG = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError)


# Snapshots.


@dataclass
class FoundSnapshot:
    """A snapshot, and which parts of it are as they were written."""

    folder: Path
    row: SnapshotRow | None  # of the catalog
    manifest: Mapping[str, Any] = field(default_factory=dict)
    contents: VersionContents | None = None  # None: nothing of it can be used
    problems: list[StoreProblem] = field(default_factory=list)
    terms: set[str] = field(default_factory=set)  # sound arrays of the dictionary
    keys: set[int] = field(default_factory=set)  # runs whose keys are sound

    @property
    def name(self) -> str:
        return f"{SNAPSHOTS}/{self.folder.name}"

    @property
    def version(self) -> int:
        found = self.manifest.get("version") if self.row is None else self.row.version
        return found if isinstance(found, int) else 0

    @property
    def is_sound(self) -> bool:
        return not self.problems

    @property
    def has_values(self) -> bool:
        """Whether the values of its facts can be read; the hash table can be made again."""
        return self.contents is not None and self.terms >= self.manifest["dictionary"].keys() - set(HASHES)

    def explicit(self, sound: bool) -> list[Mapping[str, Any]]:
        """Relations of explicit facts that are sound, or those that are not."""
        relations = (each for each in self.manifest["relations"] if each["kind"] == EXPLICIT)
        return [each for each in relations if (set(each["runs"]) <= self.keys) == sound]

    @property
    def can_be_derived(self) -> bool:
        """Whether its explicit facts are all there, so that everything else can be derived again."""
        return self.has_values and not self.explicit(sound=False)


def examine_snapshot(folder: Path, row: SnapshotRow | None) -> FoundSnapshot:
    """Reads all of a snapshot."""
    found = FoundSnapshot(folder, row)
    try:
        found.manifest, contents = read_manifest(folder, None if row is None else row.crc)
        _check_manifest(found)
        contents.rules.rule_set(KeptPrograms.stored(contents.settings))
        found.contents = contents
    except NewerFormat:
        raise
    except (DeltalogError, *_WRONG) as problem:
        what = _without_path(problem, folder)
        found.problems.append(StoreProblem(f"{found.name}/{MANIFEST}", what, "all of the snapshot"))
        return found
    _check_arrays(found)
    return found


def _check_manifest(found: FoundSnapshot) -> None:
    """ValueError if the numbers of a manifest do not agree with each other, or with the catalog."""
    manifest, row = found.manifest, found.row
    if row is not None and manifest["version"] != row.version:
        raise ValueError(f"it is version {manifest['version']}, and the catalog says {row.version}")
    if manifest["version"] < 1:
        raise ValueError(f"it has no version {manifest['version']}")
    for relation in manifest["relations"]:
        if relation["rows"] != sum(manifest["runs"][i]["rows"] for i in relation["runs"]):
            raise ValueError(f"the number of rows of {relation['name']}/{relation['arity']} is wrong")
    if row is not None and row.facts != sum(relation["rows"] for relation in manifest["relations"]):
        raise ValueError("the number of facts is not that of the catalog")
    for _, _, stored, _ in stored_arrays(manifest):
        if stored.offset < 0 or any(n < 0 for n in stored.shape):
            raise ValueError("an array has a negative offset or shape")


def _check_arrays(found: FoundSnapshot) -> None:
    mapped: dict[str, MappedFile | None] = {}
    for file in (DICTIONARY, RELATIONS):
        try:
            mapped[file] = MappedFile.open(found.folder / file)
        except DataError as problem:
            mapped[file] = None
            what = _without_path(problem, found.folder)
            affected = "all of the snapshot" if file == DICTIONARY else "all facts of the snapshot"
            found.problems.append(StoreProblem(f"{found.name}/{file}", what, affected))
    for file, part, stored, affected in stored_arrays(found.manifest):
        source = mapped[file]
        if source is None:
            continue
        damage = damage_of_array(source, stored)
        if damage:
            found.problems.append(StoreProblem(f"{found.name}/{file}", f"{damage} (at byte {stored.offset})", affected))
        elif isinstance(part, str):
            found.terms.add(part)
        elif part >= 0:
            found.keys.add(part)


def damage_of_array(source: MappedFile, stored: StoredArray) -> str:
    try:
        return "" if source.is_sound(stored) else "a checksum is wrong"
    except (DataError, *_WRONG) as problem:
        return _without_path(problem, source.path)


def stored_arrays(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str | int, StoredArray, str]]:
    """Every array: its file, which it is (the name of one of the dictionary, the number of a run, or INDEX),
    where it is, and what it has."""
    for name, values in manifest["dictionary"].items():
        affected = "look-ups of values" if name in HASHES else "the values of all facts"
        yield DICTIONARY, name, StoredArray.parse(values), affected
    names: list[list[str]] = [[] for _ in manifest["runs"]]
    for relation in manifest["relations"]:
        for i in relation["runs"]:
            names[i].append(f"{relation['kind']} facts of {relation['name']}/{relation['arity']}")
    for number, run in enumerate(manifest["runs"]):
        yield RELATIONS, number, StoredArray.parse(run["keys"]), ", ".join(names[number])
        for _, values in run["orders"]:
            yield RELATIONS, INDEX, StoredArray.parse(values), f"an index of {', '.join(names[number])}"


def _without_path(problem: object, folder: Path) -> str:
    """A message without the path and the advice that it has for those who do not verify."""
    text = str(problem) or type(problem).__name__
    for path in (*(str(folder / name) for name in (MANIFEST, DICTIONARY, RELATIONS)), str(folder)):
        text = text.removeprefix(path).removeprefix(" is damaged:").removeprefix(" ")
    text = text.partition("; `deltalog store")[0].partition("; a store has plain files")[0]
    return text.removeprefix("is ") if text.startswith("is missing") else text


# The catalog.


class FoundChange(NamedTuple):
    """A change of the log that is sound, in numbers."""

    added_facts: int
    removed_facts: int
    added_rules: int
    removed_rules: int
    bytes: int


@dataclass
class FoundCatalog:
    """What can be read of the catalog of a store."""

    folder: Path
    connection: sqlite3.Connection | None = None
    problems: list[StoreProblem] = field(default_factory=list)
    meta: dict[str, str] = field(default_factory=dict)
    versions: dict[int, VersionRow] = field(default_factory=dict)
    snapshots: dict[int, SnapshotRow] = field(default_factory=dict)
    changes: dict[int, FoundChange] = field(default_factory=dict)  # those that are sound
    damaged_changes: set[int] = field(default_factory=set)
    is_whole: bool = True  # whether all rows could be read

    @property
    def newest(self) -> int:
        return max([*self.versions, *self.changes, *self.damaged_changes], default=0)

    @property
    def unlogged(self) -> set[int]:
        """Versions whose change an earlier repair could not recover."""
        with suppress(*_WRONG):
            found = json.loads(self.meta.get("unlogged", "[]"))
            return {version for first, end in found for version in range(first, end)}
        return set()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()

    def parts(self, version: int) -> list[tuple[bytes, int]]:
        """The parts of a change, with their checksums, by the index or without it."""
        for table in ("changes", "changes NOT INDEXED"):
            with suppress(sqlite3.Error):
                assert self.connection is not None
                find = f"SELECT data, crc FROM {table} WHERE version = ? ORDER BY part"
                parts = self.connection.execute(find, (version,)).fetchall()
                if parts and all(isinstance(data, bytes) and zlib.crc32(data) == crc for data, crc in parts):
                    return parts
        return []

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """The rows of a table that can be read, from its beginning and from its end."""
        found: dict[tuple[Any, ...], None] = {}
        assert self.connection is not None
        for order in ("", " NOT INDEXED", " NOT INDEXED ORDER BY rowid DESC"):
            try:
                for row in self.connection.execute(f"SELECT {columns} FROM {table}{order}"):
                    found[row] = None
                return list(found)
            except sqlite3.Error:
                self.is_whole = False
        return list(found)


def examine_catalog(folder: Path) -> FoundCatalog:
    """Reads all of a catalog. `NewerFormat` if a later release wrote it."""
    found = FoundCatalog(folder)
    for file in catalog_files(folder):
        if file.is_symlink():
            return _unreadable(found, "it is a symbolic link")
    if not (folder / NAME).is_file():
        return _unreadable(found, "it is missing")
    try:
        found.connection = connected(folder / NAME, readonly=True)
        found.meta = {str(key): str(value) for key, value in found.rows("meta")}
    except DataError as problem:
        return _unreadable(found, _without_path(problem, folder / NAME))
    if found.meta.get("format", "").isdecimal():
        try:
            check_format(int(found.meta["format"]), FORMAT, folder, "store")
        except NewerFormat:
            found.close()
            raise
    else:
        found.problems.append(StoreProblem(NAME, "it does not say its format", "nothing"))
    found.problems += [StoreProblem(NAME, f"SQLite: {each}", "the catalog") for each in _integrity(found.connection)]
    _read_tables(found)
    return found


def _unreadable(found: FoundCatalog, why: str) -> FoundCatalog:
    found.is_whole = False
    found.problems.append(StoreProblem(NAME, why, "the list of versions, and all changes since the last snapshot"))
    return found


def _integrity(connection: sqlite3.Connection) -> list[str]:
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)")]
    except sqlite3.Error as problem:
        return [str(problem)]
    return [] if found == ["ok"] else [line for each in found for line in each.splitlines()]


def _read_tables(found: FoundCatalog) -> None:
    found.versions = {row[0]: VersionRow(*row) for row in _sound_rows(found, "versions", "isiiiii", "entry")}
    found.snapshots = {row[0]: SnapshotRow(*row) for row in _sound_rows(found, "snapshots", "isiii", "snapshot")}
    logged = {version for (version,) in found.rows("changes", "version") if isinstance(version, int)}
    for version in sorted(logged):
        change = _change(found, version)
        if change is None:
            found.damaged_changes.add(version)
        else:
            found.changes[version] = change
    if not found.is_whole:
        found.problems.append(StoreProblem(NAME, "a part of its tables cannot be read", "versions and changes"))


def _sound_rows(found: FoundCatalog, table: str, types: str, noun: str) -> Iterator[tuple[Any, ...]]:
    for row in found.rows(table):
        if has_types(row, types):
            yield row
        else:
            what = f"a row of `{table}` is damaged"
            found.problems.append(StoreProblem(NAME, what, f"the {noun} of version {row[0]}"))


def _change(found: FoundCatalog, version: int) -> FoundChange | None:
    """A change in numbers; None if it is damaged."""
    parts = found.parts(version)
    if not parts:
        return None
    data = b"".join(part for part, _ in parts)
    try:
        entry = LogEntry.parse(data)
        KeptPrograms.stored(entry.settings).rules  # noqa: B018 (they can be read)
        for text in entry.rules.added if not entry.has_programs else ():
            parse_document(text)
        added, removed = _facts(entry.added), _facts(entry.removed)
    except NewerFormat as problem:
        raise NewerFormat(f"{found.folder / NAME}: version {version}: {problem}") from None
    except (DeltalogError, *_WRONG):
        return None
    return FoundChange(added, removed, len(entry.rules.added), len(entry.rules.removed), len(data))


def _facts(block: bytes) -> int:
    """The number of facts in a block (see `fact_block`)."""
    header = json.loads(block.partition(b"\n")[0]) if block else {"relations": ()}
    return sum(rows for _, hidden, _, rows in header["relations"] if not hidden)


# All of it.


@dataclass
class Examined:
    """A store as it was found."""

    folder: Path
    catalog: FoundCatalog
    snapshots: list[FoundSnapshot]  # those that the catalog names, and others if there is damage; the newest first
    unknown: list[Path]  # beside them
    problems: list[StoreProblem] = field(default_factory=list)
    acknowledged: Acknowledged | None = None  # None: nothing says it

    @property
    def newest(self) -> int:
        """The newest version that anything speaks of."""
        acknowledged = 0 if self.acknowledged is None else self.acknowledged.version
        return max(self.catalog.newest, self.newest_snapshot, acknowledged)

    @property
    def newest_snapshot(self) -> int:
        return max((snapshot.version for snapshot in self.snapshots), default=0)

    def reachable(self, bases: Iterator[int]) -> list[int]:
        """The versions that snapshots of some versions and the log lead to."""
        found: set[int] = set()
        for base in sorted(bases):
            found.add(base)
            version = base + 1
            while version in self.catalog.changes and version not in found:
                found.add(version)
                version += 1
        return sorted(found)


def examine(folder: Path, nobody_writes: bool) -> Examined:
    """Reads all of a store."""
    problems: list[StoreProblem] = []
    acknowledged = _acknowledged(folder, problems)  # before the catalog, which a writer changes first
    damage = damage_of_log(log_file(folder)) if nobody_writes else ""
    catalog = examine_catalog(folder)
    place = folder / SNAPSHOTS
    if acknowledged is not None and catalog.meta.get("id", acknowledged.store) != acknowledged.store:
        what = f"its id is not the one in `{ACKNOWLEDGED}`: it is the catalog of another store, or damaged"
        catalog.problems.append(StoreProblem(NAME, what, "the newest version, which may be missing"))
        acknowledged = None
    catalog.problems += _losses(catalog, acknowledged, damage)
    wrong = "it is a symbolic link" if place.is_symlink() else "" if place.is_dir() else "it is missing"
    problems += [StoreProblem(SNAPSHOTS, wrong, "all snapshots")] if wrong else []
    present = [] if wrong else files.listed(place)
    rows = sorted(catalog.snapshots.values(), reverse=True)
    found = [] if wrong else [examine_snapshot(place / _safe(row.folder), row) for row in rows]
    named = {_safe(row.folder) for row in rows}
    unknown = [path for path in present if path.name not in named]
    if not catalog.is_whole or catalog.problems or not all(snapshot.is_sound for snapshot in found):
        others = [path for path in unknown if not path.name.endswith(UNFINISHED) and (path / MANIFEST).exists()]
        found += [examine_snapshot(path, None) for path in others]
    return Examined(folder, catalog, found, unknown, problems, acknowledged)


def _acknowledged(folder: Path, problems: list[StoreProblem]) -> Acknowledged | None:
    try:
        return read_acknowledged(folder)
    except DataError as problem:
        what = _without_path(problem, folder / ACKNOWLEDGED)
        problems.append(StoreProblem(ACKNOWLEDGED, what, "nothing else, but lost versions would not be noticed"))
        return None


def _losses(catalog: FoundCatalog, acknowledged: Acknowledged | None, damage: str) -> Iterator[StoreProblem]:
    """What the write-ahead log has lost: damage that can be seen in it, and versions that are missing."""
    missing = range(0) if acknowledged is None else acknowledged.missing(catalog.newest)
    if damage:
        affected = f"versions {spans([missing])}" if missing else f"versions after {catalog.newest}"
        yield StoreProblem(log_file(catalog.folder).name, damage, affected)
    elif missing and catalog.connection is not None:
        yield StoreProblem(NAME, missing_versions(missing))


def _safe(name: str) -> str:
    """The name of a folder in the store; one that leads out of it is none."""
    return name if Path(name).name == name and name not in ("", ".", "..") else "no name"


def version_problems(found: Examined) -> Iterator[StoreProblem]:
    """What is wrong with versions and the log."""
    catalog = found.catalog
    if catalog.connection is None:
        return
    unlogged = catalog.unlogged
    first = min(catalog.versions, default=1)
    newest = max(catalog.newest, found.newest_snapshot)
    missing = [v for v in range(first, newest + 1) if v not in catalog.versions and v not in unlogged]
    for each in ranges(missing):
        yield StoreProblem(NAME, f"no row of `versions` for {each[0]} to {each[-1]}", "the list of versions")
    for version in sorted(catalog.damaged_changes):
        yield StoreProblem(NAME, f"the change of version {version} is damaged", _from(version, found))
    oldest = min(catalog.snapshots, default=0)
    needed = range(oldest + 1, newest + 1)
    gone = [v for v in needed if v not in catalog.changes and v not in catalog.damaged_changes and v not in unlogged]
    for each in ranges(gone):
        yield StoreProblem(NAME, f"the change of version {each[0]} is missing", _from(each[0], found))
    for version, change in catalog.changes.items():
        row = catalog.versions.get(version)
        if row is not None and (*row[2:6], row.bytes) != tuple(change):
            yield StoreProblem(
                NAME, f"the numbers of version {version} are not those of its change", "the list of versions"
            )
    if not catalog.snapshots:
        yield StoreProblem(NAME, "it names no snapshot", "all versions")


def _from(version: int, found: Examined) -> str:
    """The versions that need a change."""
    later = min((s for s in found.catalog.snapshots if s >= version), default=found.newest + 1)
    return "versions that need it" if later <= version else f"versions {version} to {later - 1}"
