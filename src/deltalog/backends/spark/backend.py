"""The Backend protocol over DataFrames.

`run_all` is what evaluation calls: the rows of the plans of a round go together (and once more for each arity above
two), with a tag that says of which predicate a row is. They are computed, made distinct and counted in one job with one
shuffle, and lineage is cut there (see `pinned`). Rules that only copy are one pass over what they read (see `routes`).
Everything else is lazy.

Rows that an evaluation keeps only until its end (bindings of aggregates, computed values) are released then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.backends.base import Exchange, SmallChange, SmallResult, SmallRules, Tables, Twin
from deltalog.backends.spark.driver_engine import Near, grid, twin
from deltalog.backends.spark.io.arrow import words
from deltalog.backends.spark.io.blocks import BLOCKS, Deal, cells, dealing, spread, unpacked
from deltalog.backends.spark.io.dictionary import SparkDictionary
from deltalog.backends.spark.io.hashed_ids import Ids64
from deltalog.backends.spark.operators.bindings import fresh
from deltalog.backends.spark.operators.dedup_store import pinned
from deltalog.backends.spark.operators.evaluate import BROADCAST, Evaluation
from deltalog.backends.spark.operators.shared_scan import Route, copy_of, routed, straight
from deltalog.backends.spark.operators.sql_expressions import TOO_LARGE
from deltalog.backends.spark.startup.session import session
from deltalog.backends.spark.table import (
    MOST_PIECES,
    NEAR,
    TAG,
    UNIT,
    Piece,
    SparkTable,
    column_names,
    cut,
    distinct_rows,
    near_table,
    width,
    without,
)
from deltalog.io.documents import Reading
from deltalog.model.limits import Limits
from deltalog.model.terms import Kind, Value
from deltalog.model.tuning import Tuning
from deltalog.plan import ir
from deltalog.plan.delta_rules import TuplePlans
from deltalog.plan.ir import Part, Plan, columns
from deltalog.plan.work_counter import Meter, Meters
from deltalog.program.recognise import Structure
from deltalog.program.value_kinds import NUMERIC
from deltalog.syntax.ast import Call, Pred, Rule

PARTITIONS_PER_CORE = 2
ROWS_OF_A_PLACE = 4_000_000
DRIVER_BUDGET = 30_000_000  # facts that a recursive hyper-node may read and still be finished in the driver


class SparkBackend:
    """Sets of rows in a SparkSession. One backend has one dictionary."""

    name = "spark"
    batches = True  # plans of one depth are wanted together
    multiway = False
    few_facts = 0

    def __init__(
        self,
        limits: Limits,
        spark: Any = None,
        master: str | None = None,
        driver_budget: int | None = None,
        driver_first: bool = False,
        tuning: Tuning | None = None,
    ) -> None:
        """With `driver_first` the whole program is evaluated in the driver, if its facts fit the driver's budget."""
        self.limits = limits
        self.tuning = tuning or Tuning()
        self.spark = spark or session(master)
        self.driver_first = driver_first
        self.reasoned_by = ("spark", "")
        self.salt = int(self.spark.conf.get("spark.deltalog.salt", "0"))
        budget = self.spark.conf.get("spark.deltalog.driverBudget", str(DRIVER_BUDGET))
        self.driver_budget = int(budget) if driver_budget is None else driver_budget
        self._meters = Meters()
        self.dictionary = SparkDictionary(self.spark, self.salt)
        self.accumulator = self.spark.sparkContext.accumulator(0)
        self.near = Near(self)
        self._sql = True  # whether expressions may be SQL
        self._kept: list[DataFrame] = []

    @property
    def failures(self) -> int:
        """How many rows were dropped because an expression failed, where executors evaluated it."""
        return int(self.accumulator.value)

    @failures.setter
    def failures(self, failures: int) -> None:
        self.accumulator.value = failures

    # Facts in and out.

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, SparkTable]:
        from deltalog.backends.spark.io.read import is_small, read

        near = self.driver_budget and is_small(paths)
        return self.near.read(paths, reading) if near else read(paths, reading, self)

    def encode(self, data: Any, predicate: str) -> tuple[int, SparkTable]:
        from deltalog.backends.spark.io.read import encode_frame
        from deltalog.io.frames import columns_of, has_rows, listed

        if isinstance(data, DataFrame):
            return encode_frame(data, self)
        rows = listed(data)
        found = columns_of(rows, self.dictionary.near)
        if not has_rows(found, rows):
            return len(found), self.empty(len(found))
        ids = self.dictionary.ids()
        return len(found), self.load([ids[column] for column in found], len(found))

    def encode_all(self, facts: Mapping[str, Any]) -> dict[str, tuple[int, SparkTable]]:
        return {predicate: self.encode(data, predicate) for predicate, data in facts.items()}

    def write(self, folder: Path, facts: Mapping[Pred, SparkTable], format: str) -> None:
        from deltalog.backends.spark.io.write import write

        write(folder, facts, self, format)

    def to_arrow(self, table: SparkTable, columns: Sequence[str]) -> Any:
        from deltalog.io.frames import to_arrow

        dictionary = self.dictionary
        local = [dictionary.near.encode(dictionary.values(ids)) for ids in self.rows(table)]
        return to_arrow(local, dictionary.near, columns)

    def to_spark(self, table: SparkTable, columns: Sequence[str]) -> DataFrame:
        """A DataFrame of the table's values; nothing is collected."""
        from deltalog.backends.spark.io.to_dataframe import to_spark

        return to_spark(table, columns, self)

    def values(self, ids: Any) -> list[Value]:
        return self.dictionary.values(ids)

    def contains(self, table: SparkTable, row: Sequence[Value]) -> bool:
        if table.empty:
            return False
        if table.near is not None:
            return bool((table.near == [self.dictionary.id(value) for value in row]).all(axis=1).any())
        frame = table.frame()
        for i, value in enumerate(row):
            frame = frame.where(F.col(f"c{i}") == self.dictionary.id(value))
        return not frame.isEmpty()

    def number_kinds(self, tables: Sequence[SparkTable]) -> frozenset[Kind]:
        """Those of the whole dictionary, which knows only whether there are others than integers."""
        if all(table.empty for table in tables):
            return frozenset()
        return frozenset((Kind.INTEGER,)) if self.dictionary.only_integers else NUMERIC

    # Sets of rows of ids.

    def load(self, columns: Sequence[Any], arity: int) -> SparkTable:
        if arity == 0:
            return near_table(np.empty((1, 0), np.int64), 0, self.spark)
        rows = distinct_rows(grid(columns, 0))
        return self.loaded([rows[:, i] for i in range(arity)], arity, len(rows))

    def loaded(self, columns: Sequence[Any], arity: int, size: int, stay: bool = False) -> SparkTable:
        """A table of rows that are distinct already; with `stay` they stay in the driver, however many they are."""
        if size == 0:
            return self.empty(arity)
        if stay or size <= NEAR:
            return near_table(grid(columns, size), arity, self.spark)
        arrays = [pa.array(np.ascontiguousarray(column, np.int64)) for column in columns]
        partitions = self.spark.sparkContext.defaultParallelism
        frame = self.spark.createDataFrame(pa.table(arrays, names=column_names(arity))).repartition(partitions)
        return SparkTable(arity, (Piece(self.cut(frame)),), size)

    def empty(self, arity: int) -> SparkTable:
        return SparkTable(arity)

    def unit(self) -> DataFrame:
        """One row, and no columns that mean anything."""
        return self.spark.range(1).select(F.lit(0).cast("long").alias(UNIT))

    def run(self, plan: Plan, tables: Tables[SparkTable]) -> SparkTable:
        return self.run_all({Pred("", len(columns(plan))): plan}, tables)[Pred("", len(columns(plan)))]

    def run_all(self, plans: Mapping[Pred, Plan], tables: Tables[SparkTable]) -> dict[Pred, SparkTable]:
        """The distinct rows of several plans, computed together, with their sizes."""
        self.limits.check()
        found = self.near.run_all(plans, tables)
        if found is not None:
            return found
        try:
            return self._run_all(plans, tables)
        except Exception as problem:
            if not (self._sql and TOO_LARGE in str(problem)):
                raise
        self._sql = False
        return self._run_all(plans, tables)

    def _run_all(self, plans: Mapping[Pred, Plan], tables: Tables[SparkTable]) -> dict[Pred, SparkTable]:
        evaluation = Evaluation(self, tables)
        found = {pred: self.empty(pred.arity) for pred in plans}
        by_width: dict[int, list[Pred]] = {}
        for pred in plans:
            by_width.setdefault(width(pred.arity), []).append(pred)
        try:
            for columns, preds in by_width.items():
                found |= self._pinned({pred: plans[pred] for pred in preds}, columns, evaluation)
            self.dictionary.settle()
        finally:
            for frame in self._kept:
                frame.unpersist()
            self._kept = []
        return found

    def _pinned(self, plans: Mapping[Pred, Plan], columns: int, evaluation: Evaluation) -> dict[Pred, SparkTable]:
        """The distinct rows of plans of one width, computed and counted in one job; what is known is removed once."""
        parts = {pred: _new_facts(plan) for pred, plan in plans.items()}
        places = self._places(evaluation.tables)
        deal = partial(spread, places=places)
        rows = self._rows([input for input, _ in parts.values()], columns, evaluation, deal)
        if rows is None:
            return {}
        known = [
            table if key is not None and (table := evaluation.tables.get(key)) is not None else self.empty(columns)
            for _, key in parts.values()
        ]
        present = routed(straight(known), columns, deal)
        present = None if present is None else self.narrowed(present)
        return pinned(rows, present, dict(enumerate(plans)), places, NEAR)

    def _places(self, tables: Tables[SparkTable]) -> int:
        """How many partitions the rows of an evaluation come together in: each should have a few million of them."""
        rows = sum(table.size or 0 for table in tables.values())
        return max(rows // ROWS_OF_A_PLACE, int(self.spark.conf.get("spark.sql.shuffle.partitions")), 1)

    def _rows(self, plans: Sequence[Plan], columns: int, evaluation: Evaluation, deal: Deal) -> DataFrame | None:
        """The rows of plans as blocks, tagged with their numbers."""
        routes: list[Route] = []
        frames: list[DataFrame] = []
        for tag, plan in enumerate(plans):
            for part in plan.inputs if isinstance(plan, ir.Union) else (plan,):
                copy = copy_of(part)
                if copy is not None:
                    table = evaluation.tables.get(copy.key, self.empty(0))
                    routes.append(Route(table, tag, tuple(copy.columns.values())))
                elif (frame := evaluation.table(part)) is not None:
                    frames.append(_tagged(frame, tag, columns))
        copied = routed(routes, columns, deal)
        found = [copied] if copied is not None else []
        if frames:
            found.append(reduce(DataFrame.unionAll, frames).mapInArrow(dealing(deal), BLOCKS))
        return self.narrowed(reduce(DataFrame.unionAll, found)) if found else None

    def narrowed(self, frame: DataFrame) -> DataFrame:
        """The same rows in few partitions: a union has those of all its members, and many have next to no rows."""
        return frame.coalesce(PARTITIONS_PER_CORE * max(1, self.spark.sparkContext.defaultParallelism))

    def cut(self, frame: DataFrame) -> DataFrame:
        """A DataFrame that is computed once, when it is first read, and whose plan is forgotten."""
        return cut(frame).select(*[F.col(name).alias(name) for name in frame.columns])

    def structure(self, structure: Structure, inputs: Sequence[SparkTable]) -> SparkTable:
        from deltalog.backends.spark.operators.virtual_maintenance import made

        return made(structure, inputs, self) if any(map(self.size, inputs)) else self.empty(2)

    def restructured(
        self,
        structure: Structure,
        old: SparkTable,
        inputs: Sequence[SparkTable],
        removed: Sequence[SparkTable],
        added: Sequence[SparkTable],
    ) -> tuple[SparkTable, Callable[[], tuple[SparkTable, SparkTable]]]:
        self.limits.check()
        new = self.structure(structure, inputs)
        return new, lambda: (self.minus(old, new), self.minus(new, old))

    def maintained(self, strata: Sequence[TuplePlans], change: SmallChange[SparkTable]) -> SmallResult[SparkTable]:
        return SmallResult()

    def skolem_inverse(self, call: Call, table: SparkTable, column: int) -> SparkTable | None:
        return None

    def exchanged(
        self, tables: Mapping[Pred, SparkTable], removed: Mapping[Pred, SparkTable], added: Mapping[Pred, SparkTable]
    ) -> Exchange[SparkTable] | None:
        return None

    def merge(self, old: SparkTable, new: SparkTable) -> SparkTable:
        if old.empty or new.empty:
            return new if old.empty else old
        if old.near is not None and new.near is not None and len(old.near) + len(new.near) <= NEAR:
            return near_table(np.concatenate([old.near, new.near]), old.arity, self.spark)
        size = None if old.size is None or new.size is None else old.size + new.size
        distinct = [max(a, b) for a, b in zip(old.distinct, new.distinct, strict=False)]
        merged = SparkTable(old.arity, old.parts() + new.parts(), size, distinct)
        return self._compacted(merged) if len(merged.pieces) > MOST_PIECES else merged

    def _compacted(self, table: SparkTable) -> SparkTable:
        """The same rows in one piece."""
        partitions = max(1, int(self.spark.conf.get("spark.sql.shuffle.partitions")))
        piece = Piece(self.cut(table.frame().coalesce(partitions)))
        return SparkTable(table.arity, (piece,), table.size, table.distinct)

    def minus(self, old: SparkTable, gone: SparkTable) -> SparkTable:
        if old.empty or gone.empty:
            return old
        if old.near is not None and gone.near is not None:
            return near_table(without(old.near, gone.near), old.arity, self.spark)
        names = column_names(old.arity)
        right = gone.frame().select(*[F.col(name).alias(name + "gone") for name in names])
        if gone.size is not None and gone.size <= BROADCAST:
            right = F.broadcast(right)
        same = [F.col(name) == F.col(name + "gone") for name in names]
        piece = Piece(old.frame().join(right, same, "left_anti"))
        return SparkTable(old.arity, (piece,), None, old.distinct)

    def recounted(self, counts: SparkTable, won: Sequence[SparkTable], lost: Sequence[SparkTable]) -> SparkTable:
        from deltalog.backends.spark.operators.multiset import recounted

        return recounted(counts, won, lost, self)

    def with_counts(self, rows: SparkTable, counts: SparkTable) -> SparkTable:
        from deltalog.backends.spark.operators.multiset import with_counts

        return with_counts(rows, counts, self)

    def uncounted(self, counts: SparkTable) -> SparkTable:
        from deltalog.backends.spark.operators.multiset import uncounted

        return uncounted(counts, self)

    def pin(self, table: SparkTable) -> SparkTable:
        return table

    @property
    def meter(self) -> Meter:
        return self._meters.here

    def size(self, table: SparkTable) -> int:
        if table.size is None:
            table.pieces = (Piece(self.cut(table.frame())),)
            table.size = table.pieces[0].frame.count()
        return table.size

    def distinct(self, table: SparkTable, column: int) -> float:
        if column < len(table.distinct):
            return table.distinct[column]
        size = self.size(table)
        return max(1.0, size / 2) if table.arity > 1 else float(size)

    def heaviest(self, table: SparkTable, column: int) -> float:
        return self.size(table) / self.distinct(table, column)

    def rows(self, table: SparkTable) -> list[Ids64]:
        if table.empty or table.arity == 0:
            return [np.empty(0, np.int64) for _ in range(table.arity)]
        if table.near is not None:
            return [table.near[:, i] for i in range(table.arity)]
        pred = Pred("", table.arity)
        return self.rows_of({pred: table})[pred]

    def rows_of(self, tables: Mapping[Pred, SparkTable]) -> dict[Pred, list[Ids64]]:
        """The columns of ids of several tables, fetched together."""
        found = {pred: self.rows(table) for pred, table in tables.items() if table.near is not None or table.empty}
        far: dict[int, list[Pred]] = {}
        for pred in tables:
            if pred not in found:
                far.setdefault(width(pred.arity), []).append(pred)
        for wide, preds in far.items():
            dealt = routed(straight(tables[pred] for pred in preds), wide, _tags)
            assert dealt is not None
            fetched = dealt.select("data").toArrow()
            by_tag: dict[int, list[list[Ids64]]] = {}
            for rows in map(unpacked, cells(fetched.to_batches())):
                columns = [words(column) for column in rows.columns]
                by_tag.setdefault(int(columns[0][0]), []).append(columns[1:])
            for tag, pred in enumerate(preds):
                parts = by_tag.get(tag, [[np.empty(0, np.int64)] * wide])
                found[pred] = [np.concatenate([part[i] for part in parts]) for i in range(pred.arity)]
        return found

    def drop(self, table: SparkTable) -> None:
        table.pieces, table.near, table.size = (), None, 0

    def rounds(self, rules: SmallRules, tables: Tables[Any], new: Mapping[Pred, Any], room: int) -> None:
        return None

    def twin(self, rules: Sequence[Rule], tables: Mapping[Pred, SparkTable], everything: bool = False) -> Twin | None:
        if everything and not self.driver_first:
            return None
        found = twin(rules, tables, self)
        if everything:
            facts = sum(self.size(table) for table in tables.values())
            than = "not more than" if found else "more than"
            why = f"rules read {facts:,} facts, {than} the driver's budget of {self.driver_budget:,}"
            self.reasoned_by = ("local" if found else "spark", why)
        return found

    def tally(self) -> dict[str, int]:
        from deltalog.backends.spark.metrics import tally

        return tally(self.spark.sparkContext)

    # For expressions and aggregates.

    @property
    def only_integers(self) -> bool:
        """Whether SQL may compute with ids (see `conditions`)."""
        return self._sql and self.dictionary.only_integers

    def keep(self, frame: DataFrame) -> DataFrame:
        """Rows that are read several times during this run."""
        self._kept.append(frame.persist())
        return frame

    def with_terms(self, frame: DataFrame, names: Sequence[str]) -> DataFrame:
        """The rows with a column `name + "term"` for each of some columns of ids."""
        for name in names:
            key = fresh()
            terms = self.dictionary.frame()
            terms = terms.select(F.col("id").alias(key), F.col("term").alias(name + "term"))
            if self.dictionary.size <= BROADCAST:
                terms = F.broadcast(terms)
            frame = frame.join(terms, F.col(name) == F.col(key), "left").drop(key)
        return frame

    def with_new_terms(self, frame: DataFrame, name: str, term: str) -> DataFrame:
        """The rows without the column of terms, which go to the dictionary."""
        kept = self.keep(frame)
        new = kept.select(F.col(name).alias("id"), F.col(term).alias("term"))
        self.dictionary.add(new.where(F.col("term").isNotNull()))
        return kept.drop(term)


def _new_facts(plan: Plan) -> tuple[Plan, tuple[Pred, Part] | None]:
    """Of `rows.new_facts(pred, ...)`: the rows that are derived, and what is known; any other plan as it is."""
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
    return frame.select(F.lit(tag).cast("long").alias(TAG), *names)


def _tags(columns: Sequence[Any]) -> Any:
    """Rows dealt by their tags."""
    return columns[0]
