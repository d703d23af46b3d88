"""Who may ask what, and the headers that keep a browser from lending a hand to others.

- Host: on a loopback address the name that a browser has called must be one of this machine's; otherwise a page
  elsewhere could reach the server under its own name (DNS rebinding).
- Origin: pages elsewhere may call it only if the operator has said so, whatever they ask.
- A token for writing, and if asked for reading. It is compared in constant time, and no message or log has it.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deltalog.apps.server.errors import HTTPError
from deltalog.apps.server.settings import ServerSettings
from deltalog.core.errors import UsageError

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
PREFLIGHT = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE, OPTIONS",
    "access-control-allow-headers": "Accept, Authorization, Content-Type, Content-Encoding, Last-Event-ID",
    "access-control-max-age": "600",
}
UNAUTHORISED = {"www-authenticate": 'Bearer realm="deltalog"'}
SHORTEST_TOKEN = 16  # characters


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_settings(host: str, settings: ServerSettings) -> None:
    """UsageError if others could do what the operator has not allowed them by name."""
    if not is_loopback(host) and not settings.readonly and settings.token is None:
        raise UsageError(
            f"with --host {host} other machines reach the server, and may change what it serves; "
            "add --token-file FILE, or --readonly"
        )
    if settings.token_for_reading and settings.token is None:
        raise UsageError("--token-for-reading needs --token-file FILE")
    if "*" in settings.origins and not settings.readonly and settings.token is None:
        raise UsageError(
            "with --cors '*' any page may change what the server serves; name the origin, or add --token-file or "
            "--readonly"
        )


def check_token(text: str, where: str) -> str:
    """A token as a file has it."""
    token = text.strip()
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"{where} has no token: it needs {SHORTEST_TOKEN} or more letters, digits and signs in one line; "
            "`openssl rand -hex 24` makes one"
        )
    return token


def check_origin(text: str) -> str:
    """An origin as browsers send it, or `*`."""
    if text != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/?#\s,]+", text):
        raise UsageError(f"{text!r} is not an origin; write it like https://example.org or http://localhost:3000")
    return text


def host_name(header: str) -> str:
    """The name in a Host header, without the port."""
    if header.startswith("["):
        name, _, port = header[1:].partition("]")
        return name.lower() if not port or port.startswith(":") else header.lower()
    return header.partition(":")[0].lower()


def check_host(headers: Mapping[str, str], settings: ServerSettings) -> None:
    """Refuses a request that calls the server by the name of another."""
    host = host_name(headers.get("host", ""))
    if settings.hosts is not None and host not in settings.hosts:
        raise HTTPError(403, "host", f"this server is not called {host!r:.80}; use its own address")


def check_request(method: str, scheme: str, headers: Mapping[str, str], settings: ServerSettings) -> None:
    """Refuses a request by its headers alone."""
    check_host(headers, settings)
    origin = headers.get("origin")
    if origin is not None and not is_allowed_origin(origin, f"{scheme}://{headers.get('host', '')}", settings):
        raise HTTPError(403, "origin", "pages of this origin may not call the server; --cors ORIGIN allows them")
    if origin is None and method not in ("GET", "HEAD") and headers.get("sec-fetch-site") == "cross-site":
        raise HTTPError(403, "origin", "pages elsewhere may not call the server; --cors ORIGIN allows them")
    if settings.token_for_reading and method != "OPTIONS":
        check_authorised(headers, settings)


def is_allowed_origin(origin: str, own: str, settings: ServerSettings) -> bool:
    return origin == own or "*" in settings.origins or origin in settings.origins


def check_authorised(headers: Mapping[str, str], settings: ServerSettings) -> None:
    """Refuses a request without the token, if there is one."""
    if settings.token is None:
        return
    kind, _, given = headers.get("authorization", "").partition(" ")
    is_right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), settings.token.encode())
    if kind.lower() != "bearer" or not is_right:
        raise HTTPError(401, "token", "this needs the header `Authorization: Bearer TOKEN`", UNAUTHORISED)


def check_writing(headers: Mapping[str, str], settings: ServerSettings) -> None:
    """Refuses a change by who may not make one."""
    if settings.readonly:
        raise HTTPError(403, "readonly", "this server is for reading")
    check_authorised(headers, settings)


class SecureHeaders:
    """Adds headers to every answer, also to those of errors, and answers preflights."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {"cache-control": "no-store", **HEADERS}.items():
                    headers.setdefault(name, value)
                self._allow(headers, asked, scope)
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _allow(self, headers: MutableHeaders, asked: Mapping[str, str], scope: Mapping[str, Any]) -> None:
        """What a page of an allowed origin may read, and send."""
        origin, settings = asked.get("origin"), self.settings
        if not settings.origins:
            return
        headers.add_vary_header("Origin")
        if origin is not None and ("*" in settings.origins or origin in settings.origins):
            headers["access-control-allow-origin"] = origin
            headers["access-control-expose-headers"] = "Deltalog-Version"
            if scope["method"] == "OPTIONS":
                headers.update(PREFLIGHT)
