"""What is not Datalog: relations whose facts depend on the order in which they are derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltalog.core.rules import Pred, Rule


@dataclass(frozen=True)
class AskedAggregate:
    """An aggregate for given values of its ON variables, and the hidden relations that compute it otherwise."""

    rule: Rule
    helpers: tuple[Pred, ...]


@dataclass(frozen=True)
class Procedures:
    """By the names of relations: keys that are unique (choice-domain, by position), sizes at which derivation stops
    (.limitsize), and rules by which a fact goes because of another one (subsumption): the first atom of the body is
    the one that goes, the second the one that stays. And aggregates over facts of the same recursion that ask for
    groups: they are computed when they are asked for. A relation may keep the deltas of another one, with the numbers
    of the rounds (debug_delta)."""

    choice: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    dominance: tuple[Rule, ...] = ()
    aggregates: Mapping[Pred, AskedAggregate] = field(default_factory=dict)
    deltas: Mapping[str, str] = field(default_factory=dict)  # the relation that keeps them, by the one that has them
