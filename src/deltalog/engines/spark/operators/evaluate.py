"""JVM (Spark SQL): plans as DataFrames.

A plan node becomes `Bindings`: a DataFrame of 64-bit ids with a column for each variable. Every scan gives its columns
fresh names, so names stay unambiguous in self-joins and after checkpoints. A node that is known to be empty is None,
and so is every node that needs it.

The sizes of stored relations are known here and not to Spark's optimiser, so every join has a hint: the smaller side is
a literal of the plan if it has few rows and they are in the driver (see `literals`), it is broadcast if it has few
bytes (`Tuning.spark_broadcast_max_bytes`), otherwise both are merged. A stored relation that is joined again on the
same columns is read from an index, which is in place (see `stored`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltalog.core.rules import Atom, Constant, Term, Variable
from deltalog.engines.spark import literals
from deltalog.engines.spark.literals import IdMatrix
from deltalog.engines.spark.operators.aggregate import aggregate, counted
from deltalog.engines.spark.operators.bindings import Bindings, fresh_name
from deltalog.engines.spark.operators.sql_expressions import extended, where
from deltalog.engines.spark.stored import UNIT, column_names, constant
from deltalog.engines.spark.table import SparkTable, distinct_rows
from deltalog.evaluation.backend import Tables
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Plan

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend


@dataclass(slots=True)
class SparkEvaluation:
    """One evaluation of plans over tables."""

    backend: SparkBackend
    tables: Tables[SparkTable]

    def table(self, plan: Plan) -> DataFrame | None:
        """The rows of a plan as a DataFrame of a table's columns, with duplicates."""
        rows = self.rows(plan)
        if rows is None:
            return None
        chosen = [rows.column(v).alias(f"c{i}") for i, v in enumerate(ir.columns(plan))]
        return rows.frame.select(*chosen or [F.lit(0).cast("long").alias(UNIT)])

    def rows(self, plan: Plan) -> Bindings | None:
        match plan:
            case ir.Unit():
                return Bindings(self.backend.unit(), {}, 1)
            case ir.Scan(atom, part):
                return self._scan(atom, self.tables.get((atom.pred, part)))
            case ir.Where(input, condition):
                rows = self.rows(input)
                return rows and where(rows, condition, self.backend)
            case ir.Extend(input, variable, expression):
                rows = self.rows(input)
                return rows and extended(rows, variable, expression, self.backend)
            case ir.Join(ir.Unit(), only) | ir.Join(only, ir.Unit()):
                return self.rows(only)
            case ir.Join(left, right):
                return self._join(self.rows(left), self.rows(right))
            case ir.SemiJoin(left, right):
                return self._semi(self.rows(left), self.rows(right))
            case ir.AntiJoin(left, right):
                return self._anti(self.rows(left), self.rows(right))
            case ir.MultiJoin():
                return self.rows(plan.pairwise)
            case ir.Project(input, new):
                return self._project(self.rows(input), new)
            case ir.Union(inputs):
                return self._union([self.rows(input) for input in inputs], ir.columns(plan))
            case ir.Distinct(input):
                rows = self.rows(input)
                return rows and Bindings(rows.frame.select(*rows.columns()).distinct(), rows.names, rows.max_rows)
            case ir.GroupBy(input, on, calls):
                return aggregate(self.rows(input), ir.columns(input), on, calls, self.backend)
            case ir.Counted(inputs, variable):
                rows = self._union([self.rows(input) for input in inputs], ir.columns(inputs[0]))
                return rows and counted(rows, variable)

    def _scan(self, atom: Atom, table: SparkTable | None) -> Bindings | None:
        if table is None or table.empty:
            return None
        frame, names = table.frame(), column_names(table.arity)
        first: dict[Variable, str] = {}
        for name, term in zip(names, atom.terms, strict=False):
            if isinstance(term, Constant):
                frame = frame.where(F.col(name) == self.backend.dictionary.id(term.value))
            elif term in first:
                frame = frame.where(F.col(name) == F.col(first[term]))
            else:
                first[term] = name
        chosen = {variable: fresh_name() for variable in first}
        columns = [F.col(first[v]).alias(chosen[v]) for v in first] or [F.lit(0).cast("long").alias(UNIT)]
        literal = table.driver_rows if len(first) == len(names) and table.is_literal(self.backend.tuning) else None
        return Bindings(frame.select(*columns), chosen, table.size, self._indexed(table, atom, chosen), literal)

    def _indexed(self, table: SparkTable, atom: Atom, names: dict[Variable, str]) -> Callable[..., DataFrame] | None:
        """How to read a relation for a join on some variables; None if it is small or rows are selected."""
        if len(names) < len(atom.terms) or self._few(table.size, table.arity):
            return None
        places = {term: i for i, term in enumerate(atom.terms) if isinstance(term, Variable)}

        def by(shared: Sequence[Variable]) -> DataFrame:
            frame = table.by(tuple(places[v] for v in shared), self.backend.partitions)
            return frame.select(*[F.col(f"c{i}").alias(names[v]) for v, i in places.items()])

        return by

    def _join(self, left: Bindings | None, right: Bindings | None) -> Bindings | None:
        if left is None or right is None:
            return None
        shared = [v for v in right.names if v in left.names]
        new = {v: name for v, name in right.names.items() if v not in left.names}
        if not shared:
            joined = self._product(left, right)
        elif left.literal is not None or right.literal is not None:
            joined = self._joined_with_literal(left, right)
        else:
            big, small = self._hinted(left, right, shared)
            joined = big.join(small, _equal(left, right, shared), "inner")
        names = left.names | new
        rows = Bindings(joined, names)
        return Bindings(joined.select(*rows.columns()), names)

    @staticmethod
    def _joined_with_literal(left: Bindings, right: Bindings) -> DataFrame:
        """A join with a side of few rows, which are part of the plan."""
        sides = [(len(rows.literal), rows) for rows in (right, left) if rows.literal is not None]
        _, few = min(sides, key=lambda side: side[0])
        other = left if few is right else right
        assert few.literal is not None
        keys = [other.names.get(v) for v in few.names]
        return literals.joined(other.frame, keys, few.literal, list(few.names.values()))

    def _product(self, left: Bindings, right: Bindings) -> DataFrame:
        big, small = left.frame, right.frame
        if self._small(right):
            small = F.broadcast(small)
        elif self._small(left):
            big = F.broadcast(big)
        else:
            big = big.hint("shuffle_replicate_nl")
        return big.drop(UNIT).crossJoin(small) if UNIT in big.columns else big.crossJoin(small.drop(UNIT))

    def _hinted(self, left: Bindings, right: Bindings, shared: Sequence[Variable]) -> tuple[DataFrame, DataFrame]:
        """The sides of a join: the smaller one is broadcast if it is small, otherwise both are merged."""
        small = [rows for rows in (right, left) if self._small(rows)]
        if small:
            least = min(small, key=lambda rows: rows.max_rows or 0)
            return tuple(F.broadcast(rows.frame) if rows is least else rows.frame for rows in (left, right))  # type: ignore[return-value]
        return left.by(shared).hint("merge"), right.by(shared).hint("merge")

    def _semi(self, left: Bindings | None, right: Bindings | None) -> Bindings | None:
        return None if left is None or right is None else self._filtered(left, right, "left_semi")

    def _anti(self, left: Bindings | None, right: Bindings | None) -> Bindings | None:
        return left if left is None or right is None else self._filtered(left, right, "left_anti")

    def _filtered(self, left: Bindings, right: Bindings, how: str) -> Bindings:
        shared = [v for v in right.names if v in left.names]
        if not shared:
            one = right.frame.select(F.lit(1).alias(fresh_name())).limit(1)
            return Bindings(left.frame.join(F.broadcast(one), F.lit(True), how), left.names, left.max_rows)
        if right.literal is not None:
            found = literals.is_among([left.names[v] for v in shared], _restricted(right, shared))
            return Bindings(left.frame.where(~found if how == "left_anti" else found), left.names, left.max_rows)
        frame = right.frame if self._small(right) else right.by(shared)
        keys = frame.select(*[right.column(v) for v in shared])
        if left.literal is not None:  # only rows that may match are shuffled
            among = literals.is_among([right.names[v] for v in shared], _restricted(left, shared))
            keys = keys.where(among).hint("merge")
        else:
            keys = keys.hint("broadcast" if self._small(right) else "merge")
        return Bindings(left.frame.join(keys, _equal(left, right, shared), how), left.names, left.max_rows)

    def _project(self, rows: Bindings | None, new: tuple[tuple[Variable, Term], ...]) -> Bindings | None:
        if rows is None:
            return None
        names = {variable: fresh_name() for variable, _ in new}
        columns = [self._term(term, rows).alias(names[variable]) for variable, term in new]
        return Bindings(rows.frame.select(*columns or [F.lit(0).cast("long").alias(UNIT)]), names, rows.max_rows)

    def _term(self, term: Term, rows: Bindings) -> Column:
        if isinstance(term, Variable):
            return rows.column(term)
        return constant(self.backend.dictionary.id(term.value), next(iter(rows.columns())))

    def _small(self, rows: Bindings) -> bool:
        return self._few(rows.max_rows, max(1, len(rows.names)))

    def _few(self, size: int | None, columns: int) -> bool:
        return size is not None and 8 * columns * size <= self.backend.tuning.spark_broadcast_max_bytes

    @staticmethod
    def _union(inputs: list[Bindings | None], variables: tuple[Variable, ...]) -> Bindings | None:
        present = [rows for rows in inputs if rows is not None]
        if not present:
            return None
        ordered = [rows.frame.select(*[rows.column(v) for v in variables] or [F.col(UNIT)]) for rows in present]
        bounds = [rows.max_rows for rows in present if rows.max_rows is not None]
        names = {v: present[0].names[v] for v in variables}
        return Bindings(
            reduce(DataFrame.unionAll, ordered), names, sum(bounds) if len(bounds) == len(present) else None
        )


def _restricted(rows: Bindings, shared: Sequence[Variable]) -> IdMatrix:
    """The values of some variables in a literal."""
    assert rows.literal is not None
    places = list(rows.names)
    return distinct_rows(rows.literal[:, [places.index(v) for v in shared]])


def _equal(left: Bindings, right: Bindings, shared: list[Variable]) -> Column:
    return reduce(Column.__and__, [left.column(v) == right.column(v) for v in shared])
