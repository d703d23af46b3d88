"""Nested-loop joins: arrays as lists, whose items are Python's integers. They give up sooner than compiled ones, since
joins of sets by numpy are faster than loops of Python."""

from __future__ import annotations

from typing import Any

from deltalog.kernels import nested_loop as kernels
from deltalog.kernels.compiling import INTERPRET, form, setting

MOST_MATCHES = 1 << 10  # of a plan


@form(work=lambda code, *_: len(code), patience=2.0)
def nested_loops(
    code: Any,
    starts: Any,
    places: Any,
    registers: Any,
    register_starts: Any,
    heads: Any,
    known: Any,
    known_starts: Any,
    out: Any,
    ends: Any,
    most: int,
) -> bool:
    lowered = most if setting() == INTERPRET else min(most, MOST_MATCHES)
    return kernels.nested_loops.straight(  # type: ignore[no-any-return]
        code, starts, places.tolist(), registers, register_starts, heads, known, known_starts, out, ends, lowered
    )
