"""Damaged stores: damage is found, by the name of the file; nothing wrong is ever read; and repairs recover the rest.

Stores are read in a forked process, since damage must not end the interpreter either.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from stored_contents import Contents, contents, exit_code, in_child, opened, small_store

from deltalog import DataError, KnowledgeBase, UsageError
from deltalog.core.tuning import Tuning
from deltalog.extensions.store.acknowledged import NAME as ACKNOWLEDGED
from deltalog.extensions.store.acknowledged import Acknowledged, read_acknowledged, replace_acknowledged
from deltalog.extensions.store.verify import repair, verify

FIRST, MIDDLE, NEWEST = 2, 5, 8  # the versions of the two snapshots, and the newest one
Versions = dict[int, Contents]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Versions]:
    """A store with two snapshots and changes after each of them, and all that can be opened of it."""
    folder = tmp_path_factory.mktemp("stores") / "s"
    kb = small_store(folder, tuning=Tuning(store_part_bytes=300))
    kb.update(add={"edge": [("x", "y")], "ternary": [(1, 2, 3), (4, 5, 6)]})
    kb.compact()
    kb.add_rules("back(Y, X) :- path(X, Y).")
    kb.update(add={"node": [("new",)], "flag": [()]}, remove={"edge": [(1, 2)]})
    kb.update(add={"edge": [(f"n{i}", f"n{i + 1}") for i in range(40)]})
    list(kb.query("path(?x, n7)"))  # an index
    kb.compact(keep=2)
    kb.remove_rules("lonely(X) :- node(X), NOT path(X, X).")
    kb.update(add={"edge": [(1, 2)]}, remove={"node": [("new",)]})
    kb.update(add={"node": [("last",)]})
    kb.close()
    versions = {version: opened(folder, version) for version in range(FIRST, NEWEST + 1)}
    assert sorted(path.name for path in (folder / "snapshots").iterdir()) == [str(FIRST), str(MIDDLE)]
    return folder, versions


@pytest.fixture
def copy(store: tuple[Path, Versions], tmp_path: Path) -> Callable[[], Path]:
    numbers = iter(range(10_000))

    def make() -> Path:
        return shutil.copytree(store[0], tmp_path / f"copy{next(numbers)}")

    return make


def flip(path: Path, offset: int, bits: int = 0xFF) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= bits
    path.write_bytes(data)


def check_reading(folder: Path, versions: Versions) -> None:
    """What can be read is right; what cannot, is said."""

    def check() -> None:
        for version, right in versions.items():
            try:
                assert opened(folder, version) == right, version
            except (DataError, UsageError):
                continue
        with suppress(DataError):
            assert opened(folder) == versions[NEWEST]

    in_child(check)


def check_repaired(folder: Path, versions: Versions) -> set[int]:
    """A repaired store is sound, has what versions have that it has, and can be changed; these versions."""
    report = verify(folder)
    assert report.is_sound, str(report)
    found = {version for each in report.openable for version in each}
    for version in found:
        if version in versions:
            assert opened(folder, version) == versions[version]
    for version in versions.keys() - found:
        with pytest.raises(UsageError, match=r"lost to damage|has no version"):
            opened(folder, version)
    with KnowledgeBase.open(folder) as kb:
        assert kb.version == max(found)
        kb.update(add={"node": [("after the repair",)]})
        assert kb.version == max(found) + 1
        expected = contents(kb)
    assert opened(folder) == expected
    assert verify(folder).is_sound
    return found


def arrays(folder: Path, snapshot: int) -> Iterator[tuple[str, str, int, int]]:
    """The file, what it has, the offset and the number of bytes of each array of a snapshot."""
    manifest = json.loads((folder / "snapshots" / str(snapshot) / "manifest.json").read_text())
    sizes = {"|u1": 1, "<u4": 4}
    for name, (offset, dtype, shape, *_) in manifest["dictionary"].items():
        yield "dictionary.bin", name, offset, sizes.get(dtype, 8) * shape[0]
    kinds = {i: each["kind"] for each in manifest["relations"] for i in each["runs"]}
    explicit = {i for each in manifest["relations"] if each["kind"] == "explicit" for i in each["runs"]}
    for number, run in enumerate(manifest["runs"]):
        kind = "explicit" if number in explicit else kinds[number]
        for what, stored in ((kind, run["keys"]), *(("index", stored) for _, stored in run["orders"])):
            offset, dtype, shape, *_ = stored
            size = sizes.get(dtype, 8)
            for n in shape:
                size *= n
            yield "relations.bin", what, offset, size


def test_a_sound_store(store: tuple[Path, Versions]) -> None:
    report = verify(store[0])
    assert report.is_sound
    assert (report.newest, report.snapshots, report.changes) == (NEWEST, 2, NEWEST - FIRST)
    assert report.openable == (range(FIRST, NEWEST + 1),)
    assert repair(store[0]) == report
    assert json.loads(json.dumps(report.listed()))["sound"] is True
    assert not (store[0] / "lost+found").exists()


@pytest.mark.parametrize("snapshot", [FIRST, MIDDLE])
@pytest.mark.parametrize("file", ["dictionary.bin", "relations.bin"])
def test_each_array_of_a_snapshot(
    store: tuple[Path, Versions], copy: Callable[[], Path], snapshot: int, file: str
) -> None:
    original, versions = store
    found = [each for each in arrays(original, snapshot) if each[0] == file and each[3]]
    assert len(found) >= 7
    for number, (_, what, offset, size) in enumerate(found):
        for place in {0, size // 2, size - 1}:
            folder = copy()
            flip(folder / "snapshots" / str(snapshot) / file, offset + place)
            report = verify(folder)
            assert {problem.file for problem in report.problems} == {f"snapshots/{snapshot}/{file}"}, what
            assert f"at byte {offset}" in str(report)
            if place == size // 2:
                check_reading(folder, versions)
            if place == size - 1 or number < 2:
                repaired = repair(folder)
                assert repaired.repaired
                kept = check_repaired(folder, versions)
                can_be_derived = what in ("derived", "index") or file == "dictionary.bin"  # the other one has the same
                lost = set() if can_be_derived or snapshot == MIDDLE else set(range(FIRST, MIDDLE))
                assert kept == set(versions) - lost, (what, str(repaired))
                assert (repaired.lost == ("nothing",)) == (not lost)
            shutil.rmtree(folder)


def test_bytes_between_arrays_do_not_matter(store: tuple[Path, Versions], copy: Callable[[], Path]) -> None:
    original, versions = store
    folder, path = copy(), Path("snapshots") / str(MIDDLE) / "dictionary.bin"
    used = sorted((offset, offset + size) for file, _, offset, size in arrays(original, MIDDLE) if file == path.name)
    data = bytearray((original / path).read_bytes())
    free = [i for (_, end), (begin, _) in pairwise(used) for i in range(end, begin)]
    for i in free:
        data[i] = 0xFF
    (folder / path).write_bytes(data)
    assert verify(folder).is_sound

    def check() -> None:
        with KnowledgeBase.open(folder) as kb:
            assert contents(kb) == versions[NEWEST]
            kb.update(add={"node": [(f"a new value {i}",) for i in range(500)] + [(i / 7,) for i in range(500)]})
            expected = contents(kb)
        assert opened(folder) == expected

    in_child(check)


@pytest.mark.parametrize("snapshot", [FIRST, MIDDLE])
def test_each_region_of_a_manifest(store: tuple[Path, Versions], copy: Callable[[], Path], snapshot: int) -> None:
    original, versions = store
    path = Path("snapshots") / str(snapshot) / "manifest.json"
    size = (original / path).stat().st_size
    for offset in [*range(0, size, size // 12), size - 1]:
        folder = copy()
        flip(folder / path, offset, 0x01)
        report = verify(folder)
        assert [problem.file for problem in report.problems] == [str(path)]
        check_reading(folder, versions)
        repair(folder)
        kept = check_repaired(folder, versions)
        assert kept == set(range(MIDDLE if snapshot == FIRST else FIRST, NEWEST + 1))
        shutil.rmtree(folder)


@pytest.mark.parametrize("part", range(4))
def test_the_catalog(store: tuple[Path, Versions], copy: Callable[[], Path], part: int) -> None:
    """Also where SQLite notices nothing."""
    original, versions = store
    size = (original / "catalog.db").stat().st_size
    offsets = {page + place for page in range(0, size, 4096) for place in (0, 3, 4, 5, 8, 100, 2048, 4000, 4090, 4095)}
    offsets |= set(range(part, size, size // 60))
    noticed = 0
    for number, offset in enumerate(sorted(offsets)):
        if number % 4 != part:
            continue
        folder = copy()
        flip(folder / "catalog.db", offset, 1 << number % 8)
        check_reading(folder, versions)
        report = verify(folder)
        if not report.is_sound:
            noticed += 1
            assert {problem.file.partition("/")[0] for problem in report.problems} <= {"catalog.db", "snapshots"}
            assert any(problem.file == "catalog.db" for problem in report.problems) or "catalog" in str(report)
            repaired = repair(folder)
            assert repaired.recovered
            found = opened(folder)
            assert found[1:] in [right[1:] for right in versions.values()], str(repaired)
            if repaired.lost == ("nothing",):
                assert found == versions[NEWEST], str(repaired)
            check_repaired(folder, versions)
        shutil.rmtree(folder)
    assert noticed >= 5


# Files that are missing or cut short.


@pytest.mark.parametrize("cut", ["missing", "empty", "half", "link"])
@pytest.mark.parametrize("file", ["manifest.json", "dictionary.bin", "relations.bin", ""])
@pytest.mark.parametrize("snapshot", [FIRST, MIDDLE])
def test_files_of_a_snapshot_that_are_not_whole(
    store: tuple[Path, Versions], copy: Callable[[], Path], snapshot: int, file: str, cut: str
) -> None:
    versions, folder = store[1], copy()
    _cut(folder / "snapshots" / str(snapshot) / file, cut)
    report = verify(folder)
    assert all(problem.file.startswith(f"snapshots/{snapshot}") for problem in report.problems)
    assert not report.is_sound
    check_reading(folder, versions)
    repair(folder)
    kept = check_repaired(folder, versions)
    # The dictionary of the other snapshot begins with the same values; the hash table can be made again.
    has_values = file == "dictionary.bin" or (file == "" and cut == "half")
    assert kept == set(range(MIDDLE if snapshot == FIRST and not has_values else FIRST, NEWEST + 1))


@pytest.mark.parametrize("catalog", ["whole", "missing"])
@pytest.mark.parametrize(
    "swapped", [["manifest.json"], ["dictionary.bin"], ["relations.bin"], ["manifest.json", "relations.bin"], [""]]
)
def test_files_in_the_folders_of_others(
    store: tuple[Path, Versions], copy: Callable[[], Path], swapped: list[str], catalog: str
) -> None:
    versions, folder = store[1], copy()
    one, other = (folder / "snapshots" / str(version) for version in (FIRST, MIDDLE))
    for file in swapped:
        (one / file).rename(folder / "moved")
        (other / file).rename(one / file)
        (folder / "moved").rename(other / file)
    if catalog == "missing":
        (folder / "catalog.db").unlink()
    assert not verify(folder).is_sound
    check_reading(folder, versions)
    repaired = repair(folder)
    kept = check_repaired(folder, versions)
    if catalog == "whole":
        assert kept == set(versions)
        assert repaired.lost == ("nothing",)
    else:
        assert {FIRST, MIDDLE} <= kept
    if swapped != [""]:
        assert f"files of the snapshot of version {FIRST}, from the folders of others" in repaired.recovered
        assert (folder / "lost+found" / f"snapshot-{FIRST}").is_dir()


def test_swapped_files_of_which_one_is_damaged(store: tuple[Path, Versions], copy: Callable[[], Path]) -> None:
    versions, folder = store[1], copy()
    one, other = (folder / "snapshots" / str(version) / "manifest.json" for version in (FIRST, MIDDLE))
    text = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(text)
    offset = next(offset for _, what, offset, _ in arrays(store[0], FIRST) if what == "derived")
    flip(folder / "snapshots" / str(FIRST) / "relations.bin", offset)
    assert repair(folder).lost == ("nothing",)
    assert check_repaired(folder, versions) == set(versions)


def _cut(path: Path, how: str) -> None:
    if path.is_dir() and how in ("empty", "half"):
        for file in sorted(path.iterdir())[: 3 if how == "empty" else 1]:
            file.unlink()
    elif how == "link":
        target = path.rename(path.parent.parent.parent / f"moved-{path.name}")
        path.symlink_to(target)
    elif how == "missing":
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    else:
        data = path.read_bytes()
        path.write_bytes(b"" if how == "empty" else data[: len(data) // 2])


@pytest.mark.parametrize("cut", ["missing", "empty", "half", "link", "text"])
def test_a_catalog_that_is_not_whole(store: tuple[Path, Versions], copy: Callable[[], Path], cut: str) -> None:
    versions, folder = store[1], copy()
    if cut == "text":
        (folder / "catalog.db").write_text("not a database " * 1000)
    elif cut == "link":
        (folder / "catalog.db").rename(folder.parent / "outside.db")
        (folder / "catalog.db").symlink_to(folder.parent / "outside.db")
    else:
        _cut(folder / "catalog.db", cut)
    before = verify(folder)
    assert "catalog.db" in {problem.file for problem in before.problems}
    with pytest.raises(DataError, match=r"catalog\.db"):
        opened(folder)
    report = repair(folder)
    assert any("catalog" in each for each in report.recovered)
    assert any("if there were any" in each or "version" in each for each in report.lost)
    kept = check_repaired(folder, versions)
    assert {FIRST, MIDDLE} <= kept
    if cut != "missing":
        assert any(path.name.startswith("catalog.db") for path in (folder / "lost+found").iterdir())


def test_a_store_without_snapshots(copy: Callable[[], Path]) -> None:
    folder = copy()
    shutil.rmtree(folder / "snapshots")
    report = verify(folder)
    assert "snapshots" in {problem.file for problem in report.problems}
    with pytest.raises(DataError, match="nothing can be recovered"):
        repair(folder)
    assert verify(folder).problems == report.problems


# The log.


def damage_change(folder: Path, version: int) -> None:
    with sqlite3.connect(folder / "catalog.db") as catalog:
        (data,) = catalog.execute("SELECT data FROM changes WHERE version = ? AND part = 0", (version,)).fetchone()
        data = data[:-1] + bytes([data[-1] ^ 1])
        catalog.execute("UPDATE changes SET data = ? WHERE version = ? AND part = 0", (data, version))
    catalog.close()


def delete_change(folder: Path, version: int) -> None:
    with sqlite3.connect(folder / "catalog.db") as catalog:
        catalog.execute("DELETE FROM changes WHERE version = ?", (version,))
    catalog.close()


@pytest.mark.parametrize("damage", [damage_change, delete_change])
@pytest.mark.parametrize("version", range(FIRST + 1, NEWEST + 1))
def test_a_damaged_change(
    store: tuple[Path, Versions], copy: Callable[[], Path], version: int, damage: Callable[[Path, int], None]
) -> None:
    """Versions from there on are lost, up to the next snapshot."""
    versions, folder = store[1], copy()
    damage(folder, version)
    report = verify(folder)
    assert f"the change of version {version} is" in str(report)
    check_reading(folder, versions)
    repaired = repair(folder)
    kept = check_repaired(folder, versions)
    if version <= MIDDLE:
        gone = set(range(version, MIDDLE))
        assert kept == set(versions) - gone
        assert repaired.lost == (_spans(gone) if gone else ("nothing",))
    else:
        assert kept == set(range(FIRST, version)) | {NEWEST + 1}
        assert repaired.lost == _spans(set(range(version, NEWEST + 1)))
        assert f"version {NEWEST + 1}, which is as version {version - 1} was" in repaired.recovered


def _spans(versions: set[int]) -> tuple[str]:
    first, last = min(versions), max(versions)
    return (f"version {first}" if first == last else f"versions {first} to {last}",)


def test_a_reader_goes_on_after_a_repair(store: tuple[Path, Versions], copy: Callable[[], Path]) -> None:
    """Numbers of versions that were lost are not used again."""
    folder = copy()
    damage_change(folder, NEWEST)
    repair(folder)
    with KnowledgeBase.open(folder, readonly=True) as reader:
        assert contents(reader)[1:] == store[1][NEWEST - 1][1:]
        with KnowledgeBase.open(folder) as kb:
            kb.update(add={"node": [("more",)]})
            assert reader.refresh() == NEWEST + 2
            assert contents(reader) == contents(kb)


def test_two_repairs(store: tuple[Path, Versions], copy: Callable[[], Path]) -> None:
    folder = copy()
    damage_change(folder, 4)
    repair(folder)
    damage_change(folder, 7)
    repaired = repair(folder)
    assert repaired.lost == ("versions 7 to 8",)
    assert check_repaired(folder, store[1]) == {2, 3, 5, 6, 9}


# The write-ahead log, which a killed writer leaves.


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, Versions]:
    """A store whose last changes are in the write-ahead log alone."""
    small_store(tmp_path / "killed").close()

    def write() -> None:
        kb = KnowledgeBase.open(tmp_path / "killed")
        for number in range(6):
            kb.update(add={"node": [(f"n{number}",)]})
        os.kill(os.getpid(), signal.SIGKILL)

    assert exit_code(write) == -signal.SIGKILL
    copy = shutil.copytree(tmp_path / "killed", tmp_path / "to read")
    return tmp_path / "killed", {version: opened(copy, version) for version in range(1, 8)}


def test_a_damaged_write_ahead_log(killed: tuple[Path, Versions], tmp_path: Path) -> None:
    original, versions = killed
    assert verify(original).is_sound
    size = (original / "catalog.db-wal").stat().st_size
    for number, offset in enumerate([16, *range(40, size, size // 14), size - 1]):
        folder = shutil.copytree(original, tmp_path / f"copy{number}")
        flip(folder / "catalog.db-wal", offset)
        check_lost(folder, versions)
        assert any(path.name == "catalog.db-wal" for path in (folder / "lost+found").iterdir())


def check_lost(folder: Path, versions: Versions) -> int:
    """Acknowledged versions up to 7 are missing: everyone says so, and a repair goes on after them; how many."""
    report = verify(folder)
    assert {problem.file for problem in report.problems} <= {"catalog.db", "catalog.db-wal"}
    assert report.newest == 7
    for readonly in (True, False):
        with pytest.raises(DataError, match=r"acknowledged, and catalog\.db-wal was lost|catalog\.db-wal is damaged"):
            KnowledgeBase.open(folder, readonly=readonly)
    repaired = repair(folder)
    assert verify(folder).is_sound
    with KnowledgeBase.open(folder) as kb:
        assert kb.version == 8
        (last,) = (int(each.split()[-2]) for each in repaired.recovered if each.startswith("version 8, which is as"))
        assert contents(kb)[1:] == versions[last][1:]
        assert repaired.lost == _spans(set(range(last + 1, 8)))
        kb.update(add={"node": [("after the repair",)]})
    assert verify(folder).is_sound
    return 7 - last


def test_a_write_ahead_log_that_is_lost(killed: tuple[Path, Versions]) -> None:
    original, versions = killed
    (original / "catalog.db-wal").unlink()
    expected = "catalog.db: versions 2 to 7 (6) were acknowledged, and catalog.db-wal was lost or cut short"
    assert expected in str(verify(original))
    assert check_lost(original, versions) == 6


def test_a_write_ahead_log_that_is_cut_short(killed: tuple[Path, Versions], tmp_path: Path) -> None:
    """Wherever it ends, what was acknowledged after that is missing."""
    original, versions = killed
    size = (original / "catalog.db-wal").stat().st_size
    lost = set()
    for number, cut in enumerate(range(0, size, size // 9)):
        folder = shutil.copytree(original, tmp_path / f"copy{number}")
        os.truncate(folder / "catalog.db-wal", cut)
        lost.add(check_lost(folder, versions))
    assert lost >= {1, 6}


def _acknowledged(folder: Path) -> Acknowledged:
    found = read_acknowledged(folder)
    assert found is not None
    return found


@pytest.mark.parametrize("known", ["the one before", "nothing"])
def test_a_power_failure(killed: tuple[Path, Versions], tmp_path: Path, known: str) -> None:
    """A version that was not acknowledged may be missing. So may any in a store of an earlier release, which cannot be
    known there."""
    original, versions = killed
    if known == "nothing":
        (original / ACKNOWLEDGED).unlink()
    else:
        replace_acknowledged(original, Acknowledged(_acknowledged(original).store, 6))
    size = (original / "catalog.db-wal").stat().st_size
    for cut in (size, size - 1):
        folder = shutil.copytree(original, tmp_path / f"copy{cut}")
        os.truncate(folder / "catalog.db-wal", cut)
        report = verify(folder)
        assert report.is_sound
        assert ("acknowledged is missing" in str(report)) == (known == "nothing")
        with KnowledgeBase.open(folder) as kb:
            assert kb.version == (7 if cut == size else 6)
            assert contents(kb) == versions[kb.version]
            kb.update(add={"node": [("more",)]})
            assert _acknowledged(folder).version == kb.version
        assert verify(folder).is_sound


@pytest.mark.parametrize("kept", [1, 2])
def test_a_snapshot_outlives_the_log(tmp_path: Path, kept: int) -> None:
    """A snapshot that the lost log has made count is found by its folder, also if it is the only one."""
    small_store(tmp_path / "s").close()

    def write() -> None:
        kb = KnowledgeBase.open(tmp_path / "s", tuning=Tuning(store_max_changes=2, store_kept_snapshots=kept))
        kb.update(add={"node": [("one",)]})
        kb.update(add={"node": [("two",)]})
        os.kill(os.getpid(), signal.SIGKILL)

    assert exit_code(write) == -signal.SIGKILL
    right = opened(shutil.copytree(tmp_path / "s", tmp_path / "to read"))
    (tmp_path / "s" / "catalog.db-wal").write_bytes(b"")
    assert not verify(tmp_path / "s").is_sound
    assert repair(tmp_path / "s").lost == (("version 2",) if kept == 2 else ("versions 1 to 2",))
    assert opened(tmp_path / "s") == right
    assert verify(tmp_path / "s").is_sound


def test_an_older_copy_of_the_catalog(store: tuple[Path, Versions], copy: Callable[[], Path]) -> None:
    folder, older = copy(), copy()
    with KnowledgeBase.open(folder) as kb:
        kb.update(add={"node": [("newer",)]})
    shutil.copy(older / "catalog.db", folder / "catalog.db")
    with pytest.raises(DataError, match=rf"version {NEWEST + 1} was acknowledged, .* or catalog\.db is an older copy"):
        opened(folder)
    shutil.copy(older / ACKNOWLEDGED, folder / ACKNOWLEDGED)  # as a backup of the whole folder does
    assert verify(folder).is_sound
    assert opened(folder) == store[1][NEWEST]


@pytest.mark.parametrize("damage", ["empty", "both", "link", "another store"])
def test_a_damaged_acknowledgement(
    store: tuple[Path, Versions], copy: Callable[[], Path], damage: str, tmp_path: Path
) -> None:
    folder = copy()
    path = folder / ACKNOWLEDGED
    if damage == "both":
        flip(path, 60, 1)
        flip(path, 4096 + 60, 1)
    elif damage == "another store":
        replace_acknowledged(folder, Acknowledged("0" * 32, 3))
    else:
        _cut(path, damage)
    assert not verify(folder).is_sound
    with pytest.raises(DataError, match=r"acknowledged (is damaged|cannot be read)|not the catalog of this store"):
        opened(folder)
    assert repair(folder).lost == ("nothing",)
    assert check_repaired(folder, store[1]) == set(store[1])


def test_one_slot_of_an_acknowledgement(store: tuple[Path, Versions], copy: Callable[[], Path]) -> None:
    """As a write leaves it that is cut off."""
    for slot in (0, 1):
        folder = copy()
        flip(folder / ACKNOWLEDGED, 4096 * slot + 60, 1)
        assert verify(folder).is_sound
        with KnowledgeBase.open(folder) as kb:
            kb.update(add={"node": [("newer",)]})
        assert _acknowledged(folder).version == NEWEST + 1


# Nothing else to go by.


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A store with one snapshot and a change."""
    with small_store(tmp_path / "alone") as kb:
        kb.update(add={"edge": [("later", 1)]})
    return tmp_path / "alone"


