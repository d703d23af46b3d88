"""Server-sent events: a stream of what changes do to a goal or a predicate."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from anyio.to_thread import run_sync

from deltalog.apps.server import documents
from deltalog.apps.server.endpoints import Endpoint, HandlerWork, ReadingHandler, Request, RouteCall
from deltalog.apps.server.errors import HTTPError, wrong
from deltalog.apps.server.fields import Field
from deltalog.apps.server.subscriptions import GoalDelta, GoalDeltas, Watched
from deltalog.apps.server.versions import MARK, Step, Versions
from deltalog.core.errors import DeltalogError

MEDIA_TYPE = "text/event-stream"
FIELDS = (
    Field("goal", "text", "the goal whose answers are watched"),
    Field("predicate", "text", "the predicate whose facts are watched"),
    Field("since", "count", "the last version that the client has seen (or the header Last-Event-ID)"),
)
LAST_SEEN = "last-event-id"
UNKNOWN = -1  # a version that there is not
SHOWN = 100  # rows of each predicate for who watches everything


class VersionEvent:
    """Wakes those who wait for the next version, and for the end."""

    def __init__(self) -> None:
        self._event: anyio.Event | None = None
        self.stopped = False

    def notify(self) -> None:
        event, self._event = self._event, None
        if event is not None:
            event.set()

    def stop(self) -> None:
        self.stopped = True
        self.notify()

    async def wait(self, seconds: float) -> bool:
        """Whether it has rung before so many seconds were over."""
        self._event = event = self._event or anyio.Event()
        with anyio.move_on_after(seconds):
            await event.wait()
            return True
        return False


@dataclass(frozen=True)
class Subscription:
    """A client that watches a goal, or everything, from a version on."""

    watched: Watched | None
    since: int | None
    versions: Versions
    deltas: GoalDeltas
    new_version: VersionEvent

    async def events(self) -> AsyncIterator[str]:
        """What the client is sent, until it leaves or the server stops."""
        seen = self.versions.present.number if self.since is None else self.since
        if self.since is None:
            yield self._mark("start", seen)
        silent = self.versions.settings.subscription_seconds
        while not self.new_version.stopped:
            steps = self.versions.since(seen)
            if steps is None:
                seen = self.versions.present.number
                yield self._mark("reset", seen, reason="the changes since then are no longer kept")
                continue
            for step in steps:
                seen = step.number
                event = await self._event(step)
                if event is not None:
                    yield event
            if self.versions.present.number == seen and not await self.new_version.wait(silent):
                yield ": still here\n\n"

    async def _event(self, step: Step) -> str | None:
        """The event of a change; None if it does not concern the client."""
        try:
            if self.watched is None:
                return self._text("change", step.number, await run_sync(partial(self._whole, step)))
            delta = await run_sync(partial(self._delta, step, self.watched))
        except (HTTPError, DeltalogError) as problem:
            return self._mark("reset", step.number, reason=str(problem))
        if not delta.added and not delta.removed:
            return None
        rows = {"added": documents.rows(delta.added), "removed": documents.rows(delta.removed)}
        return self._text("change", step.number, {"version": step.number, **rows})

    def _delta(self, step: Step, watched: Watched) -> GoalDelta:
        with self.versions.kb.limits.running("the subscription", self.versions.settings.seconds):
            return self.deltas.of(step, watched)

    def _whole(self, step: Step) -> documents.JsonDocument:
        """All that a change did, with some rows of each predicate."""
        with self.versions.readers.reading(self.versions.present) as kb:
            return documents.step(step, kb, SHOWN)

    def _mark(self, event: str, version: int, **more: Any) -> str:
        columns = {} if self.watched is None else {"columns": list(self.watched.columns)}
        return self._text(event, version, {"version": version, **columns, **more})

    def _text(self, event: str, version: int, data: dict[str, Any]) -> str:
        return f"event: {event}\nid: {self.versions.mark(version)}\ndata: {json.dumps(data)}\n\n"


def watch(reading: ReadingHandler, request: Request) -> tuple[Watched | None, int | None]:
    """What a client wants to watch, and from when on; checked by asking it once. None: everything."""
    if request["goal"] is not None and request["predicate"] is not None:
        raise wrong("say what to watch: `goal`, or `predicate`, or neither of them for everything")
    if request["goal"] is not None:
        return Watched.of_goal(request["goal"], reading.kb), _since(request, reading.versions)
    if request["predicate"] is not None:
        return Watched.of_predicate(request["predicate"], reading.kb), _since(request, reading.versions)
    return None, _since(request, reading.versions)


def _since(request: Request, versions: Versions) -> int | None:
    """The last version that a client has seen; UNKNOWN if that was before the server was started anew."""
    text = request.headers.get(LAST_SEEN, "").strip()
    if not text:
        return None if request["since"] is None else int(request["since"])
    if not re.fullmatch(MARK, text, re.ASCII):
        raise wrong(f"Last-Event-ID: expected an event id, got {text!r:.80}")
    seen = versions.marked(text)
    return UNKNOWN if seen is None else seen


ENDPOINTS = (
    Endpoint(
        "GET",
        "/changes",
        "Server-sent events: what each change adds and removes, of the answers of a goal, of a predicate, or of all.",
        RouteCall(HandlerWork.STREAM, watch),
        FIELDS,
        answers=(MEDIA_TYPE,),
    ),
)
