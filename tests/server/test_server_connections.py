"""Connections that send no request."""

from __future__ import annotations

import socket
from urllib.request import urlopen

from serving import client, knowledge_base, running

MOST = 20


def test_half_open_connections_make_room() -> None:
    with running(connections=MOST) as server:
        port = int(server.address.rpartition(":")[2])
        opened = [socket.create_connection(("127.0.0.1", port)) for _ in range(MOST + 10)]
        for connection in opened[MOST:]:
            connection.sendall(b"GET /health HT")
        with urlopen(f"{server.address}/health") as answer:
            assert answer.status == 200
        for connection in opened:
            connection.close()


def test_half_open_connections_are_closed() -> None:
    with running(header_seconds=0.05) as server:
        port = int(server.address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /health HT")
            assert not _received(connection)


def _received(connection: socket.socket) -> bytes:
    """What the server sends before it closes a connection."""
    try:
        return connection.recv(100)
    except ConnectionResetError:
        return b""


def test_a_large_body_is_read_within_the_limits() -> None:
    """In a thread, and not by the event loop, which answers others meanwhile."""
    kb = knowledge_base()
    with client(kb) as http:
        kb.limits.ended = "the test has seen enough"
        answer = http.post("/update", json={"add": {"p": [[i, i] for i in range(20_000)]}})
    assert answer.status_code == 503
    assert "reading the body stopped: the test has seen enough" in answer.text
