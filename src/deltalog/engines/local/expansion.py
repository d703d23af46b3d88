"""Relations over representatives, as they are with all names of each individual.

Where equal individuals have the same facts, a relation is given by its facts about representatives, and by the classes
(`EqualityClasses`): `Expansion` for pairs, a virtual relation, and `UnaryExpansion`, which lists its rows when they are
first read. Neither is ever stored by an evaluation, so a class of many names costs its names, and not their products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.equality_classes import EqualityClasses, among
from deltalog.core.rules import Variable
from deltalog.engines.local.codec import load
from deltalog.engines.local.index_join import IndexJoin, Rows
from deltalog.engines.local.relation import Mask, Positions, Relation, overlap
from deltalog.engines.local.sorted_runs import Ids, Keys, Order, Run, pack, unpack
from deltalog.engines.local.table import Table
from deltalog.engines.local.virtual_relation import VirtualDifference, VirtualRelation


def expanded(base: Relation, classes: EqualityClasses) -> Relation:
    """A relation of one or two columns with all names."""
    if not len(classes) or not base.size:
        return base
    if base.arity == 2:
        return NameExpansion(base, classes)
    has_any = base.contains(pack([classes.heads], len(classes))).any()
    return UnaryExpansion(base, classes) if has_any else base


def normalised(table: Relation, classes: EqualityClasses) -> Relation:
    """A relation with representatives in the place of all names."""
    if not len(classes) or not table.size:
        return table
    columns = table.columns()
    if not any(classes.contains(column).any() for column in columns):
        return table
    return load([classes.representative(column) for column in columns], table.arity, table.tuning)


def mentioning(table: Relation, ids: Ids) -> Relation:
    """The rows that have one of some ids, which are ascending, in any column."""
    if not len(ids) or not table.size:
        return Table(table.arity, tuning=table.tuning)
    if table.arity == 1:
        keys = pack([ids], len(ids))
        return Table.of(keys[table.contains(keys)], 1, table.tuning)
    if table.arity > 2 or len(ids) * table.tuning.lookup_cost_rows > table.size:
        columns = table.columns()
        found = np.logical_or.reduce([among(column, ids) for column in columns])
        return load([column[found] for column in columns], table.arity, table.tuning)
    forward, backward = table.partners(ids, True), table.partners(ids, False)
    firsts = np.concatenate([ids[forward[0]], backward[1]])
    seconds = np.concatenate([forward[1], ids[backward[0]]])
    return load([firsts, seconds], 2, table.tuning)


class NameExpansion(VirtualRelation):
    """The pairs of a relation with all names of each individual."""

    def __init__(self, base: Relation, classes: EqualityClasses) -> None:
        super().__init__(base.tuning)
        self.base, self.classes = base, classes

    def measured(self) -> int:
        """The pairs of representatives, and for each that has several names the number of the others."""
        heads, sizes = self.classes.heads, self.classes.sizes
        left, seconds = self.base.partners(heads, True)
        more = int((sizes(heads[left]) * sizes(seconds) - 1).sum())
        left, firsts = self.base.partners(heads, False)
        alone = ~among(firsts, heads)
        return self.base.size + more + int((sizes(heads[left[alone]]) - 1).sum())

    def contains(self, keys: Keys) -> Mask:
        columns = [self.classes.representative(column) for column in unpack(keys, 2)]
        return self.base.contains(pack(columns, len(keys)))

    def counts(self, ids: Ids, forward: bool) -> Positions:
        left, found = self.base.partners(self.classes.representative(ids), forward)
        counted = np.bincount(left, self.classes.sizes(found), len(ids))
        return counted.astype(np.int64)

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        left, found = self.base.partners(self.classes.representative(ids), forward)
        of, names = self.classes.names(found)
        return left[of], names

    def leads(self, column: int) -> Ids:
        return np.sort(self.classes.names(self.base.leads(column))[1])

    def minus(self, removed: Relation) -> Relation:
        if not removed.size:
            return self
        old = removed if isinstance(removed, NameExpansion) else NameExpansion(removed, EqualityClasses())
        if old.classes is self.classes:
            return expanded(self.base.minus(old.base), self.classes)
        new = NameExpansion(differing_rows(self, old), self.classes)
        if new.size <= self.tuning.equality_listed_pairs:
            return Table.of(removed.without(new.keys()), 2, self.tuning)
        if old._contains_all(self):
            return Table(2, tuning=self.tuning)
        nested = self._contains_all(old)
        return VirtualDifference(self if nested else new, old, new.leads(0), nested)

    def _contains_all(self, other: NameExpansion) -> bool:
        """Whether every pair of another expansion belongs, as after an addition."""
        mine, others = self.classes, other.classes
        if (mine.representative(others.members) != mine.representative(others.representatives)).any():
            return False
        columns = [mine.representative(column) for column in other.base.columns()]
        return bool(self.base.contains(pack(columns, other.base.size)).all())

    @property
    def nbytes(self) -> int:
        return self.base.nbytes


def differing_rows(new: NameExpansion | UnaryExpansion, old: NameExpansion | UnaryExpansion) -> Relation:
    """The rows of representatives that stand for all rows that another expansion does not have."""
    heads = np.unique(new.classes.representative(new.classes.differing(old.classes)))
    found, added = mentioning(new.base, heads), new.base.minus(old.base)
    return found.merge(added.minus(found))


class UnaryExpansion:
    """The ids of a relation with all names of each. See `Relation`."""

    arity = 1
    is_stored = True
    closure = None

    def __init__(self, base: Relation, classes: EqualityClasses) -> None:
        self.base, self.classes, self.tuning = base, classes, base.tuning

    @cached_property
    def _listed(self) -> Table:
        return Table.of(np.sort(pack([self.classes.names(self.base.columns()[0])[1]], self.size)), 1, self.tuning)

    def stored(self) -> Table:
        return self._listed

    @cached_property
    def size(self) -> int:
        heads = self.classes.heads
        found = self.base.contains(pack([heads], len(heads)))
        return self.base.size + int((self.classes.sizes(heads[found]) - 1).sum())

    @property
    def nbytes(self) -> int:
        return self.base.nbytes

    # Sets.

    def contains(self, keys: Keys) -> Mask:
        (column,) = unpack(keys, 1)
        return self.base.contains(pack([self.classes.representative(column)], len(keys)))

    def without(self, keys: Keys) -> Keys:
        return np.ascontiguousarray(keys[~self.contains(keys)]) if len(keys) else keys

    def minus(self, removed: Relation) -> Relation:
        if not isinstance(removed, UnaryExpansion):
            return self._listed.minus(removed) if removed.size else self
        if removed.classes is self.classes:
            return expanded(self.base.minus(removed.base), self.classes)
        new = expanded(differing_rows(self, removed), self.classes)
        return Table.of(removed.without(new.keys()), 1, self.tuning)

    # Everything else is that of the listed rows.

    def keys(self) -> Keys:
        return self._listed.keys()

    def columns(self) -> list[Ids]:
        return self._listed.columns()

    def merge(self, new: Relation) -> Relation:
        return self._listed.merge(new) if new.size else self

    def minus_subset(self, removed: Relation) -> Relation:
        return self.minus(removed)

    def distinct(self, column: int, ids: int) -> float:
        return float(self.size)

    def heaviest(self, column: int) -> float:
        return 1.0

    def scan(self, columns: Sequence[int]) -> list[Ids]:
        return self._listed.scan(columns)

    def semi_join(self, join: IndexJoin, rows: Rows, ids: int) -> Mask:
        return self._listed.semi_join(join, rows, ids)

    def join(
        self, join: IndexJoin, rows: Rows, ids: int, kept: Sequence[Variable], new: frozenset[Variable], most: int
    ) -> Rows | int:
        return self._listed.join(join, rows, ids, kept, new, most)

    def addresses(self, order: Order) -> list[int] | None:
        return self._listed.addresses(order)

    def cheap_addresses(self, order: Order) -> list[int] | None:
        return self._listed.cheap_addresses(order)

    def runs_in(self, order: Order) -> Sequence[Run]:
        return self._listed.runs_in(order)

    def stored_part(self, column: int, ids: Keys, most: int) -> Table | None:
        return self._listed

    def inverse(self) -> Relation:
        return self._listed.inverse()

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        return self._listed.partners(ids, forward)

    def leads(self, column: int) -> Ids:
        return self._listed.leads(column)

    def blocks(self) -> Iterator[Keys]:
        return self._listed.blocks()

    def overlap(self, others: Sequence[Relation]) -> int:
        return overlap(self, others)