def test_explicit_facts_of_one_relation_are_lost(alone: Path) -> None:
    manifest = json.loads((alone / "snapshots" / "1" / "manifest.json").read_text())
    (edges,) = (each for each in manifest["relations"] if each["name"] == "edge" and each["kind"] == "explicit")
    flip(alone / "snapshots" / "1" / "relations.bin", manifest["runs"][edges["runs"][0]]["keys"][0])
    assert "explicit facts of edge/2" in str(verify(alone))
    repaired = repair(alone)
    assert "5 explicit facts of edge/2, as they were in version 1" in repaired.lost
    assert verify(alone).is_sound
    with KnowledgeBase.open(alone) as kb:
        assert kb.version == 3
        assert set(kb.facts("edge")) == {("later", 1)}
        assert len(kb.facts("node")) == 6
        assert len(kb.rule_ids) == 5
    assert (alone / "lost+found" / "snapshot-1" / "relations.bin").exists()


def test_all_values_are_lost(alone: Path) -> None:
    flip(alone / "snapshots" / "1" / "dictionary.bin", 4096)
    repaired = repair(alone)
    assert any("explicit facts of node/1" in each for each in repaired.lost)
    assert any("explicit facts of edge/2" in each for each in repaired.lost)
    with KnowledgeBase.open(alone) as kb:
        assert set(kb.facts("edge")) == {("later", 1)}  # from the log
        assert len(kb.rule_ids) == 5
    assert verify(alone).is_sound


