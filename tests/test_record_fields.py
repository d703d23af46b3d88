"""Records over columns are what the reference says, value by value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltalog import KnowledgeBase
from deltalog.core.dictionary import Dictionary
from deltalog.core.limits import Limits
from deltalog.core.rules import Call, Constant, Expression, Variable
from deltalog.core.terms import IRI, Literal, Value, key
from deltalog.core.tuning import Tuning
from deltalog.engines.local.column_expressions import ColumnExpressions
from deltalog.engines.local.index_join import Rows
from deltalog.engines.local.record_fields import RecordFields
from deltalog.functions.function import SOUFFLE_PREFIX as PREFIX
from deltalog.functions.scalar import ExpressionFails, evaluate, holds
from deltalog.functions.souffle_functors import NIL, RECORD, record

texts = st.text(st.sampled_from(list('ab,[]{}"\\\n\0é😀\udc80')), max_size=8)
plain = st.one_of(st.integers(-5, 5), st.integers(-(2**31), 2**32), st.floats(), texts, st.just(NIL))
records = st.recursive(plain, lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda each: record(*each)))
odd_texts = ["", "[", "]", "[1", "[1]]", "[1][2]", "[,]", "[1,]", "[ 1]", "[1, 2]", "[true]", '["]', '["\\"]', "x[1]"]
odd = st.one_of(
    st.sampled_from(odd_texts).map(lambda text: Literal(text, RECORD)),
    st.sampled_from([IRI("a"), True, 2**70, "[1]", Literal("[1]", "other")]),
)
X, Y = Variable("x"), Variable("y")


def column(dictionary: Dictionary, values: list[Value]) -> np.ndarray:
    return dictionary.encode(values)


@given(st.lists(st.tuples(records, records), min_size=1, max_size=20))
def test_built_and_taken_apart(pairs: list[tuple[Value, Value]]) -> None:
    dictionary = Dictionary()
    left, right = (column(dictionary, [pair[i] for pair in pairs]) for i in (0, 1))
    built = RecordFields(dictionary)
    found = built.build([left, right])
    assert found is not None
    assert list(map(key, dictionary.decode(found))) == [key(record(*pair)) for pair in pairs]
    for fields in (built, RecordFields(dictionary)):  # known ones, and texts that are read
        for position, ids in enumerate((left, right)):
            assert np.array_equal(fields.at(found, position), ids)
        missing = fields.at(found, 2)
        assert missing is not None and (missing == dictionary.find(NIL)).all()


def outcome(expression: Expression, values: dict[Variable, Value]) -> object:
    try:
        return key(evaluate(expression, values))
    except ExpressionFails:
        return None


@given(st.lists(st.tuples(st.one_of(records, odd), st.one_of(records, odd)), min_size=1, max_size=8))
@pytest.mark.parametrize(
    "expression",
    [
        Call(PREFIX + "record", (X, Y)),
        Call(PREFIX + "record", (X, Call(PREFIX + "record", (Constant("a"), Y)))),
        Call(PREFIX + "field", (X, Constant(0))),
        Call(PREFIX + "field", (Call(PREFIX + "record", (X, Y)), Constant(1))),
        Call(PREFIX + "isrecord", (X,)),
        Call(PREFIX + "is", (X, Constant("a"))),
    ],
    ids=str,
)
def test_any_values(expression: Call, pairs: list[tuple[Value, Value]]) -> None:
    dictionary = Dictionary()
    vectors = ColumnExpressions(dictionary, Tuning(), Limits())
    rows = Rows({v: column(dictionary, [pair[i] for pair in pairs]) for i, v in enumerate((X, Y))}, len(pairs))
    read = zip(*map(dictionary.decode, rows.columns.values()), strict=True)
    shown = [dict(zip((X, Y), pair, strict=True)) for pair in read]
    ids, ok = vectors.values(expression, rows)
    good = [True] * len(pairs) if ok is None else ok.tolist()
    found = [key(value) if has else None for value, has in zip(dictionary.decode(ids), good, strict=True)]
    assert found == [outcome(expression, values) for values in shown]


@pytest.mark.parametrize("test", ["is", "isrecord"])
def test_conditions(test: str) -> None:
    values = [record("a", 1), record("b"), record(1, "a"), NIL, record(record("a")), record('a"'), record("a", NIL)]
    dictionary = Dictionary()
    vectors = ColumnExpressions(dictionary, Tuning(), Limits())
    condition = Call(PREFIX + test, (X, Constant("a")) if test == "is" else (X,))
    mask = vectors.holds(condition, Rows({X: column(dictionary, values)}, len(values)))
    assert mask.tolist() == [holds(condition, {X: value}) for value in values]


def test_a_long_list_is_taken_apart() -> None:
    lists: list[Value] = [NIL]
    for n in range(3000):
        lists.append(record(n, lists[-1]))
    dictionary = Dictionary()
    ids = column(dictionary, lists)
    assert np.array_equal(RecordFields(dictionary).at(ids[1:], 1), ids[:-1])


def test_records_of_many_fields() -> None:
    program = """
    .type R = [a : number, b : symbol, c : float, d : number]
    .decl p(r : R)
    .decl q(a : number, b : symbol, c : float, d : number)
    p([x, "b", 1.5, y]) :- x = range(0, 20), y = range(0, 30).
    q(a, b, c, d) :- p([a, b, c, d]), d < 2.
    """
    kb = KnowledgeBase(program, language="souffle")
    assert sorted(kb.facts("q")) == [(x, "b", 1.5, y) for x in range(20) for y in range(2)]
