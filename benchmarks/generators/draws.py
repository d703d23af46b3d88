"""Random numbers that are the same on every machine and with every version of numpy.

numpy's generators may change their streams between versions, so the draws here are their own: splitmix64 as a function
of a seed, the name of a stream and an index. A draw depends on nothing drawn before it, so everything is one vectorised
expression, and university 7 is the same among 10 universities and among 100.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


def _mix(words: Words) -> Words:
    """The finaliser of splitmix64 (Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def words(seed: int, stream: str, indexes: Ints) -> Words:
    """64 random bits for each index."""
    start = _mix(np.array([(seed * 0x100000001 + crc32(stream.encode())) % 2**64], np.uint64))
    with np.errstate(over="ignore"):
        return _mix(start + (indexes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


def uniform(seed: int, stream: str, indexes: Ints) -> NDArray[np.float64]:
    """A number in [0, 1) for each index."""
    return (words(seed, stream, indexes) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def between(seed: int, stream: str, indexes: Ints, low: int | Ints, high: int | Ints) -> Ints:
    """An integer in low..high, both included, for each index."""
    low, high = np.asarray(low, np.int64), np.asarray(high, np.int64)
    return low + np.floor(uniform(seed, stream, indexes) * (high - low + 1)).astype(np.int64)
