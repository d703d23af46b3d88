"""Rows, Arrow, pandas, polars, Parquet."""

from __future__ import annotations

import decimal
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_values import blanks, iris, texts, values

from deltalog import KnowledgeBase
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, UsageError
from deltalog.core.rules import Pred
from deltalog.core.terms import IRI, XSD, BlankNode, key, literal
from deltalog.formats.frames import KIND, columns_of, to_arrow, to_pandas, to_polars
from deltalog.formats.read import read

homogeneous = st.one_of(
    *[
        st.lists(kind, max_size=6)
        for kind in (texts, iris, blanks, st.integers(-(2**63), 2**63 - 1), st.integers(), st.floats(), st.booleans())
    ],
    st.lists(st.dates(), max_size=6),
    st.lists(st.datetimes(), max_size=6),
    st.lists(st.datetimes(timezones=st.just(UTC)), max_size=6),
    st.lists(values, max_size=6),
)


def decoded(columns: Any, dictionary: Dictionary) -> list[list[Any]]:
    return [list(map(key, dictionary.decode(column))) for column in columns]


@settings(max_examples=200, deadline=None)
@given(homogeneous)
def test_arrow_there_and_back(column: list) -> None:
    here, there = Dictionary(), Dictionary()
    table = to_arrow([here.encode(column)], here)
    assert decoded(columns_of(table, there), there) == [list(map(key, column))]


@settings(max_examples=100, deadline=None)
@given(homogeneous.filter(bool))
def test_pandas_there_and_back(column: list) -> None:
    in_range = all(1700 < v.year < 2200 for v in column if isinstance(v, date))
    here, there = Dictionary(), Dictionary()
    if in_range:
        frame = to_pandas([here.encode(column)], here)
        assert decoded(columns_of(frame, there), there) == [list(map(key, column))]


def test_natural_types() -> None:
    dictionary = Dictionary()
    day, time = date(2024, 1, 1), datetime(2024, 1, 1)
    columns = [[1, 2], [1.5, 2.5], [True, False], ["a", "b"], [day] * 2, [time] * 2,
               [time.replace(tzinfo=UTC)] * 2, [IRI("a"), IRI("b")], [BlankNode("a")] * 2, [1, "a"]]  # fmt: skip
    table = to_arrow([dictionary.encode(column) for column in columns], dictionary)
    assert table.schema.types == [
        pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us"),
        pa.timestamp("us", "UTC"), pa.string(), pa.string(), pa.string(),
    ]  # fmt: skip
    kinds = [(field.metadata or {}).get(KIND) for field in table.schema]
    assert kinds == [None] * 7 + [b"iri", b"blank", b"cell"]
    assert table.column(9).to_pylist() == ["1", "a"]
    assert table.column_names[:2] == ["c0", "c1"]


def test_frames_of_others() -> None:
    expected = [(1, "a", 0.5), (2, "b", 1.5)]
    columns: dict[str, list[Any]] = {"x": [1, 2], "y": ["a", "b"], "z": [0.5, 1.5]}
    for data in (
        expected,
        iter(expected),
        [list(row) for row in expected],
        pa.table(columns),
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        pa.table(columns).to_batches()[0],
    ):
        dictionary = Dictionary()
        assert list(zip(*map(dictionary.decode, columns_of(data, dictionary)), strict=True)) == expected
    dictionary = Dictionary()
    numbers = columns_of(np.array([[1, 2], [3, 4]]), dictionary)
    assert [dictionary.decode(column) for column in numbers] == [[1, 3], [2, 4]]
    assert to_polars(numbers, dictionary).rows() == [(1, 2), (3, 4)]
    assert columns_of([], dictionary) == []


def test_columns_of_other_types() -> None:
    dictionary = Dictionary()
    table = pa.table(
        {
            "small": pa.array([1, 2], pa.int8()),
            "big": pa.array([2**64 - 1, 0], pa.uint64()),
            "single": pa.array([0.5, 1.5], pa.float32()),
            "words": pa.array(["a", "b"]).dictionary_encode(),
            "view": pa.array(["a", "b"], pa.string_view()),
            "decimal": pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.00")]),
            "time": pa.array([datetime(2024, 1, 1, 1), datetime(2024, 1, 2)], pa.timestamp("ns")),
            "days": pa.array([date(2024, 1, 1), date(2024, 1, 2)], pa.date64()),
        }
    )
    assert decoded(columns_of(table.slice(0, 1), dictionary), dictionary) == [
        [key(value)]
        for value in (
            1,
            2**64 - 1,
            0.5,
            "a",
            "a",
            literal("1.50", XSD + "decimal"),
            datetime(2024, 1, 1, 1),
            date(2024, 1, 1),
        )
    ]
    assert decoded(columns_of(table.slice(1), dictionary), dictionary)[4] == [key("b")]


