"""The names of columns that come with data.

Programs declare names, and data come with some; `deltalog.program.column_names` says which of them count. What was
found first stays: other names in later data are a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltalog.core.naming import split
from deltalog.core.rules import Pred
from deltalog.core.user_warnings import warn
from deltalog.formats.documents import Files
from deltalog.program.column_names import NamedColumns


def columns_with(
    known: NamedColumns, facts: Mapping[str, Any] | Files | None, declared: frozenset[Pred]
) -> NamedColumns:
    """The names of columns after facts have been added; `declared` are those of predicates that programs name, which
    may rename the columns of data."""
    return _together(known, _names_of(facts), declared)


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
