"""The codec of the local engine: one dictionary of values with 32-bit ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.limits import checked
from deltalog.core.rules import Pred
from deltalog.core.terms import Kind, Value
from deltalog.core.tuning import Tuning
from deltalog.engines.local.batch_update import load_all
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import pack, sort_distinct
from deltalog.engines.local.table import Table
from deltalog.formats.documents import Reading
from deltalog.formats.formats import OutputForm
from deltalog.formats.subjects import SubjectCheck
from deltalog.program.value_kinds import NUMERIC


def load(columns: Sequence[Any], arity: int, tuning: Tuning) -> Table:
    """A table of the distinct rows of columns of ids."""
    if arity == 0:
        return Table.of(np.zeros(1, np.uint64), 0, tuning)
    arrays = [np.ascontiguousarray(column, np.uint32) for column in columns]
    return Table.of(sort_distinct(pack(arrays, len(arrays[0]))), arity, tuning)


@dataclass(frozen=True, slots=True)
class LocalCodec:
    """Facts in and out, over the dictionary of a backend."""

    dictionary: Dictionary
    tuning: Tuning

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, Relation]:
        from deltalog.formats.read import read

        found = read(paths, self.dictionary, reading)
        return {pred: load(columns, pred.arity, self.tuning) for pred, columns in checked(found.items())}

    def write(self, folder: Path, facts: Mapping[Pred, Relation], form: OutputForm) -> None:
        from deltalog.formats.write import write

        write(folder, {pred: table.columns() for pred, table in facts.items()}, self.dictionary, form)

    def encode(self, facts: Mapping[str, Any], subjects: SubjectCheck | None = None) -> dict[str, tuple[int, Relation]]:
        from deltalog.formats.frames import columns_of_all, listed

        given = {predicate: listed(data) for predicate, data in facts.items()}
        found = columns_of_all(list(given.values()), self.dictionary)
        if subjects is not None:
            subjects.check_all(zip(given, found, strict=True), self.dictionary)
        narrow = bool(found) and all(1 <= len(columns) <= 2 for columns in found)
        if narrow and sum(len(columns[0]) for columns in found) <= self.tuning.batch_update_max_rows:
            return {p: (table.arity, table) for p, table in zip(given, load_all(found, self.tuning), strict=True)}
        each = checked(zip(given.items(), found, strict=True))
        return {predicate: self._encoded(columns, data) for (predicate, data), columns in each}

    def _encoded(self, columns: Sequence[Any], data: Any) -> tuple[int, Relation]:
        from deltalog.formats.frames import has_rows

        arity = len(columns)
        return arity, load(columns, arity, self.tuning) if has_rows(columns, data) else Table(arity, tuning=self.tuning)

    def values(self, ids: Any) -> list[Value]:
        return self.dictionary.decode(ids)

    def to_arrow(self, table: Relation, columns: Sequence[str]) -> Any:
        from deltalog.formats.frames import to_arrow

        return to_arrow(table.columns(), self.dictionary, columns)

    def contains(self, table: Relation, row: Sequence[Value]) -> bool:
        ids = [self.dictionary.find(value) for value in row]
        if None in ids:
            return False
        key = pack([np.array([i], np.uint32) for i in ids], 1)
        return bool(table.contains(key)[0])

    def number_kinds(self, tables: Sequence[Relation]) -> frozenset[Kind]:
        return NUMERIC & self.dictionary.kinds_of([ids for table in tables for ids in table.columns()])
