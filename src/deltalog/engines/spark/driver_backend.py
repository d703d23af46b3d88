"""Driver: the local engine in Spark's driver (`engine="auto"`).

Tables and dictionary are those of the local engine, with all its capabilities. Spark parses files and computes
DataFrames, and gets tables as DataFrames. Beyond the budget of the driver (`residence`), tables move to `far`, a Spark
backend over the same dictionary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from deltalog.core.limits import Limits
from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.engines.local import LocalBackend
from deltalog.engines.local.codec import LocalCodec, load
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.table import Table
from deltalog.engines.spark.backend import SparkBackend
from deltalog.engines.spark.capabilities import SparkMetrics
from deltalog.engines.spark.io.collect import ParsedSplits, fetch, parse_files, parse_frame
from deltalog.engines.spark.io.read import frame_facts, input_bytes
from deltalog.engines.spark.io.to_dataframe import arrow_to_spark, to_spark
from deltalog.engines.spark.jobs import listed
from deltalog.engines.spark.residence import DriverResidence, dictionary_bytes, table_bytes
from deltalog.engines.spark.settings import driver_budget, portion_bytes
from deltalog.formats.columns import FactColumns
from deltalog.formats.documents import Reading
from deltalog.formats.frames import spark_to_arrow
from deltalog.formats.subjects import SubjectCheck

_MIN_BYTES_PER_INPUT_BYTE = 0.15  # of an uncompressed file; LUBM(20) as N-Triples has 0.3


class DriverBackend(LocalBackend):
    """Sets of rows in Spark's driver."""

    def __init__(self, limits: Limits, spark: Any, tuning: Tuning, threads: int | None = None) -> None:
        self.far = SparkBackend(limits, spark, tuning=tuning)
        super().__init__(limits, self.far.dictionary.local, threads, self.far.tuning)
        self.residence = DriverResidence(self, driver_budget(spark))
        self.codec = DriverCodec(self.dictionary, self.tuning, self.far, self.residence)
        self.capabilities = replace(
            self.capabilities,
            metrics=SparkMetrics(self.far),
            data_frames=DriverDataFrames(self),
            residence=self.residence,
        )


@dataclass(frozen=True, slots=True)
class DriverCodec(LocalCodec):
    """Facts in and out, over the driver's dictionary; executors parse files and encode large DataFrames."""

    far: SparkBackend
    residence: DriverResidence

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, Relation]:
        size = input_bytes(paths)
        self.residence.expect(int(size * _MIN_BYTES_PER_INPUT_BYTE))
        if size <= min(self.tuning.spark_driver_read_max_bytes, self.residence.budget):
            return LocalCodec.read(self, paths, reading)
        with self.far.jobs.named(f"read {listed(path.name for path in paths)}"):
            found = self._fetched(parse_files(paths, reading, self.far))
        return {pred: load(columns, pred.arity, self.tuning) for pred, columns in found.items()}

    def encode(self, facts: Mapping[str, Any], subjects: SubjectCheck | None = None) -> dict[str, tuple[int, Relation]]:
        # First DataFrames, which may be read again elsewhere if there is no room for them; iterators may not.
        frames = {
            name: self._frame(name, data, subjects) for name, data in facts.items() if isinstance(data, DataFrame)
        }
        rest = {predicate: data for predicate, data in facts.items() if predicate not in frames}
        found = {**frames, **(LocalCodec.encode(self, rest, subjects) if rest else {})}
        return {predicate: found[predicate] for predicate in facts}

    def _frame(self, predicate: str, data: DataFrame, subjects: SubjectCheck | None) -> tuple[int, Relation]:
        """The rows of a DataFrame: few are fetched as they are, and encoded here."""
        pred, few = Pred(predicate, len(data.columns)), self.tuning.spark_fetch_max_rows
        with self.far.jobs.named(f"read {predicate}"):
            rows = spark_to_arrow(data.limit(few + 1))
            if rows.num_rows <= few:
                columns: Sequence[Any] = frame_facts(pred, rows, subjects, self.dictionary)[pred]
            else:
                columns = self._fetched(parse_frame(predicate, data, subjects))[pred]
        empty = not rows.num_rows
        return pred.arity, Table(pred.arity, tuning=self.tuning) if empty else load(columns, pred.arity, self.tuning)

    def _fetched(self, parsed: ParsedSplits) -> FactColumns:
        """What executors have parsed, if there is room for it."""
        try:
            tables = sum(table_bytes(rows, pred.arity) for pred, rows in parsed.facts)
            self.residence.expect(tables + dictionary_bytes(parsed.terms, parsed.text))
            return fetch(parsed, self.dictionary, portion_bytes(self.far.spark), self.far.limits.checker())
        finally:
            parsed.frame.unpersist()


@dataclass(frozen=True, slots=True)
class DriverDataFrames:
    """Tables as DataFrames of values: through Arrow, or, if they are large, decoded by executors."""

    backend: DriverBackend

    def to_spark(self, table: Relation, columns: Sequence[str], cells: Collection[int] | None = None) -> DataFrame:
        backend = self.backend
        if table.size * table.arity <= backend.tuning.spark_arrow_max_values:
            return arrow_to_spark(table.columns(), table.size, columns, backend.dictionary, backend.far, cells)
        pred = Pred("", table.arity)
        return to_spark(backend.residence.move({pred: table}).tables[pred], columns, backend.far, cells)
