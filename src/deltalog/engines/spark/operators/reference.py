"""Executors (Python workers): functions of the reference semantics (`deltalog.functions.scalar`), value by value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from deltalog.functions.failures import EXAMPLES
from deltalog.functions.scalar import ExpressionFails

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Results(Generic[A]):
    """The result for each argument, False where the function fails; where it does not fail; and the first arguments for
    which it does, with the reasons."""

    values: list[Any]
    ok: NDArray[np.bool_]
    failed: list[tuple[A, str]]


def results(function: Callable[[A], Any], arguments: Iterable[A]) -> Results[A]:
    values, ok = [], []
    failed: list[tuple[A, str]] = []
    for argument in arguments:
        try:
            values.append(function(argument))
            ok.append(True)
        except ExpressionFails as fails:
            values.append(False)
            ok.append(False)
            if len(failed) < EXAMPLES:
                failed.append((argument, str(fails)))
    return Results(values, np.array(ok, np.bool_), failed)
