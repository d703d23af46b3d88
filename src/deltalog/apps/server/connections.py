"""Connections that send no request are closed: after some seconds, or when there is no room for another one.

A connection waits from its beginning, or from the first byte after an answer, until the header of a request is there.
(uvicorn closes a connection on which nothing at all follows an answer, and `deltalog.apps.server.bodies` limits the time
for a body.)
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class LimitedConnection(H11Protocol):
    """A connection that waits at most `header_seconds` for the header of a request."""

    def __init__(self, header_seconds: float, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._header_seconds = header_seconds
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._make_room()
        super().connection_made(transport)
        self._follow()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _follow(self) -> None:
        if not self.is_waiting:
            self._stop_waiting()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self._header_seconds, self._close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        self._deadline = None
        if self.is_waiting:
            self.connections.discard(self)
            self.transport.abort()

    def _make_room(self) -> None:
        """Closes the connection that has waited longest if this one would be refused."""
        most = self.limit_concurrency
        if most is None or len(self.connections) + 1 < most:
            return
        waiting = [each for each in self.connections if isinstance(each, LimitedConnection) and each._deadline]
        if waiting:
            min(waiting, key=lambda each: each._deadline.when() if each._deadline else 0.0)._close()
