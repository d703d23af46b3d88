"""Arrow arrays of numpy's, without a copy.

`pyarrow.array` does that, too, but imports pandas first, which takes each worker a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def numbers(values: Any) -> pa.Array:
    """A column of integers or floats."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
