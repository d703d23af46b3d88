"""Aggregates.

COUNT counts. SUM of integers is exact, and fails beyond 64 bits; with a decimal among them it is an exact decimal; with
a float it is the float nearest to the exact sum, whatever the order. AVG is the sum divided by the count: a decimal of
28 significant digits if there is a decimal and no float, else a float. MIN and MAX work on any values, in `order`. MED
is the middle number, or the mean of the two in the middle: exactly, if one of them is a decimal and none a float, else
as a float. SUM, AVG and MED fail on what is not a number; AVG, MED, MIN and MAX fail on nothing at all. `COUNT(e)`
means `BIND(e AS ?v)` at the end of the aggregate's body and `COUNT(?v)`: a binding for which an argument fails takes no
part in any call.

Those of SPARQL are over all values of a group, with UNBOUND for those whose expression failed, and are UNBOUND where
there is no result.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import Any

from deltalog.core.limits import CheckedRows, checked, checked_sort
from deltalog.core.terms import Literal, Value
from deltalog.functions import sparql_operators as sparql
from deltalog.functions.function import (
    NEMO,
    RDFOX,
    SOUFFLE,
    SPARQL,
    SPARQL_PREFIX,
    AggregateFunction,
    ExpressionFails,
    Sort,
)
from deltalog.functions.numbers import PlainNumber, checked_number, number_of, rank
from deltalog.functions.order import SortKey, order, sparql_order
from deltalog.functions.sparql_operators import EXACT, divided

_add = sparql.arithmetic(operator.add)
_divide = sparql.arithmetic(sparql.divide, sparql.Rank.DECIMAL)


def _minimum(values: Sequence[Value], by: SortKey = order) -> Value:
    return min(values, key=by)


def _maximum(values: Sequence[Value], by: SortKey = order) -> Value:
    top = max(by(value)[0] for value in values)
    return min((value for value in values if by(value)[0] == top), key=by)


def _float_sum(numbers: Sequence[PlainNumber]) -> float:
    """The float nearest to the exact sum: the same in any order."""
    floats = [float(n) for n in checked(numbers)]
    special = [n for n in checked(floats) if not math.isfinite(n)]
    if special:
        return sum(special)
    try:
        return math.fsum(checked(floats))
    except OverflowError:  # a partial sum is too large; the whole may not be
        return float(sum(map(Fraction, checked(floats))))


def _total(numbers: Sequence[Any]) -> PlainNumber:
    """The sum, exact where no number is a float."""
    if any(isinstance(n, float) for n in checked(numbers)):
        return _float_sum(numbers)
    with localcontext(EXACT):
        total: PlainNumber = sum(checked(numbers))
    return total


def _sum(values: Sequence[Value]) -> PlainNumber:
    numbers = [number_of(value) for value in values]
    return checked_number(_total(numbers), numbers)


def _average(values: Sequence[Value]) -> PlainNumber:
    numbers = [number_of(value) for value in values]
    sum_ = _total(numbers)
    if isinstance(sum_, Decimal):
        return checked_number(divided(sum_, Decimal(len(numbers))), numbers)
    return checked_number(_float_sum(numbers) / len(numbers), numbers)


def _median(values: Sequence[Value]) -> PlainNumber:
    numbers = checked_sort((number_of(value) for value in values), rank)
    below, above = numbers[(len(numbers) - 1) // 2], numbers[len(numbers) // 2]
    if len(numbers) % 2:
        return below + 0.0 if isinstance(below, float) else below
    if {type(below), type(above)} in ({Decimal}, {Decimal, int}):
        with localcontext(EXACT):
            return checked_number((Decimal(below) + Decimal(above)) / 2, (below, above))
    return checked_number((float(below) + float(above)) / 2, (below, above))


def _listed(values: Sequence[Value]) -> Value:
    """The texts of values, in order, so that the result is the same in every engine."""
    sparql.check_texts(values)
    return _texts(checked_sort(values, sparql_order))


def _any(values: Sequence[Value]) -> Value:
    bound = [value for value in values if not sparql.is_unbound(value)]
    return _minimum(CheckedRows(bound), sparql_order) if bound else sparql.UNBOUND


def _sum_in_sparql(values: Sequence[Value]) -> Value:
    total: Value = 0
    for value in values:
        total = _add(total, value)
    return total


def _average_in_sparql(values: Sequence[Value]) -> Value:
    return _divide(_sum_in_sparql(values), len(values)) if values else 0


def _or_unbound(compute: Callable[[Sequence[Value]], Value]) -> Callable[[Sequence[Value]], Value]:
    """An aggregate that has no result where a value is missing, or where it fails."""

    def function(values: Sequence[Value]) -> Value:
        try:
            return sparql.UNBOUND if any(map(sparql.is_unbound, values)) else compute(values)
        except (ExpressionFails, ValueError):
            return sparql.UNBOUND

    return function


def _count(values: Sequence[Value]) -> int:
    return sum(not sparql.is_unbound(value) for value in values)


def _texts(values: Sequence[Value]) -> Literal:
    """The texts of values, for `joined`."""
    return Literal(json.dumps([sparql.str_of(value) for value in checked(values)]), sparql.LIST)


def _of_sparql(name: str, call: Callable[[Sequence[Value]], Value]) -> AggregateFunction:
    return AggregateFunction(SPARQL_PREFIX + name, call, names={SPARQL: name.upper()})


AGGREGATES = (
    AggregateFunction("count", len, Sort.INTEGER, {NEMO: "count", SOUFFLE: "count", RDFOX: "COUNT"}),
    AggregateFunction("sum", _sum, Sort.SAME, {NEMO: "sum", SOUFFLE: "sum", RDFOX: "SUM"}),
    AggregateFunction("min", _minimum, Sort.CHOSEN, {NEMO: "min", SOUFFLE: "min", RDFOX: "MIN"}, of_nothing=False),
    AggregateFunction("max", _maximum, Sort.CHOSEN, {NEMO: "max", SOUFFLE: "max", RDFOX: "MAX"}, of_nothing=False),
    AggregateFunction("avg", _average, Sort.NUMBER, {SOUFFLE: "mean", RDFOX: "AVG"}, of_nothing=False),
    AggregateFunction("med", _median, Sort.NUMBER, of_nothing=False),
    _of_sparql("count", _count),
    _of_sparql("sum", _or_unbound(_sum_in_sparql)),
    _of_sparql("min", _or_unbound(partial(_minimum, by=sparql_order))),
    _of_sparql("max", _or_unbound(partial(_maximum, by=sparql_order))),
    _of_sparql("avg", _or_unbound(_average_in_sparql)),
    _of_sparql("sample", _any),
    _of_sparql("group_concat", _or_unbound(_listed)),
)
