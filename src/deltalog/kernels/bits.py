"""Sets of ids as bits, and joins of dense relations by whole words.

`compose_dense` is `kernels.join.compose` for a right side whose rows are long: the row of every y is made a bitmap
once, and the row of x is the union of bitmaps, 64 candidates at a time.
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.compiling import inner, kernel
from deltalog.kernels.memory import trailing_zeros
from deltalog.kernels.sorted_keys import HALF, LOW

SIX, ONE, LAST_SIX = np.uint64(6), np.uint64(1), np.uint64(63)


@inner
def clear_known(x, known, known_offsets, bits):
    """Clears the bits of the ids z for which (x, z) is in one of the runs."""
    for r in range(len(known)):
        if x + 1 < len(known_offsets[r]):
            for position in range(known_offsets[r][x], known_offsets[r][x + 1]):
                z = known[r][position] & LOW
                bits[z >> SIX] &= ~(ONE << (z & LAST_SIX))


@inner
def read_bits(x, bits, low, high, out, n):
    """Writes (x, z) for every bit z of the words low to high, in order, and clears them; the new length of out."""
    lead = np.uint64(x) << HALF
    for w in range(low, high + 1):
        word = bits[w]
        if word:
            base = lead | (np.uint64(w) << SIX)
            while word:
                out[n] = base | np.uint64(trailing_zeros(word))
                n += 1
                word &= word - ONE
            bits[w] = np.uint64(0)
    return n


@kernel
def fill_matrix(keys, first_y, first_word, matrix, low, high):
    """matrix[y - first_y] becomes the bitmap of the z of y, with words counted from first_word; low and high bound its
    words that are not zero."""
    for i in range(len(keys)):
        y = np.int64(keys[i] >> HALF) - first_y
        z = keys[i] & LOW
        w = np.int64(z >> SIX) - first_word
        matrix[y, w] |= ONE << (z & LAST_SIX)
        if w < low[y]:
            low[y] = w
        if w > high[y]:
            high[y] = w


@kernel
def compose_dense(left, matrix, low, high, first_y, first_word, known, known_offsets, bits):
    """The new pairs (x, z): (x, y) in left, (y, z) in the matrix, (x, z) not in known; sorted."""
    out = np.empty(max(1024, len(left)), np.uint64)
    n = 0
    i = 0
    while i < len(left):
        x = np.int64(left[i] >> HALF)
        least, most = len(bits), -1
        while i < len(left) and np.int64(left[i] >> HALF) == x:
            y = np.int64(left[i] & LOW) - first_y
            if 0 <= y < len(matrix) and low[y] <= high[y]:
                target = bits[first_word + low[y] : first_word + high[y] + 1]
                source = matrix[y, low[y] : high[y] + 1]
                for w in range(len(source)):
                    target[w] |= source[w]
                least = min(least, first_word + low[y])
                most = max(most, first_word + high[y])
            i += 1
        if most >= least:
            clear_known(x, known, known_offsets, bits)
            room = n + 64 * (most - least + 1)
            if room > len(out):
                larger = np.empty(max(2 * len(out), room), np.uint64)
                larger[:n] = out[:n]
                out = larger
            n = read_bits(x, bits, least, most, out, n)
    return out[:n]
