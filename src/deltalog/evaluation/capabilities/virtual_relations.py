"""Virtual relations: closures, unions and inverses that are kept by their scheme and not row by row.

For a backend without this capability, programs are analysed without schemes (`schemes="standard"`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from deltalog.program.schemes import Scheme

T = TypeVar("T")


class VirtualRelations(Protocol[T]):
    """Builds and maintains the relations of schemes."""

    def build(self, scheme: Scheme, inputs: Sequence[T]) -> T:
        """The relation that a scheme defines over its inputs, virtual or as a table, whichever is better."""
        ...

    def rebuild(
        self, scheme: Scheme, old: T, inputs: Sequence[T], removed: Sequence[T], added: Sequence[T]
    ) -> tuple[T, Callable[[], tuple[T, T]]]:
        """The relation after a change of the inputs; and a function that finds which rows it removed and added."""
        ...
