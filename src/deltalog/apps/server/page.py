"""The page: files of the package, as they are. They need no token, as there is nothing in them but the page.

No script and no style but its own is run, nothing is loaded from elsewhere, and nobody may frame it. The editor takes
its styles as constructed style sheets in a shadow root, so that no inline style has to be allowed.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deltalog.apps.server.errors import HTTPError
from deltalog.apps.server.security import check_host
from deltalog.apps.server.settings import ServerSettings

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE, FOLDER = "index.html", "static"
FOR_EVER = "public, max-age=31536000, immutable"  # files whose names have a digest of what is in them


class File(NamedTuple):
    """A file of the page, as it is and compressed."""

    content: bytes
    compressed: bytes
    media_type: str


@cache
def found() -> dict[str, File]:
    """The files by name; read once."""
    return {each.name: _file(each.name, each.read_bytes()) for each in files(__package__).joinpath(FOLDER).iterdir()}


def _file(name: str, content: bytes) -> File:
    return File(
        content, gzip.compress(content, 9, mtime=0), MEDIA_TYPES[name.rpartition(".")[2] if "." in name else ""]
    )


def routes(settings: ServerSettings) -> list[Route]:
    async def page(request: Request) -> Response:
        try:
            check_host(request.headers, settings)
        except HTTPError as refused:
            return Response(refused.message, refused.status)
        return answered(request.path_params.get("name", PAGE), request.headers.get("accept-encoding", ""))

    return [Route("/", page), Route(f"/{FOLDER}/{{name}}", page)]


def answered(name: str, encodings: str) -> Response:
    """A file, compressed if the client takes that."""
    file = found().get(name)
    if file is None:
        return Response("no such file", 404)
    headers = {"content-security-policy": POLICY, "vary": "Accept-Encoding"}
    headers["cache-control"] = FOR_EVER if "-" in name else "no-cache"
    if "gzip" not in encodings:
        return Response(file.content, 200, headers, file.media_type)
    return Response(file.compressed, 200, {**headers, "content-encoding": "gzip"}, file.media_type)
