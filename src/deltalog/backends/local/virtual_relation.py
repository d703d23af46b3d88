"""Binary relations that are given by a structure, and not row by row.

An `Implicit` relation can do what a table of two columns can: it is read by the plans of rules, under negation and in
aggregates, and it is a value like a table. It says how many partners an id has, lists them, and knows whether a pair
belongs; from this, everything else follows. Its rows are written out only where a plan needs them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from deltalog.backends.local.table import ColumnOrder, Ids, Keys, Run, Table, pack, sort_distinct, unpack
from deltalog.concurrency.cached import cached_property
from deltalog.kernels import sorted_keys as kernel
from deltalog.model.arrays import Positions
from deltalog.syntax.ast import Variable

BLOCK = 1 << 22  # pairs that are written out at a time
NO_OFFSETS_HERE = 1 << 62  # look-ups by search, unless the table has direct access already


def look_up(table: Table, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
    """The partners of ids in a plain table: to which of them each belongs, ascending, and the partners."""
    from deltalog.backends.local.index_join import Probe, Rows

    x, i, y = Variable("x"), Variable("i"), Variable("y")
    probe = Probe.of([x, y] if forward else [y, x], frozenset([x]))
    rows = Rows({x: ids, i: np.arange(len(ids), dtype=np.uint32)}, len(ids))
    joined = probe.join(table, rows, NO_OFFSETS_HERE, (i,), frozenset([y]))
    assert isinstance(joined, Rows)
    order = np.argsort(joined.columns[i], kind="stable") if len(table.runs) > 1 else slice(None)
    return joined.columns[i][order].astype(np.int64), joined.columns[y][order]


class Implicit(Table):
    """A set of pairs; subclasses say which."""

    def __init__(self) -> None:
        self.arity = 2
        self.dead = None

    def places_soon(self, order: ColumnOrder) -> list[int] | None:
        return None

    # What a structure says.

    def measured(self) -> int:
        """How many pairs there are."""
        raise NotImplementedError

    def contains(self, probe: Keys) -> NDArray[np.bool_]:
        raise NotImplementedError

    def counts(self, ids: Ids, forward: bool) -> Positions:
        """How many partners each id has: second columns of it as a first one (forward), or the other way round."""
        raise NotImplementedError

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        """The partners of ids: to which of them each one belongs, and the partners."""
        raise NotImplementedError

    def leads(self, column: int) -> Ids:
        """The distinct ids of a column, ascending."""
        raise NotImplementedError

    @property
    def mutual(self) -> int:
        """How many pairs have their inverse."""
        return sum(int(np.count_nonzero(self.contains(kernel.swap(block)))) for block in self.blocks())

    # What follows.

    @cached_property
    def size(self) -> int:  # type: ignore[override]
        return self.measured()

    def blocks(self) -> Iterator[Keys]:
        """All pairs, by ascending first column, as sorted keys."""
        firsts = self.leads(0)
        ends = np.cumsum(self.counts(firsts, True))
        start = 0
        while start < len(firsts):
            done = ends[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(ends, done + BLOCK, "right")))
            yield self._block(firsts[start:end], int(ends[end - 1] - done))
            start = end

    def _block(self, firsts: Ids, count: int) -> Keys:
        """The pairs of some first columns, which are about so many."""
        left, seconds = self.partners(firsts, True)
        return np.sort(kernel.pack(firsts[left], seconds))

    def keys(self) -> Keys:
        out, n = np.empty(self.size, np.uint64), 0
        for block in self.blocks():
            out[n : n + len(block)] = block
            n += len(block)
        return out

    def listed(self) -> Table:
        """The same pairs as a plain table."""
        return Table.of(self.keys(), 2)

    def listed_for(self, ids: Ids, forward: bool) -> Table:
        """The pairs that have one of some ids as their first column (forward), or their second, as a plain table."""
        left, values = self.partners(ids, forward)
        pair = (ids[left], values) if forward else (values, ids[left])
        return Table.of(np.sort(pack(pair, len(left))), 2)

    @property
    def compact(self) -> Table:  # type: ignore[override]
        return self

    @property
    def runs(self) -> tuple[Run, ...]:  # type: ignore[override]
        return self.listed().runs

    def columns(self) -> list[Ids]:
        return unpack(self.keys(), 2)

    def merge(self, new: Table) -> Table:
        return self.listed().merge(new) if new.size else self

    def minus(self, gone: Table) -> Table:
        if not gone.size:
            return self
        kept = [np.ascontiguousarray(block[~gone.contains(block)]) for block in self.blocks()]
        return Table.of(np.concatenate(kept) if kept else np.empty(0, np.uint64), 2)

    def without(self, keys: Keys) -> Keys:
        return np.ascontiguousarray(keys[~self.contains(keys)]) if len(keys) else keys

    def distinct(self, column: int, ids: int) -> float:
        return float(len(self._leads[column]))

    def heaviest(self, column: int) -> float:
        return float(self.counts(self._leads[column], column == 0).max(initial=0))

    @cached_property
    def _leads(self) -> tuple[Ids, Ids]:
        return self.leads(0), self.leads(1)


class InverseRelation(Implicit):
    """The pairs of another relation, exchanged."""

    def __init__(self, source: Implicit) -> None:
        super().__init__()
        self.source = source

    def measured(self) -> int:
        return self.source.size

    def contains(self, probe: Keys) -> NDArray[np.bool_]:
        return self.source.contains(kernel.swap(probe))

    def counts(self, ids: Ids, forward: bool) -> Positions:
        return self.source.counts(ids, not forward)

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        return self.source.partners(ids, not forward)

    def leads(self, column: int) -> Ids:
        return self.source.leads(1 - column)

    def minus(self, gone: Table) -> Table:
        return turned(self.source.minus(gone.source)) if isinstance(gone, InverseRelation) else super().minus(gone)

    @property
    def nbytes(self) -> int:
        return 0


class Plain(Implicit):
    """A plain table of pairs, seen as an implicit relation."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table

    def measured(self) -> int:
        return self.table.size

    def contains(self, probe: Keys) -> NDArray[np.bool_]:
        return self.table.contains(probe)

    def counts(self, ids: Ids, forward: bool) -> Positions:
        return np.bincount(self.partners(ids, forward)[0], minlength=len(ids))

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        return look_up(self.table, ids, forward)

    def leads(self, column: int) -> Ids:
        return np.unique(self.table.columns()[column])

    def keys(self) -> Keys:
        return self.table.keys()

    def minus(self, gone: Table) -> Table:
        return self.table.minus(gone.table if isinstance(gone, Plain) else gone)

    @property
    def nbytes(self) -> int:
        return self.table.nbytes


