"""Driver and executors: failures of expressions, in an accumulator, by numbers that the driver gives to expressions.

A task adds the failures of a batch, with the values of the first ones; a task that is repeated adds them again. What
Spark SQL computes is not counted: there, a failure is a NULL, and its row is dropped in the JVM.
"""

from __future__ import annotations

from typing import Any

from pyspark.accumulators import AccumulatorParam

from deltalog.functions.failures import FailureLog, Fallible, Tally

Tallies = dict[int, Tally]


class _Sum(AccumulatorParam[Tallies]):  # type: ignore[misc]
    def zero(self, value: Tallies) -> Tallies:
        return {}

    def addInPlace(self, value1: Tallies, value2: Tallies) -> Tallies:
        for number, tally in value2.items():
            value1[number] = value1[number] + tally if number in value1 else tally
        return value1


class ExecutorFailures:
    """The driver's side: the numbers of expressions, and the accumulator that tasks add to."""

    def __init__(self, context: Any) -> None:
        self.accumulator = context.accumulator({}, _Sum())
        self._expressions: list[Fallible] = []

    def number(self, expression: Fallible) -> int:
        self._expressions.append(expression)
        return len(self._expressions) - 1

    def move_to(self, log: FailureLog) -> FailureLog:
        """Adds what tasks have added so far to a log."""
        found: Tallies = self.accumulator.value
        if found:
            self.accumulator.value = {}
            for number, tally in found.items():
                log.add(self._expressions[number], tally)
        return log
