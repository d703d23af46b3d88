"""The numbers of interpreted kernels: words of 64 bits are Python's integers, which are faster than numpy's.

`numpy` is what kernels call `np` when they are interpreted. Its types of numbers are functions that give Python's
numbers within the range of the type. Python's integers do not wrap around, so a kernel that multiplies or shifts words
beyond 64 bits has a version of its own (`kernels.interpreted`), or masks them.
"""

from __future__ import annotations

import math
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

FULL = 0xFFFFFFFFFFFFFFFF
SIGN = 1 << 63


def uint64(number: Any) -> int:
    return int(number) & FULL


def int64(number: Any) -> int:
    return ((int(number) + SIGN) & FULL) - SIGN


def uint32(number: Any) -> int:
    return int(number) & 0xFFFFFFFF


def uint8(number: Any) -> int:
    return int(number) & 0xFF


_TYPES: dict[Any, Any] = {uint64: np.uint64, int64: np.int64, uint32: np.uint32, uint8: np.uint8}


def empty(shape: Any, dtype: Any) -> Any:
    return np.empty(shape, _TYPES.get(dtype, dtype))


def zeros(shape: Any, dtype: Any) -> Any:
    return np.zeros(shape, _TYPES.get(dtype, dtype))


def full(shape: Any, value: Any, dtype: Any) -> Any:
    return np.full(shape, value, _TYPES.get(dtype, dtype))


numpy = SimpleNamespace(
    uint64=uint64,
    int64=int64,
    uint32=uint32,
    uint8=uint8,
    float64=float,
    isfinite=math.isfinite,
    empty=empty,
    zeros=zeros,
    full=full,
    bool_=np.bool_,
    cumsum=np.cumsum,
    arange=np.arange,
    append=np.append,
)


def plain(value: Any) -> Any:
    """A constant of a module, for interpreted kernels."""
    if isinstance(value, ModuleType):
        return numpy if value is np else value
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
