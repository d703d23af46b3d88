"""Relative IRIs, resolved against a base."""

from __future__ import annotations

import re

_REFERENCE = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)


def resolved(base: str, reference: str) -> str:
    """A reference by a base IRI, as RFC 3986 says (section 5.2)."""
    scheme, authority, path, query, fragment = _parts(reference)
    if scheme is not None:
        return _recomposed(scheme, authority, _without_dots(path), query, fragment)
    base_scheme, base_authority, base_path, base_query, _ = _parts(base)
    if authority is not None:
        return _recomposed(base_scheme, authority, _without_dots(path), query, fragment)
    if not path:
        return _recomposed(base_scheme, base_authority, base_path, query or base_query, fragment)
    if not path.startswith("/"):
        whole = "/" if base_authority is not None and not base_path else base_path[: base_path.rfind("/") + 1]
        path = whole + path
    return _recomposed(base_scheme, base_authority, _without_dots(path), query, fragment)


def _parts(iri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    match = _REFERENCE.fullmatch(iri)
    assert match is not None
    return match[1], match[2], match[3], match[4], match[5]


def _without_dots(path: str) -> str:
    """A path without its `.` and `..`."""
    if not path.startswith("/"):
        return path
    result: list[str] = []
    steps = path.split("/")[1:]
    for step in steps:
        if step == "..":
            result = result[:-1]
        elif step != ".":
            result.append(step)
    if steps[-1] in (".", ".."):
        result.append("")
    return "/" + "/".join(result)


def _recomposed(scheme: str | None, authority: str | None, path: str, query: str | None, fragment: str | None) -> str:
    start = "" if scheme is None else scheme + ":"
    middle = "" if authority is None else "//" + authority
    return f"{start}{middle}{path}{query or ''}{fragment or ''}"
