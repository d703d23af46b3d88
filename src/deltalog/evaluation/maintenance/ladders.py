"""The set-at-a-time strategies, and the order in which they are tried, by the setting `maintenance=`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class Strategy(Enum):
    """A set-at-a-time strategy. UNCOUNTED is delete and rederive that makes the counts for the next update."""

    DRED = "delete and rederive"
    BACKWARD_FORWARD = "backward/forward"
    COUNTING = "delete and rederive with counts"
    UNCOUNTED = "delete and rederive, then count"


class Attempt(NamedTuple):
    """A strategy; a bounded one gives up when it deletes, or searches, far more than the candidate deletions."""

    strategy: Strategy
    bounded: bool = False


Ladder = tuple[Attempt, ...]
# The attempts on a recursive stratum, by the setting `maintenance=`.
LADDERS: Mapping[str, Ladder] = {
    "auto": (
        Attempt(Strategy.DRED, bounded=True),
        Attempt(Strategy.BACKWARD_FORWARD, bounded=True),
        Attempt(Strategy.DRED),
    ),
    "dred": (Attempt(Strategy.DRED),),
    "bf": (Attempt(Strategy.BACKWARD_FORWARD), Attempt(Strategy.DRED)),
    "counting": (Attempt(Strategy.COUNTING),),
}
WITHOUT_RECURSION: Ladder = (Attempt(Strategy.DRED),)  # also where a virtual relation is part of the recursion
WITHOUT_COUNTS: Ladder = (Attempt(Strategy.UNCOUNTED),)
