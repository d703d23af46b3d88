"""Rows of bindings, and joins of them with a relation by one of its indexes.

`Rows` is what flows between the steps of a plan: a column of ids per variable. An `IndexJoin` says how a relation is
joined with such rows: which of its columns are bound (by a variable of the rows or a constant), in which order its runs
must therefore be sorted, and which columns are new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deltalog.core.rules import Variable
from deltalog.engines.local.relation import Mask, Positions, Relation
from deltalog.engines.local.sorted_runs import Ids, Order, Run, pack, unpack
from deltalog.kernels import join as kernel
from deltalog.kernels import sorted_keys as row_kernel

if TYPE_CHECKING:
    from deltalog.engines.local.table import Table
    from deltalog.engines.local.virtual_relation import VirtualRelation

ANY = 1 << 62
SEARCH_ONLY = 1 << 62  # so many ids that look-ups go by search, unless a run has direct access already


@dataclass(slots=True)
class Rows:
    """Bindings: one column of ids per variable."""

    columns: dict[Variable, Ids]
    size: int

    def take(self, selection: Mask, kept: Sequence[Variable]) -> Rows:
        """The selected rows, with some of their columns."""
        size = int(np.count_nonzero(selection))
        if size == self.size:
            return Rows({v: self.columns[v] for v in kept}, size)
        return Rows({v: self.columns[v][selection] for v in kept}, size)

    def slice(self, start: int, end: int) -> Rows:
        return Rows({v: column[start:end] for v, column in self.columns.items()}, end - start)


def concatenate(parts: Sequence[Rows], variables: Sequence[Variable]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    empty = np.empty(0, np.uint32)
    columns = {v: np.concatenate([part.columns[v] for part in parts]) if parts else empty for v in variables}
    return Rows(columns, sum(part.size for part in parts))


@dataclass(frozen=True, slots=True)
class IndexJoin:
    """A join by the columns of a relation that are bound: `keys` in the order of `order`, then the `new` ones.

    A term is a variable or an id. `equal` are pairs of columns of the relation that must agree, where a new variable is
    repeated.
    """

    order: Order
    keys: tuple[Variable | int, ...]
    new: tuple[tuple[Variable, int], ...]  # variable, position within `order`
    equal: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, terms: Sequence[Variable | int], bound: frozenset[Variable]) -> IndexJoin:
        """The join with a relation that has these terms, from rows that bind these variables."""
        fixed = [i for i, t in enumerate(terms) if isinstance(t, int)]
        joined = [i for i, t in enumerate(terms) if isinstance(t, Variable) and t in bound]
        free = [i for i, t in enumerate(terms) if isinstance(t, Variable) and t not in bound]
        order = tuple(fixed + joined + free)
        if not free:
            order = tuple(range(len(terms)))
        first: dict[Variable, int] = {}
        equal = []
        for position, i in enumerate(order):
            term = terms[i]
            if isinstance(term, Variable) and term not in bound:
                if term in first:
                    equal.append((first[term], position))
                else:
                    first[term] = position
        keys = tuple(terms[i] for i in order[: len(terms) - len(free)])
        return cls(order, keys, tuple(first.items()), tuple(equal))

    @property
    def complete(self) -> bool:
        """Whether every column is bound: a look-up gives yes or no."""
        return len(self.keys) == len(self.order)

    def key_columns(self, rows: Rows) -> list[Ids]:
        return [np.full(rows.size, k, np.uint32) if isinstance(k, int) else rows.columns[k] for k in self.keys]

    def ranges(self, rows: Rows, run: Run, ids: int) -> tuple[Positions, Positions]:
        """For each row, the range of matching positions of the run in the order of the join."""
        low, high = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
        if not self.keys:
            low[:], high[:] = 0, len(run)
        elif len(self.keys) <= 2 and (run.has_offsets(self.order) or 16 * rows.size > ids):
            self._ranges_by_offsets(rows, run, ids, low, high)
        elif len(self.order) <= 2:
            kernel.ranges_search(run.order(self.order), self.key_columns(rows)[0], low, high)
        else:
            columns, rest = self.key_columns(rows), len(self.order) - len(self.keys)
            zeros, ones = np.zeros(rows.size, np.uint32), np.full(rows.size, 0xFFFFFFFF, np.uint32)
            first, last = (pack([*columns, *[fill] * rest], rows.size) for fill in (zeros, ones))
            row_kernel.ranges_words(run.order(self.order), first, last, low, high)
        return low, high

    def _ranges_by_offsets(self, rows: Rows, run: Run, ids: int, low: Positions, high: Positions) -> None:
        offsets, columns = run.offsets(self.order, ids), self.key_columns(rows)
        if len(self.order) <= 2 or len(columns) == 1:
            kernel.ranges_offsets(offsets, columns[0], low, high)
        else:
            row_kernel.ranges_pairs(run.order(self.order), offsets, *columns, low, high)

    def matches(self, relation: Relation, rows: Rows, ids: int) -> Mask:
        """Which rows have at least one match in a relation."""
        return relation.semi_join(self, rows, ids)

    def join(
        self,
        relation: Relation,
        rows: Rows,
        ids: int,
        kept: Sequence[Variable],
        new: frozenset[Variable],
        most: int = ANY,
    ) -> Rows | int:
        """The natural join, with some columns of the rows and some of the new ones; only how many rows that would be
        (or a little less), when it is more than `most`."""
        if self.complete:
            return rows.take(relation.semi_join(self, rows, ids), kept)
        return relation.join(self, rows, ids, kept, new, most)

    # Stored tables.

    def matches_in_runs(self, table: Table, rows: Rows, ids: int) -> Mask:
        """Which rows have at least one match in a table."""
        table = _fit(table, rows.size)
        if self.equal:
            found = np.zeros(rows.size, np.bool_)
            for left, _ in self._expansions(table, self._ranges(table, rows, ids), frozenset()):
                found[left] = True
            return found
        if not self.keys:
            return np.full(rows.size, table.size > 0)
        if self.complete and len(self.order) != 1:
            return table.contains(pack(self.key_columns(rows), rows.size))
        if len(self.order) <= 2 and rows.size < table.tuning.small_table_rows:
            return self._matches_by_search(table, rows, ids)
        return self._counts(table, rows, ids) > 0

    def _matches_by_search(self, table: Table, rows: Rows, ids: int) -> Mask:
        """By search for the first column."""
        found = np.zeros(rows.size, np.bool_)
        column = self.key_columns(rows)[0]
        for run in table.runs:
            row_kernel.mark_leads(column, run.order(self.order), found)
        if table.tombstones and found.any():  # some of those may match tombstones only
            places = np.flatnonzero(found)
            some = Rows({v: c[places] for v, c in rows.columns.items()}, len(places))
            found[places] = self._counts(table, some, ids) > 0
        return found

    def _counts(self, table: Table, rows: Rows, ids: int) -> Positions:
        """How many matches each row has: those of the runs less the tombstones."""
        counts = np.zeros(rows.size, np.int64)
        for _, low, high in self._ranges(table, rows, ids):
            counts += high - low
        for _, low, high in self._ranges(table.tombstones, rows, ids) if table.tombstones else ():
            counts -= high - low
        return counts

    def _ranges(self, table: Table, rows: Rows, ids: int) -> list[tuple[Run, Positions, Positions]]:
        return [(run, *self.ranges(rows, run, ids)) for run in table.runs]

    def _expansions(
        self, table: Table, ranges: Sequence[tuple[Run, Positions, Positions]], wanted: frozenset[Variable]
    ) -> Iterator[tuple[Positions, dict[Variable, Ids]]]:
        """Per run: the numbers of the joining rows, and the new columns that are wanted."""
        new = {v: position for v, position in self.new if v in wanted}
        for run, low, high in ranges:
            total = kernel.total(low, high)
            if not total:
                continue
            left = np.empty(total, np.int64)
            if len(self.order) == 2 and len(self.keys) == 1 and not table.tombstones:
                values = np.empty(total, np.uint32)
                kernel.expand_keys(low, high, run.order(self.order), left, values)
                yield left, dict.fromkeys(new, values)
            else:
                right = np.empty(total, np.int64)
                kernel.expand(low, high, left, right)
                yield self._gather(table, run, left, right, new)

    def _gather(
        self, table: Table, run: Run, left: Positions, right: Positions, new: dict[Variable, int]
    ) -> tuple[Positions, dict[Variable, Ids]]:
        columns = unpack(run.order(self.order)[right], len(self.order))
        chosen = np.ones(len(left), np.bool_)
        for a, b in self.equal:
            chosen &= columns[a] == columns[b]
        if table.tombstones:
            places = sorted(range(len(self.order)), key=lambda i: self.order[i])
            chosen &= ~table.tombstones.contains(pack([columns[i] for i in places], len(left)))
        if not chosen.all():
            left, columns = left[chosen], [column[chosen] for column in columns]
        return left, {v: columns[position] for v, position in new.items()}

    def join_runs(
        self, table: Table, rows: Rows, ids: int, kept: Sequence[Variable], new: frozenset[Variable], most: int
    ) -> Rows | int:
        """The join with a table; see `join`."""
        table = _fit(table, rows.size)
        ranges = self._ranges(table, rows, ids)
        expected = sum(kernel.total(low, high) for _, low, high in ranges)
        if expected > most:
            return int(expected)
        parts = []
        for left, values in self._expansions(table, ranges, new):
            parts.append(Rows({**{v: rows.columns[v][left] for v in kept}, **values}, len(left)))
        return concatenate(parts, [*kept, *(v for v, _ in self.new if v in new)])

    # Virtual relations.

    @property
    def is_one_sided(self) -> bool:
        """Whether one of two columns is bound, and the other one is new."""
        return len(self.keys) == 1 and not self.equal

    def matches_by_counts(self, relation: VirtualRelation, rows: Rows) -> Mask:
        """Which rows have a partner in a virtual relation, or are pairs of it."""
        if self.complete:
            return relation.contains(pack(self.key_columns(rows), rows.size))
        distinct, place = np.unique(self.key_columns(rows)[0], return_inverse=True)
        found: Mask = (relation.counts(distinct, self.order[0] == 0) > 0)[place]
        return found

    def join_partners(
        self, relation: VirtualRelation, rows: Rows, kept: Sequence[Variable], new: frozenset[Variable], most: int
    ) -> Rows | int:
        """The join with a virtual relation of which one column is bound; see `join`."""
        ids, forward = self.key_columns(rows)[0], self.order[0] == 0
        if most < ANY:
            expected = int(relation.counts(ids, forward).sum())
            if expected > most:
                return expected
        left, values = relation.partners(ids, forward)
        return Rows({**{v: rows.columns[v][left] for v in kept}, **dict.fromkeys(new, values)}, len(left))


def partners_in_runs(table: Table, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
    """The partners of ids in a table of pairs: for each match the position of the id, ascending, and the partner."""
    x, i, y = Variable("x"), Variable("i"), Variable("y")
    join = IndexJoin.of([x, y] if forward else [y, x], frozenset([x]))
    rows = Rows({x: ids, i: np.arange(len(ids), dtype=np.uint32)}, len(ids))
    joined = join.join(table, rows, SEARCH_ONLY, (i,), frozenset([y]))
    assert isinstance(joined, Rows)
    order = np.argsort(joined.columns[i], kind="stable") if len(table.runs) > 1 else slice(None)
    return joined.columns[i][order].astype(np.int64), joined.columns[y][order]


def _fit(table: Table, rows: int) -> Table:
    """Tombstones are left out one by one; if many rows are looked up, it is better to have none."""
    is_much = table.tombstones is not None and table.tuning.tombstone_max_divisor * rows > table.size
    return table.compact if is_much else table
