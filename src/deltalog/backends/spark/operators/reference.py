"""Executors (Python workers): functions of the reference semantics (`deltalog.expressions.scalar`), value by value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deltalog.expressions.scalar import ExpressionFails

A = TypeVar("A")


def results(function: Callable[[A], Any], arguments: Iterable[A]) -> tuple[list[Any], NDArray[np.bool_]]:
    """The result for each argument, False where the function fails; and where it does not fail."""
    values, ok = [], []
    for argument in arguments:
        try:
            values.append(function(argument))
            ok.append(True)
        except ExpressionFails:
            values.append(False)
            ok.append(False)
    return values, np.array(ok, np.bool_)
