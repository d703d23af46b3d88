"""Triples back to their predicates.

Rules with a variable in the predicate or class position work on the relations TRIPLE and rdf:type (see
`deltalog.program.triples`). When the fixpoint is reached, what they hold is given to the predicates and classes it
belongs to, so that a user reads every fact in one place: under its own predicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from deltalog.backends.base import Backend
from deltalog.dictionary import Dictionary
from deltalog.engine.seminaive import Relations
from deltalog.program import Program
from deltalog.syntax.ast import TRIPLE, Pred
from deltalog.terms import IRI, RDF_TYPE, Value, lexical

TRIPLES, TYPES = Pred(TRIPLE, 3), Pred(RDF_TYPE, 2)


def distribute(program: Program, relations: Relations[Any], dictionary: Dictionary, backend: Backend[Any]) -> None:
    """Moves the facts of TRIPLE and of rdf:type with a known class to their own predicates."""
    if backend.size(relations.get(TRIPLES)):
        subjects, predicates, objects = backend.rows(relations.get(TRIPLES))
        for value, rows in _groups(predicates, dictionary):
            _add(relations, backend, Pred(lexical(value), 2), [subjects[rows], objects[rows]])
        relations.parts.pop(next(key for key in relations.parts if key[0] == TRIPLES))
    if TYPES in {pred for pred, _ in relations.parts} and backend.size(relations.get(TYPES)):
        subjects, classes = backend.rows(relations.get(TYPES))
        kept = np.zeros(len(subjects), np.bool_)
        for value, rows in _groups(classes, dictionary):
            if isinstance(value, IRI):
                _add(relations, backend, Pred(lexical(value), 1), [subjects[rows]])
            else:
                kept[rows] = True
        relations.set(TYPES, backend.load([subjects[kept], classes[kept]], 2))


def _groups(column: Any, dictionary: Dictionary) -> Iterator[tuple[Value, Any]]:
    """Each distinct value of a column of ids, and the numbers of its rows."""
    order = np.argsort(column, kind="stable")
    distinct, starts = np.unique(column[order], return_index=True)
    for value, rows in zip(dictionary.decode(distinct), np.split(order, starts[1:]), strict=True):
        yield value, rows


def _add(relations: Relations[Any], backend: Backend[Any], pred: Pred, columns: Sequence[Any]) -> None:
    table = backend.load(columns, pred.arity)
    relations.add(pred, backend.minus(table, relations.get(pred)))
