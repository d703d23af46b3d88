"""The hash of a changed fact, with Python's integers."""

from __future__ import annotations

from typing import Any

from deltalog.kernels.plain_numbers import FULL

MIX = 0x9E3779B97F4A7C15


def _bucket(chain: int, pred: int, value: int, buckets: Any) -> int:
    h = ((value & FULL) ^ (((chain + 4 * pred + 1) * MIX) & FULL)) * MIX & FULL
    h = (h ^ (h >> 32)) * MIX & FULL
    return (h >> 32) & (buckets.shape[1] - 1)  # type: ignore[no-any-return]