def test_mixed_pandas_columns() -> None:
    dictionary = Dictionary()
    frame = pd.DataFrame({"x": pd.Series([1, "a", 2.5, IRI("i")], dtype=object)})
    assert decoded(columns_of(frame, dictionary), dictionary) == [list(map(key, [1, "a", 2.5, IRI("i")]))]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", "b"), ("a",)], r"row 2: expected 2 values, as in the first row, and not 1"),
        (["ab", "cd"], r"row 1: expected a tuple of values, and not 'ab'; .* \('ab',\)"),
        ([("a",), 5], r"row 2: expected a tuple"),
        ([("a", 1), ("b", None)], r"row 2: there is no value"),
        ([("a", 1), ("b", object())], r"row 2: object is not a value"),
        ("abc", "expected rows"),
        (5, "expected rows"),
        (pa.table({"x": [1, None]}), "column 'x': row 2: there is no value"),
        (pd.DataFrame({"x": ["a", None]}), "column 'x': row 2: there is no value"),
        (pa.table({"x": [[1]]}), "column 'x': values of the type list"),
        (pa.table({"x": pa.array([1], pa.duration("s"))}), "column 'x': .*timedelta is not a value"),
        (pa.table({"x": pa.array([1], pa.timestamp("ns"))}), "column 'x': .*microsecond"),
        (np.array([1, 2]), "two dimensions"),
        (np.array([[object()]]), "row 1: object is not a value"),
        (np.array([[5]], "m8[ns]"), "row 1: timedelta64 is not a value"),
        ([("a", np.timedelta64(5, "ns"))], "row 1: timedelta64 is not a value"),
        ([("a", np.datetime64(1, "ns"))], "row 1: times are kept to the microsecond"),
        ([("a", np.datetime64(10**15, "s"))], "row 1: .* years from 1 to 9999"),
        ([("a", pd.Timestamp(1))], "row 1: times are kept to the microsecond"),
        *[([("a",), (null,)], "row 2: there is no value") for null in (None, pd.NaT, pd.NA, np.datetime64("NaT"))],
        (pd.DataFrame({"x": [1, "a", pd.NaT]}), "column 'x': row 3: there is no value"),
        (pd.DataFrame({"x": [1, "a", pd.Timestamp(1)]}), "column 'x': row 3: times are kept to the microsecond"),
        (pd.DataFrame({"x": [1, "a", pd.Timedelta(1)]}), "column 'x': row 3: Timedelta is not a value"),
        (pd.Series([1]), "a Series is a single column"),
        (pl.Series([1]), "a Series is a single column"),
        (pa.chunked_array([[1]]), "a ChunkedArray is a single column"),
        (pl.DataFrame({"x": pl.Series([2**100], dtype=pl.Int128)}), "Arrow cannot read this DataFrame"),
        (pa.table({"x": pa.array([10**15], pa.timestamp("s"))}), "column 'x': dates have years from 1 to 9999"),
        (pa.table({"x": pa.array([2**30], pa.date32())}), "column 'x': dates have years from 1 to 9999"),
        (pa.table({"x": pa.array([1], pa.timestamp("s", "No/Such"))}), "column 'x': .*No/Such. cannot be read"),
        (
            pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))}),
            "column 'x': row 2: there is no value",
        ),
    ],
)
def test_what_is_no_table_of_facts(rows: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        columns_of(rows, Dictionary())


def test_times_of_numpy() -> None:
    dictionary = Dictionary()
    times = [np.datetime64("2020-01-01T00:00:00.000001", "ns"), np.datetime64("2020-01-02"), pd.Timestamp("2020-01-03")]
    expected = [datetime(2020, 1, 1, 0, 0, 0, 1), date(2020, 1, 2), datetime(2020, 1, 3)]
    assert decoded(columns_of([(time,) for time in times], dictionary), dictionary) == [list(map(key, expected))]
    array = np.array([["2020-01-01T00:00:00.000001"]], "M8[ns]")
    assert decoded(columns_of(array, dictionary), dictionary) == [[key(expected[0])]]
    mixed = pd.DataFrame({"x": pd.Series([np.int64(1), "a", times[0]], dtype=object)})
    assert decoded(columns_of(mixed, dictionary), dictionary) == [list(map(key, [1, "a", expected[0]]))]


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (pd.DataFrame(), []),
        (pd.DataFrame(index=[1, 2]), [()]),
        (pd.DataFrame({"x": []}), []),
        (pl.DataFrame(), []),
        (pa.table({}), []),
        (np.empty((0, 2)), []),
        (np.empty((2, 0)), [()]),
        ([()], [()]),
        (iter([]), []),
        (np.array([[1, 2]]), [(1, 2)]),
    ],
)
def test_tables_without_rows_or_columns(data: Any, facts: list) -> None:
    kb = KnowledgeBase()
    kb.add("p", data)
    assert [row for name in kb.predicates for row in kb.facts(name)] == facts


def test_spark_frames_come_through_arrow() -> None:
    class Frame:
        schema = SimpleNamespace(fields=[SimpleNamespace(metadata=m) for m in ({}, {"deltalog:kind": "iri"})])

        def toArrow(self) -> pa.Table:
            return pa.table({"x": [1, 2], "y": ["a", "b"]})

    dictionary = Dictionary()
    columns = [dictionary.decode(column) for column in columns_of(Frame(), dictionary)]
    assert columns == [[1, 2], [IRI("a"), IRI("b")]]


def test_parquet_of_others_and_bad_ones(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x", "y"], "b": [1, 2]}), tmp_path / "p.parquet")
    dictionary = Dictionary()
    facts = read(tmp_path / "p.parquet", dictionary)
    assert [dictionary.decode(column) for column in facts[Pred("p", 2)]] == [["x", "y"], [1, 2]]
    whole = (tmp_path / "p.parquet").read_bytes()
    rng = np.random.default_rng(5)
    for i in range(60):
        bad = bytearray(whole)
        for at in rng.integers(0, len(bad), 1 + i % 4):
            bad[at] = rng.integers(0, 256)
        (tmp_path / "q.parquet").write_bytes(bad[: len(bad) - i % 7])
        try:
            read(tmp_path / "q.parquet", Dictionary())
        except DataError as problem:
            assert "q.parquet: " in str(problem)
    with pytest.raises(DataError, match=r"q\.parquet: cannot be read as Parquet"):
        (tmp_path / "q.parquet").write_bytes(b"")
        read(tmp_path / "q.parquet", Dictionary())
    with pytest.raises(DataError, match=r"column 'x': row 1: there is no value"):
        pq.write_table(pa.table({"x": pa.array([None], pa.int64())}), tmp_path / "r.parquet")
        read(tmp_path / "r.parquet", Dictionary())
