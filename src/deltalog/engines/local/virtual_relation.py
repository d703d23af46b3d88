"""Virtual relations: binary relations that are given by a scheme, and not row by row.

A `VirtualRelation` has the interface of a table of two columns (`Relation`): it is read by the plans of rules, under
negation and in aggregates, and it is a value like a table. It counts the partners of an id, lists them, and knows
whether a pair belongs; from this, everything else follows. Its rows are listed only where a plan needs them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.rules import Variable
from deltalog.core.tuning import Tuning
from deltalog.engines.local.index_join import IndexJoin, Rows
from deltalog.engines.local.relation import Mask, Positions, Relation, contained, overlap
from deltalog.engines.local.sorted_runs import Ids, Keys, Order, Run, pack, sort_distinct, unpack
from deltalog.engines.local.table import Table
from deltalog.kernels import sorted_keys as kernel

if TYPE_CHECKING:
    from deltalog.engines.local.reachability import Reachability

BLOCK = 1 << 22  # pairs that are listed at a time


class VirtualRelation:
    """A set of pairs; subclasses say which. See `Relation` for what all relations have."""

    arity = 2
    is_stored = False

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning

    # What a subclass says.

    def measured(self) -> int:
        """How many pairs there are."""
        raise NotImplementedError

    def contains(self, keys: Keys) -> Mask:
        raise NotImplementedError

    def counts(self, ids: Ids, forward: bool) -> Positions:
        """How many partners each id has."""
        return np.bincount(self.partners(ids, forward)[0], minlength=len(ids))

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        raise NotImplementedError

    def leads(self, column: int) -> Ids:
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        raise NotImplementedError

    @property
    def mutual(self) -> int:
        """How many pairs have their inverse."""
        return sum(int(np.count_nonzero(self.contains(kernel.swap(block)))) for block in self.blocks())

    @property
    def closure(self) -> Reachability | None:
        return None

    # What follows: all pairs.

    @cached_property
    def size(self) -> int:
        return self.measured()

    def blocks(self) -> Iterator[Keys]:
        firsts = self.leads(0)
        ends = np.cumsum(self.counts(firsts, True))
        start = 0
        while start < len(firsts):
            done = ends[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(ends, done + BLOCK, "right")))
            yield self._block(firsts[start:end], int(ends[end - 1] - done))
            start = end

    def _block(self, firsts: Ids, count: int) -> Keys:
        """The pairs of some first columns; `count` is about their number."""
        left, seconds = self.partners(firsts, True)
        return np.sort(kernel.pack(firsts[left], seconds))

    def keys(self) -> Keys:
        out, n = np.empty(self.size, np.uint64), 0
        for block in self.blocks():
            out[n : n + len(block)] = block
            n += len(block)
        return out

    def stored(self) -> Table:
        return Table.of(self.keys(), 2, self.tuning)

    def columns(self) -> list[Ids]:
        return unpack(self.keys(), 2)

    # Sets.

    def without(self, keys: Keys) -> Keys:
        return np.ascontiguousarray(keys[~self.contains(keys)]) if len(keys) else keys

    def merge(self, new: Relation) -> Relation:
        return self.stored().merge(new) if new.size else self

    def minus(self, removed: Relation) -> Relation:
        if not removed.size:
            return self
        kept = [np.ascontiguousarray(block[~removed.contains(block)]) for block in self.blocks()]
        return Table.of(np.concatenate(kept) if kept else np.empty(0, np.uint64), 2, self.tuning)

    def minus_subset(self, removed: Relation) -> Relation:
        return self.minus(removed)

    def inverse(self) -> VirtualRelation:
        return VirtualInverse(self)

    def overlap(self, others: Sequence[Relation]) -> int:
        return overlap(self, others)

    # Statistics.

    def distinct(self, column: int, ids: int) -> float:
        return float(len(self._leads[column]))

    def heaviest(self, column: int) -> float:
        return float(self.counts(self._leads[column], column == 0).max(initial=0))

    @cached_property
    def _leads(self) -> tuple[Ids, Ids]:
        return self.leads(0), self.leads(1)

    # Joins.

    def scan(self, columns: Sequence[int]) -> list[Ids]:
        return [self.leads(column) for column in columns[:1]]

    def semi_join(self, join: IndexJoin, rows: Rows, ids: int) -> Mask:
        if join.complete or join.is_one_sided:
            return join.matches_by_counts(self, rows)
        return join.matches_in_runs(self.stored(), rows, ids)

    def join(
        self, join: IndexJoin, rows: Rows, ids: int, kept: Sequence[Variable], new: frozenset[Variable], most: int
    ) -> Rows | int:
        if join.is_one_sided:
            return join.join_partners(self, rows, kept, new, most)
        return join.join_runs(self.stored(), rows, ids, kept, new, most)

    def addresses(self, order: Order) -> list[int] | None:
        return None

    def cheap_addresses(self, order: Order) -> list[int] | None:
        return None

    def runs_in(self, order: Order) -> Sequence[Run]:
        return ()

    def stored_part(self, column: int, ids: Keys, most: int) -> Table | None:
        needed, forward = np.unique((ids & kernel.LOW).astype(np.uint32)), column == 0
        if self.counts(needed, forward).sum() > most:
            return None
        left, values = self.partners(needed, forward)
        pair = (needed[left], values) if forward else (values, needed[left])
        return Table.of(np.sort(pack(pair, len(left))), 2, self.tuning)


class VirtualInverse(VirtualRelation):
    """The pairs of another relation, exchanged."""

    def __init__(self, source: VirtualRelation) -> None:
        super().__init__(source.tuning)
        self.source = source

    def measured(self) -> int:
        return self.source.size

    def contains(self, keys: Keys) -> Mask:
        return self.source.contains(kernel.swap(keys))

    def counts(self, ids: Ids, forward: bool) -> Positions:
        return self.source.counts(ids, not forward)

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        return self.source.partners(ids, not forward)

    def leads(self, column: int) -> Ids:
        return self.source.leads(1 - column)

    def minus(self, removed: Relation) -> Relation:
        return self.source.minus(removed.inverse()).inverse() if removed.size else self

    def inverse(self) -> VirtualRelation:
        return self.source

    def overlap(self, others: Sequence[Relation]) -> int:
        return self.source.mutual if len(others) == 1 and others[0] is self.source else super().overlap(others)

    @property
    def nbytes(self) -> int:
        return 0


class VirtualUnion(VirtualRelation):
    """The pairs of several relations; a pair that several have is read from the first of them."""

    def __init__(self, parts: Sequence[Relation]) -> None:
        super().__init__(parts[0].tuning)
        self.parts = tuple(part for part in parts if part.size)

    def measured(self) -> int:
        return sum(part.size - part.overlap(self.parts[:i]) for i, part in enumerate(self.parts))

    def contains(self, keys: Keys) -> Mask:
        return contained(keys, self.parts)

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        found = [self._own(i, ids, forward) for i in range(len(self.parts))]
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.uint32)
        left = np.concatenate([rows for rows, _ in found])
        values = np.concatenate([values for _, values in found])
        return left, values

    def _own(self, number: int, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        """The partners by one part, without those that the parts before it have."""
        left, values = self.parts[number].partners(ids, forward)
        if not number or not len(left):
            return left, values
        pair = (ids[left], values) if forward else (values, ids[left])
        own = ~contained(pack(pair, len(left)), self.parts[:number])
        return left[own], values[own]

    def leads(self, column: int) -> Ids:
        found = [part.leads(column) for part in self.parts]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.uint32)

    def minus(self, removed: Relation) -> Relation:
        """From another version of the same union: the pairs that a part has removed, and that no other part has."""
        if not isinstance(removed, VirtualUnion) or len(self.parts) != len(removed.parts):
            return super().minus(removed)
        differences = [
            own.minus(other) for own, other in zip(self.parts, removed.parts, strict=True) if own is not other
        ]
        if not all(difference.is_stored for difference in differences):
            return super().minus(removed)
        return missing_pairs(differences, removed)

    @property
    def nbytes(self) -> int:
        return 0


class VirtualDifference(VirtualRelation):
    """The pairs of one relation that another one does not have, where they are too many to be listed. Only the partners
    of ids in `changed` differ; `nested` says that the first contains the other."""

    def __init__(self, large: VirtualRelation, small: VirtualRelation, changed: Ids, nested: bool) -> None:
        super().__init__(large.tuning)
        self.large, self.small, self.changed, self.nested = large, small, np.sort(changed), nested

    def measured(self) -> int:
        if self.nested:
            return self.large.size - self.small.size
        return sum(len(self.partners(self.changed[i : i + 1], True)[0]) for i in range(len(self.changed)))

    def contains(self, keys: Keys) -> Mask:
        return self.large.contains(keys) & ~self.small.contains(keys)

    def counts(self, ids: Ids, forward: bool) -> Positions:
        if self.nested:
            return self.large.counts(ids, forward) - self.small.counts(ids, forward)
        return super().counts(ids, forward)

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        left, values = self.large.partners(ids, forward)
        pair = (ids[left], values) if forward else (values, ids[left])
        new = ~self.small.contains(pack(pair, len(left)))
        return left[new], values[new]

    def leads(self, column: int) -> Ids:
        ids = self.changed if column == 0 else self.large.leads(1)
        return ids[self.counts(ids, column == 0) > 0]

    @property
    def nbytes(self) -> int:
        return self.large.nbytes + self.small.nbytes


def missing_pairs(relations: Sequence[Relation], known: Relation) -> Table:
    """The pairs of some relations that another one does not have."""
    keys = [known.without(relation.keys()) for relation in relations if relation.size]
    return Table.of(sort_distinct(np.concatenate(keys)), 2, known.tuning) if keys else Table(2, tuning=known.tuning)