def test_derived_facts_of_the_only_snapshot(alone: Path) -> None:
    right = opened(alone)
    manifest = json.loads((alone / "snapshots" / "1" / "manifest.json").read_text())
    (paths,) = (each for each in manifest["relations"] if each["name"] == "degree")
    flip(alone / "snapshots" / "1" / "relations.bin", manifest["runs"][paths["runs"][0]]["keys"][0])
    with pytest.raises(DataError, match=r"relations\.bin is damaged"):
        opened(alone)
    assert repair(alone).lost == ("nothing",)
    assert opened(alone) == right


# Who may repair.


def test_a_store_that_is_written_to_is_not_repaired(alone: Path) -> None:
    with KnowledgeBase.open(alone) as kb:
        with pytest.raises(UsageError, match="is being written to by"):
            repair(alone)
        assert verify(alone).is_sound
        kb.update(add={"node": [("x",)]})


def test_a_newer_store_is_not_repaired(alone: Path) -> None:
    with sqlite3.connect(alone / "catalog.db") as catalog:
        catalog.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    catalog.close()
    for call in (verify, repair):
        with pytest.raises(DataError, match="a later release of deltalog wrote this store"):
            call(alone)


@pytest.mark.parametrize("place", ["nothing", "folder", "file"])
def test_what_is_no_store(tmp_path: Path, place: str) -> None:
    if place == "folder":
        (tmp_path / place).mkdir()
    elif place == "file":
        (tmp_path / place).write_text("text")
    for call in (verify, repair):
        with pytest.raises(UsageError, match=r"no such store|is not a store"):
            call(tmp_path / place)


def test_what_a_killed_writer_leaves_is_no_damage(alone: Path) -> None:
    child = os.fork()
    if child == 0:
        kb = KnowledgeBase.open(alone)
        kb.update(add={"node": [("x",)]})
        (alone / "snapshots" / "9.unfinished").mkdir()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    report = verify(alone)
    assert report.is_sound
    assert report.newest == 3
    assert "snapshots/9.unfinished does not count" in str(report)
