"""The number of facts that users see.

Facts of hidden relations do not count. A triple counts once, wherever it is stored: under its own predicate, if that
has a home (see `deltalog.evaluation.distribute_triples`), and otherwise in TRIPLE or rdf:type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from deltalog.core.rules import TRIPLES, TYPES, Atom, HiddenName, Pred
from deltalog.core.terms import IRI, RDF_TYPE, Value
from deltalog.evaluation.backend import Backend, run
from deltalog.evaluation.codec import encode_rows
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan, fact_columns, facts_of

T = TypeVar("T")


@dataclass
class VisibleFactCounter(Generic[T]):
    """Counts the visible facts of a program, whose classes and properties with bridges are `homes`; or, with
    `everything`, all facts."""

    backend: Backend[T]
    homes: frozenset[Pred] = frozenset()
    everything: bool = False
    _known: dict[Pred, list[tuple[Atom, T]]] = field(default_factory=dict)

    def count(self, facts: Iterable[tuple[Pred, T]]) -> int:
        if self.everything:
            return sum([self.backend.size(table) for _, table in facts])
        return sum([self._count(pred, table) for pred, table in facts if not pred.hidden])

    def counted(self, preds: Iterable[Pred]) -> frozenset[Pred] | None:
        """The predicates of which all facts count; None if only some facts of one of them do."""
        if self.everything:
            return frozenset(preds)
        if self.homes and not {TRIPLES, TYPES}.isdisjoint(preds):
            return None
        return frozenset(pred for pred in preds if not pred.hidden)

    def _count(self, pred: Pred, table: T) -> int:
        if self.homes and pred in (TRIPLES, TYPES) and self.backend.size(table):
            table = self._homeless(pred, table)
        return self.backend.size(table)

    def _homeless(self, pred: Pred, table: T) -> T:
        """The facts of TRIPLE or rdf:type that are not stored under their own predicate as well."""
        if pred not in self._known:
            self._known[pred] = [(atom, encode_rows(self.backend.codec, rows)) for atom, rows in self._copies(pred)]
        plan: Plan = facts_of(pred)
        for atom, _ in self._known[pred]:
            plan = ir.AntiJoin(plan, ir.Scan(atom))
        parts = {(atom.pred, Part.ALL): known for atom, known in self._known[pred]}
        return run(self.backend, plan, {**parts, (pred, Part.ALL): table})

    def _copies(self, pred: Pred) -> Iterator[tuple[Atom, list[tuple[Value, ...]]]]:
        """Atoms over the columns that identify such copies, with the values of these columns."""
        columns = fact_columns(pred.arity)
        classes = [IRI(home.name) for home in self.homes if home.arity == 1]
        properties = [IRI(home.name) for home in self.homes if home.arity == 2]
        if pred == TRIPLES and properties:
            yield Atom(HiddenName("#property"), columns[1:2]), [(name,) for name in properties]
        if pred == TRIPLES and classes:
            yield Atom(HiddenName("#typed"), columns[1:]), [(RDF_TYPE, name) for name in classes]
        if pred == TYPES and classes:
            yield Atom(HiddenName("#class"), columns[1:]), [(name,) for name in classes]
