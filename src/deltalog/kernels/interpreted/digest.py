"""XXH64 with Python's integers, which do not wrap around."""

from __future__ import annotations

from deltalog.kernels.memory import BYTES
from deltalog.kernels.plain_numbers import FULL

P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _rotated(x: int, n: int) -> int:
    x &= FULL
    return ((x << n) | (x >> (64 - n))) & FULL


def _mixed(accumulator: int, word: int) -> int:
    return (_rotated(accumulator + word * P2, 31) * P1) & FULL


def _avalanche(h: int) -> int:
    h = ((h ^ (h >> 33)) * P2) & FULL
    h = ((h ^ (h >> 29)) * P3) & FULL
    return h ^ (h >> 32)


def _blocks(text: bytes, seed: int) -> int:
    """The state after all blocks of 32 bytes."""
    lanes = [(seed + P1 + P2) & FULL, (seed + P2) & FULL, seed, (seed - P1) & FULL]
    for at in range(0, len(text) - 31, 32):
        words = [int.from_bytes(text[at + i : at + i + 8], "little") for i in (0, 8, 16, 24)]
        lanes = [_mixed(lane, word) for lane, word in zip(lanes, words, strict=True)]
    h = sum(_rotated(lane, n) for lane, n in zip(lanes, (1, 7, 12, 18), strict=True)) & FULL
    for lane in lanes:
        h = ((h ^ _mixed(0, lane)) * P1 + P4) & FULL
    return h


def xxh64(at: int, length: int, seed: int) -> int:
    text, seed = BYTES[at : at + length].tobytes(), seed & FULL
    h = (_blocks(text, seed) if length >= 32 else seed + P5) + length
    rest = text[length & ~31 :]
    while len(rest) >= 8:
        h, rest = _rotated(h & FULL ^ _mixed(0, int.from_bytes(rest[:8], "little")), 27) * P1 + P4, rest[8:]
    if len(rest) >= 4:
        h, rest = _rotated(h & FULL ^ (int.from_bytes(rest[:4], "little") * P1) & FULL, 23) * P2 + P3, rest[4:]
    for byte in rest:
        h = _rotated(h & FULL ^ (byte * P5) & FULL, 11) * P1
    return _avalanche(h & FULL)
