"""Readers see whole versions while a writer goes on, and nobody waits for anybody; limits; the process as a whole."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import client, events, knowledge_base, post, running

from deltalog import KnowledgeBase, UsageError
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import knowledge_base_of
from deltalog.knowledge_base.frozen import frozen

STEPS = 30
SLOW = "path(?a, ?b), path(?c, ?d), path(?e, ?f), path(?g, ?h), ?a + ?c = ?e + ?h + ?f"


def chain(length: int) -> KnowledgeBase:
    kb = KnowledgeBase("path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).")
    kb.add("edge", list(pairwise(range(length))))
    return kb


# Frozen states.


def test_a_frozen_state_stays_as_it_is() -> None:
    kb = knowledge_base()
    before = kb.frozen()
    kb.change(add={"edge": [("d", "e")]}, remove={"edge": [("a", "b")]}, add_rules="x(X) :- end(X).")
    after = kb.frozen()
    for state, ends, paths in ((before, {("d",)}, 6), (after, {("e",)}, 6), (kb, {("e",)}, 6)):
        assert set(state.facts("end")) == ends and state.count("path") == paths
        assert len(state.query("path(a, ?x)")) == (3 if state is before else 0)
        assert state.explain("path(b, d)").holds and state.sparql("ASK { ?x <edge> ?y }")
    assert "x" not in before.predicates and "x" in after.predicates
    assert before.what_if(remove={"edge": [("c", "d")]}).removed["path"]
    changes: list[Callable[[], Any]] = [
        lambda: before.update(add={"edge": [("x", "y")]}),
        lambda: before.add("edge", [("x", "y")]),
        lambda: before.load_ontology(profile="rdfs"),
        lambda: before.sparql_update("CLEAR ALL"),
    ]
    for change in changes:
        with pytest.raises(UsageError, match="frozen"):
            change()


def test_a_frozen_state_takes_over_prepared_queries() -> None:
    kb = knowledge_base()
    first = kb.frozen()
    assert len(first.query("path(a, ?x)", "magic")) == 3
    kb.update(add={"edge": [("d", "e")]})
    second = knowledge_base_of(frozen(session_of(kb.frozen()), session_of(first)), KnowledgeBase)
    assert session_of(second).queries is session_of(first).queries and len(second.query("path(a, ?x)", "magic")) == 4
    assert len(second.query("path(a, ?x)")) == 4 and second.count("path") == 10


def test_frozen_states_of_an_engine_that_has_none() -> None:
    kb = KnowledgeBase("p(X) :- q(X).", engine="naive")
    assert kb.frozen().predicates == ["p", "q"]


# Readers and a writer.


def test_readers_see_whole_versions() -> None:
    """A writer moves a chain of edges on; whoever reads finds all of one place, and the version says which."""
    with running() as server, httpx2.Client(base_url=server.address, timeout=300) as made:
        done = threading.Event()

        def rows(step: int) -> list[list[int]]:
            return [[step * 10 + i, step * 10 + i + 1] for i in range(5)]

        first = post(made, "/update", {"add": {"edge": rows(0)}})["version"]

        def read() -> int:
            reads = 0
            with httpx2.Client(base_url=server.address, timeout=300) as mine:
                while not done.is_set() or not reads:
                    found = mine.get("/query", params={"goal": "path(?x, ?y), ?y > -1"}).json()
                    step = found["version"] - first
                    nodes = range(step * 10, step * 10 + 6)
                    assert sorted(found["rows"]) == [[x, y] for x in nodes for y in nodes if x < y]
                    reads += 1
            return reads

        with ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            for step in range(1, STEPS):
                post(made, "/update", {"add": {"edge": rows(step)}, "remove": {"edge": rows(step - 1)}})
            done.set()
            assert all(reader.result() for reader in readers)


def test_a_slow_query_holds_up_no_change() -> None:
    """The changes are all made while the query runs, and the clock stands still; then only its time limit ends it."""
    kb, changed, seconds = chain(300), threading.Event(), itertools.count()
    with running(kb, seconds=5.0) as server, httpx2.Client(base_url=server.address, timeout=300) as made:
        post(made, "/query", {"goal": "path(1, ?x)"})
        made.post("/query", json={"goal": SLOW, "timeout": 0.1})  # now all kernels are compiled
        post(made, "/update", {"add": {"edge": [[-101, -100]]}})
        post(made, "/query", {"goal": "path(-101, ?x)"})
        kb.limits.clock = lambda: float(next(seconds)) if changed.is_set() else 0.0
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(httpx2.post, f"{server.address}/query", json={"goal": SLOW}, timeout=300)
            for i in range(10):
                post(made, "/update", {"add": {"edge": [[-i, -i - 1]]}})
                assert post(made, "/query", {"goal": f"path({-i}, ?x)"})["total"] >= 1
            assert not slow.done()
            changed.set()
            cut_off = slow.result()
        assert cut_off.status_code == 503 and cut_off.json()["error"]["code"] == "limit"
        assert "time limit of 5 s" in cut_off.json()["error"]["message"]


# Limits.


def test_time_rows_and_turns() -> None:
    kb, refused, seconds = chain(300), threading.Event(), itertools.count()
    with client(kb, rows=100, seconds=500.0, waiting_seconds=0.1, queries=1) as made:
        cut_off = made.post("/query", json={"goal": SLOW, "timeout": 0.2})
        assert cut_off.status_code == 503 and cut_off.json()["error"]["limit"] == "time"
        found = post(made, "/query", {"goal": "path(?x, ?y)", "limit": 1000})
        assert len(found["rows"]) == 100 and "server's limit of 100 rows" in found["cut_off"]
        assert len(made.get("/facts/path", params={"limit": 1000}).json()["rows"]) == 100
        assert made.get("/query", params={"goal": "x" * 40_000}).status_code == 414
        kb.limits.clock = lambda: float(next(seconds)) if refused.is_set() else 0.0
        with ThreadPoolExecutor(4) as pool:
            codes = []
            for each in as_completed(
                [pool.submit(made.post, "/query", json={"goal": SLOW, "timeout": 1.0}) for _ in range(4)]
            ):
                codes.append(each.result().json()["error"]["code"])
                if len(codes) == 3:
                    refused.set()
        assert codes == ["busy", "busy", "busy", "limit"]


def test_a_change_that_takes_too_long() -> None:
    kb = KnowledgeBase("n(0) :- go(_).  n(Y) :- n(X), BIND(X + 1 AS Y).")
    with client(kb, seconds=0.5) as made:
        stopped = made.post("/update", json={"add": {"go": [[1]]}})
        assert stopped.status_code == 503 and "as it was" in stopped.json()["error"]["message"]
        assert made.get("/facts/n").json()["total"] == 0 and made.get("/versions").json()["version"] == 1


def test_orders_are_within_the_limit_of_time() -> None:
    with client(chain(300), rows=10, seconds=500.0) as made:
        query = "SELECT ?x ?y { ?x <path> ?y } ORDER BY DESC(?y) ?x LIMIT 3"
        assert made.get("/sparql", params={"query": query}).status_code == 200
        cut_off = made.get("/sparql", params={"query": query, "timeout": 0.01})
        assert cut_off.status_code == 503 and cut_off.json()["error"]["code"] == "limit"


# The process.


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the address that it prints."""
    command = [sys.executable, "-m", "deltalog", "serve", *arguments, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip().rstrip("/")
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "store"
    with chain(300) as kb:
        kb.save(folder)
    return folder


def test_changes_are_durable_and_requests_end_well(store: Path) -> None:
    with served(str(store), "--timeout", "2") as (process, address), ThreadPoolExecutor(2) as pool:
        assert httpx2.get(f"{address}/health").json()["durable"]
        assert httpx2.get(f"{address}/health", headers={"host": "e.org"}).status_code == 403
        made = httpx2.post(f"{address}/update", json={"add": {"edge": [[-1, 0]]}}).json()
        assert made["version"] == 2 and made["durable"]
        slow = pool.submit(httpx2.post, f"{address}/query", json={"goal": SLOW, "timeout": 1.0}, timeout=300)

        def watch() -> list[Any]:
            with httpx2.stream("GET", f"{address}/changes", params={"predicate": "edge"}, timeout=300) as stream:
                return [event.name for event in events(stream)]

        watched = pool.submit(watch)
        while "deltalog_subscriptions 1" not in httpx2.get(f"{address}/metrics").text:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert slow.result().status_code == 503 and watched.result() == ["start"]
        assert process.wait(300) == 0
        assert process.stderr is not None and process.stderr.read() == ""
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{address}/health")
    with KnowledgeBase.open(store) as kb:
        assert kb.version == 2 and kb.count("edge") == 300


def test_a_port_that_is_taken(store: Path) -> None:
    with served(str(store), "--readonly") as (_, address):
        port = address.rpartition(":")[2]
        command = [sys.executable, "-m", "deltalog", "serve", str(store), "--readonly", "--port", port]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ)
        assert second.returncode == 1 and "choose another --port" in second.stderr
