"""Who may use a store, and where it may be: writers and readers, forks, links, rights, formats."""

from __future__ import annotations

import errno
import json
import os
import signal
import sqlite3
import stat
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from stored_contents import contents, exit_code, in_child, opened, small_store

from deltalog import DataError, KnowledgeBase, UsageError
from deltalog.extensions.store.verify import repair

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


# Writers.


def test_a_second_writer_of_the_same_process_is_refused(tmp_path: Path) -> None:
    kb = small_store(tmp_path / "s")
    with pytest.raises(UsageError, match=rf"is being written to by process {os.getpid()} on .*, since 20"):
        KnowledgeBase.open(tmp_path / "s")
    kb.close()
    with KnowledgeBase.open(tmp_path / "s") as again:
        assert again.update(add={"node": [(7,)]}).added
        assert again.version == 2


def test_a_second_writer_of_another_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    small_store(tmp_path / "s").close()
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        kb = KnowledgeBase.open(tmp_path / "s")
        kb.update(add={"node": [(7,)]})
        os.write(go, b".")
        signal.pause()
    assert os.read(ready, 1) == b"."
    with pytest.raises(UsageError, match=rf"is being written to by process {child} on"):
        KnowledgeBase.open(tmp_path / "s")
    assert (7,) in set(KnowledgeBase.open(tmp_path / "s", readonly=True).facts("node"))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with KnowledgeBase.open(tmp_path / "s") as kb:
        assert kb.version == 2
        kb.update(add={"node": [(8,)]})
    assert opened(tmp_path / "s").version == 3


def test_a_store_that_is_dropped_without_close_is_free(tmp_path: Path) -> None:
    kb = small_store(tmp_path / "s")
    del kb
    with KnowledgeBase.open(tmp_path / "s") as again:
        assert again.version == 1


def test_opening_that_fails_leaves_the_lock_free(tmp_path: Path) -> None:
    small_store(tmp_path / "s").close()
    (tmp_path / "s" / "snapshots").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="snapshots cannot be read"):
        KnowledgeBase.open(tmp_path / "s")
    (tmp_path / "elsewhere").rename(tmp_path / "s" / "snapshots")
    KnowledgeBase.open(tmp_path / "s").close()


# Forks.


def test_a_fork_reads_and_does_not_write(tmp_path: Path) -> None:
    kb = small_store(tmp_path / "s")
    before = contents(kb)

    def check() -> None:
        assert contents(kb) == before
        with pytest.raises(UsageError, match="opened by the parent of this process"):
            kb.update(add={"node": [(7,)]})
        with pytest.raises(UsageError, match="opened by the parent of this process"):
            kb.compact()
        with pytest.raises(UsageError, match="is being written to by"):
            KnowledgeBase.open(tmp_path / "s")
        kb.close()

    in_child(check)
    holder = json.loads((tmp_path / "s" / "writer.lock").read_bytes())
    assert holder["process"] == os.getpid()  # closing it in the child took nothing from the parent
    with pytest.raises(UsageError, match="is being written to by"):
        KnowledgeBase.open(tmp_path / "s")
    kb.update(add={"node": [(7,)]})
    kb.close()
    assert opened(tmp_path / "s").version == 2


def test_a_reader_of_the_parent_cannot_be_refreshed_in_a_fork(tmp_path: Path) -> None:
    kb = small_store(tmp_path / "s")
    reader = KnowledgeBase.open(tmp_path / "s", readonly=True)

    def check() -> None:
        with pytest.raises(UsageError, match="opened by the parent of this process"):
            reader.refresh()
        assert KnowledgeBase.open(tmp_path / "s", readonly=True).version == 1

    in_child(check)
    kb.update(add={"node": [(7,)]})
    assert reader.refresh() == 2


