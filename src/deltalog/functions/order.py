"""The order of values: in MIN and MAX of rules, and in MIN, MAX and ORDER BY of SPARQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from deltalog.core.terms import Kind, Literal, Value, datatype, kind, lexical, number
from deltalog.functions.numbers import rank
from deltalog.functions.sparql_operators import is_unbound, moment_of


def order(value: Value) -> tuple[tuple[int, Any], tuple[Any, ...]]:
    """The order of MIN and MAX: all kinds as `Kind` has them, numbers together and by value.

    The second part decides between different values at the same place (1 and 1.0); its least wins, also in MAX.
    """
    this = kind(value)
    n = number(value)
    if n is not None:
        sort = "" if isinstance(value, int | float) else datatype(value)
        return ((Kind.INTEGER, rank(n)[:2]), (this, sort, lexical(value)))
    if isinstance(value, datetime):
        zoned = value.utcoffset() is not None
        return ((this, (zoned, value)), (value.isoformat(),))
    if isinstance(value, Literal):
        return ((this, value.text), (value.datatype, value.language or ""))
    if isinstance(value, tuple):
        places, ties = zip(*map(order, value), strict=True) if value else ((), ())
        return ((this, places), ties)
    if isinstance(value, bool | date):
        return ((this, value), ())
    return ((this, lexical(value)), ())


SortKey = Callable[[Value], tuple[tuple[int, Any], tuple[Any, ...]]]


def sparql_order(value: Value) -> tuple[tuple[int, Any], tuple[Any, ...]]:
    """The order of MIN, MAX and ORDER BY in SPARQL: all dates together, and all times, as `<` has them."""
    at = moment_of(value)
    if at is None:
        return order(value)
    return ((Kind.DATE if at.is_date else Kind.DATETIME, at.timeline), (at.zone is not None, lexical(value)))


def sort_key(value: Value) -> tuple[bool, Any]:
    """The place of a value in ORDER BY: what has no value comes first, then blank nodes, IRIs and literals."""
    return (False, ()) if is_unbound(value) else (True, sparql_order(value))


def precedes(falling: Value, *values: Value) -> bool:
    """Whether a row comes before another in ORDER BY. The values are those of the one, then those of the other: first
    the sort keys, for each of which `falling` has a sign, then what else makes the rows different."""
    half, signs = len(values) // 2, str(falling)
    for place, (left, right) in enumerate(zip(values[:half], values[half:], strict=True)):
        ours, theirs = sort_key(left), sort_key(right)
        if ours != theirs:
            return (ours > theirs) if signs[place : place + 1] == "-" else (ours < theirs)
    return False
