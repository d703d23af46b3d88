"""Sets of ids as bits, by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import by_numpy, outgrown
from deltalog.kernels.interpreted.join import without_known
from deltalog.kernels.sorted_keys import HALF, LOW

MOST_WORDS = 1 << 18
SIX, ONE, LAST_SIX = np.uint64(6), np.uint64(1), np.uint64(63)


@by_numpy
def fill_matrix(keys: Any, first_y: int, first_word: int, matrix: Any, low: Any, high: Any) -> None:
    y, z = (keys >> HALF).astype(np.int64) - first_y, keys & LOW
    w = (z >> SIX).astype(np.int64) - first_word
    np.bitwise_or.at(matrix, (y, w), ONE << (z & LAST_SIX))
    np.minimum.at(low, y, w)
    np.maximum.at(high, y, w)


@by_numpy
def compose_dense(
    left: Any,
    matrix: Any,
    low: Any,
    high: Any,
    first_y: int,
    first_word: int,
    known: Any,
    known_offsets: Any,
    bits: Any,
) -> Any:
    y = (left & LOW).astype(np.int64) - first_y
    inside = (y >= 0) & (y < len(matrix))
    left, y = left[inside], y[inside]
    outgrown(len(left) * matrix.shape[1], MOST_WORDS)
    if len(left) == 0:
        return np.empty(0, np.uint64)
    leads = left >> HALF
    starts = np.flatnonzero(np.concatenate(([True], leads[1:] != leads[:-1])))
    rows = np.bitwise_or.reduceat(matrix[y], starts)
    row, bit = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little").nonzero()
    pairs = (leads[starts][row] << HALF) | (bit + 64 * first_word).astype(np.uint64)
    return without_known(pairs, known)
