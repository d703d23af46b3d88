"""Work, counted while it is done, so that a choice that turns out wrong is noticed and changed.

Whoever chooses between two ways has an estimate of what each costs, in rows. The way that is chosen may go through as
many rows as are worth it (a multiple of what the other way was estimated to take); beyond that `GivenUp` ends it, and
the other way is taken. So at worst a bounded multiple of the better way is spent, as in the ski rental problem.

    choice                          watched while it runs                 instead
    QSQ-R for a goal                rows, learned (`query.selector`)      magic sets
    magic sets for a goal           rows a materialisation should take    a materialisation (`query.choose_method`)
    a materialisation for a goal    the same, and what goals have cost    magic sets
    the joins of a round            rows by the estimates of its plans    plans for skewed data (`engine.replan_joins`)
    a tree, or none                 sizes of what it reads                another tree, or none (`engine.replan_trees`)
    maintaining a stratum           facts that would go, consequences     recomputation (`maintenance.policy`)

Rows are those that go through a step of a plan, whatever the machine; what is not done row by row counts as the rows
that take as long: to plan a rule (`Tuning.planning_cost_rows`), and to run a plan, however little it finds
(`Tuning.running_cost_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from threading import local


class GivenUp(Exception):
    """There was more work than was allowed."""


@dataclass(slots=True)
class Meter:
    """The work of a thread, in rows. Those that help it may add to it; what gets lost then does not matter."""

    work: float = 0.0
    most: float = inf  # work at which it is given up
    ceiling: float = inf  # the same for what this is part of

    def spend(self, rows: float) -> None:
        self.work += rows
        if self.work > self.most:
            raise GivenUp

    @contextmanager
    def within(self, rows: float) -> Iterator[None]:
        """At most so many rows more for what happens inside; it never raises what was allowed outside."""
        before = self.most, self.ceiling
        self.most, self.ceiling = min(self.most, self.work + rows), self.most
        try:
            yield
        finally:
            self.most, self.ceiling = before

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """What happens inside is neither counted nor given up."""
        before = self.work, self.most, self.ceiling
        self.most = self.ceiling = inf
        try:
            yield
        finally:
            self.work, self.most, self.ceiling = before

    def allow(self, rows: float) -> None:
        """So many rows more for what happens here."""
        self.most = min(self.most + rows, self.ceiling)


class Meters(local):
    """A meter for each thread that asks a backend for something: they give up by themselves."""

    def __init__(self) -> None:
        self.here = Meter()
