"""From a request to a handler, and back.

A request is read and checked on the event loop; its handler runs in a thread, with a knowledge base of the version that
was present when its turn came. So many readers work at a time, and one writer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response as HTTPResponse
from starlette.responses import StreamingResponse
from starlette.routing import Route

from deltalog.apps.server import (
    changes,
    editor,
    events,
    explanations,
    graph_store,
    neighbourhood,
    operations,
    page,
    queries,
    rules,
    sparql,
)
from deltalog.apps.server.bodies import read_body
from deltalog.apps.server.endpoints import (
    JSON,
    Endpoint,
    HandlerWork,
    ReadingHandler,
    Request,
    Response,
    RouteCall,
    Service,
)
from deltalog.apps.server.errors import HTTPError, refusal
from deltalog.apps.server.fields import TIMEOUT, Field, from_document, from_parameters, parse_json
from deltalog.apps.server.metrics import Metrics
from deltalog.apps.server.openapi import describe
from deltalog.apps.server.readers import Version
from deltalog.apps.server.security import SecureHeaders, check_request, check_writing
from deltalog.apps.server.settings import ServerSettings
from deltalog.apps.server.subscriptions import GoalDeltas
from deltalog.apps.server.versions import Versions
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase

T = TypeVar("T")
ENDPOINTS: tuple[Endpoint, ...] = (
    *sparql.ENDPOINTS,
    *graph_store.ENDPOINTS,
    *queries.ENDPOINTS,
    *rules.ENDPOINTS,
    *changes.ENDPOINTS,
    *explanations.ENDPOINTS,
    *neighbourhood.ENDPOINTS,
    *editor.ENDPOINTS,
    *events.ENDPOINTS,
    *operations.ENDPOINTS,
)
CODES = {404: "not_found", 405: "method"}
VERSION = "deltalog-version"
PARSED_AT_ONCE = 1 << 16  # bytes of a body in JSON that the event loop parses itself, in a few milliseconds
LOG = logging.getLogger("deltalog.apps.server")


class Server:
    """A knowledge base, and everything that answers for it."""

    def __init__(self, kb: KnowledgeBase, settings: ServerSettings, endpoints: Sequence[Endpoint] = ENDPOINTS) -> None:
        self.settings, self.endpoints = settings, endpoints
        self.versions = Versions(kb, settings)
        self.metrics, self.new_version = Metrics(), events.VersionEvent()
        self.deltas = GoalDeltas(self.versions)
        self.service = Service(self.versions, self.metrics, partial(describe, endpoints, settings))
        self._readers, self._writer = asyncio.Semaphore(settings.queries), asyncio.Semaphore(1)
        self._subscriptions = 0

    # The application.

    def app(self) -> Starlette:
        paths: dict[str, dict[str, Endpoint]] = {}
        for endpoint in self.endpoints:
            paths.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        fixed_first = sorted(paths.items(), key=lambda item: item[0].count("{"))
        routes = [Route(path, self._route(path, found), methods=[*found, "OPTIONS"]) for path, found in fixed_first]
        return Starlette(
            routes=[*page.routes(self.settings), *routes],
            middleware=[Middleware(SecureHeaders, settings=self.settings)],
            exception_handlers={HTTPException: self._not_routed},
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            if self._follows:
                tasks.start_soon(self._follow)
            yield
            tasks.cancel_scope.cancel()
        self.stop()
        await run_sync(self.versions.kb.close)

    @property
    def _follows(self) -> bool:
        """Whether another process may change what is served."""
        kb = self.versions.kb
        link = session_of(kb).link
        return link is not None and link.store.readonly and not link.pinned

    async def _follow(self) -> None:
        while True:
            await anyio.sleep(self.settings.follow_seconds)
            before = self.versions.present
            try:
                async with self._writer:
                    await run_sync(self.versions.follow)
            except Exception as problem:
                LOG.warning("the store cannot be followed: %s", problem)
            if self.versions.present is not before:
                self.new_version.notify()

    def stop(self) -> None:
        """From now on requests are refused, and streams end."""
        self.new_version.stop()

    async def _not_routed(self, http: HTTPRequest, problem: Exception) -> HTTPResponse:
        assert isinstance(problem, HTTPException)
        code = CODES.get(problem.status_code, "usage")
        message = {404: "there is nothing here; /openapi.json lists what there is"}.get(
            problem.status_code, f"{http.method} is not for this path"
        )
        self.metrics.done(http.method[:10], "other", problem.status_code, 0.0)
        return _failed(HTTPError(problem.status_code, code, message, dict(problem.headers or {})))

    def _route(self, path: str, endpoints: dict[str, Endpoint]) -> Callable[[HTTPRequest], Awaitable[HTTPResponse]]:
        async def route(http: HTTPRequest) -> HTTPResponse:
            started = time.perf_counter()
            response = await self._answer(http, endpoints)
            self.metrics.done(http.method, path, response.status_code, time.perf_counter() - started)
            return response

        return route

    async def _answer(self, http: HTTPRequest, endpoints: dict[str, Endpoint]) -> HTTPResponse:
        try:
            check_request(http.method, http.url.scheme, http.headers, self.settings)
            if self.new_version.stopped:
                raise HTTPError(503, "stopping", "the server is shutting down", {"connection": "close"})
            if http.method == "OPTIONS":
                return HTTPResponse(status_code=204, headers={"allow": ", ".join([*endpoints, "OPTIONS"])})
            endpoint = endpoints["GET" if http.method == "HEAD" else http.method]
            request = await self._request_of(http, endpoint)
            if http.method == "HEAD" and endpoint.called(request).work is HandlerWork.STREAM:
                return HTTPResponse(media_type=events.MEDIA_TYPE)
            return await self._handled(request, endpoint)
        except Exception as problem:
            refused = refusal(problem)
            if refused is None:
                LOG.exception("%s %s failed", http.method, http.url.path)
                message = f"internal error ({type(problem).__name__}); the log of the server has more"
                refused = HTTPError(500, "internal", message)
            return _failed(refused)

    # Requests.

    async def _request_of(self, http: HTTPRequest, endpoint: Endpoint) -> Request:
        """A request, read and checked."""
        headers = {name: value for name, value in http.headers.items() if name != "authorization"}
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        parameters = _parameters(http, self.settings)
        body = await read_body(http, self.settings) if endpoint.method in ("POST", "PUT") else b""
        values: dict[str, Any] = dict(http.path_params)
        if endpoint.own_body:
            values |= from_parameters((TIMEOUT,), [given for given in parameters if given[0] == TIMEOUT.name])
        else:
            values |= from_parameters(endpoint.fields, parameters)
        if endpoint.body is not None:
            _check_media_type(media_type, (JSON,))
            values |= await self._parsed(endpoint.body, body)
        elif endpoint.media_types and body:
            _check_media_type(media_type, endpoint.media_types)
        origin = f"{http.url.scheme}://{headers.get('host', '')}"
        request = Request(values, headers, parameters, body, media_type, origin)
        if endpoint.called(request).work is HandlerWork.WRITE:
            check_writing(http.headers, self.settings)
        return request

    async def _parsed(self, fields: Sequence[Field], body: bytes) -> dict[str, Any]:
        """The values of a body in JSON. A large one takes its turn with the queries, and has their limits."""
        if len(body) <= PARSED_AT_ONCE:
            return from_document(fields, parse_json(body))

        def parse() -> dict[str, Any]:
            with self.versions.kb.limits.running("reading the body", self.settings.seconds):
                return from_document(fields, parse_json(body))

        return await self._in_turn(self._readers, parse)

    async def _handled(self, request: Request, endpoint: Endpoint) -> HTTPResponse:
        call = endpoint.called(request)
        match call.work:
            case HandlerWork.AT_ONCE:
                return _response(call.handle(self.service, request), self.versions.present.number)
            case HandlerWork.READ:
                return await self._in_turn(self._readers, partial(self._read, call, request))
            case HandlerWork.WRITE:
                return await self._written(call, request)
            case HandlerWork.STREAM:
                return await self._streamed(call, request)

    async def _in_turn(self, turns: asyncio.Semaphore, work: Callable[[], T]) -> T:
        """Runs work in a thread when its turn comes; HTTPError if that takes too long."""
        try:
            with anyio.fail_after(self.settings.waiting_seconds):
                await turns.acquire()
        except TimeoutError:
            waited = f"{self.settings.waiting_seconds:g} s"
            message = f"the server is busy: no turn in {waited}; try again later"
            raise HTTPError(503, "busy", message, {"retry-after": "5"}, limit="waiting") from None
        try:
            return await run_sync(work)
        finally:
            turns.release()

    def _read(self, call: RouteCall, request: Request) -> HTTPResponse:
        version = self.versions.present
        return _response(self._with_reader(version, call.handle, request), version.number)

    def _with_reader(self, version: Version, handle: Callable[[ReadingHandler, Request], T], request: Request) -> T:
        wanted = request.values.get("timeout")
        seconds = self.settings.seconds if wanted is None else min(wanted, self.settings.seconds)
        with self.versions.readers.reading(version) as kb, kb.limits.running("the query", seconds):
            return handle(ReadingHandler(kb, version.number, self.versions), request)

    async def _written(self, call: RouteCall, request: Request) -> HTTPResponse:
        def write() -> HTTPResponse:
            document = call.handle(self.service, request)
            return _response(document, self.versions.present.number)

        before = self.versions.present
        try:
            return await self._in_turn(self._writer, write)
        finally:
            if self.versions.present is not before:
                self.new_version.notify()

    async def _streamed(self, call: RouteCall, request: Request) -> HTTPResponse:
        if self._subscriptions >= self.settings.subscriptions:
            message = f"there are {self.settings.subscriptions} subscriptions already; try again later"
            raise HTTPError(503, "busy", message, {"retry-after": "5"}, limit="subscriptions")
        version = self.versions.present
        watched, since = await self._in_turn(self._readers, partial(self._with_reader, version, call.handle, request))
        subscription = events.Subscription(watched, since, self.versions, self.deltas, self.new_version)
        return StreamingResponse(self._counted(subscription), media_type=events.MEDIA_TYPE)

    async def _counted(self, subscription: events.Subscription) -> AsyncIterator[str]:
        self._subscriptions += 1
        self.metrics.change("subscriptions", 1)
        try:
            async for event in subscription.events():
                yield event
        finally:
            self._subscriptions -= 1
            self.metrics.change("subscriptions", -1)


def _parameters(http: HTTPRequest, settings: ServerSettings) -> list[tuple[str, str]]:
    if len(http.scope.get("query_string", b"")) > settings.url_bytes:
        raise HTTPError(414, "too_large", f"the address is longer than {settings.url_bytes:,} bytes; use POST")
    return http.query_params.multi_items()


def _check_media_type(given: str, taken: Sequence[str]) -> None:
    if given not in taken:
        raise HTTPError(415, "media_type", f"Content-Type is {given!r:.80}; this takes {', '.join(taken)}")


def _response(document: Any, version: int) -> HTTPResponse:
    headers = {VERSION: str(version)}
    if isinstance(document, Response):
        shown = {**headers, **document.headers}
        return HTTPResponse(document.content, document.status, shown, document.media_type)
    shown_version = document.setdefault("version", version)
    return HTTPResponse(json.dumps(document), 200, {VERSION: str(shown_version)}, JSON)


def _failed(refused: HTTPError) -> HTTPResponse:
    return HTTPResponse(json.dumps(refused.document), refused.status, refused.headers, JSON)
