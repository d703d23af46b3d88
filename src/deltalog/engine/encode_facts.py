"""Facts as users give them, to tables by predicate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from deltalog.backends.base import Backend
from deltalog.backends.codec import encode_rows
from deltalog.engine.distribute_triples import WILDCARDS, distributed
from deltalog.io.frames import listed
from deltalog.model.naming import Names, predicate_name, split
from deltalog.model.terms import Value
from deltalog.syntax.ast import Constant, Pred, Rule

T = TypeVar("T")


def encode_facts(facts: Mapping[str, Any], backend: Backend[T], known: Collection[Collection[Pred]]) -> dict[Pred, T]:
    """Rows and data frames by the names of predicates; triples, and types whose class is an IRI, under their own
    predicates. A name such as `p/2` may be one of the `known` predicates."""
    found: dict[Pred, T] = {}
    by_name = {predicate_name(predicate): data for predicate, data in facts.items()}
    for predicate, (arity, table) in backend.codec.encode(by_name).items():
        if backend.size(table):
            found[_pred(predicate, arity, known)] = table
    return found if found.keys().isdisjoint(WILDCARDS) else distributed(found, backend)


def listed_facts(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Facts that can be read more than once: rows of iterators become lists."""
    return {predicate: listed(data) for predicate, data in (facts or {}).items()}


def _pred(predicate: str, arity: int, known: Collection[Collection[Pred]]) -> Pred:
    if split(predicate)[1] is None:
        return Pred(predicate, arity)
    return Names(set().union(*known)).for_rows(predicate, arity)


def encode_facts_of(rules: Iterable[Rule], backend: Backend[T]) -> dict[Pred, T]:
    """The facts among some rules."""
    rows: dict[Pred, list[tuple[Value, ...]]] = {}
    for head in (head for rule in rules if rule.is_fact for head in rule.heads):
        rows.setdefault(head.pred, []).append(tuple(t.value for t in head.terms if isinstance(t, Constant)))
    return {pred: encode_rows(backend.codec, values) for pred, values in rows.items()}
