"""Recovers what is left of a damaged store.

    a damaged snapshot      its files are taken from other folders, if they are there (`reassemble`);
                            its derived facts and indexes are made again from its explicit facts, if those are sound;
                            else an older snapshot and the log lead to its version
    a damaged change        versions from it up to the next snapshot are lost
    the newest version      if it is lost, the newest one that is left becomes a version with a number of its own
    nothing but that        the explicit facts of those relations that are sound become such a version
    the catalog             is written anew, from what can be read of it and of the snapshots

New snapshots are written first, then the catalog takes the place of the old one, and last what it no longer names is
moved away; a copy of the old catalog is in `lost+found`. Stopped in between, a repair can be repeated.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.limits import Limits
from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.engines.local import LocalBackend
from deltalog.engines.local.sorted_runs import Ids
from deltalog.engines.local.workers import Workers
from deltalog.evaluation.backend import united, without
from deltalog.evaluation.hypertree import Trees
from deltalog.evaluation.maintenance.apply_change import number_kinds
from deltalog.evaluation.maintenance.materialisation import Evaluator
from deltalog.evaluation.maintenance.snapshot import stored_relations
from deltalog.evaluation.report import Report
from deltalog.evaluation.staged import EvaluationSetting
from deltalog.extensions.store import files
from deltalog.extensions.store.acknowledged import Acknowledged, replace_acknowledged
from deltalog.extensions.store.arrays import MappedFile, StoredArray
from deltalog.extensions.store.catalog import (
    NAME,
    Catalog,
    SnapshotRow,
    VersionRow,
    catalog_files,
    connected,
    log_file,
    now,
)
from deltalog.extensions.store.examine import SNAPSHOTS, Examined, FoundSnapshot, examine_snapshot
from deltalog.extensions.store.log_entry import LogEntry, unpacked
from deltalog.extensions.store.reassemble import reassemble
from deltalog.extensions.store.report import StoreReport, ranges, spans
from deltalog.extensions.store.snapshot_files import (
    DICTIONARY,
    MANIFEST,
    RELATIONS,
    Snapshot,
    StoredTables,
)
from deltalog.extensions.store.store import Image, write_numbered
from deltalog.extensions.versions import VersionContents
from deltalog.languages.stored_rules import KeptPrograms
from deltalog.program import analyse
from deltalog.program.rule_set import RuleSet

LOST = "lost+found"


def repair_examined(found: Examined, report: StoreReport, tuning: Tuning) -> StoreReport:
    """Repairs a store that nobody else writes to; what was recovered, and what was lost."""
    try:
        return _Repair(found, tuning).run(report)
    except (OSError, sqlite3.Error) as problem:
        raise DataError(f"{found.folder} cannot be repaired ({problem}); nothing was lost by the attempt") from None


@dataclass
class _Explicit:
    """Explicit facts and rules of a version."""

    backend: LocalBackend
    rules: RuleSet
    prefixes: dict[str, str]
    settings: dict[str, Any]
    facts: dict[Pred, Any]

    def apply(self, entry: LogEntry) -> None:
        plus, minus = unpacked(entry.added, self.backend), unpacked(entry.removed, self.backend)
        self.facts = united(without(self.facts, minus, self.backend), plus, self.backend)
        self.prefixes.update(entry.prefixes)
        self.settings.update(entry.settings)
        self.rules = entry.rules.applied(self.rules, KeptPrograms.stored(self.settings))

    def image(self) -> Image:
        """With everything that follows."""
        backend, settings = self.backend, self.settings
        numbers = number_kinds(self.facts, backend)
        program = analyse(self.rules.rules, self.facts, settings.get("schemes", "auto"), numbers=numbers)
        trees = Trees(settings.get("cyclic", "combined"), tuning=backend.tuning)
        evaluator = Evaluator(backend, False, settings.get("maintenance", "auto"), lambda _: None, trees)
        setting = EvaluationSetting("axioms", settings.get("schemes", "auto"), KeptPrograms.stored(settings).stages)
        state = setting.materialise(lambda: program, self.facts, evaluator, Report(engine="local"), False)
        contents = VersionContents.of(self.rules, self.prefixes, settings, state)
        return Image(contents, StoredTables(state.explicit, stored_relations(state, False)), backend.dictionary)


@dataclass
class _Repair:
    found: Examined
    tuning: Tuning
    rows: dict[int, SnapshotRow] = field(default_factory=dict)  # of sound snapshots, by version
    recovered: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def run(self, report: StoreReport) -> StoreReport:
        self._put_together()
        self._take_sound_ones()
        self._derive_again()
        reachable = set(self.found.reachable(iter(self.rows)))
        self._tell(reachable)
        newest = self.found.newest
        if newest not in reachable:
            newest += 1
            self._begin_anew(newest, reachable)
        kept = {version for version in self.found.catalog.changes if version in reachable and version > min(self.rows)}
        versions = self._versions(newest, reachable)
        store = self._replace_catalog(versions, kept, self._unlogged(versions, kept, newest))
        replace_acknowledged(self.found.folder, Acknowledged(store, newest))
        self._move_away()
        self.recovered.append(f"{_named(sorted(reachable | self.rows.keys()))} can be opened")
        return replace(report, repaired=True, recovered=tuple(self.recovered), lost=tuple(self.lost) or ("nothing",))

    # Snapshots.

    @property
    def _place(self) -> Path:
        return self.found.folder / SNAPSHOTS

    def _put_together(self) -> None:
        """Snapshots whose files are in wrong folders. These folders are moved away like others that do not count."""
        done = reassemble(self.found)
        self.recovered += done.recovered
        old = [each.folder for each in self.found.snapshots if each not in done.snapshots]
        self.found = replace(self.found, snapshots=done.snapshots, unknown=[*self.found.unknown, *old])

    def _take_sound_ones(self) -> None:
        for snapshot in self.found.snapshots:
            if snapshot.is_sound and snapshot.version not in self.rows:
                self.rows[snapshot.version] = snapshot.row or _row(snapshot)

    def _derive_again(self) -> None:
        """Snapshots whose explicit facts are sound."""
        for snapshot in self.found.snapshots:
            if not snapshot.is_sound and snapshot.version not in self.rows and snapshot.can_be_derived:
                image = self._explicit(snapshot).image()
                self.rows[snapshot.version] = write_numbered(self.found.folder, snapshot.version, image)
                what = f"derived facts and indexes of the snapshot of version {snapshot.version}"
                self.recovered.append(f"{what}, from its explicit facts")

    def _explicit(self, found: FoundSnapshot) -> _Explicit:
        """What is sound of a snapshot's explicit facts, and its rules."""
        assert found.contents is not None
        runs = [{**run, "orders": []} for run in found.manifest["runs"]]
        manifest = {**found.manifest, "relations": found.explicit(sound=True), "runs": runs}
        mapped = {DICTIONARY: MappedFile.open(found.folder / DICTIONARY)} if found.has_values else {}
        with suppress(DataError):
            mapped[RELATIONS] = MappedFile.open(found.folder / RELATIONS)
        snapshot = Snapshot(found.folder, found.version, found.contents, manifest, mapped)
        dictionary, ids = _dictionary(found, snapshot, self.tuning) if found.has_values else (Dictionary(), None)
        backend = LocalBackend(Limits(), dictionary, None, self.tuning)
        has_facts = found.has_values and RELATIONS in mapped
        facts: dict[Pred, Any] = dict(snapshot.tables(self.tuning).explicit) if has_facts else {}
        if ids is not None:
            rows = {pred: [ids[column] for column in backend.rows(table)] for pred, table in facts.items()}
            facts |= {pred: backend.load(columns, pred.arity) for pred, columns in rows.items() if columns}
        contents = found.contents
        rules = contents.rules.rule_set(KeptPrograms.stored(contents.settings))
        return _Explicit(backend, rules, dict(contents.prefixes), dict(contents.settings), facts)

    # The newest version.

    def _begin_anew(self, version: int, reachable: set[int]) -> None:
        """Makes a version of what is left, as the newest one is lost."""
        if reachable:
            last = max(reachable)
            explicit = self._at(last)
            self.recovered.append(f"version {version}, which is as version {last} was")
        else:
            explicit = self._remains(version)
        self.rows[version] = write_numbered(self.found.folder, version, explicit.image())

    def _at(self, version: int) -> _Explicit:
        base = max(each for each in self.rows if each <= version)
        row = self.rows[base]
        explicit = self._explicit(examine_snapshot(self._place / row.folder, row))
        self._apply(explicit, range(base + 1, version + 1))
        return explicit

    def _apply(self, explicit: _Explicit, versions: range) -> None:
        for version in versions:
            explicit.apply(LogEntry.parse(b"".join(data for data, _ in self.found.catalog.parts(version))))

    def _remains(self, version: int) -> _Explicit:
        """The sound relations of the newest snapshot whose values can be read, or at least its rules."""
        readable = [s for s in self.found.snapshots if s.contents is not None]
        best = max(readable, key=lambda s: (s.has_values, s.version), default=None)
        if best is None:
            raise DataError(
                f"{self.found.folder}: nothing can be recovered, as no snapshot can be read; restore it from a backup"
            )
        explicit, last = self._explicit(best), best.version
        while last + 1 in self.found.catalog.changes:
            last += 1
        self._apply(explicit, range(best.version + 1, last + 1))
        self.recovered.append(f"version {version}: what is sound of version {last}")
        gone = best.explicit(sound=False) if best.has_values else best.explicit(True) + best.explicit(False)
        self.lost += [
            f"{each['rows']:,} explicit facts of {each['name']}/{each['arity']}, as they were in version {best.version}"
            for each in gone
        ]
        return explicit

    def _tell(self, reachable: set[int]) -> None:
        catalog = self.found.catalog
        for version in sorted(catalog.damaged_changes & self.rows.keys()):
            self.recovered.append(f"version {version}, from its snapshot: its change in the log is damaged")
        for snapshot in self.found.snapshots:
            if snapshot.version in reachable and snapshot.version not in self.rows:
                base = max(each for each in self.rows if each < snapshot.version)
                self.recovered.append(f"version {snapshot.version}, from the snapshot of version {base} and the log")
        first = min([*catalog.snapshots, *self.rows], default=1)
        gone = [version for version in range(first, self.found.newest + 1) if version not in reachable]
        if known := [version for version in gone if version not in catalog.unlogged]:
            self.lost.append(_named(known))
        self._tell_unknown()
        if catalog.connection is None:
            self.recovered.append("the catalog, from the snapshots")
        elif catalog.problems:
            self.recovered.append("the catalog, from what can be read of it")

    def _tell_unknown(self) -> None:
        """Losses that nothing counts, where it is not known which version was the newest."""
        catalog, newest = self.found.catalog, self.found.newest
        if self.found.acknowledged is not None:
            return
        if any(problem.file == log_file(catalog.folder).name for problem in catalog.problems):
            self.lost.append(f"changes after version {newest}, which the damaged write-ahead log had")
        if catalog.connection is None:
            self.lost.append(f"changes after version {newest}, if there were any")

    # The catalog.

    def _versions(self, newest: int, reachable: set[int]) -> list[VersionRow]:
        """The rows of all versions that can be opened, and of others that are known."""
        catalog, rows = self.found.catalog, []
        for version in range(min([*self.rows, *catalog.versions]), newest + 1):
            row, change = catalog.versions.get(version), catalog.changes.get(version)
            if row is None and (version in reachable or version in self.rows):
                row = VersionRow(version, now(), 0, 0, 0, 0)
            if row is not None:
                rows.append(row if change is None else VersionRow(version, row.time, *change))
        return rows

    def _unlogged(self, versions: list[VersionRow], kept: set[int], newest: int) -> list[int]:
        """Versions whose change is lost: of those before the oldest snapshot, only the ones that have no row either."""
        oldest, listed = min(self.rows), {row.version for row in versions}
        lost = [version for version in range(min(listed), oldest) if version not in listed]
        return lost + [version for version in range(oldest + 1, newest + 1) if version not in kept]

    def _replace_catalog(self, versions: list[VersionRow], changes: set[int], unlogged: list[int]) -> str:
        """Puts a new catalog in place of the old one; the id of the store."""
        folder, catalog = self.found.folder, self.found.catalog
        new = files.unused(folder / f"{NAME}.repaired")
        gaps = json.dumps([[each.start, each.stop] for each in ranges(unlogged)])
        meta = {key: catalog.meta[key] for key in ("id", "created") if key in catalog.meta} | {"unlogged": gaps}
        if self.found.acknowledged is not None:
            meta["id"] = self.found.acknowledged.store
        store = Catalog.create(new, self.tuning, versions, self.rows.values(), self._changes(sorted(changes)), meta)
        catalog.close()
        for file in catalog_files(folder):
            if file.is_symlink():
                os.rename(file, files.unused(self._lost_folder() / file.name))
            elif file.exists():
                files.copy(file, files.unused(self._lost_folder() / file.name))
        _empty_log(folder)
        for file in catalog_files(folder)[1:]:
            file.unlink(missing_ok=True)
        files.sync_folder(folder)
        os.replace(new, folder / NAME)
        for file in folder.glob(f"{new.name}-*"):
            file.unlink()
        files.sync_folder(folder)
        return store

    def _changes(self, versions: list[int]) -> Iterator[tuple[int, int, bytes, int]]:
        for version in versions:
            for part, (data, crc) in enumerate(self.found.catalog.parts(version)):
                yield version, part, data, crc

    # What is left over.

    def _move_away(self) -> None:
        """Snapshots that no longer count go to `lost+found`; so does what a damaged catalog may have named."""
        named = {row.folder for row in self.rows.values()}
        gone = [snapshot.folder for snapshot in self.found.snapshots] + self.found.unknown
        gone = [path for path in gone if path.name not in named]
        for path in dict.fromkeys(gone):
            if path.exists() or path.is_symlink():
                os.rename(path, files.unused(self._lost_folder() / f"snapshot-{path.name}"))
        files.sync_folder(self._place)

    def _lost_folder(self) -> Path:
        folder = self.found.folder / LOST
        folder.mkdir(exist_ok=True)
        return folder


