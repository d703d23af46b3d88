"""Compiled plans, by the identity of what they were compiled from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any


class PlanCache:
    """The only place with keys made from `id()`.

    Rules keep their plans, and what is around them changes from round to round: so plans are found by identity, which
    needs no comparison of whole trees. An entry holds the objects of its key, so none of their ids can be reused while
    it exists. Entries are dropped by one rule: a kind that has reached `entries` entries is emptied before the next one
    is added.
    """

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._kinds: dict[str, dict[Hashable, tuple[Sequence[object], Any]]] = defaultdict(dict)

    def find(self, kind: str, objects: Sequence[object], values: Hashable = None) -> Any | None:
        """What was kept for these objects, by identity, and these values, by equality."""
        found = self._kinds[kind].get((*map(id, objects), values))
        return None if found is None else found[1]

    def keep(self, kind: str, objects: Sequence[object], compiled: object, values: Hashable = None) -> None:
        entries = self._kinds[kind]
        if len(entries) >= self._entries:
            entries.clear()
        entries[(*map(id, objects), values)] = tuple(objects), compiled
