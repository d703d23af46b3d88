"""Updates of a few rows of each of many tables: arrays as lists, whose items are Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels import batch_update as kernels
from deltalog.kernels.compiling import form
from deltalog.kernels.interpreted.sorted_keys import unique
from deltalog.kernels.sorted_keys import HALF


@form(work=lambda high, low, ends: len(high) + len(ends))
def pack_parts(high: Any, low: Any, ends: Any) -> tuple[Any, Any]:
    keys, counts = (high.astype(np.uint64) << HALF) | low.astype(np.uint64), np.zeros(len(ends) - 1, np.int64)
    for part, (start, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        keys[start:end].sort()
        counts[part] = unique(keys[start:end])
    return keys, counts


@form(work=lambda keys, ends, *_: len(keys) + len(ends))
def sift(keys: Any, ends: Any, tables: Any, adds: Any, places: Any) -> tuple[Any, Any]:
    return kernels.sift.straight(keys, ends, tables, adds, places.tolist())  # type: ignore[no-any-return]
