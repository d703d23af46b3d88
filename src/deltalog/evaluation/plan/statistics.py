"""Statistics for the planner: sizes, numbers of distinct values, the textbook estimates from them, and thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from deltalog.core.rules import Atom, Pred, Variable
from deltalog.core.tuning import Tuning
from deltalog.evaluation.plan.ir import Part


class Statistics(Protocol):
    """The sizes of the relations that a plan will read, and the thresholds of planning."""

    @property
    def tuning(self) -> Tuning: ...

    def size(self, pred: Pred, part: Part) -> float: ...

    def distinct(self, pred: Pred, part: Part, column: int) -> float: ...

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        """The number of rows of the most frequent value of a column, or a slightly higher estimate."""
        ...


@dataclass(frozen=True)
class UnknownStatistics:
    """Defaults without data: every relation has a thousand rows, and a hundred values per column."""

    tuning: Tuning = field(default_factory=Tuning)

    def size(self, pred: Pred, part: Part) -> float:
        return 1000.0 if part is not Part.DELTA else 100.0

    def distinct(self, pred: Pred, part: Part, column: int) -> float:
        return 100.0

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        return self.size(pred, part) / 100.0


@dataclass(frozen=True, slots=True)
class PartialStatistics:
    """Actual figures for relations that have facts, defaults for those that are not derived yet."""

    known: Statistics
    guess: Statistics = field(default_factory=UnknownStatistics)

    @property
    def tuning(self) -> Tuning:
        return self.known.tuning

    def size(self, pred: Pred, part: Part) -> float:
        return self.known.size(pred, part) or self.guess.size(pred, part)

    def distinct(self, pred: Pred, part: Part, column: int) -> float:
        return self.known.distinct(pred, part, column) or self.guess.distinct(pred, part, column)

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        return self.known.heaviest(pred, part, column) or self.guess.heaviest(pred, part, column)


@dataclass(frozen=True, slots=True)
class CachedStatistics:
    """A cache of statistics while a body is planned."""

    known: Statistics
    sizes: dict[tuple[Pred, Part], float] = field(default_factory=dict)
    counts: dict[tuple[Pred, Part, int], float] = field(default_factory=dict)

    @classmethod
    def of(cls, statistics: Statistics) -> CachedStatistics:
        return statistics if isinstance(statistics, CachedStatistics) else cls(statistics)

    @property
    def tuning(self) -> Tuning:
        return self.known.tuning

    def size(self, pred: Pred, part: Part) -> float:
        found = self.sizes.get((pred, part))
        if found is None:
            found = self.sizes[pred, part] = self.known.size(pred, part)
        return found

    def distinct(self, pred: Pred, part: Part, column: int) -> float:
        found = self.counts.get((pred, part, column))
        if found is None:
            found = self.counts[pred, part, column] = self.known.distinct(pred, part, column)
        return found

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        return self.known.heaviest(pred, part, column)


@dataclass(frozen=True, slots=True)
class Matches:
    """The estimated number of facts that match an atom, and of distinct values of each of its variables."""

    rows: float
    values: tuple[tuple[Variable, float], ...]

    @classmethod
    def of(cls, atom: Atom, part: Part, statistics: Statistics) -> Matches:
        """Constants and repeated variables select one in as many facts as the column has values."""
        pred, values = atom.pred, dict[Variable, float]()
        rows = statistics.size(pred, part)
        for column, term in enumerate(atom.terms):
            count = max(1.0, statistics.distinct(pred, part, column))
            if not isinstance(term, Variable):
                rows /= count
            elif term in values:
                rows /= max(count, values[term])
                values[term] = min(count, values[term])
            else:
                values[term] = count
        return cls(rows, tuple(values.items()))


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated number of rows of an intermediate result, and of distinct values of each of its columns."""

    rows: float = 1.0
    distinct: Mapping[Variable, float] = field(default_factory=dict)

    def joined_rows(self, atom: Matches) -> float:
        """After a join with an atom: each shared column keeps one in max(distinct left, distinct right) pairs."""
        rows, distinct = self.rows * atom.rows, self.distinct
        for variable, count in atom.values:
            present = distinct.get(variable)
            if present is not None:
                rows /= present if present > count else count
        return rows

    def joined(self, atom: Matches) -> Estimate:
        rows, distinct = self.joined_rows(atom), dict(self.distinct)
        for variable, count in atom.values:
            present = distinct.get(variable)
            if present is None or count < present:
                distinct[variable] = count
        most = max(rows, 1.0)
        return Estimate(rows, {v: count if count < most else most for v, count in distinct.items()})

    def halved(self) -> Estimate:
        """After a condition, which is assumed to keep half of the rows."""
        return Estimate(self.rows / 2, {v: min(d, max(1.0, self.rows / 2)) for v, d in self.distinct.items()})

    def extended(self, variable: Variable) -> Estimate:
        return Estimate(self.rows, {**self.distinct, variable: max(1.0, self.rows)})

    def combinations(self, variables: frozenset[Variable]) -> float:
        """The maximum number of distinct rows over these variables."""
        product = 1.0
        for variable in variables:
            product *= max(1.0, self.distinct.get(variable, 1.0))
        return min(product, self.rows)