def _named(versions: list[int]) -> str:
    return f"version{'s' if len(versions) > 1 else ''} {spans(ranges(versions))}"


def _row(snapshot: FoundSnapshot) -> SnapshotRow:
    """The row of a snapshot that the catalog has lost."""
    text = (snapshot.folder / MANIFEST).read_bytes()
    facts = sum(relation["rows"] for relation in snapshot.manifest["relations"])
    size = files.size_on_disk(snapshot.folder)
    return SnapshotRow(snapshot.version, snapshot.folder.name, zlib.crc32(text), size, facts)


def _dictionary(found: FoundSnapshot, snapshot: Snapshot, tuning: Tuning) -> tuple[Dictionary, Ids | None]:
    """The dictionary of a snapshot; if its hash table is damaged, a new one and the new ids by the old ones."""
    stored = {name: StoredArray.parse(values) for name, values in found.manifest["dictionary"].items()}
    if found.terms >= stored.keys():
        return snapshot.dictionary(Workers(None, tuning.parallel_min_rows)), None
    mapped = snapshot.mapped[DICTIONARY]
    arrays = {
        name: mapped.array(each) if name in found.terms else np.zeros(each.shape, each.dtype)
        for name, each in stored.items()
    }
    damaged, made = Dictionary.mapped(arrays, found.manifest["ids"]), Dictionary()
    ids = np.zeros(found.manifest["ids"], np.uint32)
    ids[1:] = made.encode(damaged.decode(np.arange(1, len(ids), dtype=np.uint32)))
    return made, ids


def _empty_log(folder: Path) -> None:
    """Takes what is in the write-ahead log to the database, so that the old catalog is whole without it."""
    with suppress(DataError, sqlite3.Error), closing(connected(folder / NAME, readonly=False)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
