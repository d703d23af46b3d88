"""The codec of a backend: facts in and out, between values and tables of ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from deltalog.core.rules import Pred
from deltalog.core.terms import Kind, Value
from deltalog.formats.documents import Reading
from deltalog.formats.formats import OutputForm
from deltalog.formats.subjects import SubjectCheck

T = TypeVar("T")


class Codec(Protocol[T]):
    """Reads, writes, encodes and decodes the tables of a backend."""

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, T]:
        """The facts of files and folders."""
        ...

    def write(self, folder: Path, facts: Mapping[Pred, T], form: OutputForm) -> None:
        """Writes facts to a folder, all or nothing."""
        ...

    def encode(self, facts: Mapping[str, Any], subjects: SubjectCheck | None = None) -> dict[str, tuple[int, T]]:
        """For each predicate, its rows (or Arrow, pandas, polars or Spark table) as a table, and the arity. `subjects`
        checks rows that are added."""
        ...

    def values(self, ids: Any) -> list[Value]:
        """The values of a column of ids."""
        ...

    def to_arrow(self, table: T, columns: Sequence[str]) -> Any:
        """The table's values as an Arrow table with these column names."""
        ...

    def contains(self, table: T, row: Sequence[Value]) -> bool:
        """Whether a table has a row."""
        ...

    def number_kinds(self, tables: Sequence[T]) -> frozenset[Kind]:
        """A superset of the kinds of numbers in some tables."""
        ...


def encode_rows(codec: Codec[T], rows: Any, predicate: str = "") -> T:
    """Rows, or whatever else `Codec.encode` takes, as one table."""
    return codec.encode({predicate: rows})[predicate][1]
