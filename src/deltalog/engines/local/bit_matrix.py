"""A binary relation with long rows as a matrix of bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deltalog.core.tuning import Tuning
from deltalog.engines.local.scratch import Stamps
from deltalog.engines.local.sorted_runs import Ids, Keys
from deltalog.kernels import bits as kernel
from deltalog.kernels.sorted_keys import HALF, LOW

_MAX_BYTES = 1 << 28  # larger relations are not kept as bit matrices

Runs = tuple[tuple[Keys, ...], tuple[Ids, ...]]  # keys and offsets of RUNS runs


@dataclass(frozen=True, slots=True)
class Matrix:
    """Row y - first_y is the bitmap of the z of y, in words from first_word on; it is zero outside low to high."""

    words: NDArray[np.uint64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    first_y: int
    first_word: int

    @classmethod
    def of(cls, runs: Sequence[Keys], tuning: Tuning) -> Matrix | None:
        """The matrix of pairs (y, z), if they fill it well and it is not too large."""
        pairs = sum(map(len, runs))
        if pairs < tuning.bit_matrix_min_pairs:
            return None
        first_y = min(int(run[0] >> HALF) for run in runs)
        rows = max(int(run[-1] >> HALF) for run in runs) - first_y + 1
        if pairs < tuning.bit_matrix_min_bits_per_word * rows:
            return None
        seconds = [run & LOW for run in runs]
        first_word = min(int(column.min()) for column in seconds) >> 6
        width = (max(int(column.max()) for column in seconds) >> 6) - first_word + 1
        words = rows * width
        if words * 8 > _MAX_BYTES or pairs < tuning.bit_matrix_min_bits_per_word * words:
            return None
        matrix = cls(np.zeros((rows, width), np.uint64), np.full(rows, width), np.full(rows, -1), first_y, first_word)
        for run in runs:
            kernel.fill_matrix(run, first_y, first_word, matrix.words, matrix.low, matrix.high)
        return matrix

    def compose(self, left: Keys, known: Runs, stamps: Stamps) -> Keys:
        """The pairs (x, z), (x, y) in left and (y, z) here, that are not known."""
        return kernel.compose_dense(  # type: ignore[no-any-return]
            left, self.words, self.low, self.high, self.first_y, self.first_word, *known, stamps.bits
        )
