"""Counts of rule instances: for each fact, how many instances of some rules derive it.

A count is a row of an ordinary relation, the fact with one more column (`plan.variants.counts`). A fact that no
instance derives has no row.

A `Ledger` collects added and removed instances, and applies them to its counts: rows of the facts concerned are
replaced, all others stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.capabilities.counting import Counting
from deltalog.evaluation.plan.variants import counts

T = TypeVar("T")


@dataclass(frozen=True)
class Counts(Generic[T]):
    """The counts of a stratum, and the rules whose instances they count."""

    nonrecursive_rules: frozenset[Rule]
    recursive_rules: frozenset[Rule]
    nonrecursive: Mapping[Pred, T]
    recursive: Mapping[Pred, T]


@dataclass
class Ledger(Generic[T]):
    """Counts, and the added and removed instances (as counts, too) that have not been applied to them yet."""

    backend: Backend[T]
    counts: dict[Pred, T]
    added: list[Mapping[Pred, T]] = field(default_factory=list)
    removed: list[Mapping[Pred, T]] = field(default_factory=list)

    @property
    def counting(self) -> Counting[T]:
        return required(self.backend.capabilities.counting)

    def apply(self) -> None:
        """Counts the added and removed instances."""
        for pred in {pred: None for noted in (*self.added, *self.removed) for pred in noted}:
            old = self.counts.get(pred, self.backend.empty(pred.arity))
            added = [noted[pred] for noted in self.added if pred in noted]
            removed = [noted[pred] for noted in self.removed if pred in noted]
            self.counts[pred] = self.counting.recount(old, added, removed)
        self.added, self.removed = [], []

    def underived(self, facts: Mapping[Pred, T]) -> dict[Pred, T]:
        """Facts that no instance derives."""
        found = {pred: self.backend.minus(table, self._with_count(pred, table)) for pred, table in facts.items()}
        return {pred: table for pred, table in found.items() if self.backend.size(table)}

    def _with_count(self, pred: Pred, facts: T) -> T:
        counted = self.counts.get(counts(pred), self.backend.empty(pred.arity + 1))
        return self.counting.uncounted(self.counting.counts_of(facts, counted))

    def remaining(self, facts: Mapping[Pred, T]) -> dict[Pred, T]:
        """Facts that an instance derives which is not noted as removed; no instance may be noted as added."""
        found = {pred: self._remaining(counts(pred), table) for pred, table in facts.items()}
        return {pred: table for pred, table in found.items() if self.backend.size(table)}

    def _remaining(self, pred: Pred, facts: T) -> T:
        counting, none = self.counting, self.backend.empty(pred.arity)
        before = counting.counts_of(facts, self.counts.get(pred, none))
        after = counting.recount(before, [], [noted[pred] for noted in self.removed if pred in noted])
        return counting.uncounted(counting.counts_of(facts, after))
