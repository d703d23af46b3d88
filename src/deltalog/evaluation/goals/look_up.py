"""Goals of one atom with a constant, such as `path(a, ?x)`, over facts that are there: an index, and no plan.

Planning takes a millisecond, and the look-up itself some twenty microseconds. Where the atom needs more than a look-up
(all triples, a variable twice, a projection, an index that is not there yet), it is planned as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from deltalog.core.rules import TRIPLES, TYPES, Atom, Constant, Pred, Rule, Variable
from deltalog.evaluation.backend import Backend

T = TypeVar("T")


def look_up(rule: Rule, table_of: Callable[[Pred], T | None], backend: Backend[T]) -> T | None:
    """The facts that a rule derives, if its body is one atom with constants and its head the variables of that in their
    order; None if it is not, or if that is no look-up."""
    lookups, atom = backend.capabilities.point_lookup, rule.body[0]
    if lookups is None or len(rule.body) > 1 or not isinstance(atom, Atom) or atom.pred in (TRIPLES, TYPES):
        return None
    constants = {i: term.value for i, term in enumerate(atom.terms) if isinstance(term, Constant)}
    free = tuple(term for term in atom.terms if isinstance(term, Variable))
    if not constants or len(rule.heads) > 1 or free != rule.heads[0].terms or len(set(free)) < len(free):
        return None
    table, key = table_of(atom.pred), [lookups.find(value) for value in constants.values()]
    if table is None or None in key:
        return backend.empty(len(free))
    return lookups.matching(table, tuple(constants), tuple(id for id in key if id is not None))
