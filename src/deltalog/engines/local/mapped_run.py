"""Runs of files that are mapped into memory: read, and checked, when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from deltalog.engines.local.sorted_runs import Keys, Order, Run


class MappedArrays(NamedTuple):
    """The keys of a run, and its indexes."""

    keys: Keys
    orders: dict[Order, Keys]


class MappedRun(Run):
    """A run whose arrays are found when they are first needed. Two threads may find them; the first ones stay."""

    __slots__ = ("_find", "_found", "_indexed", "_rows")

    def __init__(self, find: Callable[[], MappedArrays], rows: int, arity: int, indexed: frozenset[Order]) -> None:
        self._find, self._rows, self._indexed = find, rows, indexed
        self._found: list[MappedArrays] = []
        super().__init__(None, arity)  # type: ignore[arg-type]  # see `keys`

    def __len__(self) -> int:
        return self._rows

    def _arrays(self) -> MappedArrays:
        if not self._found:
            self._found.append(self._find())
        return self._found[0]

    @property  # type: ignore[override]
    def keys(self) -> Keys:
        return self._arrays().keys

    @keys.setter
    def keys(self, keys: Keys) -> None:
        pass

    @property  # type: ignore[override]
    def _orders(self) -> dict[Order, Keys]:
        return self._arrays().orders

    @_orders.setter
    def _orders(self, orders: dict[Order, Keys]) -> None:
        pass

    def has_order(self, order: Order) -> bool:
        return order in self._indexed or super().has_order(order)

    def recall(self, distinct: Mapping[int, int], heaviest: Mapping[int, int]) -> MappedRun:
        """Takes statistics over."""
        self._distinct.update(distinct)
        self._heaviest.update(heaviest)
        return self
