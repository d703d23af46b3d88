"""Bodies of requests, within bounds: so many bytes, also after decompression, in so many seconds."""

from __future__ import annotations

import zlib

import anyio
from starlette.requests import ClientDisconnect, Request

from deltalog.apps.server.errors import HTTPError
from deltalog.apps.server.settings import ServerSettings

GZIP = 16 + zlib.MAX_WBITS  # the format of gzip, with its header


async def read_body(request: Request, settings: ServerSettings) -> bytes:
    """The body of a request, decompressed."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise HTTPError(
            415,
            "media_type",
            f"unsupported Content-Encoding {encoding!r:.80}; send the body as it is, or compressed by gzip",
        )
    try:
        with anyio.fail_after(settings.body_seconds):
            body = await _read(request, settings.body_bytes)
    except TimeoutError:
        raise HTTPError(408, "limit", f"the body did not arrive in {settings.body_seconds:g} s", limit="body") from None
    except ClientDisconnect:
        raise HTTPError(400, "usage", "the client disconnected") from None
    return body if encoding == "identity" else _decompressed(body, settings.body_bytes)


async def _read(request: Request, most: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


def _decompressed(body: bytes, most: int) -> bytes:
    unzip = zlib.decompressobj(GZIP)
    try:
        found = unzip.decompress(body, most + 1)
    except zlib.error:
        raise HTTPError(400, "data", "the body is not in gzip, as Content-Encoding says") from None
    if len(found) > most:
        raise _too_large(most)
    if not unzip.eof:
        raise HTTPError(400, "data", "the gzip data of the body is truncated")
    return found


def _too_large(most: int) -> HTTPError:
    message = f"the body is larger than {most:,} bytes; send it in parts"
    return HTTPError(413, "too_large", message, {"connection": "close"}, limit="body")
