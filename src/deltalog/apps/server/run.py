"""The server as a process: a socket, uvicorn, and a clean end."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

import anyio
import uvicorn

from deltalog.apps.server.app import Server
from deltalog.apps.server.connections import LimitedConnection
from deltalog.apps.server.settings import ServerSettings
from deltalog.core.errors import UsageError
from deltalog.knowledge_base.facade import KnowledgeBase

SIGNALS = (signal.SIGINT, signal.SIGTERM)
KEEP_ALIVE_SECONDS = 30
SWITCH_SECONDS = 0.001  # after which a thread gives way to another; Python's 5 ms would be added to each short request


class Process(uvicorn.Server):
    """A uvicorn that says where it is, and stops as `Server` does: requests end, or are refused."""

    def __init__(self, config: uvicorn.Config, server: Server, address: str) -> None:
        super().__init__(config)
        self._server, self._address = server, address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(self._address, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Streams end at once, other requests when they are done; then what still runs is cut off."""
        self._server.stop()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._cut_off)
            await super().shutdown(sockets)
            tasks.cancel_scope.cancel()

    async def _cut_off(self) -> None:
        await anyio.sleep(self._server.settings.stopping_seconds)
        self._server.versions.kb.limits.ended = "the server is shutting down"

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._end) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, _: FrameType | None) -> None:
        self.force_exit = self.should_exit and number == signal.SIGINT
        self.should_exit = True


def serve(kb: KnowledgeBase, settings: ServerSettings, host: str, port: int) -> None:
    """Answers until a signal comes. The address goes to standard output when everything is ready."""
    with listening(host, port) as listener:
        sys.setswitchinterval(SWITCH_SECONDS)
        process(Server(kb, settings), listener).run([listener])


def process(server: Server, listener: socket.socket) -> Process:
    """A server at a socket, ready to run."""
    config = uvicorn.Config(
        server.app(),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        ws="none",
        http=partial(LimitedConnection, server.settings.header_seconds),  # type: ignore[arg-type]
        limit_concurrency=server.settings.connections,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    return Process(config, server, address(listener))


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket at an address. UsageError if that cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host.strip("[]"), port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        what = getattr(problem, "strerror", None) or problem
        raise UsageError(f"cannot listen at {host}:{port}: {what}; choose another --port or --host") from None
    with listener:
        listener.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # connections inherit it: no 40 ms for a short body
        yield listener


def address(listener: socket.socket) -> str:
    """Where a socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
