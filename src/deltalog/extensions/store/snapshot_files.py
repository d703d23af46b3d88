"""Snapshots: a version of a knowledge base as a folder of immutable files.

    manifest.json    rules, prefixes, settings, relations, and where each array is, with its checksum
    dictionary.bin   the arrays of the dictionary (`model.dictionary`), with space to grow
    relations.bin    sorted runs and their indexes (`backends.local.sorted_runs`)

A folder is written under a temporary name and renamed when all of it is on disk. The checksum of the manifest is in the
catalog, so every byte that counts is covered. Dictionaries are checked when they are opened, runs when they are first
read.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import Pred
from deltalog.core.terms import DECIMAL, Kind, lexical
from deltalog.core.tuning import Tuning
from deltalog.engines.local.mapped_run import MappedArrays, MappedRun
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import Ids, Keys, Order, Run, pack, unpack
from deltalog.engines.local.table import Table
from deltalog.engines.local.workers import Workers
from deltalog.extensions.store import files
from deltalog.extensions.store.arrays import ArrayWriter, MappedFile, StoredArray, damaged
from deltalog.extensions.versions import DERIVED, EXPLICIT, RelationEntry, VersionContents, check_format
from deltalog.languages.stored_rules import KeptPrograms

_SPARE_SHARE = 0.125  # of the ids of a large dictionary

FORMAT = 3  # 2: without Soufflé programs; 1: decimals were kept as they had been written, 1.50 and 1.5 apart
MANIFEST, DICTIONARY, RELATIONS = "manifest.json", "dictionary.bin", "relations.bin"
LimitCheck = Callable[[], None]


class StoredTables(NamedTuple):
    """The tables of a snapshot."""

    explicit: dict[Pred, Relation]
    derived: dict[Pred, Relation]


# Writing.


class Written(NamedTuple):
    """A snapshot that is on disk."""

    crc: int  # of its manifest
    bytes: int
    facts: int


def write_snapshot(
    folder: Path,
    version: int,
    contents: VersionContents,
    tables: StoredTables,
    dictionary: Dictionary,
    check: LimitCheck,
) -> Written:
    """Fills a folder, which exists and is empty."""
    renumbering = _renumbering(tables, dictionary, _tuning(tables))
    if renumbering is not None:
        dictionary = dictionary.subset(renumbering.kept)
    with _writer(folder / DICTIONARY, check) as writer:
        terms = {name: stored.listed() for name, stored in _add_dictionary(writer, dictionary, _tuning(tables))}
    with _writer(folder / RELATIONS, check) as writer:
        runs = _RunWriter(writer, renumbering)
        relations = [
            {**vars(RelationEntry.of(kind, pred, table.size)), "runs": runs.add_all(table)}
            for kind, each in ((EXPLICIT, tables.explicit), (DERIVED, tables.derived))
            for pred, table in each.items()
        ]
    manifest = {
        "format": FORMAT if KeptPrograms.are_in(contents.settings) else FORMAT - 1,
        "version": version,
        **asdict(contents),
        "ids": len(dictionary),
        "dictionary": terms,
        "relations": relations,
        "runs": runs.written,
    }
    text = json.dumps(manifest)
    files.write_text(folder / MANIFEST, text)
    files.sync_folder(folder)
    return Written(
        zlib.crc32(text.encode()),
        files.size_on_disk(folder),
        sum(table.size for each in tables for table in each.values()),
    )


class _writer:
    """A file of arrays that is closed, or abandoned on failure."""

    def __init__(self, path: Path, check: LimitCheck) -> None:
        self._writer = ArrayWriter.create(path, check)

    def __enter__(self) -> ArrayWriter:
        return self._writer

    def __exit__(self, failure: object, *_: object) -> None:
        (self._writer.abandon if failure else self._writer.close)()


def _tuning(tables: StoredTables) -> Tuning:
    return next((table.tuning for each in tables for table in each.values()), Tuning())


class _Renumbering(NamedTuple):
    """Ids without those that nothing uses; their order stays."""

    kept: Ids
    new: Ids  # by the old id


def _renumbering(tables: StoredTables, dictionary: Dictionary, tuning: Tuning) -> _Renumbering | None:
    """Set if many values of the dictionary are in no table."""
    used = np.zeros(len(dictionary), np.bool_)
    used[0] = True
    for run in (run for each in tables for table in each.values() for run in table.stored().compact.runs):
        for column in unpack(run.keys, run.arity):
            used[column] = True
    kept = np.flatnonzero(used).astype(np.uint32)
    if len(dictionary) - len(kept) <= tuning.store_unused_share * len(dictionary):
        return None
    return _Renumbering(kept, (np.cumsum(used) - 1).astype(np.uint32))


def _add_dictionary(writer: ArrayWriter, dictionary: Dictionary, tuning: Tuning) -> Iterator[tuple[str, StoredArray]]:
    """With space for as many new values as an update or two may bring, so that the arrays need not be copied."""
    ids = len(dictionary)
    more = max(tuning.store_spare_ids, int(ids * _SPARE_SHARE))
    for name, array in dictionary.stored(ids + more).items():
        if name == "table":
            yield name, writer.add(array)
        elif name == "heap":
            yield name, writer.add(array, len(array) + max(64 * more, 1))
        else:
            yield name, writer.add(array, len(array) + more)


@dataclass(slots=True)
class _RunWriter:
    """Writes runs, each once: tables may share them."""

    writer: ArrayWriter
    renumbering: _Renumbering | None
    written: list[dict[str, Any]] = field(default_factory=list)
    _known: dict[int, tuple[int, Run]] = field(default_factory=dict)  # by address; the run keeps it from being reused

    def add_all(self, table: Relation) -> list[int]:
        return [self._add(run) for run in table.stored().compact.runs]

    def _add(self, run: Run) -> int:
        known = self._known.get(id(run))
        if known is None:
            known = self._known[id(run)] = len(self.written), run
            orders = [[list(order), self._array(keys, run, order)] for order, keys in run.indexes().items()]
            self.written.append(
                {
                    "rows": len(run),
                    "arity": run.arity,
                    "keys": self._array(run.keys, run, run.canonical),
                    "orders": orders,
                    "distinct": {str(column): n for column, n in run.known_distinct().items()},
                    "heaviest": {str(column): n for column, n in run.known_heaviest().items()},
                }
            )
        return known[0]

    def _array(self, keys: Keys, run: Run, order: Order) -> list[Any]:
        if self.renumbering is not None and run.arity:
            new = self.renumbering.new
            keys = pack([new[column] for column in unpack(keys, run.arity)], len(run))
        return self.writer.add(keys).listed()


# Reading.


def read_manifest(folder: Path, crc: int | None = None) -> tuple[dict[str, Any], VersionContents]:
    """The manifest of a snapshot, as it is and as contents; `crc` is its checksum."""
    path = folder / MANIFEST
    if folder.is_symlink():
        raise damaged(folder, "it is a symbolic link")
    with files.opened(path) as file:
        text = file.read()
    if crc is not None and zlib.crc32(text) != crc:
        raise damaged(path, "its checksum is wrong")
    try:
        manifest = json.loads(text)
        check_format(manifest["format"], FORMAT, path, "snapshot")
        return manifest, VersionContents.read(manifest)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise damaged(path, f"it is not a manifest ({problem})") from None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that is open: its contents, its dictionary, and its tables as they are needed."""

    folder: Path
    version: int
    contents: VersionContents
    manifest: Mapping[str, Any] = field(repr=False)
    mapped: Mapping[str, MappedFile] = field(repr=False)  # which stay when a compaction removes the folder

    @classmethod
    def open(cls, folder: Path, crc: int | None = None, version: int | None = None) -> Snapshot:
        """The snapshot of a folder; `crc` is the checksum of its manifest, `version` what it should be."""
        manifest, contents = read_manifest(folder, crc)
        if version not in (None, manifest["version"]):
            raise damaged(folder, f"it is version {manifest['version']}, and the catalog says {version}")
        mapped = {name: MappedFile.open(folder / name) for name in (DICTIONARY, RELATIONS)}
        return cls(folder, manifest["version"], contents, manifest, mapped)

    def dictionary(self, workers: Workers) -> Dictionary:
        """The dictionary, checked by several threads."""
        mapped = self.mapped[DICTIONARY]
        arrays = {name: StoredArray.parse(values) for name, values in self.manifest["dictionary"].items()}
        workers.map(mapped.checked, sorted(arrays.values(), key=lambda stored: -stored.nbytes))
        found = Dictionary.mapped(
            {name: mapped.array(stored, with_capacity=True) for name, stored in arrays.items()}, self.manifest["ids"]
        )
        if self.manifest["format"] == 1:
            _check_decimals(found, self.folder)
        return found

    def tables(self, tuning: Tuning) -> StoredTables:
        """The tables; their rows are read, and checked, when they are needed."""
        mapped = self.mapped[RELATIONS]
        runs = [_mapped_run(mapped, run) for run in self.manifest["runs"]]
        found = StoredTables({}, {})
        for values in self.manifest["relations"]:
            entry = RelationEntry(*(values[name] for name in RelationEntry.__annotations__))
            table = Table(entry.arity, [runs[i] for i in values["runs"]], None, tuning)
            (found.explicit if entry.kind == EXPLICIT else found.derived)[entry.pred] = table
        return found


