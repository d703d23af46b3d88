"""Content negotiation: which of the media types that there are the client likes best (RFC 9110, 12.5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from deltalog.apps.server.errors import HTTPError


class Accepted(NamedTuple):
    """A range of media types, and how much it is liked."""

    type: str
    subtype: str
    quality: float

    def matches(self, media_type: str) -> int:
        """How exactly: 0 not at all, 1 anything, 2 by the type, 3 by both."""
        main, _, sub = media_type.partition("/")
        if self.type == "*":
            return 1
        return 0 if self.type != main else 2 if self.subtype == "*" else 3 * (self.subtype == sub)


def negotiated(header: str | None, offered: Sequence[str]) -> str:
    """The media type to answer in: the one that is liked best, and of those the first one offered. HTTPError if the
    client likes none."""
    ranges = list(_ranges(header or "*/*")) or [Accepted("*", "*", 1.0)]
    liked = [(_quality(ranges, media_type), -place, media_type) for place, media_type in enumerate(offered)]
    quality, _, best = max(liked)
    if quality <= 0:
        raise HTTPError(406, "not_acceptable", f"the answer can be had as {', '.join(offered)}")
    return best


def _quality(ranges: Iterable[Accepted], media_type: str) -> float:
    """That of the most exact range that matches."""
    found = [(exactness, each.quality) for each in ranges if (exactness := each.matches(media_type))]
    return max(found)[1] if found else 0.0


def _ranges(header: str) -> Iterable[Accepted]:
    for part in header.split(","):
        media_type, *parameters = (each.strip().lower() for each in part.split(";"))
        main, slash, sub = media_type.partition("/")
        if slash and main and sub:
            yield Accepted(main, sub, _weight(parameters))


def _weight(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
