"""Servers for tests: without a network, or on a free port of this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2
from starlette.testclient import TestClient

from deltalog import KnowledgeBase
from deltalog.apps.server.app import Server
from deltalog.apps.server.run import listening, process
from deltalog.apps.server.settings import ServerSettings

RULES = """
PREFIX : <http://e.org/>
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
degree(X, N) :- AGGREGATE(edge(X, Y) ON X BIND COUNT(Y) AS N).
end(X) :- edge(_, X), NOT edge(X, _).
[?x, :knows, ?y] :- [?y, :knows, ?x].
"""
EDGES = [("a", "b"), ("b", "c"), ("c", "d")]


def knowledge_base(**options: Any) -> KnowledgeBase:
    kb = KnowledgeBase(RULES, **options)
    kb.add("edge", EDGES)
    return kb


@contextmanager
def client(kb: KnowledgeBase | None = None, raises: bool = True, **settings: Any) -> Iterator[TestClient]:
    """A client of a server in this process."""
    app = Server(kb or knowledge_base(), ServerSettings(**settings)).app()
    with TestClient(app, "http://127.0.0.1:8080", raise_server_exceptions=raises) as made:
        yield made


class Running(NamedTuple):
    """A server that answers at an address."""

    server: Server
    address: str
    process: Any


@contextmanager
def running(kb: KnowledgeBase | None = None, **settings: Any) -> Iterator[Running]:
    """A server on a free port, in a thread."""
    with listening("127.0.0.1", 0) as listener:
        server = Server(kb or knowledge_base(), ServerSettings(**settings))
        made = process(server, listener)
        thread = threading.Thread(target=made.run, args=([listener],))
        thread.start()
        try:
            yield Running(server, f"http://127.0.0.1:{listener.getsockname()[1]}", made)
        finally:
            made.should_exit = True
            thread.join()


class Event(NamedTuple):
    name: str
    id: int
    data: dict[str, Any]


def events(response: httpx2.Response) -> Iterator[Event]:
    """The events of a stream."""
    found: dict[str, str] = {}
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if line and name:
            found[name] = value
        elif found:
            yield Event(found["event"], int(found["id"].partition(".")[0]), json.loads(found["data"]))
            found = {}


def post(client: Any, path: str, document: Any, **more: Any) -> Any:
    """What a POST of JSON is answered, if all is well."""
    answer = client.post(path, json=document, **more)
    assert answer.status_code == 200, answer.text
    return answer.json()
