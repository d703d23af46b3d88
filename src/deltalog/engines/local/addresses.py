"""The addresses of several tables, for one kernel call. See `kernels.addresses`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deltalog.engines.local.relation import Relation
from deltalog.kernels.addresses import Addresses


class TableAddresses:
    """Descriptions of tables one after the other, as `kernels.run_search` reads them, and the tables.

    It holds the tables, which hold their runs: the addresses are valid for as long as this is referenced.
    """

    __slots__ = ("_addresses", "_words")

    def __init__(self) -> None:
        self._words: list[int] = []
        self._addresses = Addresses()

    def add(self, relation: Relation, addresses: Sequence[int]) -> int:
        """Where among the words the description of a relation begins. `addresses` are those that it gave."""
        offset = len(self._words)
        self._addresses.hold(relation)
        self._words += addresses
        return offset

    def words(self) -> NDArray[np.int64]:
        return np.array(self._words, np.int64)
