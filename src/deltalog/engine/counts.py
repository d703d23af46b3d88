"""Counts of rule instances: for each fact, how many instances of some rules derive it.

A count is a row of an ordinary relation, the fact with one more column (`plan.rules.counts`). A fact that no instance
derives has no row.

A `Ledger` takes notes of instances that come and go, and changes its counts when it is asked to: rows of the facts
concerned are replaced, all others stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Generic, TypeVar

from deltalog.backends.base import Backend
from deltalog.plan import ir
from deltalog.plan.ir import Part, Plan, fact_columns
from deltalog.plan.rules import COUNT, counts
from deltalog.syntax.ast import Atom, Pred, Rule

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
    """Counts by relation of counts, and instances (counted in the same way) that have come and gone since."""

    backend: Backend[T]
    counts: dict[Pred, T]
    won: list[Mapping[Pred, T]] = field(default_factory=list)
    lost: list[Mapping[Pred, T]] = field(default_factory=list)

    def settle(self) -> None:
        """Counts what has come and gone."""
        for pred in {pred: None for noted in (*self.won, *self.lost) for pred in noted}:
            old = self.counts.get(pred, self.backend.empty(pred.arity))
            won = [noted[pred] for noted in self.won if pred in noted]
            lost = [noted[pred] for noted in self.lost if pred in noted]
            self.counts[pred] = self.backend.recounted(old, won, lost)
        self.won, self.lost = [], []

    def without_count(self, facts: Mapping[Pred, T]) -> dict[Pred, T]:
        """Facts that no instance derives."""
        return self._compared(facts, there=False)

    def with_count(self, facts: Mapping[Pred, T]) -> dict[Pred, T]:
        """Facts that an instance derives."""
        return self._compared(facts, there=True)

    def _compared(self, facts: Mapping[Pred, T], there: bool) -> dict[Pred, T]:
        if not facts:
            return {}
        tables = {(pred, Part.ALL): table for pred, table in (*facts.items(), *self.counts.items())}
        found = self.backend.run_all({pred: _comparison(pred, there) for pred in facts}, tables)
        return {pred: table for pred, table in found.items() if self.backend.size(table)}


@cache
def _comparison(pred: Pred, there: bool) -> Plan:
    """Facts that have a row with a count, or that have none."""
    rows = ir.Scan(Atom(counts(pred).name, (*fact_columns(pred.arity), COUNT)))
    return ir.SemiJoin(ir.facts_of(pred), rows) if there else ir.AntiJoin(ir.facts_of(pred), rows)
