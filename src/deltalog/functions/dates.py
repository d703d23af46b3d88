"""Dates and times, which are those of XML Schema (`deltalog.core.datetimes`).

`date_add(d, n)` is the date or the time n days later, of the same type; `date_diff(a, b)` is the number of days
from the date of b to that of a, each in its own time zone; `time_diff(a, b)` is the seconds from b to a, a decimal, and
fails if only one of them has a time zone. The parts of dates and times are SPARQL's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext

from deltalog.core.datetimes import Moment
from deltalog.core.terms import XSD, Literal, Value, canonical, lexical, literal
from deltalog.functions import sparql_operators as sparql
from deltalog.functions.function import ExpressionFails, Function, function, not_evaluated, of_sparql, with_sparql
from deltalog.functions.numbers import integer
from deltalog.functions.sparql_operators import EXACT, checked_decimal

MOST_DAYS = 10**12  # that are added to a date


def _moment(value: Value) -> Moment:
    at = sparql.moment_of(value)
    if at is None:
        raise ExpressionFails(f"{value!r} is no date or time")
    return at


def _date_add(value: Value, days: Value) -> Value:
    at = _moment(value)
    if abs(n := integer(days)) > MOST_DAYS:
        raise ExpressionFails(f"{n} days are too many")
    return literal(str(replace(at, day=at.day + n)), XSD + ("date" if at.is_date else "dateTime"))


def _days_between(end: Value, start: Value) -> int:
    return _moment(end).day - _moment(start).day


def _time_diff(end: Value, start: Value) -> Decimal:
    to, since = _moment(end), _moment(start)
    if (to.zone is None) != (since.zone is None):
        raise ExpressionFails("one has a time zone, the other none")
    seconds = to.timeline - since.timeline
    with localcontext(EXACT):
        return checked_decimal(Decimal(seconds.numerator) / Decimal(seconds.denominator))


def _part_of(what: Callable[[Moment], int], of_dates: bool) -> Callable[[Value], int]:
    def part(value: Value) -> int:
        at = sparql.moment_of(value)
        if at is None or (at.is_date and not of_dates):
            raise ExpressionFails(f"{value!r} has no such part")
        return what(at)

    return part


def _seconds(value: Value) -> Decimal:
    """The seconds of a time, with all digits that they have."""
    at = sparql.moment_of(value)
    if at is None or at.is_date:
        raise ExpressionFails(f"{value!r} has no such part")
    return canonical(Decimal(at.seconds))


def _zone_text(value: Value) -> str:
    """The time zone as it is written, or nothing."""
    if sparql.moment_of(value) is None:
        raise ExpressionFails(f"{value!r} is no date or time")
    found = re.search(r"(?:Z|[+-][0-9]{2}:[0-9]{2})$", lexical(value).strip())
    return "" if found is None else found[0]


def _zone_duration(value: Value) -> Literal:
    """The time zone as a duration of hours and minutes."""
    at = sparql.moment_of(value)
    if at is None or at.zone is None:
        raise ExpressionFails(f"{value!r} has no time zone")
    hours, minutes = divmod(abs(at.zone), 60)
    parts = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    return Literal(f"{'-' if at.zone < 0 else ''}PT{parts or '0S'}", XSD + "dayTimeDuration")


def _part(name: str, call: Callable[[Value], Value], gives: str, *types: str) -> tuple[Function, Function]:
    """A part of a date or a time. `types`: those of which RIF has it."""
    names = tuple(f"func:{name}-from-{type_}" for type_ in types)
    return with_sparql(function(name, f"literal -> {gives}", call, ordinary=True).named(rif=names))


FUNCTIONS = (
    *_part("year", _part_of(lambda at: at.date[0], of_dates=True), "integer", "date", "dateTime"),
    *_part("month", _part_of(lambda at: at.date[1], of_dates=True), "integer", "date", "dateTime"),
    *_part("day", _part_of(lambda at: at.date[2], of_dates=True), "integer", "date", "dateTime"),
    *_part("hours", _part_of(lambda at: at.hour, of_dates=False), "integer", "dateTime"),
    *_part("minutes", _part_of(lambda at: at.minute, of_dates=False), "integer", "dateTime"),
    *_part("seconds", _seconds, "number", "dateTime"),
    *_part("timezone", _zone_duration, "literal", "dateTime"),
    *_part("tz", _zone_text, "text"),
    of_sparql("now", 0, not_evaluated, instead="Add the time as a fact, and read it from there."),
    function("date_add", "literal, integer -> literal", _date_add).named(elsewhere="dateadd"),
    function("date_diff", "literal, literal -> integer", _days_between).named(elsewhere="datediff"),
    function("time_diff", "literal, literal -> number", _time_diff),
)
