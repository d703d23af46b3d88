"""Dates and times of XML Schema: what is one, how they compare, and their canonical text."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltalog.core.datetimes import Moment, moment

INVALID_TIMES = (
    *("", "2006-08-23", "2006-08-23T9:00:00", "2006-08-23T09:00", "2006-13-23T09:00:00", "2006-02-29T00:00:00"),
    *("2006-08-23T24:00:01", "2006-08-23T25:00:00", "2006-08-23T09:60:00", "2006-08-23T09:00:60"),
    *("2006-08-23T09:00:00+14:01", "2006-08-23T09:00:00+09:60", "02006-08-23T09:00:00", "206-08-23T09:00:00"),
    *("2006-08-23T09:00:00.", "2006-08-23t09:00:00", "2006-08-23T09:00:00z", "+2006-08-23T09:00:00"),
)
CANONICAL = {
    "2006-08-22T24:00:00Z": "2006-08-23T00:00:00Z",
    "2006-12-31T24:00:00.000": "2007-01-01T00:00:00",
    "2006-08-23T09:00:00.500+00:00": "2006-08-23T09:00:00.5Z",
    "2006-08-23T09:00:00.123456789012-00:00": "2006-08-23T09:00:00.123456789012Z",
    "2004-02-29T23:59:59-05:30": "2004-02-29T23:59:59-05:30",
    "-0001-03-01T00:00:00": "-0001-03-01T00:00:00",
    "0000-02-29T00:00:00Z": "0000-02-29T00:00:00Z",
    "12006-08-23T09:00:00+14:00": "12006-08-23T09:00:00+14:00",
}
# From the earliest to the latest; no two are the same.
ORDERED = (
    *("-0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "2006-08-22T20:00:00", "2006-08-23T10:00:01Z"),
    *("2006-08-23T10:00:00.5-00:01", "2006-08-24T00:05:00", "2006-08-24T15:00:00Z", "12006-01-01T00:00:00"),
)


def time(text: str) -> Moment:
    found = moment(text, is_date=False)
    assert found is not None, text
    return found


def day(text: str) -> Moment:
    found = moment(text, is_date=True)
    assert found is not None, text
    return found


@pytest.mark.parametrize("text", INVALID_TIMES)
def test_what_is_no_time(text: str) -> None:
    assert moment(text, is_date=False) is None


@pytest.mark.parametrize("text", CANONICAL)
def test_the_canonical_text(text: str) -> None:
    assert str(time(text)) == CANONICAL[text]
    assert time(text).compare(time(CANONICAL[text])) == 0


def test_dates() -> None:
    assert moment("2006-08-23T00:00:00", is_date=True) is None
    assert str(day(" 2006-08-23-00:00 ")) == "2006-08-23Z"
    assert day("2006-08-23+01:00").compare(day("2006-08-23Z")) == -1
    assert day("2006-08-23").compare(day("2006-08-23")) == 0
    assert day("2006-08-23").compare(day("2006-08-23Z")) is None
    assert day("2006-08-23").compare(day("2006-08-24Z")) == -1
    assert str(day("2006-08-23+09:00").as_time()) == "2006-08-23T00:00:00+09:00"
    assert str(time("2006-08-22T24:00:00Z").as_date()) == "2006-08-23Z"


def test_order() -> None:
    for i, first in enumerate(ORDERED):
        for j, second in enumerate(ORDERED):
            assert time(first).compare(time(second)) == (i > j) - (i < j), (first, second)


def test_fourteen_hours_are_not_determined() -> None:
    local = time("2006-08-23T12:00:00")
    for near in ("2006-08-23T12:00:00Z", "2006-08-24T02:00:00Z", "2006-08-22T22:00:00Z"):
        assert local.compare(time(near)) is None and time(near).compare(local) is None
    assert local.compare(time("2006-08-24T02:00:00.001Z")) == -1
    assert local.compare(time("2006-08-22T21:59:59.999Z")) == 1


zones = st.none() | st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.builds(
    lambda at, zone: at.replace(tzinfo=zone),
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)),
    zones,
)


@given(times, times)
def test_as_python_has_it(first: datetime, second: datetime) -> None:
    a, b = time(first.isoformat()), time(second.isoformat())
    assert (*a.date, a.hour, a.minute) == (first.year, first.month, first.day, first.hour, first.minute)
    assert datetime.fromisoformat(str(a)) == first
    if (first.tzinfo is None) == (second.tzinfo is None):
        assert a.compare(b) == (first > second) - (first < second)
