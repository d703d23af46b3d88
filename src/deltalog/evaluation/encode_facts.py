"""Facts as users give them, to tables by predicate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from deltalog.core.arguments import short_repr
from deltalog.core.errors import Diagnostic, UnsafeRule, UsageError
from deltalog.core.limits import checked
from deltalog.core.naming import Names, full_name, predicate_name, split
from deltalog.core.prefixes import PREFIXES
from deltalog.core.rules import Constant, Pred, Rule
from deltalog.core.terms import Value
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.codec import encode_rows
from deltalog.evaluation.distribute_triples import WILDCARDS, distributed
from deltalog.formats.frames import is_series, listed
from deltalog.formats.subjects import SubjectCheck
from deltalog.program.safety import unsafe

T = TypeVar("T")


def encode_facts(
    facts: Mapping[str, Any],
    backend: Backend[T],
    known: Collection[Collection[Pred]],
    prefixes: Mapping[str, str] = PREFIXES,
    adding: bool = True,
) -> dict[Pred, T]:
    """Rows and data frames by the names of predicates; triples, and types whose class is an IRI, under their own
    predicates. A name such as `p/2` may be one of the `known` predicates. `adding`: whether they are added; the
    subjects of triples are checked (`deltalog.formats.subjects`)."""
    found: dict[Pred, T] = {}
    by_name = {full_name(predicate_name(predicate), prefixes): data for predicate, data in facts.items()}
    by_name = {name: _column(name, data, known) if is_series(data) else data for name, data in by_name.items()}
    if len(by_name) < len(facts):
        raise UsageError(f"one predicate is given under two names: {', '.join(sorted(map(str, facts)))}")
    subjects = SubjectCheck(prefixes, adding=adding)
    for predicate, (arity, table) in checked(backend.codec.encode(by_name, subjects).items()):
        if backend.size(table):
            found[_pred(predicate, arity, known)] = table
    return found if found.keys().isdisjoint(WILDCARDS) else distributed(found, backend)


def _column(predicate: str, series: Any, known: Collection[Collection[Pred]]) -> Any:
    """A single column as a table, for a predicate of one argument."""
    arities = {pred.arity for preds in known for pred in preds if pred.name == split(predicate)[0]}
    if arities and 1 not in arities:
        raise UsageError(f"a Series is a single column, and {predicate!r} has {min(arities)}; pass a DataFrame")
    return series.to_frame()


def listed_facts(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Facts that can be read more than once: rows of iterators become lists."""
    if facts is None:
        return {}
    if not isinstance(facts, Mapping):
        raise UsageError(
            f"expected facts by predicate, such as {{'edge': [('a', 'b')]}}, or Files, and not {short_repr(facts)}"
        )
    return {predicate: listed(data) for predicate, data in checked(facts.items())}


def _pred(predicate: str, arity: int, known: Collection[Collection[Pred]]) -> Pred:
    if split(predicate)[1] is None:
        return Pred(predicate, arity)
    return Names(set().union(*known)).for_rows(predicate, arity)


def encode_facts_of(rules: Iterable[Rule], backend: Backend[T]) -> dict[Pred, T]:
    """The facts among some rules; UnsafeRule if one has a variable."""
    rows: dict[Pred, list[tuple[Value, ...]]] = {}
    wrong: list[Diagnostic] = []
    for rule in (rule for rule in rules if rule.is_fact):
        for head in rule.heads:
            values = tuple(term.value for term in head.terms if isinstance(term, Constant))
            if len(values) < len(head.terms):
                wrong += unsafe(rule)
            rows.setdefault(head.pred, []).append(values)
    if wrong:
        raise UnsafeRule(wrong)
    return {pred: encode_rows(backend.codec, values) for pred, values in rows.items()}
