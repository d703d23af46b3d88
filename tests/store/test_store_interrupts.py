"""Changes of a store that are interrupted, or fail, at any moment: the knowledge base is what its store has.

A trace function raises KeyboardInterrupt at each line in turn, as Ctrl-C would.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from stored_contents import contents, opened, small_store

from deltalog import DataError, KnowledgeBase, LimitReached, UsageError
from deltalog.core.tuning import Tuning
from deltalog.extensions.store.store import Store
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.stores import StoreLink

WHERE = ("/store/", "/kb.py")  # the files in which interrupts come


def interrupted_at(line: int, call: Callable[[], object]) -> bool:
    """Calls a function, with an interrupt after so many lines of the store's files; whether it has as many lines."""
    left = line

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not any(part in frame.f_code.co_filename for part in WHERE) or "deltalog" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    old = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(KeyboardInterrupt):
            call()
    finally:
        sys.settrace(old)
    return left <= 0


def test_an_update_that_is_interrupted_at_each_line(tmp_path: Path) -> None:
    kb = small_store(tmp_path / "s")
    line, made = 0, 0
    while True:
        line += 1
        before = contents(kb)
        if not interrupted_at(line, lambda line=line: kb.update({"node": [(f"n{line}",)]})):  # type: ignore[misc]
            break
        stored, mine = opened(tmp_path / "s"), contents(kb)
        if stored != mine:  # a second interrupt may come while the first is dealt with: the next change catches up
            assert mine == before
            kb.update(add={"node": [(f"after {line}",)]})
            stored, mine = opened(tmp_path / "s"), contents(kb)
        assert stored == mine, line
        made += stored.version != before.version
    assert line > 50
    assert made > 15
    assert opened(tmp_path / "s") == contents(kb)


