"""The fact that a user asks about: text in the rule language, or a predicate and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from deltalog.core.arguments import short_repr
from deltalog.core.errors import UsageError
from deltalog.core.naming import Names, full_name, predicate_name
from deltalog.core.rules import TRIPLES, TYPES, Atom, Constant, Pred
from deltalog.core.terms import IRI, Value, kind
from deltalog.extensions.explain.model import Fact
from deltalog.languages.deltalog.parser import parse_goal

EXAMPLE = "for example path(a, d), or [<http://e.x/a>, rdf:type, <http://e.x/C>]"


class AskedFact(NamedTuple):
    """A predicate and values, as users see them."""

    pred: Pred
    values: tuple[Value, ...]

    @property
    def shown(self) -> Fact:
        return Fact(self.pred.name, self.values)


def asked_fact(fact: object, values: object, prefixes: Mapping[str, str], names: Names) -> AskedFact:
    """A fact as `explain` takes it: a text, a predicate and values, or a pair of these; UsageError for anything
    else."""
    if values is None and isinstance(fact, tuple) and len(fact) == 2:
        fact, values = fact
    if isinstance(fact, Fact):
        values, fact = fact.values, fact.predicate
    if not isinstance(fact, str):
        raise UsageError(f"expected a fact, {EXAMPLE}, got {short_repr(fact)}")
    if values is None:
        return _shown(*_parsed(fact, prefixes))
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise UsageError(f"expected the values of a fact of {fact!r} as a tuple, got {short_repr(values)}")
    given = tuple(values)
    for value in given:
        try:
            kind(value)
        except (TypeError, ValueError, RecursionError) as wrong:
            raise UsageError(f"a fact of {fact!r} has a wrong value: {wrong}") from None
    return _shown(names.for_rows(full_name(predicate_name(fact), prefixes), len(given)), given)


def _parsed(text: str, prefixes: Mapping[str, str]) -> tuple[Pred, tuple[Value, ...]]:
    literals = parse_goal(text, "<fact>", prefixes)
    atom = literals[0]
    if len(literals) != 1 or not isinstance(atom, Atom):
        raise UsageError(f"expected one fact, {EXAMPLE}, got {short_repr(text)}")
    values = tuple(term.value for term in atom.terms if isinstance(term, Constant))
    if len(values) < len(atom.terms):
        raise UsageError(
            f"a fact has no variables: {short_repr(text)}; kb.query({short_repr(text)}) finds the facts that match"
        )
    return atom.pred, values


def _shown(pred: Pred, values: tuple[Value, ...]) -> AskedFact:
    """Triples under their property or class."""
    if pred == TRIPLES and isinstance(name := values[1], IRI) and ":" in name:
        pred, values = Pred(str(name), 2), (values[0], values[2])
    if pred == TYPES and isinstance(name := values[1], IRI) and ":" in name:
        pred, values = Pred(str(name), 1), (values[0],)
    return AskedFact(pred, values)
