"""Tuples in equalities: `?t = [?a, ?b]` makes a tuple, or takes one apart.

Which of them depends on what has a value. If the elements have, the equality stays one, and gives ?t its value or
compares. If only ?t has, the equality becomes

    arity(?t) = 2, BIND(item(?t, 1) AS ?a), BIND(item(?t, 2) AS ?b)

where a BIND of a variable with a value compares, as always. Elements may be tuples again, and constants and
expressions, which are compared as elements of tuples are: 1 is not 1.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import count

from deltalog.core.rules import Bind, BodyLiteral, Call, Constant, Expression, Filter, Variable, variables
from deltalog.program.binding import bound

Fresh = Iterator[Variable]


def destructured(body: Sequence[BodyLiteral]) -> tuple[BodyLiteral, ...]:
    """A body in which equalities give values to no elements of tuples."""
    if not any(_tuples(literal) for literal in body):
        return tuple(body)
    fresh = (Variable(f"#item{i}") for i in count())
    result = list(body)
    while (found := _next(result, fresh)) is not None:
        at, literals = found
        result[at : at + 1] = literals
    return tuple(result)


def _tuples(literal: BodyLiteral) -> list[tuple[Expression, Call]]:
    """The sides of an equality that are tuples, each after the other side."""
    match literal:
        case Filter(condition=Call(function="=", arguments=(left, right))):
            pairs = ((left, right), (right, left))
            return [(a, b) for a, b in pairs if isinstance(b, Call) and b.function == "tuple"]
    return []


def _next(body: Sequence[BodyLiteral], fresh: Fresh) -> tuple[int, list[BodyLiteral]] | None:
    """The next equality that takes a tuple apart, and the literals that do the same."""
    has_value = bound(body)
    for at, literal in enumerate(body):
        for whole, pattern in _tuples(literal):
            if has_value.issuperset(variables(pattern)):
                continue
            if isinstance(whole, Call) and whole.function == "tuple":
                return at, list(_pairs(whole, pattern, has_value, fresh))
            if has_value.issuperset(variables(whole)):
                return at, list(_taken_apart(whole, pattern, fresh))
    return None


def _taken_apart(whole: Expression, pattern: Call, fresh: Fresh) -> Iterator[BodyLiteral]:
    if not isinstance(whole, Variable):
        expression, whole = whole, next(fresh)
        yield Bind(expression, whole, pattern.span)
    size = Constant(len(pattern.arguments))
    yield Filter(Call("=", (Call("arity", (whole,)), size), pattern.span), pattern.span)
    for i, element in enumerate(pattern.arguments, 1):
        item = Call("item", (whole, Constant(i)), pattern.span)
        if isinstance(element, Variable):
            yield Bind(item, element, pattern.span)
        elif isinstance(element, Call) and element.function == "tuple":
            yield Filter(Call("=", (item, element), pattern.span), pattern.span)
        else:
            yield from _same(item, element, fresh)


def _pairs(left: Call, right: Call, has_value: Collection[Variable], fresh: Fresh) -> Iterator[BodyLiteral]:
    """The equality of two tuples, element by element."""
    if len(left.arguments) != len(right.arguments):
        yield Filter(Constant(False), left.span)
        return
    for one, other in zip(left.arguments, right.arguments, strict=True):
        if all(v in has_value for side in (one, other) for v in variables(side)):
            yield from _same(one, other, fresh)
        else:
            yield Filter(Call("=", (one, other), left.span), left.span)


def _same(one: Expression, other: Expression, fresh: Fresh) -> Iterator[BodyLiteral]:
    """Two expressions have the same value; `=` would take 1 for 1.0."""
    value = next(fresh)
    yield Bind(one, value)
    yield Bind(other, value)
