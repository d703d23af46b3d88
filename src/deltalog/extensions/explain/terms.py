"""Ids and values of the terms in a proof, and the forms in which atoms can name a fact.

A triple has three spellings: an atom of its property or class, `rdf:type(x, c)`, and `[x, p, y]`. Users see the first
one, so facts of a proof are in that form, and rules with a variable for a predicate or a class are asked for the
others. The bridges of evaluation (`program.triple_bridges`) appear nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from deltalog.core.arrays import IdRow
from deltalog.core.rules import TRIPLES, TYPES, Constant, Pred
from deltalog.core.terms import IRI, RDF_TYPE, Value
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.codec import encode_rows
from deltalog.program.triple_bridges import is_rdf

T = TypeVar("T")


class FactKey(NamedTuple):
    """A fact by ids."""

    pred: Pred
    row: IdRow


class ProofTerms(Generic[T]):
    """Ids to values and back, each looked up once."""

    def __init__(self, backend: Backend[T]) -> None:
        self._backend = backend
        self._values: dict[int, Value] = {}
        self._ids: dict[Constant, int] = {}

    def value(self, id: int) -> Value:
        if id not in self._values:
            self.learn([id])
        return self._values[id]

    def learn(self, ids: Iterable[int]) -> None:
        """Looks up the values of several ids at once."""
        new = [id for id in set(ids) if id not in self._values]
        if new:
            self._values.update(zip(new, self._backend.codec.values(np.array(new, np.int64)), strict=True))

    def values(self, row: IdRow) -> tuple[Value, ...]:
        return tuple(map(self.value, row))

    def id(self, value: Value) -> int:
        """The id of a value, which it gets if it has none."""
        constant = Constant(value)
        if constant not in self._ids:
            (column,) = self._backend.rows(encode_rows(self._backend.codec, [(value,)]))
            self._ids[constant] = int(column[0])
        return self._ids[constant]

    def table(self, rows: Iterable[IdRow], arity: int) -> T:
        """A table of rows of ids."""
        listed = list(rows)
        if not listed:
            return self._backend.empty(arity)
        return self._backend.load([np.array(column, np.int64) for column in zip(*listed, strict=True)], arity)

    def rows(self, table: T, arity: int) -> list[IdRow]:
        """The rows of a table."""
        if arity == 0:
            return [()] * self._backend.size(table)
        columns: list[Any] = [column.tolist() for column in self._backend.rows(table)]
        return list(zip(*columns, strict=True))

    # Triples.

    def shown(self, pred: Pred, row: IdRow) -> FactKey:
        """A fact as users see it."""
        if pred == TRIPLES and isinstance(name := self.value(row[1]), IRI) and ":" in name:
            pred, row = Pred(str(name), 2), (row[0], row[2])
        if pred == TYPES and isinstance(name := self.value(row[1]), IRI) and ":" in name:
            pred, row = Pred(str(name), 1), (row[0],)
        return FactKey(pred, row)

    def forms(self, fact: FactKey) -> Iterator[FactKey]:
        """The forms in which atoms can name a fact."""
        pred, row = fact
        yield fact
        if not is_rdf(pred):
            return
        if pred.arity == 1:
            pred, row = TYPES, (row[0], self.id(IRI(pred.name)))
            yield FactKey(pred, row)
        if pred.arity == 2:
            name = RDF_TYPE if pred == TYPES else IRI(pred.name)
            yield FactKey(TRIPLES, (row[0], self.id(name), row[1]))
