"""A log of the expressions that failed: how many rows each has dropped, why, and the values of the first ones.

Engines evaluate an expression over many rows, and write here only if it failed for some. The key is the expression with
its place, so that equal expressions of two rules are two entries (two rules with the same body share one plan, and then
one entry). A call that fails leaves no trace: `back_to` takes the log back to a `mark`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from deltalog.core.rules import AggregateCall, Call, Expression, Span
from deltalog.core.terms import Value

EXAMPLES = 3  # kept for each expression
Fallible = Expression | AggregateCall
ExampleValues = Mapping[str, Value]  # by the names of variables


@dataclass(frozen=True, slots=True)
class Tally:
    """The failures of one expression. `reason` is that of the first example."""

    count: int
    reason: str
    examples: tuple[ExampleValues, ...]

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.count + other.count, self.reason, (self.examples + other.examples)[:EXAMPLES])

    def __sub__(self, other: Tally) -> Tally:
        """Without earlier ones; the examples may be of those."""
        return Tally(self.count - other.count, self.reason, self.examples[len(other.examples) :] or self.examples)


FailureKey = tuple[Fallible, Span | None]


@dataclass(slots=True)
class FailureLog:
    """The failures so far, by expression."""

    tallies: dict[FailureKey, Tally] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of rows dropped."""
        return sum(tally.count for tally in self.tallies.values())

    def add(self, expression: Fallible, tally: Tally) -> None:
        place = (expression, span_of(expression))
        known = self.tallies.get(place)
        self.tallies[place] = tally if known is None else known + tally

    def mark(self) -> dict[FailureKey, Tally]:
        return dict(self.tallies)

    def since(self, mark: Mapping[FailureKey, Tally]) -> FailureLog:
        """The failures after a mark."""
        new = ((place, tally, mark.get(place)) for place, tally in self.tallies.items())
        return FailureLog({place: tally if old is None else tally - old for place, tally, old in new if tally != old})

    @contextmanager
    def isolated(self, ignored: bool = True) -> Iterator[None]:
        """Failures inside do not count, if they are ignored."""
        mark = self.mark()
        try:
            yield
        finally:
            if ignored:
                self.restore(mark)

    def restore(self, mark: Mapping[FailureKey, Tally]) -> None:
        self.tallies = dict(mark)


def tally(count: int, examples: Sequence[tuple[ExampleValues, str]]) -> Tally:
    """So many failures, the first of which with their reasons."""
    return Tally(count, examples[0][1], tuple(binding for binding, _ in examples[:EXAMPLES]))


def span_of(expression: Fallible) -> Span | None:
    """Where an expression was written; of one that deltalog has made, where the first part of it was."""
    if isinstance(expression, Call) and expression.span is None:
        return next(filter(None, map(span_of, expression.arguments)), None)
    return expression.span if isinstance(expression, Call | AggregateCall) else None
