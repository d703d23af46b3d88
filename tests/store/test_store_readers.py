"""Readers while a writer goes on: they see whole versions, and never a part of one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from stored_contents import MEMORY, end_of, forked

from deltalog import KnowledgeBase, UsageError
from deltalog.core.tuning import Tuning
from deltalog.extensions.store.verify import verify

UPDATES = 1_000
RULES = """
total(N) :- AGGREGATE(item(X) BIND COUNT(X) AS N).
next(X, Y) :- item(X), item(Y), Y = X + 1.
reach(X, Y) :- next(X, Y).
reach(X, Z) :- reach(X, Y), next(Y, Z).
"""
LAST = 20  # the number of items


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory where there is one, as each update waits for the disk."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


def started(folder: Path) -> KnowledgeBase:
    """A store in which version v has the counter v, and the items v to v + LAST - 1."""
    tuning = Tuning(store_max_changes=60, store_kept_snapshots=2)
    kb = KnowledgeBase(RULES, tuning=tuning)
    kb.add("counter", [(1,)])
    kb.add("item", [(1 + i,) for i in range(LAST)])
    kb.save(folder)
    return kb


def advance(kb: KnowledgeBase) -> None:
    version = kb.version
    assert version is not None
    add = {"counter": [(version + 1,)], "item": [(version + LAST,)]}
    kb.update(add, {"counter": [(version,)], "item": [(version,)]})


def check_whole(kb: KnowledgeBase) -> int:
    """All of the facts are those of the version."""
    version = kb.version
    assert version is not None
    assert set(kb.facts("counter")) == {(version,)}
    assert {item for (item,) in kb.facts("item")} == set(range(version, version + LAST))
    assert set(kb.facts("total")) == {(LAST,)}
    assert kb.count("reach") == LAST * (LAST - 1) // 2
    return version


def read_on(folder: Path, until: int) -> None:
    """Refreshes a reader until it has seen a version; opens others now and then."""
    random, reader = Random(1), KnowledgeBase.open(folder, readonly=True)
    seen, deadline = {check_whole(reader)}, time.monotonic() + 300
    while max(seen) < until and time.monotonic() < deadline:
        before = reader.version
        assert reader.refresh() == check_whole(reader)
        assert (reader.version or 0) >= (before or 0)
        seen.add(check_whole(reader))
        if random.random() < 0.05:
            _open_some(folder, random.choice(sorted(seen)))
    assert max(seen) == until
    assert len(seen) > 5


def _open_some(folder: Path, version: int) -> None:
    with KnowledgeBase.open(folder, readonly=True) as newest:
        check_whole(newest)
    try:
        with KnowledgeBase.open(folder, version=version) as kb:
            assert check_whole(kb) == version
    except UsageError as problem:
        assert "has dropped those before" in str(problem)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_processes_that_read_during_a_thousand_updates(place: Path) -> None:
    started(place / "s").close()
    readers = [forked(lambda: read_on(place / "s", UPDATES)) for _ in range(2)]
    with KnowledgeBase.open(place / "s", tuning=Tuning(store_max_changes=60, store_kept_snapshots=2)) as kb:
        while kb.version != UPDATES:
            advance(kb)
            if kb.version == UPDATES // 2:
                kb.compact()
    assert [end_of(reader) for reader in readers] == [0, 0]
    assert verify(place / "s").is_sound


def test_threads_that_read_while_another_updates(tmp_path: Path) -> None:
    kb = started(tmp_path / "s")
    reader = KnowledgeBase.open(tmp_path / "s", readonly=True)
    end, failures = threading.Event(), []

    def whole(shared: KnowledgeBase) -> None:
        ((counter, total),) = shared.query("counter(?c), total(?n)")
        items = sorted(shared.query("item(?x), counter(?c), ?x >= ?c"))
        version = items[0][1]
        assert total == LAST
        assert items == [(version + i, version) for i in range(LAST)]
        assert counter <= version
        facts = shared.facts("item")
        assert len(list(facts)) == LAST

    def refreshed(shared: KnowledgeBase) -> None:
        shared.refresh()
        whole(shared)

    def go_on(check: Callable[[KnowledgeBase], None], shared: KnowledgeBase) -> None:
        while not end.is_set():
            try:
                check(shared)
            except BaseException as problem:
                failures.append(problem)
                return

    work = [(whole, kb), (whole, reader), (refreshed, reader), (refreshed, reader)]
    threads = [threading.Thread(target=go_on, args=each) for each in work]
    for thread in threads:
        thread.start()
    try:
        while kb.version != 200 and not failures:
            advance(kb)
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert not failures, failures[0]
    assert reader.refresh() == 200
    check_whole(reader)
    check_whole(kb)
