"""Driver: the codec of the Spark engine, 64-bit ids, hashed from values; small inputs are read in the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltalog.core.rules import Pred
from deltalog.core.terms import Kind, Value
from deltalog.engines.spark.jobs import listed, pred_names
from deltalog.engines.spark.table import SparkTable
from deltalog.formats.documents import Reading
from deltalog.formats.formats import OutputForm
from deltalog.formats.subjects import SubjectCheck
from deltalog.program.value_kinds import NUMERIC

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend


@dataclass(frozen=True, slots=True)
class SparkCodec:
    """Facts in and out, over the dictionary of a backend."""

    backend: SparkBackend

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, SparkTable]:
        from deltalog.engines.spark.io.read import is_small, read

        if self.backend.driver_budget > 0 and is_small(paths):
            return self.backend.driver.read(paths, reading)
        with self.backend.jobs.named(f"read {listed(path.name for path in paths)}"):
            return read(paths, reading, self.backend)

    def write(self, folder: Path, facts: Mapping[Pred, SparkTable], form: OutputForm) -> None:
        from deltalog.engines.spark.io.write import write

        with self.backend.jobs.named(pred_names("write", facts)):
            write(folder, facts, self.backend, form)

    def encode(
        self, facts: Mapping[str, Any], subjects: SubjectCheck | None = None
    ) -> dict[str, tuple[int, SparkTable]]:
        return {predicate: self._encoded(predicate, data, subjects) for predicate, data in facts.items()}

    def _encoded(self, predicate: str, data: Any, subjects: SubjectCheck | None) -> tuple[int, SparkTable]:
        from deltalog.engines.spark.io.read import encode_frame
        from deltalog.formats.frames import columns_of, has_rows, listed

        backend = self.backend
        if isinstance(data, DataFrame):
            with backend.jobs.named(f"read {predicate}"):
                return encode_frame(predicate, data, backend, subjects)
        rows = listed(data)
        found = columns_of(rows, backend.dictionary.local)
        if subjects is not None:
            subjects.check_all([(predicate, found)], backend.dictionary.local)
        if not has_rows(found, rows):
            return len(found), backend.empty(len(found))
        ids = backend.dictionary.ids()
        return len(found), backend.load([ids[column] for column in found], len(found))

    def values(self, ids: Any) -> list[Value]:
        return self.backend.dictionary.values(ids)

    def to_arrow(self, table: SparkTable, columns: Sequence[str]) -> Any:
        from deltalog.formats.frames import to_arrow

        dictionary = self.backend.dictionary
        local = [dictionary.local.encode(dictionary.values(ids)) for ids in self.backend.rows(table)]
        return to_arrow(local, dictionary.local, columns)

    def contains(self, table: SparkTable, row: Sequence[Value]) -> bool:
        if table.empty:
            return False
        id_of = self.backend.dictionary.id
        if table.driver_rows is not None:
            return bool((table.driver_rows == [id_of(value) for value in row]).all(axis=1).any())
        frame = table.frame()
        for i, value in enumerate(row):
            frame = frame.where(F.col(f"c{i}") == id_of(value))
        with self.backend.jobs.named("look up a fact"):
            return not frame.isEmpty()

    def number_kinds(self, tables: Sequence[SparkTable]) -> frozenset[Kind]:
        """Those of the whole dictionary, which knows only whether there are others than integers."""
        if all(table.empty for table in tables):
            return frozenset()
        return frozenset((Kind.INTEGER,)) if self.backend.dictionary.only_integers else NUMERIC
