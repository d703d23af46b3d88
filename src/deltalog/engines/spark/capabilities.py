"""Driver: the capabilities of the Spark engine (see `deltalog.evaluation.capabilities`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from deltalog.core.rules import Pred, Rule
from deltalog.engines.spark.driver_engine import offload_to_driver
from deltalog.engines.spark.jobs import round_name
from deltalog.engines.spark.operators.multiset import recounted, uncounted, with_counts
from deltalog.engines.spark.operators.virtual_maintenance import made
from deltalog.engines.spark.residence import decide, memory_ceiling, offload_bytes
from deltalog.engines.spark.table import SparkTable
from deltalog.evaluation.capabilities.offload import OffloadOffer
from deltalog.program.schemes import Scheme

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend


@dataclass(frozen=True, slots=True)
class SparkOffload:
    """Offloads what fits the driver's budget to the local engine in the driver."""

    backend: SparkBackend

    def watched(self) -> AbstractContextManager[None]:
        backend = self.backend
        return memory_ceiling(backend.limits, backend.driver_budget, backend.driver_budget)

    def offer(self, rules: Sequence[Rule], tables: Mapping[Pred, SparkTable]) -> OffloadOffer[SparkTable]:
        backend = self.backend
        needed = sum(offload_bytes(backend.size(table), table.arity) for table in tables.values())
        decision = decide(needed, backend.driver_budget, "the relations that rules read")
        target = offload_to_driver(rules, tables, backend) if decision.in_driver else None
        return OffloadOffer(target, decision.reason)


@dataclass(frozen=True, slots=True)
class SparkVirtualRelations:
    """Closures, unions and inverses, listed; a change rebuilds them."""

    backend: SparkBackend

    def build(self, scheme: Scheme, inputs: Sequence[SparkTable]) -> SparkTable:
        self.backend.limits.check()
        if not any(map(self.backend.size, inputs)):
            return self.backend.empty(2)
        with self.backend.jobs.named(round_name([scheme.pred])):
            return made(scheme, inputs, self.backend)

    def rebuild(
        self,
        scheme: Scheme,
        old: SparkTable,
        inputs: Sequence[SparkTable],
        removed: Sequence[SparkTable],
        added: Sequence[SparkTable],
    ) -> tuple[SparkTable, Callable[[], tuple[SparkTable, SparkTable]]]:
        backend = self.backend
        new = self.build(scheme, inputs)
        return new, lambda: (backend.minus(old, new), backend.minus(new, old))


@dataclass(frozen=True, slots=True)
class SparkCounting:
    """Tables with a column of counts, by plans."""

    backend: SparkBackend

    def recount(self, counts: SparkTable, added: Sequence[SparkTable], removed: Sequence[SparkTable]) -> SparkTable:
        return recounted(counts, added, removed, self.backend)

    def counts_of(self, rows: SparkTable, counts: SparkTable) -> SparkTable:
        return with_counts(rows, counts, self.backend)

    def uncounted(self, counts: SparkTable) -> SparkTable:
        return uncounted(counts, self.backend)


@dataclass(frozen=True, slots=True)
class SparkMetrics:
    """Jobs, stages, tasks and shuffles of the backend."""

    backend: SparkBackend

    def snapshot(self) -> dict[str, int]:
        return self.backend.jobs.metrics.snapshot()

    def scope(self, name: str) -> AbstractContextManager[None]:
        return self.backend.jobs.named(name)


@dataclass(frozen=True, slots=True)
class SparkJobCosts:
    """The seconds of recent jobs."""

    backend: SparkBackend

    def seconds_per_job(self, tables: Iterable[SparkTable]) -> float:
        in_driver = self.backend.driver_budget > 0 and all(table.empty or table.inline for table in tables)
        return 0.0 if in_driver or not self.backend.job_seconds else median(self.backend.job_seconds)


@dataclass(frozen=True, slots=True)
class SparkDataFrames:
    """Tables as DataFrames of values."""

    backend: SparkBackend

    def to_spark(self, table: SparkTable, columns: Sequence[str], cells: Collection[int] | None = None) -> Any:
        from deltalog.engines.spark.io.to_dataframe import to_spark

        with self.backend.jobs.named("find the types of columns"):
            return to_spark(table, columns, self.backend, cells)
