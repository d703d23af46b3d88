"""Facts between readers, writers and engines: per predicate, one array of ids for each argument.

A predicate without arguments has no columns; if it is present, it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deltalog.core.rules import Pred

Column = NDArray[np.uint32]
Columns = Sequence[Column]
FactColumns = dict[Pred, list[Column]]


def together(parts: Iterable[Mapping[Pred, Columns]]) -> FactColumns:
    """The union of several sets of facts."""
    found: dict[Pred, list[Columns]] = {}
    for part in parts:
        for pred, columns in part.items():
            found.setdefault(pred, []).append(columns)
    return {pred: _stacked(pred, pieces) for pred, pieces in found.items()}


def _stacked(pred: Pred, pieces: list[Columns]) -> list[Column]:
    if len(pieces) == 1:
        return list(pieces[0])
    return [np.concatenate([piece[i] for piece in pieces]) for i in range(pred.arity)]
