"""The dictionary: ids for values, and values for ids."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_values import odd_blanks, values

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.terms import IRI, XSD, BlankNode, Kind, Literal, key, kind, literal


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(values, odd_blanks)), st.lists(values))
def test_values_come_back_and_equal_values_have_one_id(first: list, second: list) -> None:
    dictionary = Dictionary()
    for batch in (first, second, first + second):
        ids = dictionary.encode(batch)
        assert list(map(key, dictionary.decode(ids))) == list(map(key, batch))
        assert [dictionary.find(value) for value in batch] == ids.tolist()
        assert [dictionary.intern(value) for value in batch] == ids.tolist()
        assert dictionary.kinds[ids].tolist() == [kind(value) for value in batch]
    assert len(dictionary) == 1 + len({key(value) for value in first + second})


def test_what_looks_alike_is_not_one() -> None:
    alike = ["1", 1, 1.0, True, IRI("1"), BlankNode("1"), literal("1", XSD + "int"), literal("1", language="en")]
    ids = Dictionary().encode(alike)
    assert len(set(ids.tolist())) == len(alike)
    assert 0 not in ids


def test_numbers_of_ids() -> None:
    dictionary = Dictionary()
    ids = dictionary.encode([7, 2.5, "x", 2**70, literal("1.5", XSD + "decimal"), -(10**400), date(2024, 1, 1)])
    assert dictionary.integers[ids].tolist() == [7, 0, 0, 0, 0, 0, 0]
    doubles = dictionary.doubles[ids].tolist()
    assert doubles[:2] == [7.0, 2.5] and doubles[3:6] == [2.0**70, 1.5, -math.inf]
    assert math.isnan(doubles[2]) and math.isnan(doubles[6])


def test_one_nan_and_two_zeros() -> None:
    dictionary = Dictionary()
    odd_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    ids = dictionary.intern_doubles(np.concatenate([[math.nan, 0.0, -0.0], odd_nan]))
    assert ids[0] == ids[3] and ids[1] != ids[2]
    assert dictionary.encode([math.nan, -0.0]).tolist() == [ids[0], ids[2]]
    assert list(map(repr, dictionary.decode(ids[1:3]))) == ["0.0", "-0.0"]


def test_literals_with_a_python_type_are_that() -> None:
    dictionary = Dictionary()
    assert dictionary.intern(Literal("5", XSD + "integer")) == dictionary.intern(5)
    assert dictionary.intern(Literal("a", XSD + "string")) == dictionary.find("a")


def test_grows_and_keeps() -> None:
    dictionary = Dictionary()
    words = [f"word {i} ünï" for i in range(300_000)]
    ids = dictionary.encode(words)
    assert len(np.unique(ids)) == len(words)
    assert dictionary.decode(ids[::-1])[::-1] == words
    assert (dictionary.encode(words) == ids).all()
    numbers = np.arange(-200_000, 200_000)
    assert dictionary.decode(dictionary.intern_integers(numbers)) == numbers.tolist()
    assert dictionary.find("word 7 ünï") == ids[7]
    assert dictionary.nbytes > 300_000 * 12


@settings(max_examples=50, deadline=None)
@given(st.lists(values), st.lists(values))
def test_merge(mine: list, theirs: list) -> None:
    ours, other = Dictionary(), Dictionary()
    ours.encode(mine)
    there = other.encode(theirs)
    ids = ours.merge(other)
    assert ids[there].tolist() == [ours.find(value) for value in theirs]
    assert list(map(key, ours.decode(ids[there]))) == list(map(key, theirs))
    assert np.array_equal(ours.doubles[ids[there]], other.doubles[there], equal_nan=True)


def test_numpy_scalars_and_empty() -> None:
    dictionary = Dictionary()
    assert dictionary.encode([np.int64(3), np.float64(2.5), np.str_("a"), np.bool_(True)]).tolist() == [
        dictionary.find(value) for value in (3, 2.5, "a", True)
    ]
    assert dictionary.encode([]).tolist() == []
    assert dictionary.decode([]) == []


def test_what_is_no_value() -> None:
    dictionary = Dictionary()
    for bad in (None, object(), [1], b"x"):
        with pytest.raises(TypeError, match=r"is not a value|there is no value"):
            dictionary.encode(["a", bad])
    with pytest.raises(DataError, match="NUL"):
        dictionary.encode([Literal("a", "x\0y")])
    assert Kind.STRING in dictionary.kinds or len(dictionary) == 1
