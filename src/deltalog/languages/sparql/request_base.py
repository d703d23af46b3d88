"""The base of relative IRIs in a request without BASE.

RFC 3986 (section 5.1.3) takes the address that the request was sent to. Facts of tables and programs have predicates
with plain names, written `<edge>`: a relative IRI that is the name of a known predicate stays a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from deltalog.core.errors import UsageError
from deltalog.core.iri_references import resolved
from deltalog.core.rules import Pred

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^<>\"{}|^`\\\x00-\x20]*")
_RELATIVE = re.compile(r"<([^<>\"{}|^`\\\x00-\x20:]*)>")


@dataclass(frozen=True)
class RequestBase:
    """An absolute IRI, or "" where relative IRIs stay as they are; and the relative IRIs that name predicates."""

    iri: str = ""
    names: frozenset[str] = frozenset()

    def absolute(self, reference: str) -> str:
        return reference if not self.iri or reference in self.names else resolved(self.iri, reference)


NO_BASE = RequestBase()


def request_base(base: str | None, text: str, known: Callable[[], Iterable[Pred]]) -> RequestBase:
    """The base of a request; UsageError if it is not an absolute IRI."""
    if base is None:
        return NO_BASE
    if not isinstance(base, str) or not _ABSOLUTE.fullmatch(base):
        raise UsageError(f"base: expected an absolute IRI, got {base!r:.80}")
    written = set(_RELATIVE.findall(text))
    return RequestBase(
        base, frozenset(pred.name for pred in known() if pred.name in written) if written else frozenset()
    )
