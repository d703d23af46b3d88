"""The capabilities of the local engine (see `deltalog.evaluation.capabilities`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.equality_classes import EqualityClasses
from deltalog.core.limits import Limits
from deltalog.core.rules import AggregateCall, Call, Expression, Pred, Variable
from deltalog.core.terms import Value
from deltalog.core.tuning import Tuning
from deltalog.engines.local.aggregate import aggregate, group_starts
from deltalog.engines.local.batch_update import batch_update
from deltalog.engines.local.codec import load
from deltalog.engines.local.column_expressions import ColumnExpressions
from deltalog.engines.local.compile import PlanCompiler
from deltalog.engines.local.expansion import expanded, mentioning, normalised
from deltalog.engines.local.index_join import Rows
from deltalog.engines.local.multiset import recounted, uncounted, with_counts
from deltalog.engines.local.point_lookup import TableLookup, rows_of
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.small_rounds import LocalRounds
from deltalog.engines.local.sorted_runs import Ids
from deltalog.engines.local.virtual_maintenance import create_relation, update_relation
from deltalog.evaluation.backend import Tables
from deltalog.evaluation.capabilities.point_lookup import IdRow, RowOperator, VariablePlaces
from deltalog.evaluation.capabilities.small_rounds import SmallRules
from deltalog.evaluation.capabilities.tuple_maintenance import Exchange, SmallChange, SmallResult
from deltalog.evaluation.plan.delta_rules import TuplePlans
from deltalog.program.schemes import Scheme


@dataclass(frozen=True, slots=True)
class LocalTupleMaintenance:
    """Small changes by the kernels `tuple_dred` and `batch_update`."""

    limits: Limits
    tuning: Tuning
    compiler: PlanCompiler

    def maintain(self, strata: Sequence[TuplePlans], change: SmallChange[Relation]) -> SmallResult[Relation]:
        self.limits.check()
        return self.compiler.strata(strata).maintained(change)

    def exchange(
        self, tables: Mapping[Pred, Relation], removed: Mapping[Pred, Relation], added: Mapping[Pred, Relation]
    ) -> Exchange[Relation] | None:
        return batch_update(tables, removed, added, self.tuning)


@dataclass(frozen=True, slots=True)
class LocalSmallRounds:
    """Runs of small rounds by the kernel `small_rounds`."""

    tuning: Tuning
    compiler: PlanCompiler
    vectors: ColumnExpressions

    def start(
        self, rules: SmallRules, tables: Tables[Relation], new: Mapping[Pred, Relation], room: int
    ) -> LocalRounds | None:
        code = self.compiler.rounds(rules)
        places = code.places(tables)
        room = min(self.tuning.rounds_max_facts, room)
        if places is None or 2 * sum(table.size for table in new.values()) > room:
            return None
        return LocalRounds(code, places, new, rules.max_new_facts, room, self.vectors)


@dataclass(frozen=True, slots=True)
class LocalVirtualRelations:
    """Closures, unions and inverses by their scheme."""

    limits: Limits
    tuning: Tuning

    def build(self, scheme: Scheme, inputs: Sequence[Relation]) -> Relation:
        self.limits.check()
        return create_relation(scheme, inputs, self.tuning)

    def rebuild(
        self,
        scheme: Scheme,
        old: Relation,
        inputs: Sequence[Relation],
        removed: Sequence[Relation],
        added: Sequence[Relation],
    ) -> tuple[Relation, Callable[[], tuple[Relation, Relation]]]:
        self.limits.check()
        return update_relation(scheme, old, inputs, removed, added, self.tuning)


@dataclass(frozen=True, slots=True)
class LocalRepresentatives:
    """Relations over representatives, and with all names."""

    def expanded(self, table: Relation, classes: EqualityClasses) -> Relation:
        return expanded(table, classes)

    def normalised(self, table: Relation, classes: EqualityClasses) -> Relation:
        return normalised(table, classes)

    def mentioning(self, table: Relation, ids: Ids) -> Relation:
        return mentioning(table, ids)


@dataclass(frozen=True, slots=True)
class LocalSkolemInverse:
    """The last names that SKOLEM generated, with their arguments."""

    vectors: ColumnExpressions
    tuning: Tuning

    def arguments(self, call: Call, table: Relation, column: int) -> Relation | None:
        found = self.vectors.skolem_inverse(call, table.columns()[column])
        return None if found is None else load(found, len(found), self.tuning)


@dataclass(frozen=True, slots=True)
class LocalCounting:
    """Tables with a column of counts; a count is the id of an integer."""

    dictionary: Dictionary

    def recount(self, counts: Relation, added: Sequence[Relation], removed: Sequence[Relation]) -> Relation:
        return recounted(counts, added, removed, self.dictionary)

    def counts_of(self, rows: Relation, counts: Relation) -> Relation:
        return with_counts(rows.keys(), counts)

    def uncounted(self, counts: Relation) -> Relation:
        return uncounted(counts)


@dataclass(frozen=True, slots=True)
class LocalPointLookup:
    """Look-ups in runs, and expressions and aggregates over a few rows."""

    dictionary: Dictionary
    tuning: Tuning
    vectors: ColumnExpressions

    @property
    def known_ids(self) -> int:
        return len(self.dictionary)

    def intern(self, value: Value) -> int:
        return self.dictionary.intern(value)

    def find(self, value: Value) -> int | None:
        return self.dictionary.find(value)

    def lookup(self, table: Relation, bound: Sequence[int]) -> TableLookup:
        return TableLookup(table, bound, self.dictionary)

    def matching(self, table: Relation, bound: Sequence[int], key: IdRow) -> Relation | None:
        lookup = self.lookup(table, bound) if table.is_stored else None
        if lookup is None or not lookup.indexed:
            return None
        return self.table([row for _, row in lookup([key])], table.arity - len(bound))

    def table(self, rows: Sequence[IdRow], arity: int) -> Relation:
        return rows_of(rows, arity, self.tuning)

    def where(self, condition: Expression, places: VariablePlaces) -> RowOperator:
        vectors = self.vectors

        def process(rows: list[IdRow]) -> list[IdRow]:
            return list(compress(rows, vectors.holds(condition, _columns(rows, places)).tolist()))

        return process

    def extend(self, expression: Expression, places: VariablePlaces) -> RowOperator:
        vectors = self.vectors

        def process(rows: list[IdRow]) -> list[IdRow]:
            values, ok = vectors.values(expression, _columns(rows, places))
            extended = [(*row, value) for row, value in zip(rows, values.tolist(), strict=True)]
            return extended if ok is None else list(compress(extended, ok.tolist()))

        return process

    def group(self, on: int, names: Sequence[Variable], calls: Sequence[AggregateCall]) -> RowOperator:
        vectors = self.vectors

        def process(rows: list[IdRow]) -> list[IdRow]:
            ids = np.array(rows, np.uint32).reshape(len(rows), len(names))
            columns: dict[Variable, Ids] = {v: np.ascontiguousarray(ids[:, i]) for i, v in enumerate(names)}
            starts = group_starts([columns[v] for v in names[:on]], len(rows))
            results, present = [columns[v][starts] for v in names[:on]], np.ones(len(starts), np.bool_)
            for call in calls:
                values, ok = aggregate(call, columns, names[:on], starts, len(rows), vectors)
                results.append(values)
                present &= True if ok is None else ok
            return list(compress(zip(*(column.tolist() for column in results), strict=True), present.tolist()))

        return process


def _columns(rows: Sequence[IdRow], places: VariablePlaces) -> Rows:
    return Rows({v: np.fromiter((row[i] for row in rows), np.uint32, len(rows)) for v, i in places}, len(rows))
