"""Facts in an order that programs can rely on: numbers by value, everything else by when it was first seen.

A fact is seen when its relation is read for the first time after it was added, the facts of a relation in the order in
which they were added. Indexes are made when they are first asked for, and kept: facts that are added later go to the
ends of lists, and a list is sorted again when it is read, so that a round costs what it adds and reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from deltalog.core.terms import Value

StageRow = tuple[Value, ...]
RowSortKey = tuple[Any, ...]
Places = tuple[int, ...]
_NUMBERS = frozenset((int, float))


@dataclass
class ValueOrder:
    """The order of values: numbers by value, others by when they were first seen."""

    seen: dict[Value, int] = field(default_factory=dict)

    def key(self, row: StageRow) -> RowSortKey:
        if _NUMBERS.issuperset(map(type, row)):
            return row
        return tuple(v if isinstance(v, int | float) else self.seen.setdefault(v, len(self.seen)) for v in row)


@dataclass
class RowIndex:
    """The facts of a relation by their values in some places: a value, or a tuple of several."""

    values_of: Callable[[StageRow], Any]
    lists: dict[Any, list[StageRow]] = field(default_factory=dict)
    unsorted: set[Any] = field(default_factory=set)  # the values whose lists are not in order

    def add(self, rows: Iterable[StageRow], keys: dict[StageRow, RowSortKey | None]) -> None:
        """Adds facts, which are in order among themselves."""
        for row in rows:
            values = self.values_of(row)
            others = self.lists.setdefault(values, [])
            if others and keys[others[-1]] > keys[row]:  # type: ignore[operator]
                self.unsorted.add(values)
            others.append(row)


@dataclass
class OrderedRows:
    """The facts of a relation, each with its place in the order, or None until the relation is read."""

    order: ValueOrder
    rows: dict[StageRow, RowSortKey | None] = field(default_factory=dict)
    _unseen: dict[StageRow, None] = field(init=False)
    _sorted: list[StageRow] = field(default_factory=list)
    _is_sorted: bool = True
    _indexes: dict[Places, RowIndex] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._unseen = dict.fromkeys(self.rows)

    def add(self, row: StageRow) -> None:
        if row not in self.rows:
            self.rows[row] = None
            self._unseen[row] = None

    def remove(self, row: StageRow) -> None:
        if row in self.rows:
            del self.rows[row]
            self._unseen.pop(row, None)
            self._sorted, self._is_sorted, self._indexes = [], False, {}

    def alone(self, row: StageRow) -> Sequence[StageRow]:
        """A fact, if it is one."""
        self._see()
        return (row,) if row in self.rows else ()

    def in_order(self) -> Sequence[StageRow]:
        self._see()
        if not self._is_sorted:
            self._sorted = self._sort(self._sorted or self.rows)
            self._is_sorted = True
        return self._sorted

    def having(self, places: Places, values: Any) -> Sequence[StageRow]:
        """The facts with a value in a place, or a tuple of values in several, in order."""
        index = self._index(places)
        found = index.lists.get(values, ())
        if index.unsorted and values in index.unsorted:
            index.unsorted.remove(values)
            index.lists[values].sort(key=self.rows.__getitem__)  # type: ignore[arg-type]
        return found

    def _index(self, places: Places) -> RowIndex:
        self._see()
        if places not in self._indexes:
            index = self._indexes[places] = RowIndex(itemgetter(*places))
            index.add(self.in_order(), self.rows)
        return self._indexes[places]

    def _see(self) -> None:
        """Gives new facts their places in the order."""
        if not self._unseen:
            return
        for row in self._unseen:
            self.rows[row] = self.order.key(row)
        new = self._sort(self._unseen)
        if self._sorted or self._is_sorted:
            self._sorted += new
        self._is_sorted = self._is_sorted and len(self._sorted) == len(new)
        for index in self._indexes.values():
            index.add(new, self.rows)
        self._unseen = {}

    def _sort(self, rows: Iterable[StageRow]) -> list[StageRow]:
        return sorted(rows, key=self.rows.__getitem__)  # type: ignore[arg-type]
