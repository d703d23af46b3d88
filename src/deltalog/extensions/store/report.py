"""What is wrong with a store, and what a repair did about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class StoreProblem(NamedTuple):
    """Damage of a file, by its name in the store, and what it affects."""

    file: str
    what: str
    affects: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.what}" + (f"; affects {self.affects}" if self.affects else "")


@dataclass(frozen=True, slots=True)
class StoreReport:
    """The state of a store, before a repair if there was one."""

    folder: Path
    newest: int  # version; 0 if nothing says it
    openable: tuple[range, ...] = ()  # versions
    snapshots: int = 0
    changes: int = 0  # in the log
    problems: Sequence[StoreProblem] = ()
    notes: Sequence[str] = ()  # what is unusual, but no damage
    repaired: bool = False
    recovered: Sequence[str] = field(default=())  # by a repair
    lost: Sequence[str] = field(default=())

    @property
    def is_sound(self) -> bool:
        return not self.problems

    @property
    def has_losses(self) -> bool:
        """Whether a repair has lost something."""
        return tuple(self.lost) not in ((), ("nothing",))

    def listed(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "folder": str(self.folder),
            "sound": self.is_sound,
            "newest": self.newest,
            "openable": [[each[0], each[-1]] for each in self.openable],
            "snapshots": self.snapshots,
            "changes": self.changes,
            "problems": [problem._asdict() for problem in self.problems],
            "notes": list(self.notes),
            "repaired": self.repaired,
            "recovered": list(self.recovered),
            "lost": list(self.lost),
        }

    def __str__(self) -> str:
        state = "no damage" if self.is_sound else f"{len(self.problems)} problems"
        lines = [
            f"{self.folder}: {state}; version {self.newest}, {self.snapshots} snapshots, {self.changes} changes in the "
            f"log; versions {spans(self.openable) or 'none'} can be opened"
        ]
        lines += [f"  problem: {problem}" for problem in self.problems]
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  recovered: {each}" for each in self.recovered]
        lines += [f"  lost: {each}" for each in self.lost]
        if self.problems and not self.repaired:
            lines.append("  `deltalog store verify --repair` recovers what is left")
        return "\n".join(lines)


def ranges(versions: Sequence[int]) -> tuple[range, ...]:
    """Ascending versions as ranges."""
    found: list[range] = []
    for version in versions:
        if found and found[-1].stop == version:
            found[-1] = range(found[-1].start, version + 1)
        else:
            found.append(range(version, version + 1))
    return tuple(found)


def spans(found: Sequence[range]) -> str:
    """Ranges as text: 1, 3 to 7."""
    return ", ".join(str(each[0]) if len(each) == 1 else f"{each[0]} to {each[-1]}" for each in found)


def missing_versions(missing: range) -> str:
    """What is known of acknowledged versions that the catalog does not have."""
    count = f"version {missing[0]} was" if len(missing) == 1 else f"versions {spans([missing])} ({len(missing):,}) were"
    return f"{count} acknowledged, and catalog.db-wal was lost or cut short, or catalog.db is an older copy"
