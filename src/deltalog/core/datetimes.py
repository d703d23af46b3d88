"""Dates and times of XML Schema, exactly: any year, any fraction of a second, with a time zone or without.

Python's own dates have no time zones, and its times end in the year 9999 and at microseconds; so a date or a time is
parsed from its text here. Two moments of which only one has a time zone compare where they are more than 14 hours apart
(the largest zone); otherwise either may be the first, and the order is not determined. `24:00:00` is the midnight at
the end of a day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

MAX_ZONE_MINUTES = 14 * 60  # minutes
DAY = 24 * 60 * 60  # seconds
CACHED_MOMENTS = 4096

# A year has at most 4,000 digits, as integers have: Python reads no longer ones.
_MOMENT = re.compile(
    r"(-?(?:[1-9][0-9]{3,3999}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})"
    r"(?:T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date (at its start) or a time: the day counted from 1970-01-01, the second of the day, the zone in minutes."""

    day: int
    second: Fraction
    zone: int | None
    is_date: bool

    @property
    def timeline(self) -> Fraction:
        """Seconds since 1970 in UTC; a moment without a zone is taken to be in UTC."""
        return self.day * DAY + self.second - 60 * (self.zone or 0)

    def compare(self, other: Moment) -> int | None:
        """Negative, zero or positive; None if the order is not determined."""
        difference = self.timeline - other.timeline
        if (self.zone is None) != (other.zone is None) and abs(difference) <= 60 * MAX_ZONE_MINUTES:
            return None
        return (difference > 0) - (difference < 0)

    @property
    def date(self) -> tuple[int, int, int]:
        return _date(self.day)

    @property
    def hour(self) -> int:
        return int(self.second // 3600)

    @property
    def minute(self) -> int:
        return int(self.second // 60 % 60)

    @property
    def seconds(self) -> str:
        """The seconds of the minute, in decimal digits."""
        whole, part = divmod(self.second % 60, 1)
        return f"{int(whole)}{_decimals(part)}"

    def as_date(self) -> Moment:
        return Moment(self.day, Fraction(0), self.zone, is_date=True)

    def as_time(self) -> Moment:
        return Moment(self.day, self.second, self.zone, is_date=False)

    def __str__(self) -> str:
        """The canonical text, in the zone as it was written."""
        year, month, day = self.date
        sign = "-" if year < 0 else ""
        date = f"{sign}{abs(year):04}-{month:02}-{day:02}"
        return f"{date}{'' if self.is_date else self._time()}{self._zone()}"

    def _time(self) -> str:
        whole, part = divmod(self.second % 60, 1)
        digits = _decimals(part)
        return f"T{self.hour:02}:{self.minute:02}:{int(whole):02}{digits}"

    def _zone(self) -> str:
        if not self.zone:
            return "" if self.zone is None else "Z"
        hours, minutes = divmod(abs(self.zone), 60)
        return f"{'-' if self.zone < 0 else '+'}{hours:02}:{minutes:02}"


@lru_cache(maxsize=CACHED_MOMENTS)
def moment(text: str, is_date: bool) -> Moment | None:
    """The moment of an xsd:date or an xsd:dateTime; None if the text is not one."""
    match = _MOMENT.fullmatch(text.strip(" \t\r\n"))
    if match is None or (match[4] is None) is not is_date:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    second, zone = _second(match), _minutes(match[8])
    if not 1 <= month <= 12 or not 1 <= day <= _days_of(year, month) or second is None or zone == _NO_ZONE:
        return None
    days, second = divmod(second, DAY)
    return Moment(_day(year, month, day) + int(days), Fraction(second), zone, is_date)


_NO_ZONE = 10 * MAX_ZONE_MINUTES


def _second(match: re.Match[str]) -> Fraction | None:
    """The second of the day, up to the end of it."""
    hour, minute, second = (int(match[i] or 0) for i in (4, 5, 6))
    found = hour * 3600 + minute * 60 + second + Fraction("0" + (match[7] or ".0"))
    valid = minute < 60 and second < 60 and (hour < 24 or found == DAY)
    return found if valid else None


def _minutes(zone: str | None) -> int | None:
    if zone is None:
        return None
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:])
    found = hours * 60 + minutes
    if minutes > 59 or found > MAX_ZONE_MINUTES:
        return _NO_ZONE
    return -found if zone[0] == "-" else found


def _days_of(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _DAYS[month - 1] + (month == 2 and leap)


def _day(year: int, month: int, day: int) -> int:
    """The days since 1970-01-01 in the proleptic Gregorian calendar, whose years begin in March here."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def _date(day: int) -> tuple[int, int, int]:
    """The reverse of `_day`."""
    era, of_era = divmod(day + 719468, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    date = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, date


def _decimals(part: Fraction) -> str:
    """A part of a second as decimals, as many as it takes; the text it came from had finitely many."""
    digits = ""
    while part:
        digit, part = divmod(part * 10, 1)
        digits += str(digit)
    return f".{digits}" if digits else ""