def test_a_fork_does_not_keep_the_lock_of_its_parent(tmp_path: Path) -> None:
    """The lock of a process that is killed is free, although a process that it forked goes on."""
    small_store(tmp_path / "s").close()
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        kb = KnowledgeBase.open(tmp_path / "s")
        grandchild = os.fork()
        if grandchild == 0:
            signal.pause()
        kb.update(add={"node": [(7,)]})
        os.write(go, f"{grandchild}\n".encode())
        signal.pause()
    grandchild = int(os.read(ready, 100))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        with KnowledgeBase.open(tmp_path / "s") as kb:
            assert kb.version == 2
    finally:
        os.kill(grandchild, signal.SIGKILL)


# Links.


def _snapshots(store: Path) -> Path:
    return store / "snapshots"


def _snapshot(store: Path) -> Path:
    return store / "snapshots" / "1"


def _manifest(store: Path) -> Path:
    return store / "snapshots" / "1" / "manifest.json"


def _dictionary(store: Path) -> Path:
    return store / "snapshots" / "1" / "dictionary.bin"


def _relations(store: Path) -> Path:
    return store / "snapshots" / "1" / "relations.bin"


def _catalog(store: Path) -> Path:
    return store / "catalog.db"


@pytest.mark.parametrize("place", [_snapshots, _snapshot, _manifest, _dictionary, _relations, _catalog])
@pytest.mark.parametrize("readonly", [True, False])
def test_links_out_of_a_store_are_refused(tmp_path: Path, place: Callable[[Path], Path], readonly: bool) -> None:
    small_store(tmp_path / "s").close()
    linked, outside = place(tmp_path / "s"), tmp_path / "outside"
    linked.rename(outside)
    linked.symlink_to(outside)
    kept = sorted(outside.rglob("*")) if outside.is_dir() else outside.read_bytes()
    with pytest.raises(DataError, match="symbolic link"):
        KnowledgeBase.open(tmp_path / "s", readonly=readonly).materialise()
    assert kept == (sorted(outside.rglob("*")) if outside.is_dir() else outside.read_bytes())


@pytest.mark.parametrize("name", ["catalog.db-wal", "catalog.db-shm", "writer.lock"])
def test_links_in_place_of_files_that_writers_make_are_refused(tmp_path: Path, name: str) -> None:
    small_store(tmp_path / "s").close()
    (tmp_path / "s" / name).unlink(missing_ok=True)
    (tmp_path / "s" / name).symlink_to(tmp_path / "outside")
    with pytest.raises((DataError, UsageError), match=name):
        KnowledgeBase.open(tmp_path / "s")
    assert not (tmp_path / "outside").exists()


def test_a_link_beside_the_snapshots_is_not_followed(tmp_path: Path) -> None:
    """What nobody knows is removed by the next writer, but not what a link leads to."""
    small_store(tmp_path / "s").close()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("precious")
    (tmp_path / "s" / "snapshots" / "7").symlink_to(tmp_path / "outside")
    KnowledgeBase.open(tmp_path / "s").close()
    assert (tmp_path / "outside" / "file").read_text() == "precious"


@pytest.mark.parametrize("name", ["../../outside", "/etc", "..", ""])
def test_the_catalog_names_no_folder_outside(tmp_path: Path, name: str) -> None:
    small_store(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s" / "catalog.db") as catalog:
        catalog.execute("UPDATE snapshots SET folder = ?", (name,))
    catalog.close()
    with pytest.raises(DataError, match="is not the name of a snapshot"):
        KnowledgeBase.open(tmp_path / "s", readonly=True)


# Rights.


@pytest.mark.parametrize("mask", [0o002, 0o022, 0o077])
def test_a_store_has_the_rights_of_the_mask(tmp_path: Path, mask: int) -> None:
    def check() -> None:
        os.umask(mask)
        with small_store(tmp_path / "s") as kb:
            kb.update(add={"node": [(7,)]})
            kb.compact()
            found = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "s").rglob("*")}
        assert len(found) >= 8
        for path, mode in found.items():
            assert mode == (0o777 if path.is_dir() else 0o666) & ~mask, path

    in_child(check)


