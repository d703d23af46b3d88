"""Nested-loop joins, for the many small plans of a small change; the code of a plan is that of `kernels.interpreter`.

One call runs any number of plans, and writes nothing but their results.
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.compiling import inner, kernel
from deltalog.kernels.interpreter import HIGH, LOW, PLACE, advance, joined_key
from deltalog.kernels.memory import get
from deltalog.kernels.run_search import MASK, RUN, is_tombstone
from deltalog.kernels.sorted_keys import HALF

TOO_MUCH = -1


@inner
def _all_rows(code, first, depth, places, registers, levels, head, out, n, most):
    """Writes the keys of the registers `head` for every row to `out` from n on: where that ends; TOO_MUCH if they do
    not fit, or if there are more than `most` matches."""
    level, left = 0, most
    levels[0, 0], levels[0, 1] = 0, -1
    while level >= 0:
        if level == depth:
            if n == len(out):
                return TOO_MUCH
            out[n] = joined_key(registers, head[0], head[1])
            n += 1
            level -= 1
            continue
        left -= 1
        if left < 0:
            return TOO_MUCH
        level = advance(registers, places, None, False, levels, code[first + level], level)
    return n


@inner
def _leaves_with_rows(code, first, depth, places, registers, levels, known, out, n, most):
    """Writes the keys of the first relation for which there is a row to `out`, except those that are known, and marks
    them as known."""
    row, left = -1, most
    place = code[first, PLACE]
    for run in range(place + 2, place + 2 + RUN * places[place], RUN):
        for position in range(places[run + 1]):
            key = np.uint64(get(places[run], position))
            row += 1
            if known[row] or (places[place + 1] and is_tombstone(places, place, key)):
                continue
            registers[code[first, HIGH]] = np.int64(key >> HALF)
            if code[first, LOW] >= 0:
                registers[code[first, LOW]] = np.int64(key & MASK)
            levels[1, 0], levels[1, 1] = 0, -1
            level = 1
            while 1 <= level < depth:
                left -= 1
                if left < 0:
                    return TOO_MUCH
                level = advance(registers, places, None, False, levels, code[first + level], level)
            if level == depth:
                if n == len(out):
                    return TOO_MUCH
                known[row] = True
                out[n] = key
                n += 1
    return n


@kernel
def nested_loops(code, starts, places, registers, register_starts, heads, known, known_starts, out, ends, most):
    """Runs plan after plan: the rows of each go to `out`, and where they end to `ends`; False if they are too many.

    Each plan has its lines of code and its registers. Where `known_starts` is not negative, the head of a plan is a row
    of its first relation: each such row is derived only once, also by several plans with the same start.
    """
    n = 0
    for i in range(len(heads)):
        first, depth = starts[i], starts[i + 1] - starts[i]
        own, levels = registers[register_starts[i] : register_starts[i + 1]].copy(), np.empty((depth + 1, 2), np.int64)
        if known_starts[i] < 0:
            n = _all_rows(code, first, depth, places, own, levels, heads[i], out, n, most)
        else:
            n = _leaves_with_rows(code, first, depth, places, own, levels, known[known_starts[i] :], out, n, most)
        if n < 0:
            return False
        ends[i] = n
    return True
