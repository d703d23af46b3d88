"""Templates of quads, filled in.

A blank node of a template is a new one for each solution. A quad with a variable that has no value, with a graph that
is no name of one, with a predicate that is no IRI, or with a literal as subject is left out, as the standard says; a
fact of a predicate with a bare name is no RDF, and may have a literal there.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from deltalog.core.rules import QUADS, Constant, Pred, Term, triple
from deltalog.core.terms import IRI, BlankNode, Value
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.codec import encode_rows
from deltalog.languages.sparql.algebra import hidden
from deltalog.languages.sparql.update_operations import Quads

T = TypeVar("T")
Quad = tuple[Value | None, Value, IRI, Value]  # the graph is None where a template has none


class TemplateNodes:
    """New blank nodes of a request: one for each operation, solution and label."""

    def __init__(self) -> None:
        self._mark, self._numbers = secrets.token_hex(8), dict[tuple[int, int, str], int]()

    def node(self, operation: int, solution: int, label: str) -> BlankNode:
        number = self._numbers.setdefault((operation, solution, label), len(self._numbers))
        return BlankNode(f"u{self._mark}-{number}")


def filled(
    template: Quads,
    solutions: Iterable[Mapping[str, Value | None]],
    graph: Value | None,
    blank_nodes: TemplateNodes,
    operation: int,
) -> Iterator[Quad]:
    """The quads of a template for each solution; `graph` is the one of quads that name none."""
    for number, values in enumerate(solutions):

        def value(term: Term, number: int = number, values: Mapping[str, Value | None] = values) -> Value | None:
            if isinstance(term, Constant):
                return term.value
            return blank_nodes.node(operation, number, term.name) if hidden(term) else values.get(term.name)

        for name, s, p, o in template:
            place = graph if name is None else value(name)
            subject, predicate, object = value(s), value(p), value(o)
            if name is not None and not isinstance(place, IRI | BlankNode):
                continue
            if subject is None or object is None or not isinstance(predicate, IRI):
                continue
            if isinstance(subject, IRI | BlankNode) or ":" not in predicate:
                yield place, subject, predicate, object


def encoded(quads: Iterable[Quad], backend: Backend[T]) -> dict[Pred, T]:
    """Quads as tables: those of graphs, and others by their predicates."""
    rows: dict[Pred, list[tuple[Value, ...]]] = {}
    for graph, s, p, o in quads:
        if graph is not None:
            rows.setdefault(QUADS, []).append((graph, s, p, o))
            continue
        atom = triple(Constant(s), Constant(p), Constant(o))
        rows.setdefault(atom.pred, []).append(tuple(t.value for t in atom.terms if isinstance(t, Constant)))
    return {pred: encode_rows(backend.codec, values) for pred, values in rows.items()}