def _as_nobody() -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def _without_rights(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that another user may enter, too."""
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        if folder.stat().st_uid == os.getuid() and folder != Path("/tmp"):
            folder.chmod(0o755)
    return tmp_path


def test_a_store_in_a_folder_without_the_right_to_write(place: Path) -> None:
    with small_store(place / "s") as kb:
        kb.update(add={"node": [(7,)]})
        expected = contents(kb)
    _without_rights(place / "s")

    def check() -> None:
        _as_nobody()
        with KnowledgeBase.open(place / "s", readonly=True) as reader:
            assert contents(reader) == expected
            assert reader.refresh() == 2
        with pytest.raises(UsageError, match="get the right to write to the store, or open it with readonly=True"):
            KnowledgeBase.open(place / "s")

    in_child(check)


def test_a_killed_writer_and_a_reader_without_the_right_to_write(place: Path) -> None:
    """The last changes are in the write-ahead log."""
    small_store(place / "s").close()

    def write() -> None:
        kb = KnowledgeBase.open(place / "s")
        kb.update(add={"node": [(7,)]})
        os.kill(os.getpid(), signal.SIGKILL)

    assert exit_code(write) == -signal.SIGKILL
    assert (place / "s" / "catalog.db-wal").stat().st_size > 0
    _without_rights(place / "s")

    def check() -> None:
        _as_nobody()
        with KnowledgeBase.open(place / "s", readonly=True) as reader:
            assert reader.version == 2
            assert (7,) in set(reader.facts("node"))

    in_child(check)


def test_a_reader_without_the_right_to_write_follows_a_writer_that_comes_later(place: Path) -> None:
    small_store(place / "s").close()
    for path in [place / "s", *(place / "s").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    if os.getuid() != 0:
        pytest.skip("needs two users")
    ready, go = os.pipe()
    done, end = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _as_nobody()
            reader = KnowledgeBase.open(place / "s", readonly=True)
            os.write(go, b".")
            os.read(done, 1)
            assert reader.refresh() == 3
            assert (8,) in set(reader.facts("node"))
            code = 0
        finally:
            os._exit(code)
    os.read(ready, 1)
    with KnowledgeBase.open(place / "s") as kb:
        kb.update(add={"node": [(7,)]})
        kb.update(add={"node": [(8,)]})
        os.write(end, b".")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# Formats.


def test_a_newer_catalog_is_refused(tmp_path: Path) -> None:
    small_store(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s" / "catalog.db") as catalog:
        catalog.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    catalog.close()
    for readonly in (True, False):
        with pytest.raises(DataError, match=r"a later release of deltalog wrote this store .*; upgrade deltalog"):
            KnowledgeBase.open(tmp_path / "s", readonly=readonly)
    assert not (tmp_path / "s" / "writer.lock").read_bytes()


def test_a_newer_snapshot_is_refused(tmp_path: Path) -> None:
    small_store(tmp_path / "s").close()
    path = _manifest(tmp_path / "s")
    text = json.dumps(json.loads(path.read_text()) | {"format": 99})
    path.write_text(text)
    with sqlite3.connect(tmp_path / "s" / "catalog.db") as catalog:
        catalog.execute("UPDATE snapshots SET crc = ?", (zlib.crc32(text.encode()),))
    catalog.close()
    with pytest.raises(DataError, match=r"manifest.json: a later release of deltalog wrote this .*; upgrade deltalog"):
        KnowledgeBase.open(tmp_path / "s")


def test_a_newer_change_is_refused(tmp_path: Path) -> None:
    with small_store(tmp_path / "s") as kb:
        kb.update(add={"node": [(7,)]})
    with sqlite3.connect(tmp_path / "s" / "catalog.db") as catalog:
        (data,) = catalog.execute("SELECT data FROM changes").fetchone()
        data = data.replace(b"deltalog change 1\n", b"deltalog change 9\n")
        catalog.execute("UPDATE changes SET data = ?, crc = ?", (data, zlib.crc32(data)))
    catalog.close()
    with pytest.raises(DataError, match="version 2: a later release of deltalog wrote this change; upgrade deltalog"):
        KnowledgeBase.open(tmp_path / "s")


@pytest.mark.parametrize("data", [b"", b"not a database at all, but long enough to be one" * 100])
def test_what_is_no_catalog_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "catalog.db").write_bytes(data)
    for readonly in (True, False):
        with pytest.raises(DataError, match=r"catalog\.db"):
            KnowledgeBase.open(tmp_path / "s", readonly=readonly)
    assert not (tmp_path / "s" / "writer.lock").exists()


def test_a_store_that_was_moved_away_takes_no_changes(tmp_path: Path) -> None:
    """Another store in its place stays as it is."""
    kb = KnowledgeBase("p(X) :- q(X).")
    kb.add("q", [(1,)])
    kb.save(tmp_path / "store")
    (tmp_path / "store").rename(tmp_path / "moved")
    for attempt in (lambda: kb.update(add={"q": [(2,)]}), kb.compact):
        with pytest.raises(UsageError, match="has been moved, deleted or replaced"):
            attempt()
    other = KnowledgeBase("p(X) :- q(X). q(other).")
    other.save(tmp_path / "store")
    other.close()
    with pytest.raises(UsageError, match="has been moved, deleted or replaced"):
        kb.compact()
    kb.close()
    for name, row in (("moved", (1,)), ("store", ("other",))):
        with KnowledgeBase.open(tmp_path / name) as found:
            assert list(found.facts("p")) == [row]


def test_a_process_may_change_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    kb = KnowledgeBase("p(X) :- q(X). q(1).")
    kb.save("store")
    monkeypatch.chdir(tmp_path / "elsewhere")
    kb.update(add={"q": [(2,)]})
    kb.compact()
    kb.close()
    with KnowledgeBase.open(tmp_path / "store") as found:
        assert len(found.facts("p")) == 2


@pytest.mark.parametrize("keep", [0, -1, "x", 1.5])
def test_compaction_keeps_a_snapshot(keep: int, tmp_path: Path) -> None:
    kb = KnowledgeBase("p(X) :- q(X). q(1).")
    kb.save(tmp_path / "store")
    with pytest.raises(UsageError, match="is not a number of snapshots"):
        kb.compact(keep)
    kb.close()
    assert KnowledgeBase.open(tmp_path / "store", readonly=True).version == 1
    with pytest.raises(UsageError, match="is not a number of versions"):
        KnowledgeBase.open(tmp_path / "store", version=keep)


@pytest.mark.parametrize("given", ["program", "ontology", "profile"])
def test_a_store_has_its_own_rules(given: str, tmp_path: Path) -> None:
    KnowledgeBase("p(X) :- q(X). q(1).").save(tmp_path / "store")
    with pytest.raises(UsageError, match=f"open it without {given}"):
        KnowledgeBase.open(tmp_path / "store", readonly=True, **{given: "r(2)."})


def test_repair_does_not_follow_a_link(tmp_path: Path) -> None:
    KnowledgeBase("p(X) :- q(X). q(1).").save(tmp_path / "store")
    (tmp_path / "outside").mkdir()
    (tmp_path / "store" / "lost+found").symlink_to(tmp_path / "outside")
    (tmp_path / "store" / "catalog.db").write_bytes(b"damaged")
    with pytest.raises(UsageError, match="is a symbolic link"):
        repair(tmp_path / "store")
    assert not list((tmp_path / "outside").iterdir())


def test_rules_of_a_store_have_no_place(tmp_path: Path) -> None:
    kb = KnowledgeBase("\n\np(X) :- q(X). q(1).")
    kb.save(tmp_path / "store")
    kb.add_rules("\n\nr(X) :- p(X).")
    kb.close()
    with KnowledgeBase.open(tmp_path / "store") as found:
        assert [rule.span for rule in found.rules] == [None, None]
        assert "line" not in found.explain("r(1)").to_dict()["rule"]


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not another writer."""
    small_store(tmp_path / "s").close()

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(UsageError, match=r"writer\.lock cannot be locked \(No locks available\); keep the store on a"):
        KnowledgeBase.open(tmp_path / "s")
    KnowledgeBase.open(tmp_path / "s", readonly=True).close()
