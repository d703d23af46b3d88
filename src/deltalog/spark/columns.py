"""Names of the columns of predicates, in DataFrames and sinks.

A predicate with a source has the names of the source's columns. A predicate that only rules derive has the variables of
the head of its first rule, if they are distinct; otherwise its columns are `c0`, `c1`, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deltalog.model.naming import split
from deltalog.syntax.ast import Atom, Pred, Rule, Variable


class ColumnNames:
    """The names of the columns of each predicate, from the columns of sources and the heads of rules."""

    def __init__(self, rules: Iterable[Rule], sources: Mapping[str, Sequence[str]]) -> None:
        self._sources = {Pred(split(name)[0], len(columns)): tuple(columns) for name, columns in sources.items()}
        self._heads: dict[Pred, Atom] = {}
        for head in (head for rule in rules if not rule.is_fact for head in rule.heads):
            self._heads.setdefault(head.pred, head)

    def of(self, pred: Pred) -> tuple[str, ...]:
        """The names of the columns of a predicate."""
        if pred in self._sources:
            return self._sources[pred]
        names = _variables(self._heads[pred]) if pred in self._heads else ()
        return names if len(names) == pred.arity else tuple(f"c{i}" for i in range(pred.arity))


def _variables(head: Atom) -> tuple[str, ...]:
    """The variables of a head if they are distinct; Spark does not tell upper from lower case."""
    names = tuple(term.name for term in head.terms if isinstance(term, Variable) and not term.anonymous)
    return names if len({name.lower() for name in names}) == len(head.terms) else ()
