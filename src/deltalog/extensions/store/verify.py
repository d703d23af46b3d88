"""`verify`: reads all of a store, and says what is damaged. `repair`: recovers what is left."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from deltalog.core.errors import UsageError
from deltalog.core.tuning import Tuning
from deltalog.extensions.store.acknowledged import NAME as ACKNOWLEDGED
from deltalog.extensions.store.catalog import NAME
from deltalog.extensions.store.examine import SNAPSHOTS, Examined, examine, version_problems
from deltalog.extensions.store.repair import LOST, repair_examined
from deltalog.extensions.store.report import StoreProblem, StoreReport, ranges
from deltalog.extensions.store.writer_lock import WriterLock

__all__ = ["StoreProblem", "StoreReport", "repair", "verify"]


def verify(folder: str | PathLike[str]) -> StoreReport:
    """Checks every file of a store, as a reader: another process may write to it."""
    path = _store(folder)
    for _ in range(_ATTEMPTS):
        found = examine(path, WriterLock.is_free(path))
        found.catalog.close()
        if not _report(found).problems or (_same_snapshots(found) and WriterLock.is_free(path)):
            break  # else a writer may have dropped a snapshot in the meantime
    return _report(found)


_ATTEMPTS = 5


def _same_snapshots(found: Examined) -> bool:
    from deltalog.extensions.store.examine import examine_catalog

    again = examine_catalog(found.folder)
    again.close()
    return again.snapshots == found.catalog.snapshots


def repair(folder: str | PathLike[str]) -> StoreReport:
    """Recovers what the log and the snapshots of a damaged store still give. Nothing that can be read is deleted: what
    is replaced goes to the folder `lost+found` of the store. UsageError if another process writes to the store."""
    path = _store(folder)
    if (path / LOST).is_symlink():
        raise UsageError(f"{path / LOST} is a symbolic link; remove it, as what is replaced stays in the store")
    lock = WriterLock.take(path)
    try:
        found = examine(path, nobody_writes=True)
        try:
            report = _report(found)
            return report if report.is_sound else repair_examined(found, report, Tuning())
        finally:
            found.catalog.close()
    finally:
        lock.release()


def _store(folder: str | PathLike[str]) -> Path:
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"{path}: no such store; `deltalog run --store` and kb.save create one")
    if not (path / NAME).exists() and not (path / SNAPSHOTS).exists() and not (path / NAME).is_symlink():
        raise UsageError(f"{path} is not a store: it has neither {NAME} nor {SNAPSHOTS}")
    return path


def _report(found: Examined) -> StoreReport:
    problems = [*found.catalog.problems, *found.problems, *version_problems(found)]
    problems += [problem for snapshot in found.snapshots for problem in snapshot.problems]
    named = [snapshot for snapshot in found.snapshots if snapshot.row is not None]
    openable = found.reachable(s.version for s in named if s.is_sound)
    notes = [f"{SNAPSHOTS}/{path.name} does not count; the next writer removes it" for path in found.unknown]
    if found.acknowledged is None and not problems:
        notes.append(f"{ACKNOWLEDGED} is missing: versions lost before the next change would not be noticed")
    return StoreReport(
        found.folder,
        found.newest,
        ranges(openable),
        len(named),
        len(found.catalog.changes) + len(found.catalog.damaged_changes),
        tuple(dict.fromkeys(problems)),
        tuple(notes),
    )