class UnionRelation(Implicit):
    """The pairs of several relations; a pair that several have is read from the first of them."""

    def __init__(self, parts: Sequence[Implicit]) -> None:
        super().__init__()
        self.parts = tuple(part for part in parts if part.size)

    def measured(self) -> int:
        total = 0
        for i, part in enumerate(self.parts):
            total += part.size - sum(self._shared(part, i))
        return total

    def _shared(self, part: Implicit, before: int) -> Iterator[int]:
        """How many pairs of a part, by blocks, are in the parts before it."""
        earlier = self.parts[:before]
        if len(earlier) == 1 and isinstance(part, InverseRelation) and part.source is earlier[0]:
            yield part.source.mutual
        elif earlier:
            yield from (int(np.count_nonzero(self._in(earlier, block))) for block in part.blocks())

    @staticmethod
    def _in(parts: Sequence[Implicit], probe: Keys) -> NDArray[np.bool_]:
        found = np.zeros(len(probe), np.bool_)
        for part in parts:
            found |= part.contains(probe)
        return found

    def contains(self, probe: Keys) -> NDArray[np.bool_]:
        return self._in(self.parts, probe)

    def counts(self, ids: Ids, forward: bool) -> Positions:
        return np.bincount(self.partners(ids, forward)[0], minlength=len(ids))

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
        own = ~self._in(self.parts[:number], pack(pair, len(left)))
        return left[own], values[own]

    def leads(self, column: int) -> Ids:
        found = [part.leads(column) for part in self.parts]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.uint32)

    def minus(self, gone: Table) -> Table:
        """Of another union with the same parts, after a change of them: what a part lost, and no other one has."""
        if not isinstance(gone, UnionRelation) or len(self.parts) != len(gone.parts):
            return super().minus(gone)
        lost = [own.minus(other) for own, other in zip(self.parts, gone.parts, strict=True) if own is not other]
        if any(isinstance(table, Implicit) for table in lost):
            return super().minus(gone)
        return unknown(lost, gone)

    @property
    def nbytes(self) -> int:
        return 0


class Gap(Implicit):
    """What one relation has more than another one, when that is too much to be listed. Only the partners of ids in
    `changed` differ; `nested` says that the first contains the other."""

    def __init__(self, large: Implicit, small: Implicit, changed: Ids, nested: bool) -> None:
        super().__init__()
        self.large, self.small, self.changed, self.nested = large, small, np.sort(changed), nested

    def measured(self) -> int:
        if self.nested:
            return self.large.size - self.small.size
        return sum(len(self.partners(self.changed[i : i + 1], True)[0]) for i in range(len(self.changed)))

    def contains(self, probe: Keys) -> NDArray[np.bool_]:
        return self.large.contains(probe) & ~self.small.contains(probe)

    def counts(self, ids: Ids, forward: bool) -> Positions:
        if self.nested:
            return self.large.counts(ids, forward) - self.small.counts(ids, forward)
        return np.bincount(self.partners(ids, forward)[0], minlength=len(ids))

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


def turned(table: Table) -> Table:
    """A relation with its columns exchanged."""
    if isinstance(table, Implicit):
        return InverseRelation(table)
    return Table.of(np.sort(kernel.swap(table.keys())), 2)


def unknown(tables: Sequence[Table], known: Table) -> Table:
    """The pairs of some relations that another one has not."""
    keys = [known.without(table.keys()) for table in tables if table.size]
    return Table.of(sort_distinct(np.concatenate(keys)), 2) if keys else Table(2)


def plain(table: Table) -> Table:
    """A relation as a table that has all of its rows."""
    return table.listed() if isinstance(table, Implicit) else table
