"""The last join of a rule with its projection, h(x, z) <- left(.., x, y, ..), r(y, z), as a sparse matrix product.

It gives each new pair once (see `kernels.join.compose`). The rest of the body is compiled the same way, so a chain of
joins becomes a chain of sparse products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deltalog.core.rules import Variable
from deltalog.core.tuning import Tuning
from deltalog.engines.local.bit_matrix import Matrix, Runs
from deltalog.engines.local.index_join import IndexJoin, Rows
from deltalog.engines.local.pipeline import Evaluation, Key, KeysOf, even_bounds, sorted_union
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.scratch import Stamps
from deltalog.engines.local.sorted_runs import NO_KEYS, NO_OFFSETS, Keys, Order, Run, pack, sort_distinct, unpack
from deltalog.engines.local.table import Table
from deltalog.kernels import sorted_keys as kernel
from deltalog.kernels.join import RUNS, compose

_MAX_SORTED_CANDIDATES = 1 << 20  # of a product, where there are few for each row

X, Y, Z = Variable("#x"), Variable("#y"), Variable("#z")


@dataclass(slots=True)
class Product:
    """A compiled product.

    left: the pairs (x, y). right: the relation of (y, z), read in an order. forward: the head is (x, z), not (z, x).
    leaf: the stored relation that bounds the left side's size, if there is one; `by_rows` is the same join row by row.
    flipped: the product of r and left, which gives the pairs in the head's order, where left is a stored relation.
    """

    left: KeysOf
    right: Key
    order: Order
    forward: bool
    leaf: Key | None
    by_rows: KeysOf
    flipped: Product | None = None

    def keys(self, evaluation: Evaluation, known: Relation | None) -> Keys:
        tuning = evaluation.tuning
        if self.leaf is not None and evaluation.table(self.leaf).size < tuning.product_min_left_rows:
            return self.by_rows(evaluation, known)
        if self.flipped is not None and self._worth_flipping(evaluation):
            return self.flipped.keys(evaluation, known)
        right, left, ids = evaluation.table(self.right), self.left(evaluation, None), evaluation.ids
        candidates = _candidates(len(left), right, self.order[0], ids)
        if len(left) < tuning.product_min_left_rows or _is_sparse(left, candidates, ids, tuning):
            return self._small(left, right, ids)
        stored = right.stored_part(self.order[0], left, tuning.product_max_listed_pairs)
        return self.by_rows(evaluation, known) if stored is None else self._large(left, stored, known, evaluation)

    def _worth_flipping(self, evaluation: Evaluation) -> bool:
        """Whether the second of two stored relations is not much larger than the candidates of the join."""
        assert self.leaf is not None
        first, second = evaluation.table(self.leaf), evaluation.table(self.right)
        return second.size < 4 * _candidates(first.size, second, self.order[0], evaluation.ids)

    def _small(self, left: Keys, right: Relation, ids: int) -> Keys:
        """By an index join, for a left side that is small beside the number of ids."""
        columns = unpack(left, 2)
        join = IndexJoin.of([Y, Z] if self.order == (0, 1) else [Z, Y], frozenset([Y]))
        rows = join.join(right, Rows({X: columns[0], Y: columns[1]}, len(left)), ids, (X,), frozenset([Z]))
        assert isinstance(rows, Rows)
        pair = (X, Z) if self.forward else (Z, X)
        return sort_distinct(pack([rows.columns[v] for v in pair], rows.size))

    def _large(self, left: Keys, right: Table, known: Relation | None, evaluation: Evaluation) -> Keys:
        head = (0, 1) if self.forward else (1, 0)
        present = known.runs_in(head) if known else []  # what else is known is left out afterwards
        right, ids = right.compact, evaluation.ids
        product = _product(right, self.order, _runs(present, head, ids), ids, evaluation.tuning)

        def part(bounds: tuple[int, int]) -> Keys:
            evaluation.check()
            with evaluation.scratch.stamps(ids) as stamps:
                keys = product(left[bounds[0] : bounds[1]], stamps)
            return keys if self.forward else np.sort(kernel.swap(keys))

        work = _candidates(len(left), right, self.order[0], ids)
        evaluation.meter.spend(work)
        workers = evaluation.workers
        pieces = workers.threads * 4 if work > 2 * workers.parallel_min_rows else 1
        parts = workers.map(part, _group_bounds(left, pieces))
        if self.forward:
            return np.concatenate(parts) if len(parts) > 1 else parts[0]  # the parts have ascending x
        return sorted_union(parts, 2)


def _is_sparse(left: Keys, candidates: float, ids: int, tuning: Tuning) -> bool:
    """Whether there are so few candidates, in all or for each x, that sorting them beats a slot for every id."""
    if tuning.lookup_cost_rows * candidates < ids:
        return True
    few_per_row = candidates < tuning.product_min_candidates_per_row * int(
        np.count_nonzero(np.diff(left >> kernel.HALF))
    )
    return few_per_row and candidates < _MAX_SORTED_CANDIDATES


def _candidates(rows: int, right: Relation, column: int, ids: int) -> float:
    return rows * right.size / max(1.0, right.distinct(column, ids))


def _product(right: Table, order: Order, known: Runs, ids: int, tuning: Tuning) -> Callable[[Keys, Stamps], Keys]:
    """The kernel that multiplies: by bitmaps where rows of the right side are long, else pair by pair."""
    dense = Matrix.of([run.order(order) for run in right.runs], tuning)
    if dense is not None:
        return lambda left, stamps: dense.compose(left, known, stamps)
    runs = _runs(right.runs, order, ids)

    def sparse(left: Keys, stamps: Stamps) -> Keys:
        keys: Keys
        keys, stamps.generation = compose(left, *runs, *known, stamps.array, stamps.generation, stamps.bits)
        return keys

    return sparse


def _runs(runs: Sequence[Run], order: Order, ids: int) -> Runs:
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
