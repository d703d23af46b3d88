"""The Backend protocol over local tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltalog.core.dictionary import Dictionary
from deltalog.core.limits import Limits
from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.engines.local.capabilities import (
    LocalCounting,
    LocalPointLookup,
    LocalRepresentatives,
    LocalSkolemInverse,
    LocalSmallRounds,
    LocalTupleMaintenance,
    LocalVirtualRelations,
)
from deltalog.engines.local.codec import LocalCodec, load
from deltalog.engines.local.column_expressions import ColumnExpressions
from deltalog.engines.local.compile import PlanCompiler
from deltalog.engines.local.pipeline import Evaluation
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.scratch import Scratch
from deltalog.engines.local.sorted_runs import Ids
from deltalog.engines.local.table import Table
from deltalog.engines.local.workers import Workers
from deltalog.evaluation.backend import Tables
from deltalog.evaluation.capabilities import Capabilities
from deltalog.evaluation.plan.ir import Counted, Plan
from deltalog.evaluation.plan.work_counter import Meter, Meters
from deltalog.functions.failures import FailureLog


@dataclass(slots=True)
class LocalStatistics:
    """Statistics of a table, of the ids of a dictionary of this size."""

    table: Relation
    ids: int

    def distinct(self, column: int) -> float:
        return self.table.distinct(column, self.ids)

    def heaviest(self, column: int) -> float:
        return self.table.heaviest(column)


_KEPT_PLANS = 1 << 13  # compiled plans
_KEPT_PLANS_OF_READER = 1 << 8  # most plans of a reader are of one goal, some 4 kB each


class LocalBackend:
    """Sets of rows in this process. One backend has one dictionary."""

    name = "local"
    batch_independent_plans = False

    def __init__(
        self,
        limits: Limits,
        dictionary: Dictionary | None = None,
        threads: int | None = None,
        tuning: Tuning | None = None,
        kept_plans: int = _KEPT_PLANS,
    ) -> None:
        self.limits = limits
        self.tuning = tuning or Tuning()
        self.dictionary = dictionary or Dictionary()
        self.workers = Workers(threads, self.tuning.parallel_min_rows)
        self._meters = Meters()
        self._scratch = Scratch()
        self._empty: dict[int, Table] = {}
        self.vectors = ColumnExpressions(self.dictionary, self.tuning, self.limits)
        self._compiler = PlanCompiler(self.dictionary, self.tuning, kept_plans)
        self.codec = LocalCodec(self.dictionary, self.tuning)
        self.capabilities = self._capabilities()

    def over(self, dictionary: Dictionary) -> LocalBackend:
        """The same over another dictionary."""
        return LocalBackend(self.limits, dictionary, self.workers.threads, self.tuning)

    def beside(self) -> LocalBackend:
        """Another one over the same dictionary, for calls at the same time as those of this one."""
        made = LocalBackend(self.limits, self.dictionary, self.workers.threads, self.tuning, _KEPT_PLANS_OF_READER)
        made.workers = self.workers
        return made

    def _capabilities(self) -> Capabilities[Relation]:
        return Capabilities(
            multiway_joins=True,
            tuple_maintenance=LocalTupleMaintenance(self.limits, self.tuning, self._compiler),
            small_rounds=LocalSmallRounds(self.tuning, self._compiler, self.vectors),
            virtual_relations=LocalVirtualRelations(self.limits, self.tuning),
            representatives=LocalRepresentatives(),
            skolem_inverse=LocalSkolemInverse(self.vectors, self.tuning),
            point_lookup=LocalPointLookup(self.dictionary, self.tuning, self.vectors),
            counting=LocalCounting(self.dictionary),
        )

    @property
    def failures(self) -> FailureLog:
        return self.vectors.failures

    @property
    def meter(self) -> Meter:
        return self._meters.here

    def load(self, columns: Sequence[Any], arity: int) -> Table:
        return load(columns, arity, self.tuning)

    def empty(self, arity: int) -> Relation:
        found = self._empty.get(arity)
        return self._empty.setdefault(arity, Table(arity, tuning=self.tuning)) if found is None else found

    def run_all(self, plans: Mapping[Pred, Plan], tables: Tables[Relation]) -> dict[Pred, Relation]:
        self.limits.check()
        counting = [plan for plan in plans.values() if isinstance(plan, Counted)]
        group = self._compiler.bags(counting) if counting else self._compiler.group(plans.values())
        found = group.keys(self._evaluation(tables)) if group else None
        if found is None:
            found = [self._compiler.keys(plan)(self._evaluation(tables), None) for plan in plans.values()]
        return {pred: Table.of(keys, pred.arity, self.tuning) for pred, keys in zip(plans, found, strict=True)}

    def _evaluation(self, tables: Tables[Relation]) -> Evaluation:
        return Evaluation(tables, self.dictionary, self.vectors, self._scratch, self.workers, self.meter, self.tuning)

    def merge(self, old: Relation, new: Relation) -> Relation:
        return old.merge(new)

    def minus(self, old: Relation, gone: Relation) -> Relation:
        return old.minus(gone)

    def remove(self, old: Relation, gone: Relation) -> Relation:
        return old.minus(gone)

    def size(self, table: Relation) -> int:
        return table.size

    def rows(self, table: Relation) -> list[Ids]:
        return table.columns()

    def statistics(self, table: Relation) -> LocalStatistics:
        return LocalStatistics(table, len(self.dictionary))
