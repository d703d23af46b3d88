"""`deltalog log`: the versions of a store."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deltalog.apps.cli.options import command_parser, local

if TYPE_CHECKING:
    from deltalog.extensions.store.catalog import SnapshotRow, VersionRow


def parser() -> ArgumentParser:
    made = command_parser("log", "List the versions of a store: when, how many explicit facts and rules, and bytes.")
    made.add_argument("store", metavar="STORE", type=local, help="the folder of a store")
    made.add_argument("--json", action="store_true", help="print a JSON list")
    return made


def run(options: Namespace) -> int:
    """Prints the versions; the exit code."""
    from deltalog.apps.cli.open_store import catalog_of

    with catalog_of(options.store) as catalog:
        versions, snapshots, openable = catalog.versions(), catalog.snapshots(), catalog.openable()
    if options.json:
        print(json.dumps([version.listed() for version in versions]))
    else:
        for line in table(versions, snapshots, openable):
            print(line)
    return 0


def table(versions: Sequence[VersionRow], snapshots: Sequence[SnapshotRow], openable: Sequence[int]) -> Iterator[str]:
    """A line for each version, and which of them can be opened."""
    from deltalog.core.render.text_table import text_table
    from deltalog.extensions.store.report import ranges, spans

    rows = []
    stored, can_be_opened = {snapshot.version: snapshot for snapshot in snapshots}, set(openable)
    for row in versions:
        snapshot, notes, size = stored.get(row.version), [_change(row)], 0
        if row.version in can_be_opened:
            size = row.bytes + (snapshot.bytes if snapshot else 0)
        else:
            notes.append("dropped" if row.version < min(stored, default=0) else "lost to damage")
        if snapshot is not None:
            notes.append("snapshot")
        rows.append((str(row.version), row.time[:23].replace("T", " "), size_text(size), "; ".join(notes)))
    header = "version", f"{'time':<23}", f"{'size':>9}", "change"
    yield from text_table(header, rows, (True, False, True, False), underlined=False)
    noun = "version" if len(openable) == 1 else "versions"
    yield f"{noun} {spans(ranges(openable)) or 'none'} can be opened; times are UTC"


def _change(row: VersionRow) -> str:
    facts = f"+{row.added_facts:,} -{row.removed_facts:,} facts"
    return f"{facts}, +{row.added_rules:,} -{row.removed_rules:,} rules"


def size_text(size: int) -> str:
    """A number of bytes in a short form."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000  # type: ignore[assignment]
    return f"{size:,.1f} GB"
