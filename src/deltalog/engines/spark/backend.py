"""The Backend protocol over DataFrames.

`run_all` is what evaluation calls: the rows of the plans of a round go together (and once more for each arity above
two), with a tag that says of which predicate a row is. They are computed, made distinct, stored and counted in one job,
and lineage is cut there (see `operators.store`). Rules that only copy are one pass over what they read (see
`operators.shared_scan`). Everything else is lazy.

Rows that an evaluation keeps only until its end (bindings of aggregates, computed values) are released then.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.core.errors import EngineError
from deltalog.core.limits import Limits
from deltalog.core.rules import Pred
from deltalog.core.tuning import Tuning
from deltalog.engines.spark.capabilities import (
    SparkCounting,
    SparkDataFrames,
    SparkJobCosts,
    SparkMetrics,
    SparkOffload,
    SparkVirtualRelations,
)
from deltalog.engines.spark.codec import SparkCodec
from deltalog.engines.spark.driver_engine import DriverEngine
from deltalog.engines.spark.io.arrow import words
from deltalog.engines.spark.io.dictionary import SparkDictionary
from deltalog.engines.spark.io.hashed_ids import Ids64
from deltalog.engines.spark.io.join_terms import Terms, join_terms
from deltalog.engines.spark.jobs import SparkJobs, pred_names, round_name
from deltalog.engines.spark.literals import IdMatrix
from deltalog.engines.spark.operators.bindings import fresh_name
from deltalog.engines.spark.operators.evaluate import SparkEvaluation
from deltalog.engines.spark.operators.failures import ExecutorFailures
from deltalog.engines.spark.operators.shared_scan import TaggedScan, copied_columns, full_scans, shared_scan
from deltalog.engines.spark.operators.sql_expressions import TOO_LARGE
from deltalog.engines.spark.operators.store import Known, store_distinct, without
from deltalog.engines.spark.settings import driver_budget, salt, task_slots, tuned
from deltalog.engines.spark.startup.session import session
from deltalog.engines.spark.stored import TAG, UNIT, StoredFrame, checkpointed, column_names, constant
from deltalog.engines.spark.table import (
    Segment,
    SparkTable,
    constant_frame,
    difference,
    distinct_rows,
    driver_table,
    tag_of,
    width,
)
from deltalog.evaluation.backend import Tables
from deltalog.evaluation.capabilities import Capabilities
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan, columns
from deltalog.evaluation.plan.work_counter import Meter, Meters
from deltalog.functions.failures import FailureLog

_MEASURED_JOBS = 32  # recent jobs whose median says how long one takes
_SEGMENT_SIZE_FACTOR = 2.0  # segments of a table that differ in size by less are rewritten as one
_PARTITIONS_PER_CORE = 2  # of jobs that read, write or unite: cores that finish early take another task


@dataclass(frozen=True, slots=True)
class SparkStatistics:
    """Statistics of a table: counted while it was small, and else guessed from its size."""

    table: SparkTable
    backend: SparkBackend

    def distinct(self, column: int) -> float:
        if column < len(self.table.distinct):
            return self.table.distinct[column]
        size = self.backend.size(self.table)
        return max(1.0, size / 2) if self.table.arity > 1 else float(size)

    def heaviest(self, column: int) -> float:
        return self.backend.size(self.table) / self.distinct(column)


class SparkBackend:
    """Sets of rows in a SparkSession. One backend has one dictionary."""

    name = "spark"
    batch_independent_plans = True

    def __init__(
        self,
        limits: Limits,
        spark: Any = None,
        master: str | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        self.limits = limits
        self.spark = spark or session(master)
        self.tuning = tuned(tuning or Tuning(), self.spark)
        self.driver_budget = driver_budget(self.spark)  # bytes; 0: the driver evaluates nothing
        self.salt = salt(self.spark)
        self._meters = Meters()
        self.jobs = SparkJobs(self.spark.sparkContext, limits)
        self.dictionary = SparkDictionary(self.spark, self.salt, self.tuning, self.jobs)
        self.executor_failures = ExecutorFailures(self.spark.sparkContext)
        self.driver = DriverEngine(self)
        self._sql = True  # whether expressions may be SQL
        self._persisted: list[DataFrame] = []
        self.job_seconds: deque[float] = deque(maxlen=_MEASURED_JOBS)
        self.codec = SparkCodec(self)
        self.capabilities: Capabilities[SparkTable] = Capabilities(
            virtual_relations=SparkVirtualRelations(self),
            offload=SparkOffload(self),
            counting=SparkCounting(self),
            metrics=SparkMetrics(self),
            job_costs=SparkJobCosts(self),
            data_frames=SparkDataFrames(self),
        )

    @property
    def failures(self) -> FailureLog:
        """The rows dropped because an expression failed, in executors and in the driver. Comparisons of ids by the
        driver (`_offload_ids`) cannot fail."""
        return self.executor_failures.move_to(self.driver.local.failures)

    @property
    def task_partitions(self) -> int:
        """The number of partitions that keeps all cores busy."""
        return _PARTITIONS_PER_CORE * task_slots(self.spark)

    # Sets of rows of ids.

    def load(self, columns: Sequence[Any], arity: int) -> SparkTable:
        if arity == 0:
            return driver_table(np.empty((1, 0), np.int64), self.spark, self.tuning)
        return self.loaded(distinct_rows(np.stack(columns, axis=1).astype(np.int64, copy=False)))

    def loaded(self, rows: IdMatrix, stay: bool = False) -> SparkTable:
        """A table of rows that are distinct already; with `stay` they stay in the driver, however many they are."""
        size, arity = rows.shape
        if size == 0:
            return self.empty(arity)
        if stay or size <= self.tuning.spark_driver_table_max_rows:
            return driver_table(rows, self.spark, self.tuning)
        segment = Segment(constant_frame(rows, arity, self.spark), size=size)
        return SparkTable(arity, (self.stored_segment(segment.tagged(0, width(arity)), 0, size),), size)

    def stored_segment(self, rows: DataFrame, tag: int, size: int | None, sources: tuple[object, ...] = ()) -> Segment:
        """Rows with a tag, stored when they are first read."""
        stored = StoredFrame(rows, self.partitions, [tag], sources)
        return Segment(stored.frame, stored, tag, size)

    @property
    def partitions(self) -> int:
        """The number of partitions of every stored DataFrame."""
        return max(1, int(self.spark.conf.get("spark.sql.shuffle.partitions")))

    def empty(self, arity: int) -> SparkTable:
        return SparkTable(arity)

    def unit(self) -> DataFrame:
        """One row, and no columns that mean anything."""
        return self.spark.range(1).select(F.col("id").alias(UNIT))

    def run_all(self, plans: Mapping[Pred, Plan], tables: Tables[SparkTable]) -> dict[Pred, SparkTable]:
        """The distinct rows of several plans, computed together, with their sizes."""
        self.limits.check()
        found = self.driver.run_all(plans, tables)
        if found is not None:
            return found
        found = self._driver_differences(plans, tables)
        if found:
            plans = {pred: plan for pred, plan in plans.items() if pred not in found}
            return found | self.run_all(plans, tables) if plans else found
        started = time.perf_counter()
        with self.jobs.named(round_name(plans)):
            try:
                return self._run_all(plans, tables)
            except Exception as problem:
                if not (self._sql and TOO_LARGE in str(problem)):
                    raise
            finally:
                self.job_seconds.append(time.perf_counter() - started)
            self._sql = False
            return self._run_all(plans, tables)

    def _driver_differences(self, plans: Mapping[Pred, Plan], tables: Tables[SparkTable]) -> dict[Pred, SparkTable]:
        """The rows of plans that only subtract a driver table from another: an array from another."""
        found = {}
        for pred, plan in plans.items():
            rows, known = _new_facts(plan)
            copy = copied_columns(rows)
            if copy is None or known is None or tuple(copy.columns.values()) != tuple(range(pred.arity)):
                continue
            one, other = tables.get(copy.key), tables.get(known)
            if one is None or other is None or one.driver_rows is None or other.driver_rows is None:
                continue
            found[pred] = self.minus(one, other)
        return found

    def _run_all(self, plans: Mapping[Pred, Plan], tables: Tables[SparkTable]) -> dict[Pred, SparkTable]:
        evaluation = SparkEvaluation(self, tables)
        found = {pred: self.empty(pred.arity) for pred in plans}
        by_width: dict[int, list[Pred]] = {}
        for pred in plans:
            by_width.setdefault(width(pred.arity), []).append(pred)
        try:
            for columns, preds in by_width.items():
                found |= self._stored({pred: plans[pred] for pred in preds}, columns, evaluation)
            self.dictionary.merge_pending()
        finally:
            for frame in self._persisted:
                frame.unpersist()
            self._persisted = []
            _settle(tables)
        return found

    def _stored(self, plans: Mapping[Pred, Plan], columns: int, evaluation: SparkEvaluation) -> dict[Pred, SparkTable]:
        """The distinct rows of plans of one width, stored and counted in one job; what is known is removed once."""
        parts = {pred: _new_facts(plan) for pred, plan in plans.items()}
        preds = self.tags(plans)
        rows = self._rows({tag: parts[pred][0] for tag, pred in preds.items()}, columns, evaluation)
        if rows is None:
            return {}
        known = [
            Known(table, tag)
            for tag, pred in preds.items()
            if (key := parts[pred][1]) is not None and (table := evaluation.tables.get(key)) is not None
        ]
        return store_distinct(rows, known, preds, columns, self.partitions, self.tuning)

    def tags(self, preds: Iterable[Pred]) -> dict[int, Pred]:
        """Predicates by their tags."""
        found: dict[int, Pred] = {}
        for pred in preds:
            if (other := found.setdefault(tag_of(pred, self.salt), pred)) != pred:
                raise EngineError(f"the predicates {pred} and {other} have the same number; rename one of them")
        return found

    def _rows(self, plans: Mapping[int, Plan], columns: int, evaluation: SparkEvaluation) -> DataFrame | None:
        """The rows of plans, with their tags."""
        scans: list[TaggedScan] = []
        frames: list[DataFrame] = []
        for tag, plan in plans.items():
            for part in plan.inputs if isinstance(plan, ir.Union) else (plan,):
                copy = copied_columns(part)
                if copy is not None:
                    table = evaluation.tables.get(copy.key, self.empty(0))
                    scans.append(TaggedScan(table, tag, tuple(copy.columns.values())))
                elif (frame := evaluation.table(part)) is not None:
                    frames.append(_tagged(frame, tag, columns))
        copied = shared_scan(scans, columns)
        found = [copied, *frames] if copied is not None else frames
        return self.narrowed(reduce(DataFrame.unionAll, found)) if found else None

    def narrowed(self, frame: DataFrame) -> DataFrame:
        """The same rows in few partitions: a union has those of all its members, and many have next to no rows."""
        return frame.coalesce(self.task_partitions)

    def cut(self, frame: DataFrame) -> DataFrame:
        """A DataFrame that is computed once, when it is first read, and whose plan is forgotten."""
        return checkpointed(frame).select(*[F.col(name).alias(name) for name in frame.columns])

    def merge(self, old: SparkTable, new: SparkTable) -> SparkTable:
        if old.empty or new.empty:
            return new if old.empty else old
        few = self.tuning.spark_driver_table_max_rows
        if (
            old.driver_rows is not None
            and new.driver_rows is not None
            and len(old.driver_rows) + len(new.driver_rows) <= few
        ):
            return driver_table(np.concatenate([old.driver_rows, new.driver_rows]), self.spark, self.tuning)
        size = None if old.size is None or new.size is None else old.size + new.size
        distinct = [max(a, b) for a, b in zip(old.distinct, new.distinct, strict=False)]
        segments = [*old.to_segments(), *new.to_segments()]
        while len(segments) > 1 and self._belong_together(*segments[-2:]):
            segments[-2:] = [self._merged_segment(old.arity, *segments[-2:])]
        return SparkTable(old.arity, tuple(segments), size, distinct)

    def _belong_together(self, one: Segment, other: Segment) -> bool:
        """Whether two segments are of about the same size, so that a table has few of them."""
        return (one.size or 0) <= _SEGMENT_SIZE_FACTOR * (other.size or 0)

    def _merged_segment(self, arity: int, one: Segment, other: Segment) -> Segment:
        """The rows of two segments, which no row leaves its partition for."""
        tag = one.tag if one.stored is not None else other.tag
        rows = reduce(DataFrame.unionAll, [segment.tagged(tag, width(arity)) for segment in (one, other)])
        size = None if one.size is None or other.size is None else one.size + other.size
        return self.stored_segment(rows, tag, size, (one, other))

    def minus(self, old: SparkTable, gone: SparkTable) -> SparkTable:
        if old.empty or gone.empty:
            return old
        if old.driver_rows is not None and gone.driver_rows is not None:
            return driver_table(difference(old.driver_rows, gone.driver_rows), self.spark, self.tuning)
        rest = without(old.frame(), gone.frame(), column_names(old.arity), gone.size, self.tuning)
        tag = next((segment.tag for segment in old.segments), 0)
        return SparkTable(old.arity, (Segment(rest, tag=tag, sources=(old, gone)),), None, old.distinct)

    def remove(self, old: SparkTable, gone: SparkTable) -> SparkTable:
        in_driver = old.driver_rows is not None and gone.driver_rows is not None
        if in_driver or gone.empty or old.size is None or gone.size is None:
            return self.minus(old, gone)
        size, segments = old.size - gone.size, self._with_tombstones(old, gone)
        if segments is None:
            (segment,) = self.minus(old, gone).segments
            rows = segment.tagged(segment.tag, width(old.arity))
            segments = (self.stored_segment(rows, segment.tag, size, segment.sources),)
        return SparkTable(old.arity, segments, size, old.distinct)

    def _with_tombstones(self, old: SparkTable, gone: SparkTable) -> tuple[Segment, ...] | None:
        """The segments of a table without a few of its rows; None if these are many, beside those that went before."""
        if gone.driver_rows is None or not old.arity:
            return None
        most = min(self.tuning.spark_literal_max_rows, (old.size or 0) // self.tuning.tombstone_max_divisor)
        found = []
        for segment in old.to_segments():
            before = [] if segment.gone is None else [segment.gone]
            tombstones = distinct_rows(np.concatenate([*before, gone.driver_rows]))
            if len(tombstones) > most:
                return None
            found.append(segment._replace(gone=tombstones))
        return tuple(found)

    @property
    def meter(self) -> Meter:
        return self._meters.here

    def size(self, table: SparkTable) -> int:
        if table.size is None:
            tag = next((segment.tag for segment in table.segments), 0)
            segment = self.stored_segment(Segment(table.frame()).tagged(tag, width(table.arity)), tag, None)
            with self.jobs.named("count facts"):
                table.size = segment.frame.count()
            table.segments = (segment._replace(size=table.size),)
        return table.size

    def statistics(self, table: SparkTable) -> SparkStatistics:
        return SparkStatistics(table, self)

    def rows(self, table: SparkTable) -> list[Ids64]:
        if table.empty or table.arity == 0:
            return [np.empty(0, np.int64) for _ in range(table.arity)]
        if table.driver_rows is not None:
            return [table.driver_rows[:, i] for i in range(table.arity)]
        pred = Pred("", table.arity)
        return self.rows_of({pred: table})[pred]

    def rows_of(self, tables: Mapping[Pred, SparkTable]) -> dict[Pred, list[Ids64]]:
        """The columns of ids of several tables, fetched together."""
        found = {
            pred: self.rows(table) for pred, table in tables.items() if table.driver_rows is not None or table.empty
        }
        far: dict[int, list[Pred]] = {}
        for pred in tables:
            if pred not in found:
                far.setdefault(width(pred.arity), []).append(pred)
        for wide, preds in far.items():
            rows = shared_scan(full_scans(tables[pred] for pred in preds), wide)
            assert rows is not None
            with self.jobs.named(pred_names("fetch", preds)):
                fetched = rows.toArrow()
            tags, *columns = (words(column) for column in fetched.columns)
            order = np.argsort(tags, kind="stable")
            bounds = np.searchsorted(tags[order], np.arange(len(preds) + 1))
            for pred, start, end in zip(preds, bounds[:-1], bounds[1:], strict=True):
                found[pred] = [column[order[start:end]] for column in columns[: pred.arity]]
        return found

    # For expressions and aggregates.

    @property
    def only_integers(self) -> bool:
        """Whether SQL may compute with ids (see `sql_expressions`)."""
        return self._sql and self.dictionary.only_integers

    def keep(self, frame: DataFrame) -> DataFrame:
        """Rows that are read several times during this run."""
        self._persisted.append(frame.persist())
        return frame

    def with_terms(self, frame: DataFrame, names: Sequence[str], frequent: Terms | None = None) -> DataFrame:
        """The rows with a column `name + "term"` for each of some columns of ids; `frequent` has terms of ids that many
        rows have."""
        for name in names:
            key, terms = fresh_name(), self.dictionary.frame()
            if self.dictionary.size > self.tuning.spark_broadcast_max_rows:
                frame = join_terms(frame, name, key, terms, frequent or {})
                continue
            terms = F.broadcast(terms.select(F.col("id").alias(key), F.col("term").alias(name + "term")))
            frame = frame.join(terms, F.col(name) == F.col(key), "left").drop(key)
        return frame

    def with_new_terms(self, frame: DataFrame, name: str, term: str) -> DataFrame:
        """The rows without the column of terms, which go to the dictionary."""
        kept = self.keep(frame)
        new = kept.select(F.col(name).alias("id"), F.col(term).alias("term"))
        self.dictionary.add(new.where(F.col("term").isNotNull()))
        return kept.drop(term)


def _new_facts(plan: Plan) -> tuple[Plan, tuple[Pred, Part] | None]:
    """Of `variants.new_facts(pred, ...)`: the rows that are derived, and what is known; any other plan as it is."""
    match plan:
        case ir.AntiJoin(ir.Distinct(input), ir.Scan(atom, part)) if atom.terms == columns(input):
            return input, (atom.pred, part)
        case ir.Distinct(input):
            return input, None
    return plan, None


def _tagged(frame: DataFrame, tag: int, columns: int) -> DataFrame:
    """The rows of a table with a tag, in so many columns."""
    names = [F.col(name) for name in frame.columns if name != UNIT]
    names += [F.lit(0).cast("long").alias(f"c{i}") for i in range(len(names), columns)]
    return frame.select(constant(tag, F.col(frame.columns[0])).alias(TAG), *names)


def _settle(tables: Tables[SparkTable]) -> None:
    """Lets go of what stored DataFrames were computed from."""
    for table in tables.values():
        for segment in table.segments:
            if segment.stored is not None:
                segment.stored.settle()
