"""Executors (Python workers) and driver: numpy arrays as Arrow arrays and back, without a copy.

`pyarrow.array` and `to_numpy` do the same, but import pandas first, which takes each worker a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers(values: Any) -> pa.Array:
    """A column of integers or floats."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def number(value: int, kind: Any = np.int32) -> pa.Array:
    """A column of one integer."""
    return numbers(np.array([value], kind))


def binaries(values: Sequence[bytes]) -> pa.Array:
    """A column of bytes."""
    ends = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(value) for value in values], out=ends[1:])
    return pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))])


def words(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """The numbers of a column of 64-bit integers, none of which is null."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not len(column):
        return np.empty(0, np.int64)
    return np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column)]
