"""Relations over representatives of equal ids (`deltalog.core.equality_classes`).

For a backend without this capability, equality is evaluated by its axioms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from deltalog.core.arrays import Ids
    from deltalog.core.equality_classes import EqualityClasses

T = TypeVar("T")


class Representatives(Protocol[T]):
    """Between relations over names and relations over representatives, which have one or two columns."""

    def expanded(self, table: T, classes: EqualityClasses) -> T:
        """A relation over representatives with all names; not listed."""
        ...

    def normalised(self, table: T, classes: EqualityClasses) -> T:
        """A relation over names with representatives in their place."""
        ...

    def mentioning(self, table: T, ids: Ids) -> T:
        """The rows that have one of some ids, which are ascending, in any column."""
        ...
