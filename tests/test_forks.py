"""Knowledge bases that were made before a fork, in the process after it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import in_parallel
from test_threads import READERS, STEPS, change, edges, knowledge_base
from watchdog import watch, watched

from deltalog import KnowledgeBase
from deltalog.core.concurrency.locks import CallLock, awaited_lock

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
MANY = 60_000  # more than `workers.PARALLEL_ROWS`


def in_child(check: Callable[[], None]) -> None:
    """Does something in a forked process; what fails there fails here. (Python says that threads and forks do not go
    together; here they do.)"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            watch()
            check()
            gc.collect()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "it failed in the child"


def large() -> KnowledgeBase:
    kb = KnowledgeBase("q(X, Y) :- e(X, Z), e(Z, Y), X != Y.", threads=2)
    kb.add("e", pa.table({"x": np.arange(MANY), "y": (np.arange(MANY) * 7) % MANY}))
    kb.materialise()
    assert len(kb.query("e(?x, ?y), ?x > ?y")) < MANY
    return kb


def test_after_a_fork() -> None:
    watched(fork_once)


def fork_once() -> None:
    kb = large()
    derived, answers = kb.count("q"), len(kb.query("e(?x, ?y), ?x > ?y"))

    def check() -> None:
        assert len(kb.query("e(5, ?y)")) == 1
        assert len(kb.query("e(?x, ?y), ?x > ?y")) == answers
        kb.update(add={"e": [(MANY + 1, MANY + 2), (MANY + 2, MANY + 3)]})
        assert kb.count("q") == derived + 1
        assert len(kb.facts("e").to_arrow()) == MANY + 2
        with TemporaryDirectory() as folder:
            kb.write(Path(folder) / "facts", "parquet")
            other = KnowledgeBase("")
            other.load(Path(folder) / "facts")
            assert other.count("q") == derived + 1
        in_child(lambda: check_again(kb, derived + 1))

    in_child(check)
    in_child(check)
    assert kb.count("q") == derived
    assert len(kb.query("e(?x, ?y), ?x > ?y")) == answers


def check_again(kb: KnowledgeBase, derived: int) -> None:
    """In the child of a child."""
    assert len(kb.query("q(?x, ?y), ?x != ?y")) == derived


_shared: KnowledgeBase | None = None


def ask(number: int) -> int:
    assert _shared is not None
    return len(_shared.query(f"e(?x, ?y), ?x > ?y, ?x >= {number}"))


def test_multiprocessing_by_fork() -> None:
    watched(many_processes)


def many_processes() -> None:
    global _shared
    _shared = large()
    expected = [ask(number) for number in range(4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(ask, range(4)) == expected


def test_a_fork_while_other_threads_evaluate() -> None:
    watched(fork_in_the_middle)


def fork_in_the_middle() -> None:
    states = [{name: read(knowledge_base(step)) for name, read in READERS.items()} for step in range(STEPS)]
    kb, ended, step = knowledge_base(), threading.Event(), 0

    def work() -> None:
        nonlocal step
        while not ended.is_set():
            step = (step + 1) % STEPS
            old, new = set(kb.facts("edge")), set(edges(step))
            kb.update(add={"edge": sorted(new - old)}, remove={"edge": sorted(old - new)})

    def check() -> None:
        """All readings of one state; then the child goes on by itself."""
        assert {name: read(kb) for name, read in READERS.items()} in states
        old = set(kb.facts("edge"))
        kb.update(add={"edge": sorted(set(edges(0)) - old)}, remove={"edge": sorted(old - set(edges(0)))})
        change(kb, 1)
        assert {name: read(kb) for name, read in READERS.items()} == states[1]

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(8):
            in_child(check)
    finally:
        ended.set()
        worker.join()


def test_a_fork_while_a_large_evaluation_runs() -> None:
    watched(fork_in_a_long_call)


def fork_in_a_long_call() -> None:
    """A fork does not wait for a call of another thread, and the child has the state before it."""
    observed, go_on = threading.Event(), threading.Event()

    def observe(_: object) -> None:
        observed.set()
        assert go_on.wait(500)

    kb = in_parallel(KnowledgeBase("p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z).", threads=2, observe=observe))
    kb.add("e", [(n, n + 1) for n in range(20)])
    worker = threading.Thread(target=kb.materialise)
    worker.start()
    try:
        assert observed.wait(500)

        def check() -> None:
            go_on.set()
            assert kb.explicit_facts == 20
            assert kb.count("p") == 210

        in_child(check)
    finally:
        go_on.set()
        worker.join()
    assert kb.count("p") == 210


def test_a_fork_inside_of_a_call() -> None:
    watched(fork_in_a_callback)


def fork_in_a_callback() -> None:
    """The thread that forks is in the middle of a call, and goes on with it in both processes."""
    checked = list[int]()

    def observe(_: object) -> None:
        if not checked:
            checked.append(1)
            in_child(lambda: None)

    kb = in_parallel(KnowledgeBase("p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z).", threads=2, observe=observe))
    kb.add("e", [(n, n + 1) for n in range(20)])
    assert kb.count("p") == 210


def test_locks_in_the_child() -> None:
    watched(hold_locks)


def hold_locks() -> None:
    free, held, awaited = CallLock(), CallLock(), awaited_lock()
    holding, release = threading.Event(), threading.Event()

    def hold() -> None:
        with awaited:
            holding.set()
            release.wait(1)  # the fork waits for this
        with held.held:
            holding.set()
            release.wait(500)  # but not for this

    holder = threading.Thread(target=hold)
    holder.start()
    assert holding.wait(500)
    holding.clear()

    def check() -> None:
        for lock in (free, held, awaited):
            thread = threading.Thread(target=_take, args=(lock,))
            thread.start()
            thread.join()

    with free.held:
        in_child(lambda: None)
    assert holding.wait(500)
    in_child(check)
    release.set()
    holder.join()


def _take(lock: Any) -> None:
    with lock.held if isinstance(lock, CallLock) else lock:
        pass
