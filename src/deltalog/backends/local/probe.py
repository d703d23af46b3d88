"""Rows of bindings, and how a stored relation is looked up from them.

`Rows` is what flows between the steps of a plan: a column of ids per variable. A `Probe` is a relation as seen from
such rows: which of its columns are bound (by a variable of the rows or a constant), in which order its runs must
therefore be sorted, and which columns are new. A relation that is not stored (an aggregate, say) is probed the same
way, once it is a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deltalog.backends.local.table import Ids, Order, Run, Table, pack, unpack
from deltalog.kernels import join as kernel
from deltalog.kernels import rows as row_kernel
from deltalog.syntax.ast import Variable

Positions = NDArray[np.int64]
WORTH_COMPACTING = 8  # dead rows are cleared away when more than an eighth of a table is looked up


@dataclass(slots=True)
class Rows:
    """Bindings: one column of ids per variable."""

    columns: dict[Variable, Ids]
    size: int

    def take(self, selection: NDArray[np.bool_] | Positions, size: int | None = None) -> Rows:
        """The selected rows."""
        if size is None:
            size = int(np.count_nonzero(selection)) if selection.dtype == np.bool_ else len(selection)
        return Rows({v: column[selection] for v, column in self.columns.items()}, size)

    def slice(self, start: int, end: int) -> Rows:
        return Rows({v: column[start:end] for v, column in self.columns.items()}, end - start)

    def keep(self, needed: frozenset[Variable]) -> Rows:
        """Only the columns that are needed later."""
        return Rows({v: column for v, column in self.columns.items() if v in needed}, self.size)


def concatenate(parts: Sequence[Rows], variables: Sequence[Variable]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    empty = np.empty(0, np.uint32)
    columns = {v: np.concatenate([part.columns[v] for part in parts]) if parts else empty for v in variables}
    return Rows(columns, sum(part.size for part in parts))


@dataclass(slots=True)
class Probe:
    """A relation, looked up by the columns that are bound: `keys` in the order of `order`, then the `new` ones.

    A term is a variable or an id. `equal` are pairs of columns of the relation that must agree, where a new variable is
    repeated.
    """

    table: Table
    order: Order
    keys: tuple[Variable | int, ...]
    new: tuple[tuple[Variable, int], ...]  # variable, position within `order`
    equal: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, table: Table, terms: Sequence[Variable | int], bound: frozenset[Variable]) -> Probe:
        """The probe of a relation with these terms, from rows that bind these variables."""
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
        return cls(table, order, keys, tuple(first.items()), tuple(equal))

    @property
    def complete(self) -> bool:
        """Every column is bound: a lookup gives yes or no."""
        return len(self.keys) == len(self.order)

    def key_columns(self, rows: Rows) -> list[Ids]:
        return [np.full(rows.size, k, np.uint32) if isinstance(k, int) else rows.columns[k] for k in self.keys]

    def ranges(self, rows: Rows, run: Run, ids: int) -> tuple[Positions, Positions]:
        """For each row, the range of matching positions of the run in this probe's order."""
        low, high = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
        if not self.keys:
            low[:], high[:] = 0, len(run)
        elif len(self.order) <= 2:
            column = self.key_columns(rows)[0]
            if run.has_offsets(self.order) or 16 * rows.size > ids:
                kernel.ranges_offsets(run.offsets(self.order, ids), column, low, high)
            else:
                kernel.ranges_search(run.order(self.order), column, low, high)
        else:
            columns, rest = self.key_columns(rows), len(self.order) - len(self.keys)
            zeros, ones = np.zeros(rows.size, np.uint32), np.full(rows.size, 0xFFFFFFFF, np.uint32)
            first, last = (pack([*columns, *[fill] * rest], rows.size) for fill in (zeros, ones))
            row_kernel.ranges_words(run.order(self.order), first, last, low, high)
        return low, high

    def _prepare(self, rows: int) -> None:
        """Dead rows are left out one by one; if many rows are looked up, it is better to have none."""
        if self.table.dead and WORTH_COMPACTING * rows > self.table.size:
            self.table = self.table.compact

    def matches(self, rows: Rows, ids: int) -> NDArray[np.bool_]:
        """Which rows have at least one match."""
        self._prepare(rows.size)
        if self.equal:
            found = np.zeros(rows.size, np.bool_)
            for left, _ in self.expansions(rows, ids, frozenset()):
                found[left] = True
            return found
        if not self.order:
            return np.full(rows.size, self.table.size > 0)
        if self.complete and len(self.order) != 1:
            return self.table.contains(pack(self.key_columns(rows), rows.size))
        return self._counts(rows, ids) > 0

    def matched(self, rows: Rows, ids: int) -> int:
        """How many rows the join will have."""
        self._prepare(rows.size)
        return int(self._counts(rows, ids).sum())

    def _counts(self, rows: Rows, ids: int) -> Positions:
        """How many matches each row has: those of the runs less the dead ones."""
        counts = np.zeros(rows.size, np.int64)
        for run in self.table.runs:
            low, high = self.ranges(rows, run, ids)
            counts += high - low
        for run in self.table.dead.runs if self.table.dead else ():
            low, high = self.ranges(rows, run, ids)
            counts -= high - low
        return counts

    def expansions(
        self, rows: Rows, ids: int, needed: frozenset[Variable]
    ) -> Iterator[tuple[Positions, dict[Variable, Ids]]]:
        """Per run: the numbers of the joining rows, and the new columns."""
        self._prepare(rows.size)
        if self.complete:
            yield np.flatnonzero(self.matches(rows, ids)), {}
            return
        new = {v: position for v, position in self.new if v in needed}
        for run in self.table.runs:
            low, high = self.ranges(rows, run, ids)
            total = kernel.total(low, high)
            if not total:
                continue
            left = np.empty(total, np.int64)
            if len(self.order) == 2 and len(self.keys) == 1 and not self.table.dead:
                values = np.empty(total, np.uint32)
                kernel.expand_keys(low, high, run.order(self.order), left, values)
                yield left, dict.fromkeys(new, values)
            else:
                right = np.empty(total, np.int64)
                kernel.expand(low, high, left, right)
                yield self._gather(run, left, right, new)

    def _gather(
        self, run: Run, left: Positions, right: Positions, new: dict[Variable, int]
    ) -> tuple[Positions, dict[Variable, Ids]]:
        columns = unpack(run.order(self.order)[right], len(self.order))
        chosen = np.ones(len(left), np.bool_)
        for a, b in self.equal:
            chosen &= columns[a] == columns[b]
        if self.table.dead:
            places = sorted(range(len(self.order)), key=lambda i: self.order[i])
            chosen &= ~self.table.dead.contains(pack([columns[i] for i in places], len(left)))
        if not chosen.all():
            left, columns = left[chosen], [column[chosen] for column in columns]
        return left, {v: columns[position] for v, position in new.items()}

    def join(self, rows: Rows, ids: int, needed: frozenset[Variable]) -> Rows:
        """The natural join, with the columns that are needed later."""
        kept = [v for v in rows.columns if v in needed]
        parts = []
        for left, new in self.expansions(rows, ids, needed):
            parts.append(Rows({**{v: rows.columns[v][left] for v in kept}, **new}, len(left)))
        return concatenate(parts, [*kept, *(v for v, _ in self.new if v in needed)])
