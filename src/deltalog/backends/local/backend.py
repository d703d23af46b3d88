"""The Backend protocol over local tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deltalog.backends.base import Exchange, SmallChange, SmallResult, SmallRules, Tables, Twin
from deltalog.backends.local.batch_update import FEW, exchanged, load_all
from deltalog.backends.local.column_expressions import Vectors
from deltalog.backends.local.compile import Preparation
from deltalog.backends.local.multiset import recounted, uncounted, with_counts
from deltalog.backends.local.pipeline import Evaluation
from deltalog.backends.local.scratch import Scratch
from deltalog.backends.local.small_rounds import FEW_FACTS, MOST_FACTS, Rounds
from deltalog.backends.local.table import Ids, Table, empty, pack, sort_distinct
from deltalog.backends.local.virtual_maintenance import made, remade
from deltalog.backends.local.workers import Workers
from deltalog.io.documents import Reading
from deltalog.model.dictionary import Dictionary
from deltalog.model.limits import Limits
from deltalog.model.terms import Kind, Value
from deltalog.model.tuning import Tuning
from deltalog.plan.delta_rules import TuplePlans
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
    few_facts = FEW_FACTS
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
        self.dictionary = dictionary or Dictionary()
        self.workers = Workers(threads)
        self._meters = Meters()
        self._scratch = Scratch()
        self.vectors = Vectors(self.dictionary)
        self._preparation = Preparation(self.dictionary)

    @property
    def failures(self) -> int:
        """How many rows have been dropped so far because an expression failed."""
        return self.vectors.failures

    @failures.setter
    def failures(self, failures: int) -> None:
        self.vectors.failures = failures

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, Table]:
        from deltalog.io.read import read

        found = read(paths, self.dictionary, reading)
        return {pred: self.load(columns, pred.arity) for pred, columns in found.items()}

    def encode(self, data: Any, predicate: str) -> tuple[int, Table]:
        return self.encode_all({predicate: data})[predicate]

    def encode_all(self, facts: Mapping[str, Any]) -> dict[str, tuple[int, Table]]:
        from deltalog.io.frames import columns_of_all, listed

        given = {predicate: listed(data) for predicate, data in facts.items()}
        found = columns_of_all(list(given.values()), self.dictionary)
        if found and all(1 <= len(columns) <= 2 for columns in found) and sum(len(c[0]) for c in found) <= FEW:
            return {p: (table.arity, table) for p, table in zip(given, load_all(found), strict=True)}
        each = zip(given.items(), found, strict=True)
        return {predicate: self._encoded(columns, data) for (predicate, data), columns in each}

    def _encoded(self, columns: Sequence[Any], data: Any) -> tuple[int, Table]:
        from deltalog.io.frames import has_rows

        arity = len(columns)
        return arity, self.load(columns, arity) if has_rows(columns, data) else empty(arity)

    def write(self, folder: Path, facts: Mapping[Pred, Table], format: str) -> None:
        from deltalog.io.write import write

        write(folder, {pred: table.columns() for pred, table in facts.items()}, self.dictionary, format)

    def load(self, columns: Sequence[Any], arity: int) -> Table:
        if arity == 0:
            return Table.of(np.zeros(1, np.uint64), 0)
        arrays = [np.ascontiguousarray(column, np.uint32) for column in columns]
        return Table.of(sort_distinct(pack(arrays, len(arrays[0]))), arity)

    def empty(self, arity: int) -> Table:
        return empty(arity)

    def run(self, plan: Plan, tables: Tables[Table]) -> Table:
        return Table.of(self._preparation.keys(plan)(self._evaluation(tables), None), len(columns(plan)))

    def run_all(self, plans: Mapping[Pred, Plan], tables: Tables[Table]) -> dict[Pred, Table]:
        self.limits.check()
        counting = [plan for plan in plans.values() if isinstance(plan, Counted)]
        group = self._preparation.bags(counting) if counting else self._preparation.group(plans.values())
        found = group.keys(self._evaluation(tables)) if group else None
        if found is None:
            return {pred: self.run(plan, tables) for pred, plan in plans.items()}
        return {pred: Table.of(keys, pred.arity) for pred, keys in zip(plans, found, strict=True)}

    @property
    def meter(self) -> Meter:
        return self._meters.here

    def _evaluation(self, tables: Tables[Table]) -> Evaluation:
        check, meter = self.limits.checker(), self.meter
        return Evaluation(tables, self.dictionary, self.vectors, self._scratch, self.workers, check, meter)

    def rounds(self, rules: SmallRules, tables: Tables[Table], new: Mapping[Pred, Table], room: int) -> Rounds | None:
        code = self._preparation.rounds(rules)
        places = code.places(tables)
        room = min(MOST_FACTS, room)
        if places is None or 2 * sum(table.size for table in new.values()) > room:
            return None
        return Rounds(code, places, new, self.few_facts, room, self.vectors)

    def twin(self, rules: Sequence[Rule], tables: Mapping[Pred, Table], everything: bool = False) -> Twin | None:
        return None

    def tally(self) -> dict[str, int]:
        return {}

    def structure(self, structure: Structure, inputs: Sequence[Table]) -> Table:
        self.limits.check()
        return made(structure, inputs)

    def restructured(
        self,
        structure: Structure,
        old: Table,
        inputs: Sequence[Table],
        removed: Sequence[Table],
        added: Sequence[Table],
    ) -> tuple[Table, Callable[[], tuple[Table, Table]]]:
        self.limits.check()
        return remade(structure, old, inputs, removed, added)

    def maintained(self, strata: Sequence[TuplePlans], change: SmallChange[Table]) -> SmallResult[Table]:
        self.limits.check()
        return self._preparation.strata(strata).maintained(change, self.tuning)

    def exchanged(
        self, tables: Mapping[Pred, Table], removed: Mapping[Pred, Table], added: Mapping[Pred, Table]
    ) -> Exchange[Table] | None:
        return exchanged(tables, removed, added)

    def merge(self, old: Table, new: Table) -> Table:
        return old.merge(new)

    def minus(self, old: Table, gone: Table) -> Table:
        return old.minus(gone)

    def recounted(self, counts: Table, won: Sequence[Table], lost: Sequence[Table]) -> Table:
        return recounted(counts, won, lost, self.dictionary)

    def with_counts(self, rows: Table, counts: Table) -> Table:
        return with_counts(rows.keys(), counts)

    def uncounted(self, counts: Table) -> Table:
        return uncounted(counts)

    def skolem_inverse(self, call: Call, table: Table, column: int) -> Table | None:
        found = self.vectors.skolem_inverse(call, table.columns()[column])
        return None if found is None else self.load(found, len(found))

    def pin(self, table: Table) -> Table:
        return table

    def size(self, table: Table) -> int:
        return table.size

    def distinct(self, table: Table, column: int) -> float:
        return table.distinct(column, len(self.dictionary))

    def heaviest(self, table: Table, column: int) -> float:
        return table.heaviest(column)

    def rows(self, table: Table) -> list[Ids]:
        return table.columns()

    def drop(self, table: Table) -> None:
        pass

    def values(self, ids: Any) -> list[Value]:
        return self.dictionary.decode(ids)

    def to_arrow(self, table: Table, columns: Sequence[str]) -> Any:
        from deltalog.io.frames import to_arrow

        return to_arrow(table.columns(), self.dictionary, columns)

    def contains(self, table: Table, row: Sequence[Value]) -> bool:
        ids = [self.dictionary.find(value) for value in row]
        if None in ids:
            return False
        key = pack([np.array([i], np.uint32) for i in ids], 1)
        return bool(table.contains(key)[0])

    def number_kinds(self, tables: Sequence[Table]) -> frozenset[Kind]:
        return NUMERIC & self.dictionary.kinds_of([ids for table in tables for ids in table.columns()])
