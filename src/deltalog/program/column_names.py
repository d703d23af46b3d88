"""Names of the columns of predicates.

1. A declaration in a program: `@columns`, `columns` of `@input`, the attributes of declarations in other languages.
2. The data: the header of a file, the columns of a Parquet file or of a data frame. The first source that has names
   gives them.
3. The variables of the head of the first rule that derives the predicate, if they are distinct variables.
4. None; then `kb.facts` calls them `_0`, `_1`, ..., and files and pipelines `c0`, `c1`, ...

Names differ by more than upper and lower case, as Spark needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.naming import split
from deltalog.core.rules import Atom, Pred, Rule, Variable

NamedColumns = Mapping[Pred, tuple[str, ...]]
_MADE_UP = re.compile(r"_[0-9]+")  # variables that stand for expressions in heads


class ColumnNames:
    """The names of the columns of each predicate, from declarations and data, and from the heads of rules."""

    def __init__(self, rules: Iterable[Rule], given: Mapping[Pred, Sequence[str]]) -> None:
        self.rules, self.given = rules, given

    @classmethod
    def of_sources(cls, rules: Iterable[Rule], sources: Mapping[str, Sequence[str]]) -> ColumnNames:
        """The same for the columns of sources by the names of their predicates."""
        return cls(rules, {Pred(split(name)[0], len(columns)): tuple(columns) for name, columns in sources.items()})

    @cached_property
    def _heads(self) -> dict[Pred, Atom]:
        heads: dict[Pred, Atom] = {}
        for head in (head for rule in self.rules if not rule.is_fact for head in rule.heads):
            heads.setdefault(head.pred, head)
        return heads

    def known(self, pred: Pred) -> tuple[str, ...]:
        """The names of the columns of a predicate; none if they have none."""
        if pred in self.given:
            return tuple(self.given[pred])
        return _variables(self._heads[pred]) if pred in self._heads else ()

    def of(self, pred: Pred) -> tuple[str, ...]:
        """The names of the columns of a predicate in files and in DataFrames of pipelines."""
        return self.known(pred) or tuple(f"c{i}" for i in range(pred.arity))


def _variables(head: Atom) -> tuple[str, ...]:
    """The variables of a head if they are distinct."""
    variables = (term.name for term in head.terms if isinstance(term, Variable) and not term.anonymous)
    names = tuple(name for name in variables if not _MADE_UP.fullmatch(name))
    return names if len({name.lower() for name in names}) == len(head.terms) else ()


def names_as_json(names: NamedColumns) -> list[list[Any]]:
    """Names as a store has them."""
    return [[pred.name, *columns] for pred, columns in sorted(names.items())]


def names_from_json(stored: Sequence[Sequence[str]]) -> NamedColumns:
    """Names from a store."""
    return {Pred(name, len(columns)): tuple(columns) for name, *columns in stored}