def test_an_interrupt_between_the_log_and_the_knowledge_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if nothing can be done about it at once, the next change catches up."""
    kb = small_store(tmp_path / "s")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session_of(kb).link, "_become", interrupt)
        with pytest.raises(KeyboardInterrupt):
            kb.update(add={"edge": [(5.5, 1)]})
    assert kb.version == 1
    assert opened(tmp_path / "s").version == 2
    kb.add_rules("again(X) :- node(X).")
    assert kb.version == 3
    assert contents(kb) == opened(tmp_path / "s")
    assert (5.5, 1) in set(kb.facts("edge"))


def test_a_refresh_that_is_interrupted_at_many_lines(tmp_path: Path) -> None:
    """At each of them in the slow tests."""
    step = 1 if os.environ.get("DELTALOG_SLOW") else 4
    kb = small_store(tmp_path / "s")
    reader = KnowledgeBase.open(tmp_path / "s", readonly=True)
    versions, line = {1: contents(kb)}, 0
    while True:
        line += step
        kb.update(add={"node": [(f"n{line}",)]})
        kb.add_rules(f"r{line}(X) :- node(X).")
        kb.remove_rules(f"r{line}(X) :- node(X).")
        if line % 3 == 0:
            kb.compact()
        assert kb.version is not None
        versions[kb.version] = contents(kb)
        done = not interrupted_at(line, reader.refresh)
        seen = contents(reader)
        assert seen == versions[seen.version or 0], line
        assert reader.refresh() == kb.version
        assert contents(reader) == contents(kb), line
        if done:
            break
    assert line > 30


# SQLite.


class _Failing:
    """A connection that fails at COMMIT, before or after it is made."""

    def __init__(self, connection: sqlite3.Connection, made: bool, code: int) -> None:
        self._connection, self._made, self._code = connection, made, code

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *arguments: Any) -> Any:
        if statement != "COMMIT":
            return self._connection.execute(statement, *arguments)
        self._connection.execute("COMMIT" if self._made else "ROLLBACK")
        problem = sqlite3.OperationalError("disk I/O error")
        problem.sqlite_errorcode = self._code
        raise problem


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_FULL])
def test_a_commit_that_fails(tmp_path: Path, made: bool, code: int) -> None:
    kb = small_store(tmp_path / "s")
    store = session_of(kb).link.store
    assert store is not None
    connection = store.catalog._connection
    store.catalog._connection = _Failing(connection, made, code)  # type: ignore[assignment]
    uncertain = made or code == sqlite3.SQLITE_IOERR_FSYNC
    what = "may or may not have been made" if uncertain else "was not made"
    with pytest.raises(DataError, match=f"cannot be written .*the change {what}"):
        kb.update(add={"node": [(7,)]})
    store.catalog._connection = connection
    assert kb.version == (2 if made else 1)
    assert contents(kb) == opened(tmp_path / "s")
    if uncertain:
        with pytest.raises(UsageError, match="close the store and open it again"):
            kb.update(add={"node": [(8,)]})
    else:
        kb.update(add={"node": [(8,)]})
    kb.close()
    with KnowledgeBase.open(tmp_path / "s") as again:
        again.update(add={"node": [(9,)]})
        assert contents(again) == opened(tmp_path / "s")


def test_a_store_that_was_replaced_by_an_older_copy(tmp_path: Path) -> None:
    import shutil

    kb = small_store(tmp_path / "s")
    kb.close()
    shutil.copytree(tmp_path / "s", tmp_path / "copy")
    kb = KnowledgeBase.open(tmp_path / "s")
    kb.update(add={"node": [(7,)]})
    store = session_of(kb).link.store
    assert store is not None
    store.catalog._connection.execute("DELETE FROM versions WHERE version = 2")
    store.catalog._connection.execute("DELETE FROM changes WHERE version = 2")
    with pytest.raises(DataError, match="replaced by an earlier version"):
        kb.update(add={"node": [(8,)]})


# Snapshots that a change takes.

OFTEN = Tuning(store_max_changes=3)


def test_a_limit_in_a_snapshot_does_not_fail_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = small_store(tmp_path / "s", tuning=OFTEN)

    def limit(*_: object, **__: object) -> None:
        raise LimitReached("update stopped: the time limit was reached")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "take_snapshot", limit)
        for number in range(5):
            if number == 2:
                with pytest.warns(UserWarning, match="no snapshot was taken"):
                    kb.update(add={"node": [(f"n{number}",)]})
            else:
                kb.update(add={"node": [(f"n{number}",)]})
    assert opened(tmp_path / "s") == contents(kb)
    before = len(list((tmp_path / "s" / "snapshots").iterdir()))
    kb.update(add={"node": [("six",)]})  # the next attempt is after as many changes again
    assert len(list((tmp_path / "s" / "snapshots").iterdir())) == before + 1
    assert opened(tmp_path / "s") == contents(kb)


@pytest.mark.parametrize("place", ["drop_snapshots", "add_snapshot"])
def test_a_catalog_that_fails_in_a_snapshot_does_not_fail_the_change(tmp_path: Path, place: str) -> None:
    kb = small_store(tmp_path / "s", tuning=Tuning(store_max_changes=3, store_kept_snapshots=1))
    store = session_of(kb).link.store
    assert store is not None
    kb.update(add={"node": [("one",)]})
    kb.update(add={"node": [("two",)]})
    connection = store.catalog._connection

    class Full:
        def __getattr__(self, name: str) -> Any:
            return getattr(connection, name)

        def execute(self, statement: str, *arguments: Any) -> Any:
            if "snapshots" in statement and statement.startswith(("INSERT", "DELETE")):
                raise sqlite3.OperationalError("database or disk is full")
            return connection.execute(statement, *arguments)

        def executemany(self, statement: str, *arguments: Any) -> Any:
            if place == "drop_snapshots" and "snapshots" in statement:
                raise sqlite3.OperationalError("database or disk is full")
            return connection.executemany(statement, *arguments)

    store.catalog._connection = Full()  # type: ignore[assignment]
    with pytest.warns(UserWarning, match="no snapshot was taken"):
        kb.update(add={"node": [("three",)]})
    store.catalog._connection = connection
    assert kb.version == 4
    assert opened(tmp_path / "s") == contents(kb)
    kb.close()
    with KnowledgeBase.open(tmp_path / "s") as again:
        assert again.version == 4


# Details.


def test_what_changes_nothing_is_no_version(tmp_path: Path) -> None:
    kb = small_store(tmp_path / "s")
    kb.update(add={"node": [(1,)]})
    kb.update(remove={"node": [("nobody",)]})
    kb.add_rules("PREFIX : <http://e.x/>\npath(X, Y) :- edge(X, Y).")
    assert kb.version == 1
    kb.add_rules("PREFIX other: <http://e.x/>\npath(X, Y) :- edge(X, Y).")
    assert kb.version == 2
    assert opened(tmp_path / "s").prefixes["other"] == "http://e.x/"


def test_a_snapshot_of_a_version_that_has_one_leaves_nothing_behind(tmp_path: Path) -> None:
    kb = small_store(tmp_path / "s")
    for _ in range(3):
        kb.compact()
        assert len(list((tmp_path / "s" / "snapshots").iterdir())) == 1
    assert opened(tmp_path / "s") == contents(kb)


def test_a_version_that_is_loaded_while_it_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compaction removes the snapshot after a reader has found it."""
    kb = small_store(tmp_path / "s")
    kb.update(add={"node": [(7,)]})
    load = Store.load

    def slow(store: Store, version: int | None = None) -> Any:
        found = load(store, version)
        kb.compact()
        return found

    monkeypatch.setattr(Store, "load", slow)
    reader = KnowledgeBase.open(tmp_path / "s", readonly=True)
    assert contents(reader) == contents(kb)


def test_a_change_follows_what_the_store_has_before_it_is_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules that were written, and that interrupts have kept from memory, stay."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    kb = KnowledgeBase("p(X) :- q(X). q(1).")
    kb.save(tmp_path / "store")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(StoreLink, "_become", interrupted)
        kb.add_rules("r(X) :- q(X).")
    assert not kb.update(add={"q": [(2,)]}).removed_rules
    kb.close()
    with KnowledgeBase.open(tmp_path / "store") as found:
        assert list(found.rule_ids) == ["r1", "r2"]
        assert sorted(found.facts("r")) == [(1,), (2,)]
