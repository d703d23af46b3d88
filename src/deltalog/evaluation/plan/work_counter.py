"""Work counters: a choice that turns out to be wrong is noticed while it runs, and revised.

Where there are two alternatives, each has an estimated cost in rows. The chosen one may process a multiple of the rows
that the other one was estimated to take; beyond that `GivenUp` ends it, and the other one is taken. So the total work
is within a constant factor of the better alternative, as in the ski rental problem.

    choice                          limited by                              fallback
    QSQ-R for a goal                a learned number of rows                magic sets (`query.selector`)
    magic sets for a goal           estimated rows of a materialisation     a materialisation (`query.choose_method`)
    adorned rules over triples      the same                                all triples (`query.goal_evaluator`)
    a materialisation for a goal    the same, and the work of past goals    magic sets
    the joins of a round            the estimates of its plans              skewed plans (`engine.replan_joins`)
    a tree, or none                 sizes of the relations that it reads    another choice (`engine.replan_trees`)
    maintaining a stratum           overdeletion, rule instances            recomputation (`maintenance.policy`)

Rows are those that go through a step of a plan, independent of the machine. Other work counts as the rows that take as
long: planning a rule (`Tuning.planning_cost_rows`), and running a plan, however small its result
(`Tuning.running_cost_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from threading import local


class GivenUp(Exception):
    """The work exceeded its limit."""


@dataclass(slots=True)
class Meter:
    """The work of a thread, in rows. Its workers add to it without a lock: a lost addition does no harm."""

    work: float = 0.0
    most: float = inf  # the limit of the work
    ceiling: float = inf  # the limit of the enclosing work

    def spend(self, rows: float) -> None:
        self.work += rows
        if self.work > self.most:
            raise GivenUp

    @contextmanager
    def within(self, rows: float) -> Iterator[None]:
        """Limits the work inside to this many more rows; never raises the enclosing limit."""
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
        """Raises the limit by this many rows, up to that of the enclosing work."""
        self.most = min(self.most + rows, self.ceiling)


class Meters(local):
    """A meter for each thread that calls a backend: threads give up independently of each other."""

    def __init__(self) -> None:
        self.here = Meter()
