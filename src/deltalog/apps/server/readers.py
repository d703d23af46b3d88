"""Knowledge bases for requests that read: one for each at a time, frozen at a version.

A request takes one that is free, which may be of an earlier version; its prepared queries and plans go over to the
version that is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import knowledge_base_of
from deltalog.knowledge_base.frozen import frozen

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase


class Version(NamedTuple):
    """A state of the knowledge base; `kb` is frozen, and only others are made from it."""

    number: int
    kb: KnowledgeBase


@dataclass(slots=True)
class Readers:
    """The readers that are free. Threads take from them and give back without a lock: `pop` and `append` are one step
    each."""

    _free: list[tuple[int, KnowledgeBase]] = field(default_factory=list)

    @contextmanager
    def reading(self, version: Version) -> Iterator[KnowledgeBase]:
        """A knowledge base of a version, for one thread."""
        try:
            number, free = self._free.pop()
        except IndexError:
            number, free = 0, None
        kb = free if free is not None and number == version.number else _frozen(version.kb, free)
        try:
            yield kb
        finally:
            self._free.append((version.number, kb))


def _frozen(kb: KnowledgeBase, free: KnowledgeBase | None) -> KnowledgeBase:
    return knowledge_base_of(frozen(session_of(kb), None if free is None else session_of(free)), type(kb))
