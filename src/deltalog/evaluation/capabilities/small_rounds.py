"""Semi-naive rounds over few new facts, many rounds in one call.

Without this capability, every round is evaluated set at a time (`engine.seminaive`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar

from deltalog.core.rules import Pred
from deltalog.evaluation.plan.ir import Part, Project

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class SmallRules:
    """Variants of recursive rules.

    A variant is the predicate whose DELTA it reads, the predicate of its head, and its plan (None: it has to be
    evaluated set at a time). `due`: how many rules read a predicate's DELTA. `counted`: the predicates whose facts
    count towards the limit of facts. `max_new_facts`: a round with more is left to evaluation by sets.
    """

    preds: tuple[Pred, ...]
    counted: frozenset[Pred]
    variants: tuple[tuple[Pred, Pred, Project | None], ...]
    due: Mapping[Pred, int]
    max_new_facts: int


class RoundsEnd(Enum):
    """Why a run of rounds ends."""

    DONE = "the fixpoint is reached"
    PAUSED = "it can continue once limits have been checked"
    FULL = "there is no room for more facts"
    LARGE = "the next round has too many new facts"
    TOO_MUCH = "the next round has too much work, or work that has to be done set at a time"


class RoundRecords(NamedTuple):
    """Of each of some rounds: the number of counted facts that it found, and the number of rules that were due."""

    new: list[int]
    rules: list[int]


class Rounds(Protocol[T]):
    """A run of semi-naive rounds."""

    def advance(self) -> tuple[RoundsEnd, RoundRecords]:
        """Some more rounds, of bounded work in all."""
        ...

    def found(self, rounds: int) -> tuple[dict[Pred, T], dict[Pred, T]]:
        """The facts before the last of this many rounds, the initial ones included; and what the last one found."""
        ...


class SmallRounds(Protocol[T]):
    """Evaluates runs of rounds with at most `SmallRules.max_new_facts` new facts each."""

    def start(
        self, rules: SmallRules, tables: Mapping[tuple[Pred, Part], T], new: Mapping[Pred, T], room: int
    ) -> Rounds[T] | None:
        """A run of rounds from new facts, which are not in the tables, with room for this many facts; None where
        evaluation set at a time is better."""
        ...
