"""What is not Datalog: relations whose facts depend on the order in which they are derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltalog.syntax.ast import Rule

COUNTER = "souffle:counter"


@dataclass(frozen=True)
class Procedures:
    """By the names of relations: keys that are unique (choice-domain, by position), sizes at which derivation stops
    (.limitsize), and rules by which a fact goes because of another one (subsumption): the first atom of the body is
    the one that goes, the second the one that stays."""

    choice: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    dominance: tuple[Rule, ...] = ()

    def __or__(self, other: Procedures) -> Procedures:
        return Procedures(
            {**self.choice, **other.choice}, {**self.limits, **other.limits}, self.dominance + other.dominance
        )
