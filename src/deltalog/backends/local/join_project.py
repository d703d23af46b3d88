"""The last join of a rule, h(x, z) <- left(.., x, y, ..), r(y, z), as a sparse product.

It finds the new pairs without writing any twice (see `kernels.join.compose`), and applies itself to what is left of the
body, so a chain of joins becomes a chain of sparse products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deltalog.backends.local.bit_matrix import Matrix, Runs
from deltalog.backends.local.index_join import Probe, Rows
from deltalog.backends.local.pipeline import Evaluation, Key, KeysOf, even_bounds, sorted_union
from deltalog.backends.local.scratch import Stamps
from deltalog.backends.local.table import (
    NO_KEYS,
    NO_OFFSETS,
    ColumnOrder,
    Keys,
    Run,
    Table,
    pack,
    sort_distinct,
    unpack,
)
from deltalog.backends.local.virtual_relation import Implicit
from deltalog.kernels import sorted_keys as kernel
from deltalog.kernels.join import RUNS, compose
from deltalog.syntax.ast import Variable

LISTABLE = 1 << 24  # more pairs of an implicit relation are not written out
SMALL = 1 << 9  # left sides below this are joined row by row
WORTH_OFFSETS = 8  # direct access by id is worth making when there are at least ids / 8 candidates
X, Y, Z = Variable("#x"), Variable("#y"), Variable("#z")


@dataclass(slots=True)
class Product:
    """A product, ready for any tables.

    left: the pairs (x, y). right: the relation of (y, z), read in an order. forward: the head is (x, z), not (z, x).
    leaf: the stored relation that bounds the left side's size, if there is one; `by_rows` is the same join row by row.
    flipped: the product of r and left, which gives the pairs in the head's order, where left is a stored relation.
    """

    left: KeysOf
    right: Key
    order: ColumnOrder
    forward: bool
    leaf: Key | None
    by_rows: KeysOf
    flipped: Product | None = None

    def keys(self, evaluation: Evaluation, known: Table | None) -> Keys:
        if self.leaf is not None and evaluation.table(self.leaf).size < SMALL:
            return self.by_rows(evaluation, known)
        if self.flipped is not None and self._worth_flipping(evaluation):
            return self.flipped.keys(evaluation, known)
        right, left, ids = evaluation.table(self.right), self.left(evaluation, None), evaluation.ids
        if len(left) < SMALL or WORTH_OFFSETS * _candidates(len(left), right, self.order[0], ids) < ids:
            return self._small(left, right, ids)
        if isinstance(right, Implicit):
            needed = np.unique((left & kernel.LOW).astype(np.uint32))
            if right.counts(needed, self.order[0] == 0).sum() > LISTABLE:
                return self.by_rows(evaluation, known)
            right = right.listed_for(needed, self.order[0] == 0)
        return self._large(left, right, known, evaluation)

    def _worth_flipping(self, evaluation: Evaluation) -> bool:
        """Two stored relations of which the second is not much larger than what the join will visit."""
        assert self.leaf is not None
        first, second = evaluation.table(self.leaf), evaluation.table(self.right)
        return second.size < 4 * _candidates(first.size, second, self.order[0], evaluation.ids)

    def _small(self, left: Keys, right: Table, ids: int) -> Keys:
        """By look-ups, for a left side that is small beside the number of ids."""
        columns = unpack(left, 2)
        probe = Probe.of([Y, Z] if self.order == (0, 1) else [Z, Y], frozenset([Y]))
        rows = probe.join(right, Rows({X: columns[0], Y: columns[1]}, len(left)), ids, (X,), frozenset([Z]))
        assert isinstance(rows, Rows)
        pair = (X, Z) if self.forward else (Z, X)
        return sort_distinct(pack([rows.columns[v] for v in pair], rows.size))

    def _large(self, left: Keys, right: Table, known: Table | None, evaluation: Evaluation) -> Keys:
        head = (0, 1) if self.forward else (1, 0)
        # Dead rows of `known` are not known: without them, or it is asked afterwards.
        stored = known if known and not known.dead and not isinstance(known, Implicit) else None
        present = [run for run in stored.runs if run.has_order(head)] if stored else []
        right, ids = right.compact, evaluation.ids
        product = _product(right, self.order, _runs(present, head, ids), ids)

        def part(bounds: tuple[int, int]) -> Keys:
            evaluation.check()
            with evaluation.scratch.stamps(ids) as stamps:
                keys = product(left[bounds[0] : bounds[1]], stamps)
            return keys if self.forward else np.sort(kernel.swap(keys))

        work = _candidates(len(left), right, self.order[0], ids)
        evaluation.meter.spend(work)
        workers = evaluation.workers
        pieces = workers.threads * 4 if work > 2 * workers.parallel_rows else 1
        parts = workers.map(part, _group_bounds(left, pieces))
        if self.forward:
            return np.concatenate(parts) if len(parts) > 1 else parts[0]  # the parts have ascending x
        return sorted_union(parts, 2)


def _candidates(rows: int, right: Table, column: int, ids: int) -> float:
    return rows * right.size / max(1.0, right.distinct(column, ids))


def _product(right: Table, order: ColumnOrder, known: Runs, ids: int) -> Callable[[Keys, Stamps], Keys]:
    """How to multiply: by bitmaps where rows of the right side are long, else pair by pair."""
    dense = Matrix.of([run.order(order) for run in right.runs])
    if dense is not None:
        return lambda left, stamps: dense.compose(left, known, stamps)
    runs = _runs(right.runs, order, ids)

    def sparse(left: Keys, stamps: Stamps) -> Keys:
        keys: Keys
        keys, stamps.generation = compose(left, *runs, *known, stamps.array, stamps.generation, stamps.bits)
        return keys

    return sparse


def _runs(runs: Sequence[Run], order: ColumnOrder, ids: int) -> Runs:
    padding = RUNS - len(runs)
    keys = [run.order(order) for run in runs] + [NO_KEYS] * padding
    return tuple(keys), (*(run.offsets(order, ids) for run in runs), *[NO_OFFSETS] * padding)


def _group_bounds(left: Keys, pieces: int) -> list[tuple[int, int]]:
    """Pieces of sorted keys that do not cut a group of equal high halves."""
    if pieces == 1:
        return [(0, len(left))]
    cuts = {0, len(left)}
    for cut, _ in even_bounds(len(left), pieces)[1:]:
        lead = left[cut] >> kernel.HALF << kernel.HALF
        cuts.add(int(np.searchsorted(left, lead)))
    ordered = sorted(cuts)
    return list(pairwise(ordered))