def _check_decimals(dictionary: Dictionary, folder: Path) -> None:
    """DataError if a decimal has another text than it would be given now: it would be two values."""
    texts = dictionary.strings(dictionary.having_prefix(Kind.NUMBER, DECIMAL + "\0"))
    other = next((text for each in texts if (text := each.partition("\0")[2]) != lexical(Decimal(text.strip()))), None)
    if other is not None:
        raise DataError(
            f"{folder}: an older release of deltalog wrote this snapshot, with the decimal {other}, which is "
            f"{lexical(Decimal(other.strip()))} now; create the store again from its data and rules"
        )


def _mapped_run(file: MappedFile, run: Mapping[str, Any]) -> MappedRun:
    orders = {tuple(order): StoredArray.parse(values) for order, values in run["orders"]}
    find = partial(_run_arrays, file, StoredArray.parse(run["keys"]), orders)
    made = MappedRun(find, run["rows"], run["arity"], frozenset(orders))
    return made.recall(*({int(i): n for i, n in run[name].items()} for name in ("distinct", "heaviest")))


def _run_arrays(file: MappedFile, keys: StoredArray, orders: Mapping[Order, StoredArray]) -> MappedArrays:
    return MappedArrays(file.checked(keys), {order: file.checked(stored) for order, stored in orders.items()})
