"""IRIs in output: `prefix:name` where the program has a prefix for it.

The hidden relation of an aggregate is `{AGGREGATE(...)}`; that of a node of a
hypertree decomposition `{node 0123456789}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_QUOTED_OR_IRI = re.compile(r'"(?:[^"\\]|\\.)*"|<([^<>"\s]+)>')
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_LOCAL = re.compile(r"[A-Za-z_][\w-]*")


def shortened(text: str, prefixes: Mapping[str, str]) -> str:
    """A printed rule or literal with every `<iri>` as short as the prefixes make it; texts in quotes stay."""

    def short(match: re.Match[str]) -> str:
        iri = match[1]
        if iri is None:
            return match[0]
        if iri.startswith("#"):
            return f"{{{shortened(_spelled(iri).removeprefix('#aggregate ').removeprefix('#'), prefixes)}}}"
        names = [
            f"{prefix}:{iri[len(start) :]}"
            for prefix, start in prefixes.items()
            if iri.startswith(start) and _LOCAL.fullmatch(iri, len(start))
        ]
        return min(names, key=len, default=match[0])

    return _QUOTED_OR_IRI.sub(short, text)


def _spelled(iri: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), iri)
