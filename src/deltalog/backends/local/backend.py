"""The Backend protocol over local tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deltalog.backends.base import Exchange, SmallChange, SmallResult, SmallRules, Tables, Twin
from deltalog.backends.local.batch_update import batch_update, load_all
from deltalog.backends.local.column_expressions import ColumnExpressions
from deltalog.backends.local.compile import PlanCompiler
from deltalog.backends.local.multiset import recounted, uncounted, with_counts
from deltalog.backends.local.pipeline import Evaluation
from deltalog.backends.local.relation import Relation
from deltalog.backends.local.scratch import Scratch
from deltalog.backends.local.small_rounds import Rounds
from deltalog.backends.local.sorted_runs import Ids, pack, sort_distinct
from deltalog.backends.local.table import Table
from deltalog.backends.local.virtual_maintenance import create_relation, update_relation
from deltalog.backends.local.workers import Workers
from deltalog.io.documents import Reading
from deltalog.model.dictionary import Dictionary
from deltalog.model.limits import Limits
from deltalog.model.terms import Kind, Value
from deltalog.model.tuning import Tuning
from deltalog.plan.delta_rules import SmallPlans
from deltalog.plan.ir import Counted, Plan, columns
from deltalog.plan.work_counter import Meter, Meters
from deltalog.program.recognise import Structure
from deltalog.program.value_kinds import NUMERIC
from deltalog.syntax.ast import Call, Pred, Rule


class LocalBackend:
    """Sets of rows in this process. One backend has one dictionary."""

    name = "local"
    batches = False
    multiway = True
    reasoned_by = ("local", "")

    def __init__(
        self,
        limits: Limits,
        dictionary: Dictionary | None = None,
        threads: int | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        self.limits = limits
        self.tuning = tuning or Tuning()
        self.few_facts = self.tuning.rounds_max_new_facts
        self.dictionary = dictionary or Dictionary()
        self.workers = Workers(threads, self.tuning.parallel_min_rows)
        self._meters = Meters()
        self._scratch = Scratch()
        self.vectors = ColumnExpressions(self.dictionary, self.tuning)
        self._compiler = PlanCompiler(self.dictionary, self.tuning)

    @property
    def failures(self) -> int:
        """How many rows have been dropped so far because an expression failed."""
        return self.vectors.failures

    @failures.setter
    def failures(self, failures: int) -> None:
        self.vectors.failures = failures

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, Relation]:
        from deltalog.io.read import read

        found = read(paths, self.dictionary, reading)
        return {pred: self.load(columns, pred.arity) for pred, columns in found.items()}

    def encode(self, data: Any, predicate: str) -> tuple[int, Relation]:
        return self.encode_all({predicate: data})[predicate]

    def encode_all(self, facts: Mapping[str, Any]) -> dict[str, tuple[int, Relation]]:
        from deltalog.io.frames import columns_of_all, listed

        given = {predicate: listed(data) for predicate, data in facts.items()}
        found = columns_of_all(list(given.values()), self.dictionary)
        narrow = found and all(1 <= len(columns) <= 2 for columns in found)
        if narrow and sum(len(c[0]) for c in found) <= self.tuning.batch_update_max_rows:
            return {p: (table.arity, table) for p, table in zip(given, load_all(found, self.tuning), strict=True)}
        each = zip(given.items(), found, strict=True)
        return {predicate: self._encoded(columns, data) for (predicate, data), columns in each}

    def _encoded(self, columns: Sequence[Any], data: Any) -> tuple[int, Relation]:
        from deltalog.io.frames import has_rows

        arity = len(columns)
        return arity, self.load(columns, arity) if has_rows(columns, data) else self.empty(arity)

    def write(self, folder: Path, facts: Mapping[Pred, Relation], format: str) -> None:
        from deltalog.io.write import write

        write(folder, {pred: table.columns() for pred, table in facts.items()}, self.dictionary, format)

    def load(self, columns: Sequence[Any], arity: int) -> Table:
        if arity == 0:
            return Table.of(np.zeros(1, np.uint64), 0, self.tuning)
        arrays = [np.ascontiguousarray(column, np.uint32) for column in columns]
        return Table.of(sort_distinct(pack(arrays, len(arrays[0]))), arity, self.tuning)

    def empty(self, arity: int) -> Relation:
        return Table(arity, tuning=self.tuning)

    def run(self, plan: Plan, tables: Tables[Relation]) -> Relation:
        keys = self._compiler.keys(plan)(self._evaluation(tables), None)
        return Table.of(keys, len(columns(plan)), self.tuning)

    def run_all(self, plans: Mapping[Pred, Plan], tables: Tables[Relation]) -> dict[Pred, Relation]:
        self.limits.check()
        counting = [plan for plan in plans.values() if isinstance(plan, Counted)]
        group = self._compiler.bags(counting) if counting else self._compiler.group(plans.values())
        found = group.keys(self._evaluation(tables)) if group else None
        if found is None:
            return {pred: self.run(plan, tables) for pred, plan in plans.items()}
        return {pred: Table.of(keys, pred.arity, self.tuning) for pred, keys in zip(plans, found, strict=True)}

    @property
    def meter(self) -> Meter:
        return self._meters.here

    def _evaluation(self, tables: Tables[Relation]) -> Evaluation:
        check, meter = self.limits.checker(), self.meter
        return Evaluation(tables, self.dictionary, self.vectors, self._scratch, self.workers, check, meter, self.tuning)

    def rounds(
        self, rules: SmallRules, tables: Tables[Relation], new: Mapping[Pred, Relation], room: int
    ) -> Rounds | None:
        code = self._compiler.rounds(rules)
        places = code.places(tables)
        room = min(self.tuning.rounds_max_facts, room)
        if places is None or 2 * sum(table.size for table in new.values()) > room:
            return None
        return Rounds(code, places, new, self.few_facts, room, self.vectors)

    def twin(self, rules: Sequence[Rule], tables: Mapping[Pred, Relation], everything: bool = False) -> Twin | None:
        return None

    def tally(self) -> dict[str, int]:
        return {}

    def structure(self, structure: Structure, inputs: Sequence[Relation]) -> Relation:
        self.limits.check()
        return create_relation(structure, inputs, self.tuning)

    def restructured(
        self,
        structure: Structure,
        old: Relation,
        inputs: Sequence[Relation],
        removed: Sequence[Relation],
        added: Sequence[Relation],
    ) -> tuple[Relation, Callable[[], tuple[Relation, Relation]]]:
        self.limits.check()
        return update_relation(structure, old, inputs, removed, added, self.tuning)

    def maintained(self, strata: Sequence[SmallPlans], change: SmallChange[Relation]) -> SmallResult[Relation]:
        self.limits.check()
        return self._compiler.strata(strata).maintained(change)

    def exchanged(
        self, tables: Mapping[Pred, Relation], removed: Mapping[Pred, Relation], added: Mapping[Pred, Relation]
    ) -> Exchange[Relation] | None:
        return batch_update(tables, removed, added, self.tuning)

    def merge(self, old: Relation, new: Relation) -> Relation:
        return old.merge(new)

    def minus(self, old: Relation, gone: Relation) -> Relation:
        return old.minus(gone)

    def recounted(self, counts: Relation, won: Sequence[Relation], lost: Sequence[Relation]) -> Relation:
        return recounted(counts, won, lost, self.dictionary)

    def with_counts(self, rows: Relation, counts: Relation) -> Relation:
        return with_counts(rows.keys(), counts)

    def uncounted(self, counts: Relation) -> Relation:
        return uncounted(counts)

    def made_of(self, call: Call, table: Relation, column: int) -> Relation | None:
        found = self.vectors.skolem_inverse(call, table.columns()[column])
        return None if found is None else self.load(found, len(found))

    def pin(self, table: Relation) -> Relation:
        return table

    def size(self, table: Relation) -> int:
        return table.size

    def distinct(self, table: Relation, column: int) -> float:
        return table.distinct(column, len(self.dictionary))

    def heaviest(self, table: Relation, column: int) -> float:
        return table.heaviest(column)

    def rows(self, table: Relation) -> list[Ids]:
        return table.columns()

    def drop(self, table: Relation) -> None:
        pass

    def values(self, ids: Any) -> list[Value]:
        return self.dictionary.decode(ids)

    def to_arrow(self, table: Relation, columns: Sequence[str]) -> Any:
        from deltalog.io.frames import to_arrow

        return to_arrow(table.columns(), self.dictionary, columns)

    def contains(self, table: Relation, row: Sequence[Value]) -> bool:
        ids = [self.dictionary.find(value) for value in row]
        if None in ids:
            return False
        key = pack([np.array([i], np.uint32) for i in ids], 1)
        return bool(table.contains(key)[0])

    def number_kinds(self, tables: Sequence[Relation]) -> frozenset[Kind]:
        return NUMERIC & self.dictionary.kinds_of([ids for table in tables for ids in table.columns()])
