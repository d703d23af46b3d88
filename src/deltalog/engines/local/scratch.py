"""Scratch arrays that kernels reuse, one per thread at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LAST = 2**30  # beyond, a new array is allocated rather than overflow


@dataclass(slots=True)
class Stamps:
    """A place for every id; what is below `generation` is stale, so the array is never cleared. And a bit for every
    id, all zero between uses."""

    array: NDArray[np.int32]
    bits: NDArray[np.uint64]
    generation: int = 0

    @classmethod
    def of(cls, ids: int) -> Stamps:
        return cls(np.zeros(ids, np.int32), np.zeros((ids >> 6) + 1, np.uint64))


class Scratch:
    """A pool of Stamps. Threads take from it and give back without a lock: `pop` and `append` are one step each."""

    def __init__(self) -> None:
        self._free: list[Stamps] = []

    @contextmanager
    def stamps(self, ids: int) -> Iterator[Stamps]:
        try:
            stamps = self._free.pop()
        except IndexError:
            stamps = Stamps.of(ids)
        if len(stamps.array) < ids or stamps.generation > LAST:
            stamps = Stamps.of(ids + ids // 4)
        yield stamps  # after an exception they are not used again
        self._free.append(stamps)
