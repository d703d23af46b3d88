"""Tables with a count in their last column, for maintenance with counts of derivations (DRed^c).

Without this capability, `maintenance="counting"` is plain delete and rederive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Counting(Protocol[T]):
    """Operations on tables of rows and their counts; no two rows of such a table differ in the count alone."""

    def recount(self, counts: T, added: Sequence[T], removed: Sequence[T]) -> T:
        """Counts after others were added and subtracted; rows whose count becomes 0 are dropped."""
        ...

    def counts_of(self, rows: T, counts: T) -> T:
        """The rows of a table of counts that begin with one of some rows."""
        ...

    def uncounted(self, counts: T) -> T:
        """The rows without their counts."""
        ...
