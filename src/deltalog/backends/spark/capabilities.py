"""Driver: the capabilities of the Spark engine (see `deltalog.backends.capabilities`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltalog.backends.capabilities.offload import OffloadOffer
from deltalog.backends.spark.driver_engine import offload_target
from deltalog.backends.spark.metrics import metrics
from deltalog.backends.spark.operators.multiset import recounted, uncounted, with_counts
from deltalog.backends.spark.operators.virtual_maintenance import made
from deltalog.backends.spark.table import SparkTable
from deltalog.program.recognise import Structure
from deltalog.syntax.ast import Pred, Rule

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend


@dataclass(frozen=True, slots=True)
class SparkOffload:
    """Offloads what fits the driver's budget to the local engine in the driver."""

    home: SparkBackend
    whole_programs: bool

    def offer(self, rules: Sequence[Rule], tables: Mapping[Pred, SparkTable]) -> OffloadOffer[SparkTable]:
        facts, budget = sum(self.home.size(table) for table in tables.values()), self.home.driver_budget
        target = offload_target(rules, tables, self.home) if facts <= budget else None
        than = "not more than" if target else "more than"
        return OffloadOffer(target, f"rules read {facts:,} facts, {than} the driver's budget of {budget:,}")


@dataclass(frozen=True, slots=True)
class SparkVirtualRelations:
    """Closures, unions and inverses, listed; a change rebuilds them."""

    home: SparkBackend

    def build(self, structure: Structure, inputs: Sequence[SparkTable]) -> SparkTable:
        return made(structure, inputs, self.home) if any(map(self.home.size, inputs)) else self.home.empty(2)

    def rebuild(
        self,
        structure: Structure,
        old: SparkTable,
        inputs: Sequence[SparkTable],
        removed: Sequence[SparkTable],
        added: Sequence[SparkTable],
    ) -> tuple[SparkTable, Callable[[], tuple[SparkTable, SparkTable]]]:
        home = self.home
        home.limits.check()
        new = self.build(structure, inputs)
        return new, lambda: (home.minus(old, new), home.minus(new, old))


@dataclass(frozen=True, slots=True)
class SparkCounting:
    """Tables with a column of counts, by plans."""

    home: SparkBackend

    def recount(self, counts: SparkTable, added: Sequence[SparkTable], removed: Sequence[SparkTable]) -> SparkTable:
        return recounted(counts, added, removed, self.home)

    def counts_of(self, rows: SparkTable, counts: SparkTable) -> SparkTable:
        return with_counts(rows, counts, self.home)

    def uncounted(self, counts: SparkTable) -> SparkTable:
        return uncounted(counts, self.home)


@dataclass(frozen=True, slots=True)
class SparkMetrics:
    """Jobs, stages, tasks and shuffles of the application."""

    home: SparkBackend

    def snapshot(self) -> dict[str, int]:
        return metrics(self.home.spark.sparkContext)


@dataclass(frozen=True, slots=True)
class SparkDataFrames:
    """Tables as DataFrames of values."""

    home: SparkBackend

    def to_spark(self, table: SparkTable, columns: Sequence[str]) -> Any:
        from deltalog.backends.spark.io.to_dataframe import to_spark

        return to_spark(table, columns, self.home)
