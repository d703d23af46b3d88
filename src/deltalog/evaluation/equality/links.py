"""Which individuals the relations of a state make equal.

    owl:sameAs(x, y), #link(x, y)      x and y
    #hub(k, x), #hub(k, y)             x and y

A hub is read by its keys, so a thousand individuals of one key are a thousand links, and not a million. After a change
only new facts are read, and the facts of hubs with the same keys: before it, every key had one individual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from deltalog.core.arrays import Ids
from deltalog.core.rules import Atom, Call, HiddenName, Pred, Variable
from deltalog.evaluation.backend import Backend, run
from deltalog.evaluation.equality.recognise import SAME_AS
from deltalog.evaluation.equality.rewrite import LINK, Hub
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, fact_columns
from deltalog.evaluation.seminaive import Relations

T = TypeVar("T")
Pairs = tuple[Ids, Ids]
KEYS = HiddenName("#keys")


class LiteralsLinked(Exception):
    """Equality of a literal has been stated or derived."""


def links(relations: Relations[T], hubs: Sequence[Hub], added: Mapping[Pred, T] | None = None) -> Pairs:
    """The pairs of individuals that are equal and have no common representative yet. `added` are the new facts since
    there were no such pairs; None if there was nothing before. LiteralsLinked if a literal would be one of them."""
    backend = relations.backend
    found = [pairs_of(relations.get(p) if added is None else added.get(p), backend) for p in (SAME_AS, LINK)]
    for hub in hubs:
        found += _of_hub(relations, hub, added)
    left, right = (np.concatenate([pair[i] for pair in found]) for i in (0, 1))
    differ = left != right
    pairs = left[differ], right[differ]
    _check_individuals(pairs, backend)
    return pairs


def pairs_of(table: T | None, backend: Backend[T]) -> Pairs:
    if table is None:
        return np.empty(0, np.uint32), np.empty(0, np.uint32)
    left, right = backend.rows(table)
    return left, right


def _check_individuals(pairs: Pairs, backend: Backend[T]) -> None:
    if len(pairs[0]):
        x, y = fact_columns(2)
        condition = Call("||", (Call("isliteral", (x,)), Call("isliteral", (y,))))
        plan = ir.Where(ir.facts_of(LINK), condition)
        if backend.size(run(backend, plan, {(LINK, Part.ALL): backend.load(pairs, 2)})):
            raise LiteralsLinked


def _of_hub(relations: Relations[T], hub: Hub, added: Mapping[Pred, T] | None) -> Iterator[Pairs]:
    preds = dict.fromkeys((hub.left, hub.right))
    tables = [relations.get(pred) for pred in preds]
    if added is not None:
        new = [added[pred] for pred in preds if pred in added]
        if not new:
            return
        keys = _keys(new, hub.left.arity - 1, relations.backend)
        tables = [_with_keys(pred, keys, relations) for pred in preds] if keys is not None else tables
    yield _chained([relations.backend.rows(table) for table in tables])


def _keys(tables: Sequence[T], columns: int, backend: Backend[T]) -> T | None:
    """The keys of some facts of hubs; None if there is one for all."""
    rows = [backend.rows(table) for table in tables]
    if not columns:
        return None
    return backend.load([np.concatenate([each[i] for each in rows]) for i in range(columns)], columns)


def _with_keys(pred: Pred, keys: T, relations: Relations[T]) -> T:
    """The facts of a hub that have one of some keys."""
    terms: tuple[Variable, ...] = fact_columns(pred.arity)
    asked = Pred(KEYS, pred.arity - 1)
    plan = ir.Join(ir.Scan(Atom(asked.name, terms[:-1])), ir.Scan(Atom(pred.name, terms)))
    shown = ir.Project(plan, tuple((v, v) for v in terms))
    return run(relations.backend, shown, {**relations.parts, (asked, Part.ALL): keys})


def _chained(sides: Sequence[Sequence[Any]]) -> Pairs:
    """Links between the individuals of each key, one after the other; with two sides, of keys that both have."""
    columns = [np.concatenate([side[i] for side in sides]) for i in range(len(sides[0]))]
    side = np.repeat(np.arange(len(sides)), [len(each[0]) for each in sides])
    keys, values = columns[:-1], columns[-1]
    order = np.lexsort((side, *keys)) if keys else np.arange(len(values))
    same = np.ones(max(len(values) - 1, 0), np.bool_)
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    if len(sides) == 2:
        group = np.concatenate([[0], np.cumsum(~same)])[: len(values)]
        sides_of = [np.bincount(group[side[order] == i], minlength=len(values)) for i in (0, 1)]
        same &= ((sides_of[0] > 0) & (sides_of[1] > 0))[group[1:]]
    return values[order][:-1][same], values[order][1:][same]
