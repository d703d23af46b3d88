"""Compiled plans over local tables.

A left-deep plan is a pipeline: rows of its leftmost input are pushed through one step after the other (look-ups in
other relations, conditions, new columns), a morsel at a time, so that no intermediate result is much larger than a
morsel; all cores take morsels. What comes out is packed into keys, sorted and made distinct. `Distinct`, `Union` and
`Aggregate` end a pipeline and begin the next one.

`compile` turns plans into pipelines; this module runs them over tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.rules import Pred, Variable
from deltalog.core.tuning import Tuning
from deltalog.engines.local.column_expressions import ColumnExpressions
from deltalog.engines.local.index_join import ANY, Rows, concatenate
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.scratch import Scratch
from deltalog.engines.local.sorted_runs import Keys, no_keys, sort_distinct, union
from deltalog.engines.local.table import Table, empty
from deltalog.engines.local.workers import Once, Workers
from deltalog.evaluation.backend import Tables
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.work_counter import Meter

R = TypeVar("R")
Key = tuple[Pred, Part]


@dataclass(slots=True)
class Evaluation:
    """One evaluation: its tables, and what it computes with."""

    tables: Tables[Relation]
    dictionary: Dictionary
    vectors: ColumnExpressions
    scratch: Scratch
    workers: Workers
    meter: Meter  # is told the rows that go through steps; raises when they are too many
    tuning: Tuning
    _evaluated: dict[KeysOf, Once[Table]] = field(default_factory=dict)

    @property
    def ids(self) -> int:
        return len(self.dictionary)

    def check(self) -> None:
        """Raises when a limit is reached; in a worker thread, a limit of the call that it works for."""
        self.vectors.limits.check()

    def table(self, key: Key) -> Relation:
        return self.tables.get(key) or empty(key[0].arity)

    def rows(self, pipeline: PlanPipeline, names: Sequence[Variable]) -> Rows:
        """All rows of a pipeline at once."""
        return concatenate([rows for rows in self.run(pipeline, lambda rows: rows) if rows.size], names)

    def run(self, pipeline: PlanPipeline, sink: Callable[[Rows], R]) -> list[R]:
        """The results of the sink, one per morsel of rows."""
        leaf, steps = pipeline.leaf(self), pipeline.steps
        if leaf.size < self.workers.parallel_min_rows:
            return list(self._push(leaf, steps, 0, sink)) if leaf.size else []

        def part(bounds: tuple[int, int]) -> list[R]:
            return list(self._push(leaf.slice(*bounds), steps, 0, sink))

        bounds = even_bounds(leaf.size, max(self.workers.threads, -(-leaf.size // self.tuning.morsel_rows)))
        return [result for results in self.workers.map(part, bounds) for result in results]

    def _push(self, rows: Rows, steps: Sequence[PipelineStep], at: int, sink: Callable[[Rows], R]) -> Iterator[R]:
        """Rows through the steps from `at` on; split where a join would give too many."""
        self.check()
        morsel = self.tuning.morsel_rows
        for i in range(at, len(steps)):
            found = steps[i](self, rows, morsel if rows.size > 1 else ANY)
            if isinstance(found, int):
                self.meter.spend(found)  # before they exist: too many may not even fit
                pieces = min(rows.size, -(-found // morsel) + 1)
                for bounds in even_bounds(rows.size, pieces):
                    yield from self._push_on(rows.slice(*bounds), steps, i, sink)
                return
            self.meter.spend(found.size)
            if found.size == 0:
                return
            rows = found
        yield sink(rows)

    def _push_on(self, rows: Rows, steps: Sequence[PipelineStep], at: int, sink: Callable[[Rows], R]) -> Iterator[R]:
        """A piece through the step that was split, however many rows it gives, and through the rest."""
        found = steps[at](self, rows, ANY)
        if isinstance(found, Rows) and found.size:
            yield from self._push(found, steps, at + 1, sink)

    def evaluated_once(self, keys: KeysOf, arity: int) -> Table:
        """The rows of a plan that steps join with, evaluated once, when the first morsel needs them."""
        return self._evaluated.setdefault(keys, Once()).get(lambda: Table.of(keys(self, None), arity, self.tuning))


# The rows after a step; or only how many that would be, when it is more than the number given.
PipelineStep = Callable[[Evaluation, Rows, int], Rows | int]
KeysOf = Callable[[Evaluation, Relation | None], Keys]  # rows of the relation may be left out


@dataclass(frozen=True, slots=True)
class PlanPipeline:
    """A leaf, and the steps above it."""

    leaf: Callable[[Evaluation], Rows]
    steps: tuple[PipelineStep, ...]


def sorted_union(parts: Sequence[Keys], arity: int) -> Keys:
    """The union of sorted sets."""
    if not parts:
        return no_keys(arity)
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return union(parts[0], parts[1])
    return sort_distinct(np.concatenate(parts))


def even_bounds(size: int, pieces: int) -> list[tuple[int, int]]:
    if pieces == 1:
        return [(0, size)]
    cuts = np.linspace(0, size, pieces + 1).astype(int).tolist()
    return [(a, b) for a, b in pairwise(cuts) if a < b]
