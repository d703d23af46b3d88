"""The value of an expression, one binding at a time.

This is the reference implementation: the vectorised engines compute the same, and fall back to it for values without a
fast path. An expression has a value or fails (`ExpressionFails`); a row for which an expression of its rule fails is
dropped. An unbound variable fails. What a function means is in its record (`deltalog.functions.registry`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from deltalog.core.limits import CheckedRows, checked
from deltalog.core.rules import Call, Constant, Expression, Variable
from deltalog.core.terms import Value, key
from deltalog.functions.conditions import truth as truth  # of a condition's value
from deltalog.functions.function import ExpressionFails as ExpressionFails  # for those that evaluate
from deltalog.functions.registry import AGGREGATES, FUNCTIONS

UNCHECKED_EXPRESSIONS = 32  # that are evaluated between two checks of limits
T = TypeVar("T")
R = TypeVar("R")
Meaning = Callable[..., Value]
Compiled = Callable[[Sequence[Value]], Value]
_LAZY: dict[str, Meaning] = {name: each.call for name, each in FUNCTIONS.items() if each.lazy}
_EAGER: dict[str, Meaning] = {name: each.call for name, each in FUNCTIONS.items() if not each.lazy}


def evaluate(expression: Expression, binding: Mapping[Variable, Value]) -> Value:
    """The value of an expression under a binding of its variables, or ExpressionFails."""
    match expression:
        case Constant(value):
            return value
        case Variable():
            if expression not in binding:
                raise ExpressionFails(f"?{expression.name} has no value")
            return binding[expression]
        case Call(function, arguments):
            if function in _LAZY:
                return _LAZY[function](*[partial(evaluate, argument, binding) for argument in arguments])
            values = [evaluate(argument, binding) for argument in arguments]
            try:
                return _EAGER[function](*values)
            except (ArithmeticError, ValueError) as error:  # of Python's own functions
                raise ExpressionFails(_reason(error)) from None


def compiled(expression: Expression, places: Mapping[Variable, int]) -> Compiled:
    """`evaluate` for many bindings: a function of values, in which variables have places."""
    match expression:
        case Constant(value):
            return lambda values: value
        case Variable() if expression in places:
            return operator.itemgetter(places[expression])
        case Call(function, arguments):
            parts = [compiled(argument, places) for argument in arguments]
            return _applied(_EAGER[function], parts) if function in _EAGER else _evaluated_by(_LAZY[function], parts)
    return lambda values: evaluate(expression, {})  # a variable without a value


def _evaluated_by(function: Meaning, arguments: Sequence[Compiled]) -> Compiled:
    return lambda values: function(*[partial(argument, values) for argument in arguments])


def _applied(function: Callable[..., Value], arguments: Sequence[Compiled]) -> Compiled:
    def apply(values: Sequence[Value]) -> Value:
        given = [argument(values) for argument in arguments]
        try:
            return function(*given)
        except (ArithmeticError, ValueError) as error:
            raise ExpressionFails(_reason(error)) from None

    def apply_to_two(values: Sequence[Value]) -> Value:
        left, right = one(values), other(values)
        try:
            return function(left, right)
        except (ArithmeticError, ValueError) as error:
            raise ExpressionFails(_reason(error)) from None

    if len(arguments) != 2:
        return apply
    one, other = arguments
    return apply_to_two


def _reason(error: Exception) -> str:
    return "a division by zero" if isinstance(error, ZeroDivisionError) else str(error)


def holds(condition: Expression, binding: Mapping[Variable, Value]) -> bool:
    """Whether a condition is true; ExpressionFails if it fails or is no boolean."""
    return truth(evaluate(condition, binding))


def apply_each(function: Callable[[T], R], arguments: Iterable[T]) -> tuple[list[R | bool], list[int]]:
    """What a function of this module gives for several arguments, one after the other, and the positions of those for
    which it fails: there, False stands for the value that is not there. Limits are checked now and then."""
    values: list[R | bool] = []
    failed: list[int] = []
    for position, argument in enumerate(checked(arguments, UNCHECKED_EXPRESSIONS)):
        try:
            values.append(function(argument))
        except ExpressionFails:
            values.append(False)
            failed.append(position)
    return values, failed


def why_it_fails(function: Callable[[T], object], argument: T) -> str:
    """The reason for which a function of this module fails."""
    try:
        function(argument)
    except ExpressionFails as fails:
        return str(fails)
    raise AssertionError(f"it does not fail for {argument!r}")


def aggregate(function: str, values: Sequence[Value], distinct: bool = False) -> Value:
    """An aggregate function over the values of one group, or ExpressionFails."""
    values = CheckedRows(values)
    if distinct:
        values = CheckedRows(list({key(value): value for value in values}.values()))
    known = AGGREGATES[function]
    if not values and not known.of_nothing:
        raise ExpressionFails(f"{function} of nothing")
    try:
        found: Value = known.call(values)
    except (ArithmeticError, ValueError) as error:
        raise ExpressionFails(_reason(error)) from None
    return found
