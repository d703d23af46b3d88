"""The inverse of SKOLEM: from names to the arguments they were generated from.

Rederivation uses it to check a fact with a generated name. Without it, the rule's body is evaluated for all candidates.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from deltalog.core.rules import Call

T = TypeVar("T")


class SkolemInverse(Protocol[T]):
    """Remembers the arguments of generated names."""

    def arguments(self, call: Call, table: T, column: int) -> T | None:
        """A table of the values of the call's distinct variables, followed by the name they generate, for the names in
        a column; None if they are not known for all of them."""
        ...
