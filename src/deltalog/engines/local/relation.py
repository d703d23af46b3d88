"""What plans and updates can do with a relation, however it is represented.

There are two implementations. A `Table` stores its rows. A `VirtualRelation` is a binary relation that is given by a
scheme, such as the closure of a backbone: it counts and lists the partners of an id, and lists its rows only where a
plan needs them all. Both are immutable values, and results of `merge` and `minus` may be of either kind.

Where the two differ, the difference is a method here, so that callers do not need to know which one they have. Only
`is_stored` tells: for evaluation over sorted runs, which is not even tried where rows would have to be listed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deltalog.core.arrays import Mask as Mask
from deltalog.core.arrays import Positions as Positions
from deltalog.core.rules import Variable
from deltalog.core.tuning import Tuning
from deltalog.engines.local.sorted_runs import Ids, Keys, Order, Run

if TYPE_CHECKING:
    from deltalog.engines.local.index_join import IndexJoin, Rows
    from deltalog.engines.local.reachability import Reachability
    from deltalog.engines.local.table import Table


class Relation(Protocol):
    """An immutable set of rows of ids."""

    @property
    def arity(self) -> int: ...

    @property
    def tuning(self) -> Tuning:
        """The thresholds that it was created with; relations derived from it take them over."""

    @property
    def size(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def is_stored(self) -> bool:
        """Whether all rows are stored, so that reading them needs no listing."""

    @property
    def closure(self) -> Reachability | None:
        """The closure that this relation is, or that it was listed from; updates start from it."""

    # All rows.

    def stored(self) -> Table:
        """The same rows as a table: itself, or a new one that lists them."""

    def keys(self) -> Keys:
        """All rows, sorted."""

    def columns(self) -> list[Ids]:
        """All rows, as columns."""

    # Sets.

    def contains(self, keys: Keys) -> Mask:
        """Which of some rows (as keys, in canonical order) belong."""

    def without(self, keys: Keys) -> Keys:
        """The sorted keys that do not belong."""

    def merge(self, new: Relation) -> Relation:
        """The union with a disjoint relation."""

    def minus(self, removed: Relation) -> Relation:
        """The rows that are not in `removed`."""

    def minus_subset(self, removed: Relation) -> Relation:
        """The same where every row of `removed` belongs, which saves the look-up."""

    # Statistics.

    def distinct(self, column: int, ids: int) -> float:
        """About how many distinct ids a column has."""

    def heaviest(self, column: int) -> float:
        """At most how many rows the most frequent id of a column has."""

    # Joins.

    def scan(self, columns: Sequence[int]) -> list[Ids]:
        """Some columns of all rows, or the first ones of them: a virtual relation gives the distinct ids of one
        column, and a join with itself adds the other."""

    def semi_join(self, join: IndexJoin, rows: Rows, ids: int) -> Mask:
        """Which rows of bindings have a match here."""

    def join(
        self, join: IndexJoin, rows: Rows, ids: int, kept: Sequence[Variable], new: frozenset[Variable], most: int
    ) -> Rows | int:
        """The natural join of bindings with this relation; see `IndexJoin.join`."""

    def addresses(self, order: Order) -> list[int] | None:
        """The addresses of the keys in an order, as `kernels.run_search` reads them, valid for as long as the relation
        is referenced; None if there are no stored rows."""

    def cheap_addresses(self, order: Order) -> list[int] | None:
        """The same, if the rows are there in that order or take little time to sort; else None."""

    def runs_in(self, order: Order) -> Sequence[Run]:
        """Runs that are sorted in an order already and have no tombstones; there may be other rows."""

    def stored_part(self, column: int, ids: Keys, most: int) -> Table | None:
        """A table with at least the rows that have one of some ids, which are the lower halves of keys, in a column;
        None if these would have to be listed, and are more than `most`."""

    # Relations of two columns, as pairs.

    def inverse(self) -> Relation:
        """The pairs with their columns exchanged."""

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        """The partners of ids, which are second columns of them as first ones (forward), or the other way round: for
        each match the position of the id, and the partner."""

    def leads(self, column: int) -> Ids:
        """The distinct ids of a column, ascending."""

    def blocks(self) -> Iterator[Keys]:
        """All pairs by ascending first column, as sorted keys."""

    def overlap(self, others: Sequence[Relation]) -> int:
        """How many pairs are also in at least one of several other relations."""


def contained(keys: Keys, relations: Sequence[Relation]) -> Mask:
    """Which keys are in at least one of several relations."""
    found = np.zeros(len(keys), np.bool_)
    for relation in relations:
        found |= relation.contains(keys)
    return found


def overlap(relation: Relation, others: Sequence[Relation]) -> int:
    """See `Relation.overlap`; by blocks of pairs."""
    if not others:
        return 0
    return sum(int(np.count_nonzero(contained(block, others))) for block in relation.blocks())
