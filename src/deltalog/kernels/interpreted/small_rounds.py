"""Small semi-naive rounds: the hash with Python's integers, and shorter stretches, after which the caller goes on."""

from __future__ import annotations

from typing import Any

from deltalog.kernels import small_rounds as kernels
from deltalog.kernels.compiling import form
from deltalog.kernels.plain_numbers import FULL

MIX = 0x9E3779B97F4A7C15
MOST_MATCHES = 1 << 10  # before a pause


def _mixed(h: int, value: int) -> int:
    h = ((h ^ (value & FULL)) * MIX) & FULL
    return h ^ (h >> 32)


@form(work=lambda frame: 0, patience=4.0)
def rounds(frame: Any) -> None:
    frame[kernels.MATCHES_LEFT] = min(frame[kernels.MATCHES_LEFT], MOST_MATCHES)
    kernels.rounds.straight(frame)
