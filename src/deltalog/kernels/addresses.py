"""Addresses of arrays, for kernels, and how long they live.

A kernel that reads many arrays in one call gets their addresses as integers (`kernels.intern.get`). An address keeps
nothing alive, so each is given out by an owner that holds on to its array:

- `Addresses` holds every array whose address it has given out. Its addresses are valid for as long as it is
  referenced. A run of a table has one for its sorted keys and fences, so these are valid for as long as the run is; a
  kernel call over tables has one that holds the tables; a run of small rounds has one for its whole state.
- A dictionary writes the addresses of its arrays into its `room`, and updates them when it replaces an array by a
  longer one. They are valid while its lock is held.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def address(array: NDArray[Any]) -> int:
    """Where the first item of an array is; the caller holds the array."""
    return int(array.__array_interface__["data"][0])


class Addresses:
    """Gives out addresses of arrays, and holds the arrays: an address is valid for as long as this is referenced."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: list[object] = []

    def of(self, array: NDArray[Any]) -> int:
        self._held.append(array)
        return address(array)

    def hold(self, owner: object) -> None:
        """Keeps the owner of other addresses, which are used together with these."""
        self._held.append(owner)
