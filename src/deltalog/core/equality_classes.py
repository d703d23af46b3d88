"""Classes of equal ids: each id that equals others has a representative, the least id of its class.

    EqualityClasses()                                          every id is alone
    EqualityClasses().joined([1, 2], [2, 3])                   {1, 2, 3}
    EqualityClasses().joined([1, 2], [2, 3]).without([1])      every id is alone again

Immutable; ids that are alone are not stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from deltalog.core.arrays import Ids, Mask, Positions
from deltalog.core.concurrency.cached import cached_property

NO_IDS: Ids = np.empty(0, np.uint32)


@dataclass(frozen=True, eq=False)
class EqualityClasses:
    """`members` are the ids that equal others, ascending, and `representatives` those of each of them."""

    members: Ids = field(default_factory=lambda: NO_IDS)
    representatives: Ids = field(default_factory=lambda: NO_IDS)

    def __len__(self) -> int:
        """The number of classes."""
        return len(self.heads)

    @cached_property
    def heads(self) -> Ids:
        """The representatives, each once, ascending."""
        return np.unique(self.representatives)

    @cached_property
    def _by_class(self) -> tuple[Ids, Positions]:
        """The members class by class, and where each class begins."""
        order = np.argsort(self.representatives, kind="stable")
        return self.members[order], np.searchsorted(self.representatives[order], self.heads)

    @cached_property
    def _sizes(self) -> Positions:
        return np.diff(np.append(self._by_class[1], len(self.members)))

    # Reading.

    def contains(self, ids: Ids) -> Mask:
        """Which ids equal others."""
        return among(ids, self.members)

    def representative(self, ids: Ids) -> Ids:
        """The representative of each id."""
        if not len(self.members):
            return ids
        places = np.minimum(np.searchsorted(self.members, ids), len(self.members) - 1)
        return np.where(self.members[places] == ids, self.representatives[places], ids).astype(np.uint32)

    def sizes(self, heads: Ids) -> Positions:
        """How many ids the class of each representative has."""
        places = np.searchsorted(self.heads, heads)
        found = among(heads, self.heads)
        sizes = np.ones(len(heads), np.int64)
        sizes[found] = self._sizes[places[found]]
        return sizes

    def names(self, heads: Ids) -> tuple[Positions, Ids]:
        """All ids of the class of each representative: for each the position of the representative, and the id."""
        sizes = self.sizes(heads)
        left = np.repeat(np.arange(len(heads)), sizes)
        found = heads[left]
        members, starts = self._by_class
        several = np.flatnonzero(sizes > 1)
        if len(several):
            begin = np.cumsum(sizes) - sizes
            within = np.arange(len(left)) - begin[left]
            start = np.zeros(len(heads), np.int64)
            start[several] = starts[np.searchsorted(self.heads, heads[several])]
            inside = sizes[left] > 1
            found = found.copy()
            found[inside] = members[(start[left] + within)[inside]]
        return left, found

    def class_of(self, ids: Ids) -> Ids:
        """All ids of the classes of some ids, ascending, each once."""
        return np.unique(self.names(np.unique(self.representative(ids)))[1])

    def differing(self, other: EqualityClasses) -> Ids:
        """The ids whose representative another value has differently."""
        ids: Ids = np.union1d(self.members, other.members)
        differ: Ids = ids[self.representative(ids) != other.representative(ids)]
        return differ

    # Changing.

    def joined(self, left: Ids, right: Ids) -> EqualityClasses:
        """With pairs of ids made equal."""
        left, right = self.representative(left), self.representative(right)
        differ = left != right
        if not differ.any():
            return self
        ids, places = np.unique(np.concatenate([left[differ], right[differ]]), return_inverse=True)
        count = int(differ.sum())
        new = ids[_roots(len(ids), places[:count], places[count:])]
        members = np.union1d(self.members, ids)
        before = self.representative(members)
        places = np.minimum(np.searchsorted(ids, before), len(ids) - 1)
        after = np.where(ids[places] == before, new[places], before).astype(np.uint32)
        return EqualityClasses(members, after)

    def without(self, heads: Ids) -> EqualityClasses:
        """Without the classes of some representatives."""
        kept = ~among(self.representatives, np.unique(heads))
        return self if kept.all() else EqualityClasses(self.members[kept], self.representatives[kept])


def among(ids: Ids, ascending: Ids) -> Mask:
    """Which ids are among others, which are ascending."""
    if not len(ascending):
        return np.zeros(len(ids), np.bool_)
    places = np.minimum(np.searchsorted(ascending, ids), len(ascending) - 1)
    return np.asarray(ascending[places] == ids)


def _roots(count: int, left: Positions, right: Positions) -> Positions:
    """The least node of the component of each node. A round links every root to a smaller one that it has an edge to,
    and then shortens all paths."""
    parent = np.arange(count)
    while True:
        first, second = parent[left], parent[right]
        low, high = np.minimum(first, second), np.maximum(first, second)
        if (low == high).all():
            return parent
        np.minimum.at(parent, high, low)
        while (parent != parent[parent]).any():
            parent = parent[parent]
