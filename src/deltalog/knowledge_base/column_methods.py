"""The names of columns that a knowledge base knows: a base class of `KnowledgeBase`.

Programs declare names, and data come with some; `deltalog.program.column_names` says which of them count. What was
found first stays: other names in later data are a warning. Names change with the facts that they come with, or not at
all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deltalog.core.naming import full_name, split
from deltalog.core.rules import Pred
from deltalog.core.user_warnings import warn
from deltalog.formats.documents import Files
from deltalog.program.column_names import ColumnNames

if TYPE_CHECKING:
    from deltalog.core.table_options import TableSettings
    from deltalog.evaluation.backend import Backend
    from deltalog.program.rule_set import RuleSet

NamedColumns = Mapping[Pred, tuple[str, ...]]


class ColumnMethods:
    """A knowledge base as far as its columns have names."""

    _backend: Backend[Any]
    _rule_set: RuleSet
    prefixes: Mapping[str, str]
    _table_settings: TableSettings  # of the file beside its program
    _column_names: NamedColumns  # of declarations and data
    _declared_columns: frozenset[Pred]  # of programs, which may rename those of data
    _known_columns: ColumnNames | None = None

    @property
    def _columns(self) -> ColumnNames:
        """The names of the columns of all predicates."""
        known = self._known_columns
        if known is None or known.rules is not self._rule_set.rules or known.given is not self._column_names:
            known = self._known_columns = ColumnNames(self._rule_set.rules, self._column_names)
        return known

    def _as_read(self, given: Any) -> Any:
        """Files with the settings of tables and the limits that this knowledge base has; anything else as it is."""
        if not isinstance(given, Files):
            return given
        tables = given.reading.tables
        if tables.predicate is not None:
            tables = replace(tables, predicate=full_name(tables.predicate, self.prefixes))
        reading = replace(given.reading, max_depth=self._backend.tuning.rdf_max_depth, tables=tables)
        return replace(given, reading=reading).over(self._table_settings)

    @contextmanager
    def _naming(self, facts: Mapping[str, Any] | Files | None) -> Iterator[None]:
        """A context in which facts are added, whose columns may have names."""
        before = self._column_names
        self._column_names = _together(before, _names_of(facts), self._declared_columns)
        try:
            yield
        except BaseException:
            self._column_names = before
            raise


def _names_of(facts: Mapping[str, Any] | Files | None) -> NamedColumns:
    if isinstance(facts, Files):
        from deltalog.formats.table_survey import survey

        return survey(facts)
    found = {}
    for predicate, data in (facts or {}).items():
        names = _names_of_frame(data)
        if names:
            found[Pred(split(predicate)[0], len(names))] = names
    return found


def _names_of_frame(data: Any) -> tuple[str, ...]:
    """The names of the columns of an Arrow, pandas, polars or Spark table; none for rows and for names by default."""
    if isinstance(data, list | tuple):
        return ()
    given: Any = getattr(data, "column_names", None) or getattr(data, "columns", None)
    if given is None:
        given = getattr(getattr(data, "schema", None), "names", ())
    if callable(given) or isinstance(given, str):
        return ()
    names = tuple(name for name in given if isinstance(name, str))
    from deltalog.formats.table_survey import are_default_names, wrong_names

    if not names or len(names) < len(given) or are_default_names(names):
        return ()
    if problem := wrong_names(names):
        warn(f"{problem}, so these columns keep their default names")
        return ()
    return names


def _together(known: NamedColumns, new: NamedColumns, declared: frozenset[Pred]) -> NamedColumns:
    """The names that are known, and new ones; those that are known stay."""
    if not new.keys() - known.keys() and all(known[pred] == names for pred, names in new.items()):
        return known
    for pred, names in new.items():
        if known.get(pred, names) != names and pred not in declared:
            given = ", ".join(names)
            warn(
                f"{pred.name}: the columns ({given}) keep the names ({', '.join(known[pred])}) that they have already",
            )
    return {**new, **known}


def as_json(names: NamedColumns) -> list[list[Any]]:
    """Names as a store has them."""
    return [[pred.name, *columns] for pred, columns in sorted(names.items())]


def from_json(stored: Sequence[Sequence[str]]) -> NamedColumns:
    """Names from a store."""
    return {Pred(name, len(columns)): tuple(columns) for name, *columns in stored}
