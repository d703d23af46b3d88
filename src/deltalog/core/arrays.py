"""Types of arrays and rows of ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ids = NDArray[np.uint32]  # of values (`deltalog.core.dictionary`)
Integers = NDArray[np.int64]
Positions = NDArray[np.int64]  # of rows or values in another array
Words = NDArray[np.int64]  # of a kernel's code or of its state
Mask = NDArray[np.bool_]
IdRow = tuple[int, ...]
